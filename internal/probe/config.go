package probe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/catalog"
)

// Config is what a configuration has beside the findings.
type Config struct {
	Account    string
	Key        string // as the configuration names it: "env:NAME" or "file:PATH"
	PayoutsKey string // "": there is none
	DSN        string // of the warehouse
	At         time.Time
	// AllowInsecure permits http to another machine.
	AllowInsecure bool
}

// TOML writes a configuration in which each setting has beside it what the probe found.
func (r *Report) TOML(c Config) string {
	w := &tomlWriter{}
	w.comment("Written by `dealhouse init` on %s, after %d requests. Every key that a configuration can have is in config.example.toml.",
		c.At.UTC().Format(time.DateOnly), r.Requests)
	if r.Ended != "" {
		w.comment("Not everything could be asked: %s.", r.Ended)
	}
	w.table("[warehouse]")
	w.set("dsn", c.DSN)
	w.table("[[account]]")
	w.set("name", c.Account)
	w.because(r, "which base_url")
	w.set("base_url", r.BaseURL)
	w.set("api_key", c.Key)
	if c.AllowInsecure {
		w.line("allow_insecure = true")
	}
	w.table("[account.params]")
	w.because(r, askAfter)
	w.set("updated_after", r.Settings.UpdatedAfter)
	w.because(r, askBefore)
	w.set("updated_before", r.Settings.UpdatedBefore)
	w.because(r, askPage)
	w.set("page", r.Settings.Page)
	w.because(r, askCursor)
	w.set("cursor", r.Settings.Cursor)
	for _, s := range catalog.All() {
		why, refused := r.Settings.Refused[s.Name]
		own := s.Payouts && r.Settings.OwnPayoutsKey && !refused
		if !refused && !own {
			continue
		}
		w.table("[account.streams." + s.Name + "]")
		if refused {
			w.comment("%s", why)
			w.line("enabled = false")
		}
		if own {
			w.set("api_key", c.PayoutsKey)
		}
	}
	w.line("")
	w.comment("What else was found:")
	for _, f := range r.Findings {
		if !slices.Contains(w.told, f.Question) {
			w.comment("- %s: %s", f.Question, f.text())
		}
	}
	return w.b.String()
}

// text is the answer with what it rests on.
func (f Finding) text() string {
	return fmt.Sprintf("%s (%s: %s)", f.Answer, f.Confidence, f.Evidence)
}

type tomlWriter struct {
	b    strings.Builder
	told []string // questions
}

func (w *tomlWriter) line(text string)  { w.b.WriteString(text + "\n") }
func (w *tomlWriter) table(name string) { w.line("\n" + name) }

func (w *tomlWriter) set(key, value string) { w.line(key + " = " + strconv.Quote(value)) }

// because writes what was found about a question.
func (w *tomlWriter) because(r *Report, question string) {
	w.told = append(w.told, question)
	for _, f := range r.Findings {
		if f.Question == question {
			w.comment("%s: %s", f.Question, f.text())
		}
	}
}

// comment writes one line. What the API sent cannot end it.
func (w *tomlWriter) comment(format string, args ...any) {
	text := strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == '\u2028' || c == '\u2029' || c >= 0x80 && c < 0xa0 {
			return ' '
		}
		return c
	}, fmt.Sprintf(format, args...))
	const width = 110
	line := "#"
	for word := range strings.FieldsSeq(strings.ToValidUTF8(text, "?")) {
		if len(line)+1+len(word) > width && line != "#" {
			w.line(line)
			line = "#"
		}
		line += " " + word
	}
	w.line(line)
}
