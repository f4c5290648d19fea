//go:build !noengine && (linux || darwin)

package chdb

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"
)

// errReadOnly is the answer to everything but one plain read.
var errReadOnly = exception(codeReadonly, "READONLY",
	"this door is read-only: it takes one SELECT, SHOW, DESCRIBE, EXISTS or EXPLAIN, without INTO OUTFILE and without other systems")

// Settings that let the values of an INSERT be expressions. Nobody looks into
// data for names, so where data is read they are off, and not a query's to set.
const (
	valuesInterpret = "input_format_values_interpret_expressions"
	valuesTemplates = "input_format_values_deduce_templates_of_expressions"
)

// reserved are words that reach the host where the parser's tree does not show it.
var reserved = map[string]bool{"infile": true, "outfile": true, "disk": true}

// examination is one look at a statement, on a connection of its own where none of the client's settings counts and
// nothing of the statement is run (chdb-7).
type examination struct {
	*conn
	kinds    []string // of tokens
	db       string
	readOnly bool
	class    uint32
	tokens   []token
	unknown  []unknownName
	lambdas  map[string]bool // names that the statement gives to functions of its own
	apply    bool            // it has APPLY, whose inside the tree does not show
	defines  bool            // it defines columns, indexes and the like
}

// unknownName is a function, or a table with arguments, that no list has.
type unknownName struct {
	name  string
	table bool
}

// token is a word of the statement, split off by the engine's own lexer, so that no comment, quoting or heredoc can hide
// a name.
type token struct {
	kind  string
	text  string
	name  string // of a word or a quoted name, as it counts; in lower case
	begin int
}

// verdictKey is all that the guard's verdict on a statement depends on, besides definitions that can change.
type verdictKey struct {
	text     [sha256.Size]byte // what is judged of the statement
	db       string
	readOnly bool
	fed      bool
}

// rememberedVerdicts is how many statements are remembered as allowed, in each of two generations.
const rememberedVerdicts = 1024

// examine refuses a query that names what is not on the lists. A statement that was let through is let through again
// without another look, unless it names what no list has: that may be gone, or be something else by now.
func (in *instance) examine(ctx context.Context, q *query, st *statement, fed bool) error {
	if err := q.checkNames(); err != nil {
		return err
	}
	text, tree := q.sql, q.sql
	if fed {
		text = st.head
		tree = st.head + " FORMAT Values" // or it is no statement
	}
	key := verdictKey{text: sha256.Sum256([]byte(text)), db: q.db, readOnly: q.readOnly, fed: fed}
	if _, ok := in.allowed.get(key); ok {
		return nil
	}
	c, err := in.examiners.get(ctx, "", nil)
	if err != nil {
		return err
	}
	defer in.examiners.put(c)
	kinds, err := in.tokenKinds(c)
	if err != nil {
		return err
	}
	made, err := in.persisted.judged(in, c, kinds)
	if err != nil {
		return err
	}
	x := &examination{conn: c, kinds: kinds, db: q.db, readOnly: q.readOnly}
	if err := x.look(text, tree, fed); err != nil {
		return err
	}
	if err := x.avoid(made); err != nil {
		return err
	}
	if len(x.unknown) == 0 {
		in.allowed.put(key, struct{}{})
	}
	return nil
}

// look judges one text. tree is the same text in a form that has a syntax tree.
func (x *examination) look(text, tree string, fed bool) error {
	if err := x.split(text); err != nil {
		return err
	}
	if err := x.checkTokens(); err != nil {
		return err
	}
	v, err := x.classify(tree)
	if err != nil {
		return err
	}
	x.class = v.class
	if v.count > 1 {
		return exception(codeSyntaxError, "SYNTAX_ERROR", "Multi-statements are not allowed: send them one by one")
	}
	if x.readOnly && v.flags&flagExternal != 0 {
		return errReadOnly
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
	out, err := x.buffered("EXPLAIN AST "+x.forTree(sql), "TSVRaw", nil)
	if err != nil {
		return nil, cmp.Or(x.syntaxError(sql), err)
	}
	return parseAST(string(out))
}

// forTree is the text as the parser gets it: without line breaks in quoted names, so that each node of the tree is one line,
// and with a number for each parameter, since parameters need not be set to define a view. Their types are judged as
// tokens, and their values by checkNames.
func (x *examination) forTree(sql string) string {
	b := []byte(sql)
	for i, t := range x.tokens {
		switch {
		case t.begin+len(t.text) > len(b):
			return string(b)
		case t.kind == "QuotedIdentifier":
			for j := t.begin; j < t.begin+len(t.text); j++ {
				if b[j] == '\n' || b[j] == '\r' {
					b[j] = ' '
				}
			}
		case t.kind == "OpeningCurlyBrace" && x.at(i+1).name != "" && x.at(i+2).kind == "Colon":
			for j := i + 3; j < len(x.tokens); j++ {
				if end := x.tokens[j]; end.kind == "ClosingCurlyBrace" && end.begin < len(b) {
					for k := t.begin; k <= end.begin; k++ {
						b[k] = ' '
					}
					b[t.begin] = '0'
					break
				}
			}
		}
	}
	return string(b)
}

// tokenKinds are the names of the lexer's tokens by their number, which is the engine's own affair.
func (in *instance) tokenKinds(c *conn) ([]string, error) {
	if k := in.lexer.Load(); k != nil {
		return *k, nil
	}
	text, err := c.value("SELECT toTypeName(tokenizeQuery(''))")
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, m := range enumValue.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || n != len(kinds) {
			return nil, exception(codeUnknownError, "", "the engine's lexer is not understood")
		}
		kinds = append(kinds, m[1])
	}
	in.lexer.Store(&kinds)
	return kinds, nil
}

var enumValue = regexp.MustCompile(`'(\w+)' = (\d+)`)

// split makes tokens of a text, without white space and comments.
func (x *examination) split(sql string) error {
	b, err := x.buffered("SELECT tokenizeQuery({q:String})", "RowBinary", []param{{"q", escapeParam(sql)}})
	if err != nil {
		return err
	}
	bad := exception(codeSyntaxError, "SYNTAX_ERROR", "the query could not be split into tokens")
	const size = 8 + 8 + 1
	n, k := binary.Uvarint(b)
	if k <= 0 || uint64(len(b)-k) != n*size {
		return bad
	}
	for b = b[k:]; len(b) > 0; b = b[size:] {
		begin, end, kind := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), int(b[16])
		if begin > end || end > uint64(len(sql)) || kind >= len(x.kinds) {
			return bad
		}
		t := token{kind: x.kinds[kind], text: sql[begin:end], begin: int(begin)}
		switch t.kind {
		case "Whitespace", "Comment", "EndOfStream":
			continue
		case "BareWord":
			t.name = strings.ToLower(t.text)
		case "QuotedIdentifier":
			// The lexer also takes typographic quotes.
			t.name = strings.ToLower(strings.Trim(t.text, "`\"“”"))
		}
		x.tokens = append(x.tokens, t)
	}
	return nil
}

// confine makes the request a read-only one.
func (r *request) confine() error {
	r.readOnly, r.guarded = true, true
	// It is read-only anyhow; a client that asks for it must not be refused.
	if v := r.settings["readonly"]; v == "1" || v == "2" {
		delete(r.settings, "readonly")
	}
	return checkReaderSettings(r.settings)
}

// checkReaderSettings refuses settings that are not on the list.
func checkReaderSettings(settings map[string]string) error {
	for name := range settings {
		e, ok := allowed().settings[name]
		if ok && e.sign == 0 && e.name == name {
			continue
		}
		if !ok {
			return exception(codeUnknownSetting, "UNKNOWN_SETTING", "Unknown setting '"+name+"'")
		}
		return exception(codeReadonly, "READONLY", "Cannot modify '"+name+"' setting in readonly mode"+where)
	}
	return nil
}

// checkNames refuses what the request names outside its text: settings, the format, and parameters.
func (q *query) checkNames() error {
	if q.readOnly {
		if err := checkReaderSettings(q.settings); err != nil {
			return err
		}
	}
	for name, value := range q.settings {
		if e := allowed().settings[name]; !q.readOnly && (e.sign == '-' || e.name != name) {
			return denied("the setting %s is not allowed here", name)
		}
		if err := literal("'" + value); err != nil {
			return err
		}
	}
	if q.format != "" && allowed().formats.refuses(q.format) {
		return denied("the format %s is not allowed here", q.format)
	}
	for _, p := range q.params {
		if err := literal("'" + p.value); err != nil {
			return err
		}
	}
	return nil
}
