package guard

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"sync"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/chdb/library"
)

// persisted are the objects of the data directory whose definitions no door has judged: they were made before this
// release, or with another program. The guard asks for their names once, before the first query that it examines. An
// object is judged when a statement names it, or when a definition that a statement needs names it. Objects that are
// made later through a door are judged when they are made.
type persisted struct {
	mu        sync.Mutex
	names     map[string][]string // by the name in lower case; nil: not asked yet
	functions map[string][]string // the definitions of functions, by the name in lower case
	judged    map[string]*object  // by the name in lower case
}

// object is what is known about all objects that have the same name in lower case.
type object struct {
	denied bool     // the lists do not allow a definition
	needs  []string // the objects that the definitions name
}

// objectNames asks for the names of all stored objects, without the engine's own. Functions come with their
// definitions: there are few of them, and each query of this table makes the engine read all of its own functions.
const objectNames = `SELECT name, '' FROM system.tables WHERE database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')
 UNION ALL SELECT name, create_query FROM system.functions WHERE origin != 'System'`

// definitionsOf returns the query for the definitions of the tables and views that have one of these names. Each
// definition comes with its tokens, which saves one query for each.
func definitionsOf(quoted []string) string {
	return `SELECT name, create_table_query, tokenizeQuery(create_table_query) FROM system.tables
 WHERE database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema') AND create_table_query != ''
 AND name IN (` + strings.Join(quoted, ", ") + ")"
}

// avoid refuses every statement that names, in whatever way, an object whose definition is not allowed, or an object
// that needs such an object. An object that is not allowed can only be dropped.
func (g *Guard) avoid(x *examination) error {
	p := &g.persisted
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.list(x.Conn); err != nil {
		return err
	}
	if !x.readOnly && len(x.tokens) > 0 && x.tokens[0].name == "drop" {
		return nil
	}
	met := map[string]bool{}
	for next := p.named(x.tokens); len(next) > 0; {
		if err := g.judge(x.Conn, next); err != nil {
			return err
		}
		var after []string
		for _, name := range next {
			if p.judged[name].denied {
				return denied("%s holds what is not allowed here, and can only be dropped", name)
			}
			met[name] = true
			after = append(after, p.judged[name].needs...)
		}
		next = slices.DeleteFunc(after, func(name string) bool { return met[name] })
	}
	return nil
}

// list asks the engine, once, which objects there are.
func (p *persisted) list(c *conn.Conn) error {
	if p.names != nil {
		return nil
	}
	b, err := c.Buffered(objectNames, "RowBinary", nil)
	if err != nil {
		return err
	}
	p.names, p.functions, p.judged = map[string][]string{}, map[string][]string{}, map[string]*object{}
	for len(b) > 0 {
		var name, function string
		name, b = cutString(b)
		function, b = cutString(b)
		lower := strings.ToLower(name)
		p.names[lower] = append(p.names[lower], name)
		if function != "" {
			p.functions[lower] = append(p.functions[lower], function)
		}
	}
	return nil
}

// named returns the objects that tokens name: as words, or anywhere in a text.
func (p *persisted) named(tokens []token) (names []string) {
	for _, t := range tokens {
		if t.kind != "StringLiteral" && t.kind != "HereDoc" {
			if p.names[t.name] != nil {
				names = append(names, t.name)
			}
			continue
		}
		text := strings.ToLower(t.text)
		for name := range p.names {
			if strings.Contains(text, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// judge judges the definitions of objects, unless that was done before.
func (g *Guard) judge(c *conn.Conn, names []string) error {
	p := &g.persisted
	fresh := map[string]*object{}
	var quoted []string
	for _, name := range names {
		if p.judged[name] != nil || fresh[name] != nil {
			continue
		}
		fresh[name] = &object{}
		for _, spelled := range p.names[name] {
			quoted = append(quoted, conn.QuoteString(spelled))
		}
		for _, sql := range p.functions[name] {
			x, err := g.examination(c)
			if err == nil {
				err = x.split(sql)
			}
			if err != nil {
				return err
			}
			g.note(fresh[name], x, name, sql)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	b, err := c.Buffered(definitionsOf(quoted), "RowBinary", nil)
	if err != nil {
		return err
	}
	for len(b) > 0 {
		var name, sql string
		name, b = cutString(b)
		sql, b = cutString(b)
		x, err := g.examination(c)
		if err == nil {
			b, err = x.keepTokens(sql, b)
		}
		if err != nil {
			return err
		}
		g.note(fresh[strings.ToLower(name)], x, name, sql)
	}
	maps.Copy(p.judged, fresh)
	return nil
}

// note judges one definition of an object, whose tokens are in x, and adds the result to o.
func (g *Guard) note(o *object, x *examination, name, sql string) {
	if err := x.examineTokens(sql, false); err != nil {
		g.log.Warn("an object of the warehouse is not served: drop it if it is not yours", "object", name, "reason", err)
		o.denied = true
	}
	o.needs = append(o.needs, g.persisted.named(withoutComments(x.tokens))...)
}

// withoutComments leaves out the texts of COMMENT clauses, which nothing runs.
func withoutComments(tokens []token) (rest []token) {
	for i, t := range tokens {
		if t.kind != "StringLiteral" || i == 0 || tokens[i-1].kind != "BareWord" || tokens[i-1].name != "comment" {
			rest = append(rest, t)
		}
	}
	return rest
}

// cutString reads one string of RowBinary.
func cutString(b []byte) (string, []byte) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return "", nil
	}
	return string(b[k : k+int(n)]), b[k+int(n):]
}

// resolve asks the engine about names that are on no list: they must be functions and views that a user has made.
func (x *examination) resolve() error {
	known := map[unknownName]bool{}
	for _, u := range x.unknown {
		if known[u] {
			continue
		}
		known[u] = true
		sql := "SELECT count() FROM system.functions WHERE name = {n:String} AND origin = 'SQLUserDefined'"
		if u.table {
			sql = "SELECT count() FROM system.tables WHERE (name = {n:String} OR concat(database, '.', name) = {n:String}) AND engine = 'View'"
		}
		b, err := x.Buffered(sql, "TSV", []library.Param{{Name: "n", Value: conn.EscapeParam(u.name)}})
		if err != nil {
			return err
		}
		if string(b) == "0\n" {
			return exception.New(exception.UnknownFunction, "UNKNOWN_FUNCTION",
				"Function "+u.name+" is not known here"+allow.Where)
		}
	}
	return nil
}
