package guard

import (
	"encoding/binary"
	"strings"
	"sync"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/chdb/library"
)

// persisted are the objects of the data directory with definitions that no list allows: somebody has made them before
// this release, or with another program. They are looked for once, before the first examined query. Objects that the
// doors make later are judged when they are made.
type persisted struct {
	mu    sync.Mutex
	done  bool
	names map[string]bool // in lower case
}

const definitions = `SELECT name, create_table_query FROM system.tables
 WHERE database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema') AND create_table_query != ''
 UNION ALL SELECT name, create_query FROM system.functions WHERE origin != 'System'`

// judged are the names that no statement may hold.
func (g *Guard) judged(c *conn.Conn) (map[string]bool, error) {
	p := &g.persisted
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return p.names, nil
	}
	b, err := c.Buffered(definitions, "RowBinary", nil)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for len(b) > 0 {
		var name, sql string
		name, b = cutString(b)
		sql, b = cutString(b)
		x, err := g.examination(c)
		if err != nil {
			return nil, err
		}
		if err := x.examine(sql, sql, false); err != nil {
			g.log.Warn("an object of the warehouse is not served: drop it if it is not yours", "object", name, "reason", err)
			names[strings.ToLower(name)] = true
		}
	}
	p.names, p.done = names, true
	return names, nil
}

// cutString reads one string of RowBinary.
func cutString(b []byte) (string, []byte) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return "", nil
	}
	return string(b[k : k+int(n)]), b[k+int(n):]
}

// avoid refuses every statement that names an object with a definition that is not allowed, in whatever way. Such an
// object can only be dropped.
func (x *examination) avoid(names map[string]bool) error {
	if len(names) == 0 || !x.readOnly && len(x.tokens) > 0 && x.tokens[0].name == "drop" {
		return nil
	}
	for _, t := range x.tokens {
		text := t.name
		if t.kind == "StringLiteral" || t.kind == "HereDoc" {
			text = strings.ToLower(t.text)
		}
		for name := range names {
			if text == name || text != t.name && strings.Contains(text, name) {
				return denied("%s holds what is not allowed here, and can only be dropped", name)
			}
		}
	}
	return nil
}

// resolve asks the engine for names that no list has: they must be functions and views that somebody has made.
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
