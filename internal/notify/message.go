package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"dealhouse/internal/receiver"
	"dealhouse/internal/term"
)

// Message is what a receiver is told, and what its template is given. Its texts are escaped for the form of the
// receiver, except in json, where the function json does that.
type Message struct {
	ID       string    // equal ones are the same message (notify-3)
	Receiver string    // its name
	Event    string    // failing, guarded, stale, recovered, findings, drift, warehouse or test
	Account  string    // that it is about; empty: several, or none
	Streams  []string  // that it is about; if it is about several accounts, each with its account
	Title    string    // a line
	Text     string    // all of it, in lines
	Link     string    // to the page about it; empty: the page has no known address
	At       time.Time // when it was noticed, in UTC
	Attempt  int       // 1 is the first
}

// sample is for the check of a template, and for a test.
var sample = Message{
	ID: "00000000-0000-0000-0000-000000000000", Receiver: "sample", Event: receiver.EventTest, Account: "acme",
	Streams: []string{"a stream"},
	Title:   "A test", Text: "A test", Link: "https://deals.example.com", At: time.Unix(0, 0).UTC(), Attempt: 1,
}

// Limits of what is written, in bytes.
const (
	maxTitle = 160
	maxText  = 4 << 10
	maxBody  = 32 << 10
)

// Limits of a line about one thing, in bytes, and of the number of lines.
const (
	maxLine  = 500
	maxLines = 20
)

// clip shortens a text to the given number of bytes, in whole characters, and marks the end with dots.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("...")], "") + "..."
}

// line makes a text of the API fit for a message (notify-7).
func line(text string) string { return clip(term.Line(text), maxLine) }

// escaped returns the message with its texts as a form needs them.
func (m Message) escaped(escape func(string) string) Message {
	m.Title, m.Text, m.Account = escape(m.Title), escape(m.Text), escape(m.Account)
	streams := make([]string, len(m.Streams))
	for i, s := range m.Streams {
		streams[i] = escape(s)
	}
	m.Streams = streams
	return m
}

// link returns the address of the page that a message is about.
func (t *target) link(m Message) string {
	switch {
	case t.Page == "":
		return ""
	case m.Event == receiver.EventFindings:
		return t.Page + "/payouts"
	case m.Account != "" && len(m.Streams) == 1 && m.Event != receiver.EventTest:
		return t.Page + "/streams/" + url.PathEscape(m.Account) + "/" + url.PathEscape(m.Streams[0])
	}
	return t.Page + "/"
}

// body returns the built-in text of a message.
func (m Message) body() string {
	text := m.Title + "\n" + m.Text
	if m.Link != "" {
		text += "\n" + m.Link
	}
	if m.Attempt > 1 {
		text += "\nThis was sent before and may be a repetition: " + m.ID
	}
	return text
}

// render returns the text of a message in the form of its receiver: that of the template, or the built-in one.
func (t *target) render(m Message) (string, error) {
	m = m.escaped(t.escape())
	if t.text == nil {
		return m.body(), nil
	}
	var b bounded
	if err := t.text.Execute(&b, m); err != nil {
		return m.body(), fmt.Errorf("the template cannot be filled in: %w", err)
	}
	if t.Form == receiver.JSON && !json.Valid(b.Bytes()) {
		return m.body(), errors.New("the result of the template is not JSON: write texts as {{json .Title}}")
	}
	return b.String(), nil
}

// bounded takes what a template writes.
type bounded struct{ bytes.Buffer }

// Write refuses more than a message may have.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxBody {
		return 0, fmt.Errorf("it gives more than %d bytes", maxBody)
	}
	return b.Buffer.Write(p)
}

// quoteJSON is the function json of templates.
func quoteJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}
