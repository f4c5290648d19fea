package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/receiver"
)

const oneAccount = "[[account]]\nname = \"acme\"\nbase_url = \"https://api.example.com\"\napi_key = \"env:KEY\"\n"

// The example of a receiver says which keys it may have: with keys of other forms it is refused, and without them
// it is accepted.
func TestReceiverOfTheExample(t *testing.T) {
	t.Parallel()
	_, receiver, _ := strings.Cut(exampleText(), "#   [[receiver]]\n")
	text := oneAccount + "[[receiver]]\n" + regexp.MustCompile(`(?m)^#   `).ReplaceAllString(receiver, "")
	for _, name := range []string{"token", "server", "tls", "user", "password", "from", "to", "accounts"} {
		text = regexp.MustCompile(`(?m)^`+name+` = .*\n`).ReplaceAllString(text, "")
	}
	got := mustLoad(t, source(text, "KEY=k", "OPS_WEBHOOK=https://hooks.example.com/T0/secret")).Receivers
	want := []Receiver{{
		Name: "ops", Form: "slack", URL: NewSecret("https://hooks.example.com/T0/secret"), TLS: "starttls",
		Events: []string{"failing", "guarded", "recovered"}, Streams: []string{"transactions", "payouts"}, After: 1,
		Template: "{{.Title}}: {{.Text}}",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if shown := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(shown, "secret") {
		t.Errorf("a receiver shows its URL: %s", shown)
	}
}

func TestReceivers(t *testing.T) {
	t.Parallel()
	const hook = "name = \"a\"\nform = \"json\"\nurl = \"env:HOOK\"\n"
	for name, c := range map[string]struct {
		text string
		env  []string
		want string // part of the one problem; "": the receiver is accepted
	}{
		"a webhook":       {hook, []string{"HOOK=https://example.com/x"}, ""},
		"on this machine": {hook, []string{"HOOK=http://127.0.0.1:8080/x"}, ""},
		"a mail":          {"name = \"a\"\nform = \"mail\"\nserver = \"localhost:25\"\ntls = \"none\"\nfrom = \"a@example.com\"\nto = \"Ops <b@example.com>, c@example.com\"", nil, ""},
		"a variable sets the URL": {"name = \"a\"\nform = \"json\"\nurl = \"env:HOOK\"",
			[]string{"HOOK=https://example.com/x", "DEALHOUSE_RECEIVER_A_URL=env:DEALHOUSE_HOOK",
				"DEALHOUSE_HOOK=https://example.com/y"}, ""},
		"unencrypted": {hook, []string{"HOOK=http://example.com/hidden"},
			`receiver "a": url must be https://`},
		"no URL":      {hook, []string{"HOOK=hidden"}, `receiver "a": url must be a URL`},
		"not set":     {hook, nil, `receiver "a": url: environment variable HOOK is not set`},
		"without one": {"name = \"a\"\nform = \"slack\"", nil, `receiver "a" lacks url`},
		"a key of another form": {hook + "server = \"localhost:25\"", []string{"HOOK=https://example.com"},
			"server has no meaning for the form json"},
		"a form that there is not": {"name = \"a\"\nform = \"sms\"", nil, "must be json, slack, teams, mail or ping"},
		"an event that there is not": {hook + "events = \"failing faling\"", []string{"HOOK=https://example.com"},
			`"faling" is not`},
		"an event of another form": {hook + "events = \"start\"", []string{"HOOK=https://example.com"},
			`"start" is none`},
		"an account that there is not": {hook + "accounts = \"acme globex\"", []string{"HOOK=https://example.com"},
			`there is no account "globex"`},
		"a stream that there is not": {hook + "streams = \"coupon\"", []string{"HOOK=https://example.com"},
			`"coupon" is not`},
		"no template": {hook + "template = \"{{.Title\"", []string{"HOOK=https://example.com"},
			"is not a template"},
		"two of a name": {hook + "[[receiver]]\n" + hook, []string{"HOOK=https://example.com"},
			`a second receiver "a"`},
		"unencrypted mail": {"name = \"a\"\nform = \"mail\"\nserver = \"x.org:25\"\ntls = \"none\"\n" +
			"from = \"a@x.org\"\nto = \"b@x.org\"", nil, `receiver "a": tls none is for a mail server on this machine`},
		"two senders": {"name = \"a\"\nform = \"mail\"\nserver = \"x.org:25\"\n" +
			"from = \"a@x.org, b@x.org\"\nto = \"b@x.org\"", nil, "must be a mail address"},
		"a password without a user": {"name = \"a\"\nform = \"mail\"\nserver = \"x:25\"\nfrom = \"a@x.org\"\nto = \"b@x.org\"\npassword = \"env:HOOK\"", []string{"HOOK=p"}, "user and password go together"},
		"no addresses":              {"name = \"a\"\nform = \"mail\"\nserver = \"x:25\"\nfrom = \"a@x.org\"\nto = \"b@x.org\\r\\nBcc: c@x.org\"", nil, "must be a mail address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := problems(t, source(oneAccount+"[[receiver]]\n"+c.text, append([]string{"KEY=k"}, c.env...)...))
			switch {
			case c.want == "" && len(got) > 0, c.want != "" && len(got) != 1:
				t.Errorf("problems: %q, want %q", got, c.want)
			case c.want != "" && !strings.Contains(got[0], c.want):
				t.Errorf("problem %q, want %q", got[0], c.want)
			}
			if strings.Contains(strings.Join(got, ""), "hidden") {
				t.Errorf("a problem shows the URL: %q", got)
			}
		})
	}
}

// Every key that a receiver may have is explained where receivers are configured.
func TestReceiversAreExplained(t *testing.T) {
	t.Parallel()
	docs := map[string]string{}
	for _, k := range receiverKeys() {
		docs[k.name] = k.doc
	}
	for name, words := range map[string][]string{
		"form": receiver.FormNames(), "tls": receiver.TLSWays(),
		"events": append(receiver.Events(), receiver.Signals()...),
	} {
		for _, word := range words {
			if !strings.Contains(docs[name], strconv.Quote(word)) {
				t.Errorf("%s does not say what %q is", name, word)
			}
		}
	}
	for _, form := range receiver.Forms() {
		for _, name := range append(form.Needs, form.Takes...) {
			if docs[name] == "" {
				t.Errorf("the form %s has a key %s, which there is not", form.Name, name)
			}
		}
	}
}

// The password of the daemon's port is not used for any receiver.
func TestReceiverInheritsNothing(t *testing.T) {
	t.Parallel()
	src := source("[daemon]\nuser = \"ops\"\npassword = \"env:DAEMON\"\n"+oneAccount+
		"[[receiver]]\nname = \"a\"\nform = \"mail\"\nserver = \"x.org:587\"\nfrom = \"a@x.org\"\nto = \"b@x.org\"", "KEY=k",
		"DAEMON=p")
	if r := mustLoad(t, src).Receivers[0]; r.User != "" || r.Password.Resolved() {
		t.Errorf("user %q, a password: %t", r.User, r.Password.Resolved())
	}
}
