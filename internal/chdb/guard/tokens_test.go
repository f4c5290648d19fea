package guard

import (
	"strings"
	"testing"
	"time"
)

// kinds maps the tokens in the tests to their kinds. Other tokens are recognized by their form.
var kinds = map[string]string{
	"=": "Equals", ",": "Comma", ":": "Colon", "(": "OpeningRoundBracket", ")": "ClosingRoundBracket",
	"{": "OpeningCurlyBrace", "}": "ClosingCurlyBrace",
}

// tokensOf splits a text at its spaces into tokens, with names and texts as split finds them.
func tokensOf(text string) (tokens []token) {
	begin, braces := 0, 0
	for word := range strings.SplitSeq(text, " ") {
		t := token{kind: kinds[word], text: word, begin: begin, braces: braces}
		begin += len(word) + 1
		switch {
		case word == "{":
			braces++
		case word == "}":
			braces--
		case word[0] == '\'':
			t.kind = "StringLiteral"
		case t.kind == "":
			t.kind, t.name = "BareWord", word
		}
		tokens = append(tokens, t)
	}
	return tokens
}

// TestLookIsLinear: the cost of a text grows with its length, not with the square of its length. One measured time says
// nothing, because the machine does other things as well. So the test fails only if, ten times in a row, a text of four
// times the length takes at least eight times as long.
func TestLookIsLinear(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"a = ", `'\\' , `, "{ a : ", "{ a : String } , ", "a = ( b = ", ") a = "} {
		look := func(pieces int) time.Duration {
			text := "select " + strings.Repeat(piece, pieces) + "1"
			x := &examination{tokens: tokensOf(text)}
			begin := time.Now()
			_ = x.checkTokens()
			if tree := x.forTree(text); len(tree) != len(text) {
				t.Errorf("%q: %d bytes became %d", piece, len(text), len(tree))
			}
			return time.Since(begin)
		}
		const pieces = 5_000
		short, long := look(pieces), look(4*pieces)
		for range 10 {
			if long < 8*short {
				break
			}
			short, long = look(pieces), look(4*pieces)
		}
		if long >= 8*short {
			t.Errorf("%q: %s became %s", piece, short, long)
		}
	}
}

// TestListsOfSettings: in a list of settings, an unknown one is refused.
func TestListsOfSettings(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{
		"select 1 settings nonsense = 1":                              true,
		"select 1 settings max_threads = 1 , nonsense = 1":            true,
		"select ( select 1 settings max_threads = 1 , nonsense = 1 )": true,
		"select 1 settings max_threads = ( 1 ) , nonsense = 1":        true,
		"set nonsense = 1":                                                true,
		"explain select 1 ) settings nonsense = 1":                        true,
		"select ( select 1 settings max_threads = 1 ) , nonsense = 1":     false,
		"select 1 settings max_threads = 1 union all select nonsense = 1": false,
		"select f ( settings ) , nonsense = 1":                            false,
		"select nonsense = 1":                                             false,
		"alter table x update set nonsense = 1":                           false,
	} {
		x := &examination{tokens: tokensOf(text)}
		if err := x.checkSettings(); (err != nil) != refused {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestForTree: each parameter becomes a number, and no line break is left in a name.
func TestForTree(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"select { a : String } , { b : Map ( String ) } + x": "select 0              , 0                      + x",
		"select { a : { b : String }":                        "select 0                   ",
		"select { 'a' : 1 } , { a : b":                       "select { 'a' : 1 } , { a : b",
	} {
		x := &examination{tokens: tokensOf(text)}
		if got := x.forTree(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	name := token{kind: "QuotedIdentifier", text: "`a\nb`"}
	x := &examination{tokens: []token{name}}
	if got := x.forTree(name.text); got != "`a b`" {
		t.Errorf("%q", got)
	}
}
