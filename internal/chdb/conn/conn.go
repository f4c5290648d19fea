//go:build !noengine && (linux || darwin)

package chdb

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

const defaultDatabase = "default"

// conn is one connection to the engine, used by one goroutine at a time (chdb-1).
type conn struct {
	lib    *library
	handle ptr // what connect returned; close wants it back
	c      ptr
	reader bool // confined to reading; see connectReader

	// What the connection was last brought to (chdb-2).
	db       string
	settings map[string]string
	// unknown is set when the state above may no longer be true.
	unknown bool
}

func (c *conn) close() { c.lib.closeConn(c.handle) }

// exec runs a statement whose result does not matter.
func (c *conn) exec(sql string) error {
	_, err := c.buffered(sql, "Null", nil)
	return err
}

// value runs a query for one cell.
func (c *conn) value(sql string) (string, error) {
	b, err := c.buffered(sql, "TSVRaw", nil)
	return strings.TrimSuffix(string(b), "\n"), err
}

// buffered runs a statement and returns its whole output, copied. When it fails, the state is unknown (chdb-2).
func (c *conn) buffered(sql, format string, params []param) (_ []byte, err error) {
	defer func() { c.unknown = c.unknown || err != nil }()
	r := c.lib.run(c.c, sql, format, params, false)
	if r == nil {
		return nil, exception(codeUnknownError, "", "the engine returned no result")
	}
	defer c.lib.destroyResult(r)
	if text := c.lib.resultError(r); text != "" {
		return nil, parseException(text)
	}
	return slices.Clone(c.lib.bytes(r)), nil
}

// prepare brings the connection to a database and settings. When it fails, the
// state is unknown (chdb-2).
func (c *conn) prepare(db string, settings map[string]string) error {
	db = cmp.Or(db, defaultDatabase)
	if db != c.db {
		if err := c.exec("USE " + quoteIdentifier(db)); err != nil {
			return err
		}
		c.db = db
	}
	sql := settingsDiff(c.settings, settings)
	if sql == "" {
		return nil
	}
	steps := []string{sql}
	if c.reader {
		steps = []string{sqlUnlock, sql, sqlLock}
	}
	for _, sql := range steps {
		if err := c.exec(sql); err != nil {
			return err
		}
	}
	c.settings = maps.Clone(settings)
	return nil
}

// Readers may change no setting at all by themselves. This, and not 2, since 2
// would let a query's own SETTINGS clause set whatever is not frozen.
const (
	sqlLock   = "SET readonly = 1"
	sqlUnlock = "SET readonly = DEFAULT"
)

// matches tells whether prepare would have nothing to do.
func (c *conn) matches(db string, settings map[string]string) bool {
	return c.db == cmp.Or(db, defaultDatabase) && maps.Equal(c.settings, settings)
}

// settingsDiff is the one SET statement that leads from have to want, or "".
func settingsDiff(have, want map[string]string) string {
	var parts []string
	for name, value := range want {
		if old, ok := have[name]; !ok || old != value {
			parts = append(parts, name+" = "+quoteString(value))
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			parts = append(parts, name+" = DEFAULT")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return "SET " + strings.Join(parts, ", ")
}

// verdict is how the engine's own parser sees a query.
type verdict struct {
	count uint32 // statements
	flags uint32
	class uint32
}

// flagExternal marks queries that reach another system.
const flagExternal = 1

// Classes of statements.
const (
	classRead    = 0
	classWrite   = 1
	classAccess  = 2
	classOther   = 3 // SET, USE, KILL, SYSTEM, anything INTO OUTFILE
	classUnknown = 4 // not SQL, or an INSERT whose data is not SQL
)

// classify asks the engine what a query is, without running it.
func (c *conn) classify(sql string) (verdict, error) {
	out := [4]uint32{16} // the size of the structure, for versioning
	if rc := c.lib.classify(c.c, bytePtr(sql), uintptr(len(sql)), bytePtr(""), 0, &out); rc != 0 {
		return verdict{}, fmt.Errorf("the engine could not classify the query (%d)", rc)
	}
	return verdict{count: out[1], flags: out[2], class: out[3]}, nil
}

// syntaxError is what the parser has to say about a text that it refused, or
// nil if it takes it after all. Nothing of the text is run: it is data here.
func (c *conn) syntaxError(sql string) error {
	_, err := c.buffered("SELECT formatQuery({q:String})", "Null", []param{{"q", escapeParam(sql)}})
	if e, ok := errors.AsType[*clickhouse.Exception](err); ok {
		e.Message, _, _ = strings.Cut(e.Message, ": In scope SELECT formatQuery(") // our question, not the user's
	}
	return err
}

var (
	stringEscaper     = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	identifierEscaper = strings.NewReplacer(`\`, `\\`, "`", "\\`")
	paramEscaper      = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)
)

func quoteString(s string) string     { return "'" + stringEscaper.Replace(s) + "'" }
func quoteIdentifier(s string) string { return "`" + identifierEscaper.Replace(s) + "`" }

// escapeParam writes a string the way query parameters are read: as TSV.
func escapeParam(s string) string { return paramEscaper.Replace(s) }
