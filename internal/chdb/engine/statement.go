package engine

import "strings"

// This file knows only as much SQL as a transport needs: where an INSERT's data begins and which FORMAT a query names.
// Nothing about safety depends on it; the read-only door asks the engine's own lexer and parser.

// scanner splits SQL into words and everything else.
type scanner struct {
	s   string
	pos int
}

// next returns the next token: a word as it is written, "'" for any literal or quoted name, a single character for
// anything else, and "" at the end.
func (z *scanner) next() string {
	for z.pos < len(z.s) {
		rest := z.s[z.pos:]
		switch c := rest[0]; {
		case c <= ' ':
			z.pos++
		case strings.HasPrefix(rest, "--") || c == '#' && len(rest) > 1 && (rest[1] == ' ' || rest[1] == '!'):
			z.skipTo("\n", 1)
		case strings.HasPrefix(rest, "/*"):
			z.skipTo("*/", 2)
		case c == '\'' || c == '"' || c == '`':
			z.skipQuoted(c)
			return "'"
		case c == '$' && z.skipHeredoc():
			return "'"
		case isWord(c):
			n := 1
			for n < len(rest) && isWord(rest[n]) {
				n++
			}
			z.pos += n
			return rest[:n]
		default:
			z.pos++
			return rest[:1]
		}
	}
	return ""
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// skipTo moves past the next end. It begins to search `from` bytes after the current position.
func (z *scanner) skipTo(end string, from int) {
	from = min(z.pos+from, len(z.s))
	i := strings.Index(z.s[from:], end)
	if i < 0 {
		z.pos = len(z.s)
		return
	}
	z.pos = from + i + len(end)
}

func (z *scanner) skipQuoted(quote byte) {
	for z.pos++; z.pos < len(z.s); z.pos++ {
		switch z.s[z.pos] {
		case '\\':
			z.pos++
		case quote:
			z.pos++
			return
		}
	}
	z.pos = len(z.s)
}

// skipHeredoc moves past $tag$...$tag$ if the text continues with one.
func (z *scanner) skipHeredoc() bool {
	rest := z.s[z.pos:]
	n := 1
	for n < len(rest) && isWord(rest[n]) {
		n++
	}
	if n == len(rest) || rest[n] != '$' {
		return false
	}
	tag := rest[:n+1]
	if !strings.Contains(rest[len(tag):], tag) {
		return false
	}
	z.skipTo(tag, len(tag))
	return true
}

// Statement is what the transport needs to know about a query.
type Statement struct {
	verb   string // the first word after any opening parentheses, in upper case
	format string // the FORMAT that the text names, or ""
	// The time limit and its mode in the SETTINGS, as text; "" if they are not set there.
	timeLimit, timeOverflow string

	// For an INSERT that takes data:
	Insert  bool   // it ends in FORMAT or VALUES, with or without data after that
	values  bool   // it ends in VALUES or FORMAT Values
	Head    string // the statement without its FORMAT or VALUES clause
	data    string // what follows the clause
	dataAny bool   // there is more than white space in data
	// temporary is set for statements that may leave a temporary table behind.
	temporary bool
}

// ParseStatement reads the outer level of a query.
func ParseStatement(sql string) Statement {
	z := scanner{s: sql}
	tok := z.next()
	for tok == "(" {
		tok = z.next()
	}
	st := Statement{verb: strings.ToUpper(tok)}
	if st.verb == "INSERT" {
		st.parseInsert(&z)
		return st
	}
	depth, settings := 0, false
	for {
		tok := z.next()
		switch {
		case tok == "":
			return st
		case tok == "(":
			depth++
		case tok == ")":
			depth--
		case strings.EqualFold(tok, "SETTINGS") && depth <= 0:
			settings = true
		case settings && tok == maxExecutionTime:
			st.timeLimit = z.value()
		case settings && tok == timeoutOverflowMode:
			st.timeOverflow = z.value()
		case strings.EqualFold(tok, "TEMPORARY") || strings.EqualFold(tok, "TEMP"):
			st.temporary = true
		case strings.EqualFold(tok, "FORMAT") && depth <= 0:
			// The last one counts: a column may have the same name.
			st.format = z.peekWord()
		}
	}
}

// parseInsert finds the clause that data follow. An INSERT with SELECT or the like has no such clause.
func (st *Statement) parseInsert(z *scanner) {
	for depth := 0; ; {
		before := z.pos
		tok := z.next()
		switch {
		case tok == "":
			return
		case tok == "(":
			depth++
		case tok == ")":
			depth--
		case depth > 0:
		case isAny(tok, "SELECT", "WITH", "FROM", "WATCH"):
			return
		case strings.EqualFold(tok, "VALUES"):
			st.Insert, st.values, st.format = true, true, "Values"
		case strings.EqualFold(tok, "FORMAT"):
			name := z.peekWord()
			if name == "" {
				return
			}
			z.next()
			st.Insert, st.format = true, name
			st.values = strings.EqualFold(name, "Values")
		}
		if st.Insert {
			st.Head = strings.TrimSpace(z.s[:before])
			st.data = z.s[z.pos:]
			// The line break after the clause is not data.
			st.data = strings.TrimLeft(st.data, " \t")
			st.data = strings.TrimPrefix(strings.TrimPrefix(st.data, "\r"), "\n")
			st.dataAny = strings.Trim(st.data, " \t\r\n;") != ""
			return
		}
	}
}

// value returns the value of a setting if the next token is =: one word or number, without quotes. Otherwise it returns
// "". It moves no further.
func (z *scanner) value() string {
	if y := *z; y.next() == "=" {
		rest := strings.TrimLeft(y.s[y.pos:], " \t\r\n")
		if end := strings.IndexAny(rest, " \t\r\n,;)"); end >= 0 {
			rest = rest[:end]
		}
		return strings.Trim(rest, "'")
	}
	return ""
}

// peekWord returns the next token if it is a word, and otherwise "". It moves no further.
func (z *scanner) peekWord() string {
	y := *z
	if tok := y.next(); tok != "" && isWord(tok[0]) {
		return tok
	}
	return ""
}

func isAny(tok string, words ...string) bool {
	for _, w := range words {
		if strings.EqualFold(tok, w) {
			return true
		}
	}
	return false
}
