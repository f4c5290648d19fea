package term

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"
)

// Ordinary text of any script does not change, nor do the invisible characters that its script needs.
func TestOrdinaryTextStays(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "plain = \"quoted\" \\ <b>", "Größe, naïve, Ελλάδα, Україна, Ünïcödé", "日本語、葛\U000e0100城", "한국어", "עברית",
		"العربية ١٢٣", "می\u200cخواهم", "क्\u200dष",
		"ไทย\u200bไทย", "ខ្មែរ\u200bខ្មែរ", "👩‍👩‍👧‍👦 ❤️‍🔥 1️⃣ 👍🏽 🏳️‍🌈 ©️", "100 % – 5 €",
		"non\u00a0breaking\u202fspaces\u3000here", "e\u0301", "\ufffd", "\u0600١",
	} {
		if got := Line(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Every character that Unicode calls a control, a format, a separator of lines or ignorable, after any letter of Latin.
func TestEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		hidden := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector) &&
			!unicode.In(r, unicode.Prepended_Concatenation_Mark, unicode.Egyptian_Hieroglyphs)
		if got := shows(r, 'a'); got == hidden {
			t.Fatalf("%U shows: %v", r, got)
		}
	}
}

func TestWhatSteersIsVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\x1b[31mb\x00\a\b\v\f\x7f":                      `a\u001b[31mb\u0000\u0007\u0008\u000b\u000c\u007f`,
		"\u0085\u009b31m\u009d8;;x\u009c":                 `\u0085\u009b31m\u009d8;;x\u009c`,
		"one\ntwo\r\nthree\tfour\rover":                   `one\ntwo\r\nthree\tfour\rover`,
		"\u202egnp.exe\u2066\u2069\u200e":                 `\u202egnp.exe\u2066\u2069\u200e`,
		"\u061c\u200f\u2028\u2029":                        `\u061c\u200f\u2028\u2029`,
		"pay\u200bpal pay\u200dpal\u200c":                 `pay\u200bpal pay\u200dpal\u200c`,
		"so\u00adft \ufeff\u2060\u2063\u3164\uffa0\u034f": `so\u00adft \ufeff\u2060\u2063\u3164\uffa0\u034f`,
		"x\U000e0041\U000e007f":                           `x\udb40\udc41\udb40\udc7f`,
		"a\ufe0f 字\ufe00\ufe01 字\u200d\u200d":             `a\ufe0f 字` + "\ufe00" + `\ufe01 字` + "\u200d" + `\u200d`,
		"lone \x9b and \xe2\x80 end\xff":                  `lone \x9b and \xe2\x80 end\xff`,
	} {
		if got := Line(text); got != want {
			t.Errorf("%q became\n%s, want\n%s", text, got, want)
		}
	}
	if got, want := Text("a\n\tb\rc\x1b"), "a\n\tb"+`\rc\u001b`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestJSONIsEqual(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain", "\x7f\u0080\u009b\u202e\u2028\ufeff\U000e0041 <&> 字\u200d日本 👩‍👩‍👧",
		"line\nbreak\t\x1b"} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "\t")
		if err := enc.Encode(map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		shown := JSON(b.Bytes())
		var got map[string]string
		if err := json.Unmarshal(shown, &got); err != nil || got[text] != text {
			t.Errorf("%q became %q: %v", text, shown, err)
		}
		if steers(string(shown), "\n\t") {
			t.Errorf("%q", shown)
		}
	}
	if got := string(JSON([]byte("{\"raw\": \"\xff\u009b\"}"))); got != `{"raw": "\ufffd\u009b"}` {
		t.Errorf("%s", got)
	}
}

func TestCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\tx": "'\tx", "\rx": `'\rx`, "\n=1": "'\n=1",
		"  =1": "'  =1", "\u3000=1": "'\u3000=1",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠x": "'＠x", "﹦1": "'﹦1", "\u200b=1": `\u200b=1`,
		"a=1": "a=1", "": "", "'=1": "'=1", "two\r\nlines\rover": "two\nlines" + `\rover`, "\u009b\u202e": `\u009b\u202e`,
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		var b strings.Builder
		w := csv.NewWriter(&b)
		if err := w.WriteAll([][]string{{Cell(text), "end"}}); err != nil {
			t.Fatal(err)
		}
		if got, err := csv.NewReader(strings.NewReader(b.String())).ReadAll(); err != nil ||
			!reflect.DeepEqual(got, [][]string{{want, "end"}}) {
			t.Errorf("%q is read as %q: %v", text, got, err)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, fits := range []string{"", "short", strings.Repeat("x", MaxEcho)} {
		if got := Clip(fits); got != fits {
			t.Errorf("%d bytes became %d", len(fits), len(got))
		}
	}
	long := strings.Repeat("字", 50_000)
	if got := Clip(long); len(got) > MaxEcho+len("... (150000 bytes)") || !strings.HasSuffix(got, "字... (150000 bytes)") {
		t.Errorf("%d bytes, which end with %q", len(got), got[len(got)-30:])
	}
	if got := Clip(strings.Repeat("\x80", 2*MaxEcho)); !strings.HasSuffix(got, "... (8192 bytes)") {
		t.Errorf("it ends with %q", got[len(got)-30:])
	}
}

func TestWriter(t *testing.T) {
	t.Parallel()
	text := "\ufeffa,b\n می\u200cخواهم \x1b]8;;x\a \u009b31m 👩‍👧 1️⃣ \ufeff \xe2\x80 \xf0\x9f"
	want := "\ufeff" + Text(strings.TrimPrefix(text, "\ufeff"))
	for name, size := range map[string]int{"in one": len(text), "byte by byte": 1, "by sevens": 7} {
		var b strings.Builder
		w := NewWriter(&b)
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			if n, err := w.Write([]byte(rest[:min(size, len(rest))])); err != nil || n != min(size, len(rest)) {
				t.Fatal(n, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("%s: %q, want %q", name, b.String(), want)
		}
	}
	w := NewWriter(iotest.TruncateWriter(failing{}, 0))
	if _, err := w.Write([]byte("\x1b")); err != nil {
		t.Error(err)
	}
	if _, err := NewWriter(failing{}).Write([]byte("\x1b")); err == nil {
		t.Error("an error of the writer behind was lost")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, iotest.ErrTimeout }

// steers is written independently of the code above: with code points, where that uses properties.
func steers(text, allowed string) bool {
	if !utf8.ValidString(text) {
		return true
	}
	return strings.ContainsFunc(text, func(r rune) bool {
		if strings.ContainsRune(allowed, r) {
			return false
		}
		return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xad || r == 0x61c || r == 0x200e || r == 0x200f || r >= 0x2028 &&
			r <= 0x202e ||
			r >= 0x2060 && r <= 0x206f || r == 0xfeff || r >= 0xe0000 && r < 0xe0100 || r == 0x3164
	})
}

func FuzzVisible(f *testing.F) {
	for _, seed := range []string{"plain", "\x1b[2J\u009b\u202e\r\n\xff", "字\u200d\U000e0041", "=1"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		line := Line(text)
		if steers(line, "") || strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%q became %q", text, line)
		}
		if again := Line(line); again != line {
			t.Errorf("%q became %q, and then %q", text, line, again)
		}
		if cell := Cell(text); steers(cell, "\n\t") {
			t.Errorf("%q became the cell %q", text, cell)
		}
		document, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := json.Unmarshal(document, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(JSON(document), &after); err != nil || before != after ||
			steers(string(JSON(document)), "") {
			t.Errorf("%q became %q: %v", document, JSON(document), err)
		}
		var b strings.Builder
		w := NewWriter(&b)
		cut := max(0, min(at, len(text)))
		_, _ = w.Write([]byte(text[:cut]))
		_, _ = w.Write([]byte(text[cut:]))
		_ = w.Flush()
		mark := ""
		if strings.HasPrefix(text, byteOrderMark) {
			mark, text = byteOrderMark, text[len(byteOrderMark):]
		}
		if want := mark + Text(text); b.String() != want {
			t.Errorf("cut at %d: %q, want %q", cut, b.String(), want)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	for name, text := range map[string]string{"ascii": strings.Repeat("a line of plain text\n", 3000),
		"japanese": strings.Repeat("日本語の説明\n", 3000)} {
		b.Run(name, func(b *testing.B) {
			w := NewWriter(discard{})
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, _ = w.Write([]byte(text))
			}
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
