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

// ErrReadOnly is the error of the read-only door for everything that is not one plain read.
var ErrReadOnly = exception.New(exception.Readonly, "READONLY",
	"queries are read-only here: send one SELECT, SHOW, DESCRIBE, EXISTS or EXPLAIN, without INTO OUTFILE and without tables of other systems")

// Settings that let the values of an INSERT be expressions. Names inside data are not checked. So these settings are
// off where data are read, and a query may not set them.
const (
	ValuesInterpret = "input_format_values_interpret_expressions"
	ValuesTemplates = "input_format_values_deduce_templates_of_expressions"
)

// reserved are words that reach the host without a trace in the parser's tree.
var reserved = map[string]bool{"infile": true, "outfile": true, "disk": true}

// examination is one look at a statement. It uses a connection on which no setting of the client applies and nothing of
// the statement runs (chdb-7).
type examination struct {
	*conn.Conn
	kinds    []string // of tokens, see tokenKinds
	db       string
	readOnly bool
	class    uint32
	tokens   []token
	unknown  []unknownName
	lambdas  map[string]bool // names that the statement gives to its own functions
	apply    bool            // it has APPLY; the tree does not show what is inside
	defines  bool            // it defines columns, indexes and the like
}

// unknownName is a function, or a table with arguments, that is on no list.
type unknownName struct {
	name  string
	table bool
}

// token is a word of the statement, split off by the engine's own lexer, so that no comment, quoting or heredoc can
// hide a name.
type token struct {
	kind  string
	text  string
	name  string // what a word or a quoted name stands for, in lower case; or ""
	begin int
	// braces is how many pairs of curly brackets are around the token.
	braces int
}

// verdictKey is all that the guard's verdict on a statement depends on, except definitions, which can change.
type verdictKey struct {
	text     [sha256.Size]byte // hash of the part of the statement that is judged
	db       string
	readOnly bool
	fed      bool
}

// remembered is how many allowed statements are remembered, in each of two generations.
const remembered = 1024

// Guard judges what strangers ask an engine for (chdb-7). It belongs to one engine and knows the definitions in it.
type Guard struct {
	conns     *conn.Pool // for examining statements without running them
	log       *slog.Logger
	lexer     atomic.Pointer[[]string] // see tokenKinds
	persisted persisted
	allowed   *recent.Map[verdictKey, struct{}] // what was allowed before
}

// longest is how many bytes a statement may have, without the data of an INSERT: as much as the
// engine's own parser accepts.
const longest = 256 << 10

// looks is how many statements may be examined at the same time.
const looks = 4

// New makes a guard that examines statements on connections from open. They must accept settings, and need
// only the rights of a reader.
func New(open func() (*conn.Conn, error), log *slog.Logger) *Guard {
	return &Guard{conns: conn.NewPool(looks, open), log: log, allowed: recent.New[verdictKey, struct{}](remembered)}
}

// Close waits for statements that are being examined, and closes the connections.
func (g *Guard) Close() { g.conns.Close() }

// Request is what a stranger asks for.
type Request struct {
	SQL string
	// Head is the text of an INSERT without its FORMAT or VALUES clause. It is only used if Fed.
	Head string
	// Fed says that the data of an INSERT are read separately from the statement.
	Fed      bool
	Input    string // the format of those data, if Fed
	Format   string // of the output, unless the text names one
	Database string
	Settings map[string]string
	Params   []library.Param
	ReadOnly bool
}

// Examine refuses a request that names something that is not on the lists, with an error of ClickHouse. A statement
// that was allowed is allowed again without another examination, unless it names something that is on no list: that may
// have changed, or may be gone.
func (g *Guard) Examine(ctx context.Context, r *Request) error {
	if err := r.checkNames(); err != nil {
		return err
	}
	text, tree := r.SQL, r.SQL
	if r.Fed {
		text = r.Head
		tree = r.Head + " FORMAT Values" // without this it would not be a statement
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

// examination starts an examination on c.
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

// forTree returns the text for the parser. Quoted names have no line breaks in it, so that each node of the tree is one
// line. A number replaces each parameter, because parameters need no value in the definition of a view. Their types are
// judged as tokens, and their values by checkNames.
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
			closes = false // stays so if nothing closes it: nothing closes a later one either, so none is searched for
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

// tokenKinds returns the names of the lexer's tokens by their number. It asks the engine, which alone
// decides about these numbers.
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

// split splits a text into tokens, and drops white space and comments.
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

// checkNames judges what a request names outside its text: settings, the format, and parameters.
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
	if r.Fed && !allow.All().Formats.Allows(r.Input) {
		return denied("data in the format %s are not allowed here", r.Input)
	}
	for _, p := range r.Params {
		if err := literal("'" + p.Value); err != nil {
			return err
		}
	}
	return nil
}
