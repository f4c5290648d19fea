package config

import (
	"cmp"
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
