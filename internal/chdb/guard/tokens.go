package guard

import (
	"strconv"
	"strings"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/exception"
)

// at returns the token at i, or an empty one if there is none.
func (x *examination) at(i int) token {
	if i < 0 || i >= len(x.tokens) {
		return token{}
	}
	return x.tokens[i]
}

// checkTokens judges the tokens one by one: by their names it finds what the parser's tree does not show.
func (x *examination) checkTokens() error {
	for i, t := range x.tokens {
		var err error
		switch t.kind {
		case "BareWord", "QuotedIdentifier":
			err = x.checkName(i)
		case "StringLiteral", "HereDoc":
			err = x.checkText(i)
		case "Equals":
			if x.at(i-1).name == "readonly" {
				err = exception.New(exception.Readonly, "READONLY", "Cannot modify 'readonly' setting in readonly mode")
			}
		default:
			if strings.HasPrefix(t.kind, "Error") {
				return exception.New(exception.SyntaxError, "SYNTAX_ERROR", "Syntax error: a token is not understood: "+t.text)
			}
		}
		if err != nil {
			return err
		}
	}
	return x.checkSettings()
}

// checkName refuses names at any place: functions that are not allowed, because a bare name can be passed to
// another function or to APPLY, and the type of parameters that become names. It also refuses formats and system
// tables that are not allowed.
func (x *examination) checkName(i int) error {
	t, l := x.tokens[i], allow.All()
	switch {
	case t.kind == "QuotedIdentifier" && strings.Contains(t.text, `\`):
		return denied("a name with an escape sequence is not allowed here: %s", t.text)
	case l.Functions[t.name].Bare && x.at(i+1).kind != "OpeningRoundBracket":
	case l.Functions.Refuses(t.name) || l.Aggregates.Refuses(t.name) || reserved[t.name]:
		return denied("the name %s is not allowed here", t.text)
	case t.name == "identifier" && x.at(i-1).kind == "Colon" && x.at(i+1).kind == "ClosingCurlyBrace":
		return denied("a parameter of the type Identifier is not allowed here: it would make a name of a text")
	case t.name == "format" && l.Formats.Refuses(x.at(i+1).name) && x.at(i+2).kind != "OpeningRoundBracket":
		return denied("the format %s is not allowed here", x.at(i+1).text)
	}
	table, ok := l.SystemTables[t.name]
	if x.at(i-1).kind == "Dot" && x.at(i-2).name == "system" || strings.EqualFold(x.db, "system") && ok &&
		table.Sign != 0 {
		return systemTable(t.name)
	}
	if whole, cut := strings.CutPrefix(t.name, "system."); cut && t.kind == "QuotedIdentifier" {
		return systemTable(whole)
	}
	return nil
}

// checkText refuses texts that name files as time zones; see literal. The tree does not show types that the parser
// itself reads, so escape sequences are not allowed in them.
func (x *examination) checkText(i int) error {
	t := x.tokens[i]
	if t.kind == "HereDoc" {
		_, body, _ := strings.Cut(t.text[1:], "$")
		return literal("'" + body)
	}
	if err := literal("'" + unescaped(t.text[1:])); err != nil {
		return err
	}
	if t.braces > 0 && strings.Contains(t.text, `\`) {
		return denied("an escape sequence in a parameter's type is not allowed here")
	}
	return nil
}

// unescaped resolves \xNN, which can stand for any letter, and drops the backslash of other escape sequences.
func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] == 'x' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// checkSettings refuses settings in the text, at any level. In a list after SETTINGS or SET, each name before a = must
// be on a list. At any place, the name of a setting that nobody may change is refused before a =.
func (x *examination) checkSettings() error {
	l := allow.All()
	var lists listing
	for i, t := range x.tokens {
		before := lists.list
		lists.pass(t, i == 0)
		if t.name == "" {
			continue
		}
		e, ok := l.Settings[t.name]
		table, ofTable := l.MergeTree[t.name]
		listed := before && x.at(i+1).kind == "Equals" || x.switchedOn(i)
		switch {
		case listed && ofTable && table.Sign == 0:
		case listed && !ok && !ofTable:
			return denied("the setting %s is not allowed here", t.text)
		case (listed || x.at(i+1).kind == "Equals") && (ok && e.Sign == '-' || !ok && ofTable && table.Sign == '-'):
			return denied("the setting %s is not allowed here", t.text)
		}
	}
	return nil
}

// switchedOn tells whether the name at i is a setting without a value, right after SETTINGS, that nobody may change.
func (x *examination) switchedOn(i int) bool {
	return x.at(i+1).kind != "Equals" && x.at(i-1).name == "settings" && allow.All().Settings[x.at(i).name].Sign == '-'
}

// listing follows a statement and knows which tokens are in a list of settings. A list begins after SETTINGS, or after
// a SET at the start of the statement. It ends at another clause or at the end of the brackets around it.
type listing struct {
	list  bool
	outer []bool // the value of list outside of each bracket around
}

// pass moves past a token.
func (l *listing) pass(t token, first bool) {
	switch t.kind {
	case "OpeningRoundBracket", "OpeningSquareBracket", "OpeningCurlyBrace":
		l.outer = append(l.outer, l.list)
		l.list = false
	case "ClosingRoundBracket", "ClosingSquareBracket", "ClosingCurlyBrace":
		l.list = false
		if last := len(l.outer) - 1; last >= 0 {
			l.list = l.outer[last]
			l.outer = l.outer[:last]
		}
	case "BareWord":
		switch t.name {
		case "settings":
			l.list = true
		case "set":
			l.list = first
		case "select", "where", "from", "by", "on", "having", "and", "or", "update", "then", "when", "else", "values":
			l.list = false
		}
	}
}

// checkHidden judges the parts that the parser's tree does not show: the values of an INSERT, the conditions of SHOW,
// and what APPLY applies. Only plain calls are allowed there, and no queries.
func (x *examination) checkHidden(root *node, fed bool) error {
	switch {
	case root.kind == "InsertQuery" && !fed && !root.has("SelectWithUnionQuery"):
		for i, t := range x.tokens {
			if t.name == "values" || t.name == "format" {
				return x.plain(i+1, len(x.tokens))
			}
		}
	case strings.HasPrefix(root.kind, "Show"):
		return x.plain(0, len(x.tokens))
	}
	if !x.apply {
		return nil
	}
	for i, t := range x.tokens {
		if t.name != "apply" {
			continue
		}
		end, depth := i+1, 0
		for ; end < len(x.tokens); end++ {
			switch x.tokens[end].kind {
			case "OpeningRoundBracket":
				depth++
			case "ClosingRoundBracket":
				depth--
			}
			if depth <= 0 && end > i+1 {
				break
			}
		}
		if err := x.plain(i+1, end); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) has(kind string) bool {
	for _, c := range n.children {
		if c.kind == kind {
			return true
		}
	}
	return false
}

// beforeBracket are words of SQL that a bracket may follow although they are no functions.
var beforeBracket = words("and or not in like ilike between is as case when then else end where from limit offset values array tuple cast x apply")

// plain judges the tokens between from and to. It allows only calls of functions that are on the list. Arguments that
// name a time zone or a type must be literals.
func (x *examination) plain(from, to int) error {
	for i := from; i < to; i++ {
		t := x.tokens[i]
		if t.kind == "BareWord" && (t.name == "select" || t.name == "with") {
			return denied("a query is not allowed at this place: write INSERT ... SELECT, or a query of system.tables")
		}
		if t.name == "" || x.at(i+1).kind != "OpeningRoundBracket" || beforeBracket[t.name] && t.kind == "BareWord" &&
			t.name != "array" && t.name != "tuple" && t.name != "cast" {
			continue
		}
		e, ok := allow.All().Function(t.name)
		if !ok || e.Sign != 0 || allow.All().TableFunctions.Refuses(t.name) {
			return denied("the function %s is not allowed at this place", t.text)
		}
		if (e.Zone >= 0 || e.HasType) && !x.plainArguments(i+1, e) {
			return denied("%s takes a time zone or a type only as a literal, not as an expression", t.text)
		}
	}
	return nil
}

// plainArguments tells whether those arguments of a call that name a time zone or a type are one literal each. open is
// the index of the call's bracket.
func (x *examination) plainArguments(open int, e allow.Entry) bool {
	arg, depth, length, last := 0, 0, 0, token{}
	plain := func() bool {
		checked := e.Zone >= 0 && arg >= e.Zone || e.HasType && (arg == e.Type || e.Type == allow.LastArgument)
		return !checked || length == 0 || length == 1 && last.kind != "BareWord" && last.kind != "QuotedIdentifier" &&
			!strings.Contains(last.text, `\`)
	}
	for i := open + 1; i < len(x.tokens); i++ {
		switch t := x.tokens[i]; t.kind {
		case "OpeningRoundBracket", "OpeningSquareBracket", "OpeningCurlyBrace":
			depth++
			length++
		case "ClosingRoundBracket", "ClosingSquareBracket", "ClosingCurlyBrace":
			if depth--; depth < 0 {
				return plain()
			}
		case "Comma":
			if depth == 0 {
				if !plain() {
					return false
				}
				arg, length = arg+1, 0
				continue
			}
		default:
			length++
			last = t
		}
	}
	return false
}
