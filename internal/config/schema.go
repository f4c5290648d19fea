package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
)

// where is a set of tables in which a key may be.
type where uint16

const (
	inWarehouse where = 1 << iota
	inDaemon
	inDoor
	inFinance
	inLineage
	inRetention
	inDefaults
	inAccount
	inParams
	inStream // the table of each stream, but see key.of
	inReceiver
)

// section describes one table of the file.
type section struct {
	name     string
	in       where           // the bit of this table; 0 for a table that holds tables only
	repeated bool            // [[name]]
	own      bool            // its values are a copy of the inherited ones, so no other table sees its changes
	fresh    bool            // it inherits nothing, and config.example.toml shows it in a comment
	stream   *catalog.Stream // that the table is about; nil for the others
	doc      string
	children []section
}

// schema is the tree of tables. Its order is the order of the walk: [defaults] comes before [[account]], which inherits
// from it.
func schema() section {
	return section{children: []section{
		{name: "warehouse", in: inWarehouse, doc: docWarehouse},
		{name: "daemon", in: inDaemon, doc: docDaemon},
		{name: "door", in: inDoor, own: true, fresh: true, doc: docDoor},
		{name: "lineage", in: inLineage, own: true, doc: docLineage},
		{name: "finance", in: inFinance, doc: docFinance},
		{name: "retention", in: inRetention, doc: docRetention},
		{name: "defaults", in: inDefaults, doc: docDefaults},
		{name: "account", in: inAccount, repeated: true, own: true, doc: docAccount, children: []section{
			{name: "params", in: inParams, doc: docParams},
			{name: "streams", doc: docStreams, children: streamSections()},
		}},
		{name: "receiver", in: inReceiver, repeated: true, own: true, fresh: true, doc: docReceiver},
	}}
}

func streamSections() []section {
	var list []section
	for _, s := range catalog.All() {
		list = append(list, section{name: s.Name, in: inStream, own: true, stream: s})
	}
	return list
}

// title returns the table as it is written in the file.
func title(path []string, s section) string {
	name := strings.Join(append(slices.Clone(path), s.name), ".")
	if s.repeated {
		return "[[" + name + "]]"
	}
	return "[" + name + "]"
}

// titles lists the tables that hold a key of that name, in the order of the schema.
func titles(name string) []string {
	var list []string
	var visit func(path []string, s section)
	visit = func(path []string, s section) {
		holds := func(s section) bool { return slices.Contains(names(keysIn(s)), name) }
		if holds(s) {
			list = append(list, title(path, s))
		}
		if s.name != "" {
			path = append(slices.Clone(path), s.name)
		}
		if s.children != nil && !slices.ContainsFunc(s.children,
			func(c section) bool { return c.stream == nil || !holds(c) }) {
			list = append(list, "[account.streams.<stream>]")
			return
		}
		for _, child := range s.children {
			if !child.fresh { // its keys are its own, and elsewhere they mostly mean something else
				visit(path, child)
			}
		}
	}
	visit(nil, schema())
	return list
}

// key describes one key. in says which tables may have it; a table nearer to the stream overrides one that is farther.
type key struct {
	name     string
	in       where
	of       func(*catalog.Stream) bool // of inStream, the streams that have it; nil: all
	value    codec
	standard string // the default as it is written in TOML; empty: there is none
	required bool
	fixed    bool   // no environment variable may set it
	example  string // what config.example.toml shows, if that is not the default
	doc      string // meaning, unit and bounds; empty: not shown in config.example.toml
}

// plainDefault is the default without TOML's quotes.
func (k key) plainDefault() string { return strings.Trim(k.standard, `"`) }

// keysIn lists the keys of one table.
func keysIn(s section) []key {
	var list []key
	for _, k := range vocabulary {
		if k.in&s.in != 0 && (s.stream == nil || k.of == nil || k.of(s.stream)) {
			list = append(list, k)
		}
	}
	return list
}

func names(list []key) []string {
	all := make([]string, len(list))
	for i, k := range list {
		all[i] = k.name
	}
	return all
}

// values has the values of the keys of a table, including those that it inherits from the tables above it. Each key
// says where in it its value goes (keys.go).
type values struct {
	dsn       dataSource
	warehouse Warehouse
	daemon    Daemon
	lineageTo lineageTarget
	lineage   Lineage
	door      Door
	finance   Finance
	retention Retention
	account   Account
	stream    Stream
	receiver  Receiver

	secrets map[string]reference // by the name of the key
	filters map[string][]string  // values by the name of the filter

	// at holds the position of each key that was set, even to an invalid value. A key that is absent has its default.
	at map[string]position
}

func newValues() *values {
	return &values{secrets: map[string]reference{}, filters: map[string][]string{}, at: map[string]position{},
		account: Account{Params: Params{Filters: map[string]string{}}}}
}

// inherit returns a copy that shares nothing which a key changes.
func (v *values) inherit() *values {
	c := *v
	c.at, c.secrets, c.filters = maps.Clone(v.at), maps.Clone(v.secrets), maps.Clone(v.filters)
	c.account.Params.Filters = maps.Clone(v.account.Params.Filters)
	return &c
}

// ownName is the name of an account or a receiver.
func (v *values) ownName() string { return cmp.Or(v.receiver.Name, v.account.Name) }

func (v *values) has(name string) bool {
	_, ok := v.at[name]
	return ok
}

// scope is one table after its keys were read. A repeated table has one for each of its items.
type scope struct {
	section section
	at      position
	values  *values
	inner   []*scope
}

// find returns the scopes of the tables of that name directly inside.
func (s *scope) find(name string) []*scope {
	var found []*scope
	for _, inner := range s.inner {
		if inner.section.name == name {
			found = append(found, inner)
		}
	}
	return found
}

// walker reads the tree by the schema. It continues after a problem, so that all are found at once (config-2).
type walker struct{ *findings }

// walk reads one table. above is the set of tables that v has values from.
func (w walker) walk(path []string, n *node, s section, above where, v *values) *scope {
	if s.own {
		v = v.inherit()
	}
	if s.fresh {
		v = newValues()
	}
	for _, k := range keysIn(s) {
		// Values of the tables above are inherited.
		if k.in&above == 0 && k.standard != "" {
			if err := k.value.set(v, k.plainDefault()); err != nil {
				panic(fmt.Sprintf("config: the default of %s: %s", k.name, err)) // a test loads all defaults
			}
		}
	}
	w.readKeys(path, n, s, v)
	for _, k := range keysIn(s) {
		if k.required && k.in&above == 0 && !v.has(k.name) {
			w.missing(n, s, v, k)
		}
	}
	here := &scope{section: s, at: n.at, values: v}
	if s.name != "" {
		path = append(slices.Clone(path), s.name)
	}
	for _, child := range s.children {
		for _, table := range w.tables(path, n, child) {
			here.inner = append(here.inner, w.walk(path, table, child, above|s.in, v))
		}
		// A table whose values are not a copy of its own, such as [defaults], passes them on to the tables that follow.
		if !child.own {
			above |= child.in
		}
	}
	return here
}

// readKeys reads the keys of one table; the tables in it are for the caller.
func (w walker) readKeys(path []string, n *node, s section, v *values) {
	known := keysIn(s)
	for _, name := range n.names {
		if slices.ContainsFunc(s.children, func(c section) bool { return c.name == name }) {
			continue
		}
		i := slices.IndexFunc(known, func(k key) bool { return k.name == name })
		if i < 0 {
			w.unknown(path, n, s, name)
			continue
		}
		value := n.keys[name]
		v.at[name] = value.at
		if !known[i].value.takes(value.kind) {
			w.problem(value.at, "%s must be %s, not %s", name, known[i].value.want, value.kind)
			continue
		}
		text := value.text
		if value.kind == anArray {
			var plain bool
			if text, plain = arrayText(value); !plain {
				w.problem(value.at, "%s must be %s", name, known[i].value.want)
				continue
			}
		}
		if err := known[i].value.set(v, text); err != nil {
			w.problem(value.at, "%s: %s", name, err)
		}
	}
}

// tables returns the nodes of a table inside another. If it is absent and not needed, that is an empty one.
func (w walker) tables(path []string, n *node, s section) []*node {
	found, ok := n.keys[s.name]
	if !ok {
		if s.repeated {
			return nil
		}
		return []*node{newTable(n.at)}
	}
	want := title(path, s)
	switch {
	case s.repeated && found.kind == aTable:
		w.problem(found.at, "%q may stand several times: write %s, with two brackets", s.name, want)
		return []*node{found}
	case s.repeated && found.kind == anArray:
		items := slices.Clone(found.items)
		return slices.DeleteFunc(items, func(item *node) bool {
			if item.kind != aTable {
				w.problem(item.at, "%q must hold tables only, not %s: write %s", s.name, item.kind, want)
			}
			return item.kind != aTable
		})
	case !s.repeated && found.kind == anArray && found.header:
		w.problem(found.at, "%q stands once only: write %s, with one bracket", s.name, want)
	case found.kind == aTable:
		return []*node{found}
	default:
		w.problem(found.at, "%q must be a table, not %s: write %s", s.name, found.kind, want)
	}
	if s.repeated {
		return nil
	}
	return []*node{newTable(n.at)}
}

// unknown reports a key or table that the schema does not have there.
func (w walker) unknown(path []string, n *node, s section, name string) {
	at, value := n.keyAt[name], n.keys[name]
	place := "at the top level"
	if s.name != "" {
		place = "in " + title(path, s)
	}
	var inside []string
	for _, child := range s.children {
		inside = append(inside, child.name)
	}
	what := "key"
	if value.kind == aTable || value.header {
		what = "table"
	}
	if elsewhere := titles(name); len(elsewhere) > 0 && what == "key" {
		w.problem(at, "%q has no meaning %s; it belongs in %s", name, place, either(elsewhere))
		return
	}
	hint := didYouMean(name, append(inside, names(keysIn(s))...))
	if hint == "" && what == "key" {
		hint = inAnotherTable(name)
	}
	w.problem(at, "unknown %s %s %s%s", what, quote(name), place, hint)
}

// inAnotherTable does the same as didYouMean, with the keys of all tables.
func inAnotherTable(name string) string {
	near, ok := nearest(name, names(vocabulary), len(name)/3)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; did you mean %q in %s?", near, either(titles(near)))
}

// missing reports a required key that is absent, at the head of its table.
func (w walker) missing(n *node, s section, v *values, k key) {
	who := s.name
	if name := v.ownName(); name != "" {
		who = fmt.Sprintf("%s %q", s.name, name)
	}
	hint := ""
	if k.example != "" {
		hint = fmt.Sprintf(", such as %s = %s", k.name, k.example)
	}
	if n.at.env != "" {
		hint = ": set " + singleVariable(k.name)
	}
	w.problem(n.at, "%s lacks %s%s", who, k.name, hint)
}

// either is "a", "a or b", "a, b or c".
func either(list []string) string { return joined(list, "or") }

// joined is "a", "a and b", "a, b and c", with that word before the last.
func joined(list []string, word string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " " + word + " " + list[last]
}

// The texts of config.example.toml that belong to no single key. A line that begins with two spaces is kept as it is;
// the rest is wrapped.
const (
	docWarehouse = `Where the data goes.`

	docDaemon = "The long-running worker, `dealhouse run`."

	docLineage = "OpenLineage events of runs, for data catalogs such as Marquez or DataHub. Off by default."

	docFinance = "The reconciliation of payouts with their transactions, `dealhouse reconcile`."

	docDefaults = `Settings for all accounts. Each can be overridden for one account, under [[account]]; those about streams also for one stream, under [account.streams.<stream>].`

	docAccount = `One account: one API key, and so one organization. Repeat this table and the tables below it for each further account.`

	docParams = `Names of query parameters, which differ from service to service. The two filled in below are those of one known live service. Remove the # if yours uses them too, or write what its documentation says. A wrong name for a date costs speed or, if the service refuses what it does not know, lets runs fail: dealhouse check tells.`

	docReceiver = "Who gets notifications: one message for each problem that begins or ends. Repeat this table for each further receiver. Messages wait in the warehouse until they are accepted. `dealhouse notify test` sends a test message; deploy/README.md has examples. A variable such as DEALHOUSE_RECEIVER_OPS_URL sets a key of the receiver \"ops\"."

	docStreams = `The streams. Leave a table out to load its stream with the defaults.`
)
