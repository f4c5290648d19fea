package conn

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/chdb/library"
)

const defaultDatabase = "default"

// Conn is one connection to the engine, used by one goroutine at a time (chdb-1).
type Conn struct {
	// Lib and C serve callers that need the C functions themselves: they pass C to functions of Lib. Until they are
	// done, nobody may use the connection in any other way.
	Lib *library.API
	C   library.Pointer

	handle library.Pointer // what Connect returned; CloseConn takes it
	reader bool            // confined to reading; see Confine

	// The database and settings that the connection was last given (chdb-2).
	db       string
	settings map[string]string
	// Unknown is set when the state above may no longer be true; the connection is then closed instead of lent again
	// (chdb-2).
	Unknown bool
}

// New makes a connection of the handle that [library.API.Connect] returned.
func New(lib *library.API, handle library.Pointer) *Conn {
	return &Conn{Lib: lib, handle: handle, C: *(*library.Pointer)(handle), db: defaultDatabase}
}

// Close closes the connection. Nothing may use it after that.
func (c *Conn) Close() { c.Lib.CloseConn(c.handle) }

// Exec runs a statement whose result does not matter.
func (c *Conn) Exec(sql string) error {
	_, err := c.Buffered(sql, "Null", nil)
	return err
}

// Value runs a query and returns the one cell of its result.
func (c *Conn) Value(sql string) (string, error) {
	b, err := c.Buffered(sql, "TSVRaw", nil)
	return strings.TrimSuffix(string(b), "\n"), err
}

// Buffered runs a statement and returns a copy of its whole output. When it fails, it sets Unknown (chdb-2).
func (c *Conn) Buffered(sql, format string, params []library.Param) (_ []byte, err error) {
	defer func() { c.Unknown = c.Unknown || err != nil }()
	r := c.Lib.Run(c.C, sql, format, params, false)
	if r == nil {
		return nil, exception.New(exception.Unknown, "", "the engine returned no result")
	}
	defer c.Lib.DestroyResult(r)
	if text := c.Lib.ResultError(r); text != "" {
		return nil, exception.Parse(text)
	}
	return slices.Clone(c.Lib.Bytes(r)), nil
}

// Prepare gives the connection a database and settings. When it fails, the state is Unknown (chdb-2).
func (c *Conn) Prepare(db string, settings map[string]string) error {
	db = cmp.Or(db, defaultDatabase)
	if db != c.db {
		if err := c.Exec("USE " + QuoteIdentifier(db)); err != nil {
			return err
		}
		c.db = db
	}
	if maps.Equal(c.settings, settings) {
		return nil
	}
	have, want := maps.Clone(c.settings), maps.Clone(settings)
	var steps []string
	if c.reader {
		steps = append(steps, Unlock)
		delete(have, Readonly)
		delete(want, Readonly)
	}
	if sql := settingsDiff(have, want); sql != "" {
		steps = append(steps, sql)
	}
	if c.reader {
		steps = append(steps, lockOf(settings))
	}
	for _, sql := range steps {
		if err := c.Exec(sql); err != nil {
			return err
		}
	}
	c.settings = maps.Clone(settings)
	return nil
}

// Confine takes all rights from the connection except those of a reader. They never come back (chdb-7). settings are
// statements that hold from then on.
func (c *Conn) Confine(settings ...string) error {
	for _, sql := range append(append([]string{SetReader}, settings...), lock) {
		if err := c.Exec(sql); err != nil {
			return err
		}
	}
	c.reader = true
	return nil
}

// SetReader switches to the role of readers, which can only read.
const SetReader = "SET ROLE reader"

// Readers may change no setting at all by themselves. The value is 1 and not 2, because with 2 a query's own SETTINGS
// clause could set everything that is not frozen.
const (
	lock   = "SET readonly = 1"
	Unlock = "SET readonly = DEFAULT"
)

// Readonly is the setting behind the lock. It is 2 for a query of system.settings: with 1, that table would say that no
// setting may be chosen, and drivers would send none.
const Readonly = "readonly"

// lockOf returns the statement that locks a reader's connection with these settings.
func lockOf(settings map[string]string) string {
	if settings[Readonly] == "2" {
		return "SET readonly = 2"
	}
	return lock
}

// matches tells whether Prepare would have nothing to do.
func (c *Conn) matches(db string, settings map[string]string) bool {
	return c.db == cmp.Or(db, defaultDatabase) && maps.Equal(c.settings, settings)
}

// settingsDiff returns the one SET statement that turns the settings have into want, or "" if they are equal.
func settingsDiff(have, want map[string]string) string {
	var parts []string
	for name, value := range want {
		if old, ok := have[name]; !ok || old != value {
			parts = append(parts, name+" = "+QuoteString(value))
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

// Verdict is what the engine's own parser says about a query.
type Verdict struct {
	Count uint32 // statements
	Flags uint32
	Class uint32
}

// FlagExternal marks queries that reach another system.
const FlagExternal = 1

// Classes of statements.
const (
	ClassRead    = 0
	ClassWrite   = 1
	ClassAccess  = 2
	ClassOther   = 3 // SET, USE, KILL, SYSTEM, anything INTO OUTFILE
	ClassUnknown = 4 // not SQL, or an INSERT whose data is not SQL
)

// Classify asks the engine what kind of query it is, without running it.
func (c *Conn) Classify(sql string) (Verdict, error) {
	out := [4]uint32{16} // the size of the structure, for versioning
	if rc := c.Lib.Classify(c.C, library.BytePtr(sql), uintptr(len(sql)), library.BytePtr(""), 0, &out); rc != 0 {
		return Verdict{}, fmt.Errorf("the engine could not classify the query (%d)", rc)
	}
	return Verdict{Count: out[1], Flags: out[2], Class: out[3]}, nil
}

// SyntaxError returns the parser's error for a text that it refused, or nil if it accepts the text after all. Nothing
// of the text runs, because the text is passed as data.
func (c *Conn) SyntaxError(sql string) error {
	_, err := c.Buffered("SELECT formatQuery({q:String})", "Null", []library.Param{{Name: "q", Value: EscapeParam(sql)}})
	if e, ok := errors.AsType[*clickhouse.Exception](err); ok {
		e.Message, _, _ = strings.Cut(e.Message, ": In scope SELECT formatQuery(") // our query, not the user's
	}
	return err
}

var (
	stringEscaper     = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	identifierEscaper = strings.NewReplacer(`\`, `\\`, "`", "\\`")
	paramEscaper      = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)
)

// QuoteString returns s as a string literal of SQL.
func QuoteString(s string) string { return "'" + stringEscaper.Replace(s) + "'" }

// QuoteIdentifier returns a name in the quotes of SQL.
func QuoteIdentifier(s string) string { return "`" + identifierEscaper.Replace(s) + "`" }

// EscapeParam escapes a string as in TSV, because the engine reads query parameters as TSV.
func EscapeParam(s string) string { return paramEscaper.Replace(s) }
