package guard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/chdb/library"
	"dealhouse/internal/chdb/recent"
)

// ErrReadOnly is the answer to everything but one plain read.
var ErrReadOnly = exception.New(exception.Readonly, "READONLY",
	"this door is read-only: it takes one SELECT, SHOW, DESCRIBE, EXISTS or EXPLAIN, without INTO OUTFILE and without other systems")

// Settings that let the values of an INSERT be expressions. Names inside data are not checked. So where data is read
// these settings are off, and a query may not set them.
const (
	ValuesInterpret = "input_format_values_interpret_expressions"
	ValuesTemplates = "input_format_values_deduce_templates_of_expressions"
)

// reserved are words that reach the host where the parser's tree does not show it.
var reserved = map[string]bool{"infile": true, "outfile": true, "disk": true}

// examination is one look at a statement, on a connection of its own where none of the client's settings counts and
// nothing of the statement is run (chdb-7).
type examination struct {
	*conn.Conn
	kinds    []string // of tokens
	db       string
	readOnly bool
	class    uint32
	tokens   []token
	unknown  []unknownName
	lambdas  map[string]bool // names that the statement gives to functions of its own
	apply    bool            // it has APPLY; the tree does not show what is inside
	defines  bool            // it defines columns, indexes and the like
}

// unknownName is a function, or a table with arguments, that no list has.
type unknownName struct {
	name  string
	table bool
}

// token is a word of the statement, split off by the engine's own lexer, so that no comment, quoting or heredoc can
// hide a name.
type token struct {
	kind  string
	text  string
	name  string // of a word or a quoted name, as it counts; in lower case
	begin int
	// braces is how many curly brackets it stands in.
	braces int
}

// verdictKey is all that the guard's conn.Verdict on a statement depends on, besides definitions that can change.
type verdictKey struct {
	text     [sha256.Size]byte // what is judged of the statement
	db       string
	readOnly bool
	fed      bool
}

// remembered is how many statements are remembered as allowed, in each of two generations.
const remembered = 1024

// Guard judges what strangers ask an engine for (chdb-7). It belongs to one engine and knows the definitions in it.
type Guard struct {
	conns     *conn.Pool // that look at statements and run nothing of them
	log       *slog.Logger
	lexer     atomic.Pointer[[]string] // see tokenKinds
	persisted persisted
	allowed   *recent.Map[verdictKey, struct{}] // what was let through
}

// longest is how many bytes a statement may have, without the data of an INSERT: as much as the engine's own parser
// takes.
const longest = 256 << 10

// looks is how many statements may be examined at the same time.
const looks = 4

// New makes a guard. It examines statements on connections that open makes. These must accept settings, and need only
// the rights of a reader.
func New(open func() (*conn.Conn, error), log *slog.Logger) *Guard {
	return &Guard{conns: conn.NewPool(looks, open), log: log, allowed: recent.New[verdictKey, struct{}](remembered)}
}

// Close waits for statements that are being looked at, and closes the connections.
func (g *Guard) Close() { g.conns.Close() }

// Request is what a stranger asks for.
type Request struct {
	SQL string
	// Head is the statement of an INSERT without its FORMAT or VALUES clause, if Fed.
	Head string
	// Fed says that the data of an INSERT is read apart from the statement.
	Fed      bool
	Format   string // of the output, unless the text names one
	Database string
	Settings map[string]string
	Params   []library.Param
	ReadOnly bool
}

// Examine refuses a request that names something that is not on the lists, with an error of ClickHouse. A statement
// that was allowed is allowed again without another examination, unless it names something that is on no list: that may
// be gone, or be something else by now.
func (g *Guard) Examine(ctx context.Context, r *Request) error {
	if err := r.checkNames(); err != nil {
		return err
	}
	text, tree := r.SQL, r.SQL
	if r.Fed {
		text = r.Head
		tree = r.Head + " FORMAT Values" // or it is no statement
	}
	if len(text) > longest {
		return exception.New(exception.SyntaxError, "SYNTAX_ERROR",
			"the statement is too long: write at most 256 KiB, and send data apart from it")
	}
	key := verdictKey{text: sha256.Sum256([]byte(text)), db: r.Database, readOnly: r.ReadOnly, fed: r.Fed}
	if _, ok := g.allowed.Get(key); ok {
		return nil
	}
	c, err := g.conns.Get(ctx, "", nil)
	if err != nil {
		return err
	}
	defer g.conns.Put(c)
	x, err := g.examination(c)
	if err != nil {
		return err
	}
	x.db, x.readOnly = r.Database, r.ReadOnly
	if err := x.examine(text, tree, r.Fed); err != nil {
		return err
	}
	if err := g.avoid(x); err != nil {
		return err
	}
	if len(x.unknown) == 0 {
		g.allowed.Put(key, struct{}{})
	}
	return nil
}

// examination begins to look at a statement.
func (g *Guard) examination(c *conn.Conn) (*examination, error) {
	kinds, err := g.tokenKinds(c)
	if err != nil {
		return nil, err
	}
	return &examination{Conn: c, kinds: kinds}, nil
}

// examine judges one text. tree is the same text in a form that has a syntax tree.
func (x *examination) examine(text, tree string, fed bool) error {
	if err := x.split(text); err != nil {
		return err
	}
	return x.examineTokens(tree, fed)
}

// examineTokens judges a text that is split into tokens already.
func (x *examination) examineTokens(tree string, fed bool) error {
	if err := x.checkTokens(); err != nil {
		return err
	}
	v, err := x.Classify(tree)
	if err != nil {
		return err
	}
	x.class = v.Class
	if v.Count > 1 {
		return exception.New(exception.SyntaxError, "SYNTAX_ERROR", "Multi-statements are not allowed: send them one by one")
	}
	if x.readOnly && v.Flags&conn.FlagExternal != 0 {
		return ErrReadOnly
	}
	root, err := x.parse(tree)
	if err != nil {
		return err
	}
	x.defines = root.kind == "CreateQuery" || root.kind == "AlterQuery"
	if err := x.judge(root); err != nil {
		return err
	}
	if err := x.checkHidden(root, fed); err != nil {
		return err
	}
	return x.resolve()
}

// parse asks the engine for the statement's syntax tree.
func (x *examination) parse(sql string) (*node, error) {
	out, err := x.Buffered("EXPLAIN AST "+x.forTree(sql), "TSVRaw", nil)
	if err != nil {
		return nil, cmp.Or(x.SyntaxError(sql), err)
	}
	return parseAST(string(out))
}

// forTree is the text as the parser gets it: without line breaks in quoted names, so that each node of the tree is one
// line, and with a number for each parameter, since parameters need not be set to define a view. Their types are judged
// as tokens, and their values by checkNames.
func (x *examination) forTree(sql string) string {
	b := []byte(sql)
	closes := true
	for i := 0; i < len(x.tokens); i++ {
		switch t := x.tokens[i]; {
		case t.begin+len(t.text) > len(b):
			return string(b)
		case t.kind == "QuotedIdentifier":
			for j := t.begin; j < t.begin+len(t.text); j++ {
				if b[j] == '\n' || b[j] == '\r' {
					b[j] = ' '
				}
			}
		case closes && t.kind == "OpeningCurlyBrace" && x.at(i+1).name != "" && x.at(i+2).kind == "Colon":
			closes = false // unless it does: then the next is looked for behind it, so that each token is looked at once
			for j := i + 3; j < len(x.tokens); j++ {
				if end := x.tokens[j]; end.kind == "ClosingCurlyBrace" && end.begin < len(b) {
					for k := t.begin; k <= end.begin; k++ {
						b[k] = ' '
					}
					b[t.begin] = '0'
					closes, i = true, j
					break
				}
			}
		}
	}
	return string(b)
}

// tokenKinds are the names of the lexer's tokens by their number, which is the engine's own affair.
func (g *Guard) tokenKinds(c *conn.Conn) ([]string, error) {
	if k := g.lexer.Load(); k != nil {
		return *k, nil
	}
	text, err := c.Value("SELECT toTypeName(tokenizeQuery(''))")
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, m := range enumValue.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || n != len(kinds) {
			return nil, exception.New(exception.Unknown, "", "the engine's lexer is not understood")
		}
		kinds = append(kinds, m[1])
	}
	g.lexer.Store(&kinds)
	return kinds, nil
}

var enumValue = regexp.MustCompile(`'(\w+)' = (\d+)`)

// split makes tokens of a text, without white space and comments.
func (x *examination) split(sql string) error {
	b, err := x.Buffered("SELECT tokenizeQuery({q:String})", "RowBinary",
		[]library.Param{{Name: "q", Value: conn.EscapeParam(sql)}})
	if err != nil {
		return err
	}
	rest, err := x.keepTokens(sql, b)
	if err == nil && len(rest) > 0 {
		err = errTokens
	}
	return err
}

var errTokens = exception.New(exception.SyntaxError, "SYNTAX_ERROR", "the query could not be split into tokens")

// keepTokens reads the tokens of a text, which the engine has written as RowBinary, and returns what comes after them.
func (x *examination) keepTokens(sql string, b []byte) (rest []byte, err error) {
	const size = 8 + 8 + 1
	n, k := binary.Uvarint(b)
	if k <= 0 || uint64(len(b)-k)/size < n {
		return nil, errTokens
	}
	b, rest = b[:uint64(k)+n*size], b[uint64(k)+n*size:]
	braces := 0
	for b = b[k:]; len(b) > 0; b = b[size:] {
		begin, end, kind := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), int(b[16])
		if begin > end || end > uint64(len(sql)) || kind >= len(x.kinds) {
			return nil, errTokens
		}
		t := token{kind: x.kinds[kind], text: sql[begin:end], begin: int(begin), braces: braces}
		switch t.kind {
		case "Whitespace", "Comment", "EndOfStream":
			continue
		case "OpeningCurlyBrace":
			braces++
		case "ClosingCurlyBrace":
			braces--
		case "BareWord":
			t.name = strings.ToLower(t.text)
		case "QuotedIdentifier":
			// The lexer also takes typographic quotes.
			t.name = strings.ToLower(strings.Trim(t.text, "`\"“”"))
		}
		x.tokens = append(x.tokens, t)
	}
	return rest, nil
}

// CheckReaderSettings refuses settings that are not on the list.
func CheckReaderSettings(settings map[string]string) error {
	for name := range settings {
		e, ok := allow.All().Settings[name]
		if ok && e.Sign == 0 && e.Name == name {
			continue
		}
		if !ok {
			return exception.New(exception.UnknownSetting, "UNKNOWN_SETTING", "Unknown setting '"+name+"'")
		}
		return exception.New(exception.Readonly, "READONLY", "Cannot modify '"+name+"' setting in readonly mode"+allow.Where)
	}
	return nil
}

// checkNames refuses what a request names outside its text: settings, the format, and parameters.
func (r *Request) checkNames() error {
	if r.ReadOnly {
		if err := CheckReaderSettings(r.Settings); err != nil {
			return err
		}
	}
	for name, value := range r.Settings {
		if e := allow.All().Settings[name]; !r.ReadOnly && (e.Sign == '-' || e.Name != name) {
			return denied("the setting %s is not allowed here", name)
		}
		if err := literal("'" + value); err != nil {
			return err
		}
	}
	if r.Format != "" && allow.All().Formats.Refuses(r.Format) {
		return denied("the format %s is not allowed here", r.Format)
	}
	for _, p := range r.Params {
		if err := literal("'" + p.Value); err != nil {
			return err
		}
	}
	return nil
}
