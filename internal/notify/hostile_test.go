package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
)

// A receiver that hangs, never ends, redirects or answers nonsense is a failed attempt. Nothing of its answer is shown,
// and the other receivers do not wait for it.
func TestHostileReceivers(t *testing.T) {
	t.Parallel()
	var inside atomic.Int64
	internal := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	t.Cleanup(internal.Close)
	answers := map[string]struct {
		http.HandlerFunc
		want string
	}{
		"hangs": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "it did not answer within 300ms"},
		"endless body": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, ""},
		"endless failure": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, "it answers 502 Bad Gateway"},
		"huge header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 2*maxHeader))
		}, "server response headers exceeded"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, internal.URL, http.StatusTemporaryRedirect)
		}, "redirects are not followed"},
		"nonsense": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = conn.Write([]byte("\x1b[2J\x00 nonsense with " + secret + "\r\n\r\n"))
				_ = conn.Close()
			}
		}, "malformed HTTP"},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	}
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t)
			h.answer = c.HandlerFunc
			r, err := Compile([]Receiver{{Name: "ops", Form: receiver.JSON,
				URL: h.URL + "/" + secret + "?token=" + secret, Token: secret}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.all[0].patience = unhurried
			if name == "hangs" {
				r.all[0].patience = 300 * time.Millisecond
			}
			err = r.Test(t.Context(), time.Now())[0].Err
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			case err != nil && (strings.Contains(err.Error(), secret) || strings.ContainsAny(err.Error(), "\x1b\x00\n")):
				t.Errorf("it shows what it must not: %q", err)
			}
		})
	}
	t.Cleanup(func() {
		if inside.Load() > 0 {
			t.Error("a redirect was followed")
		}
	})
}

// answering returns the answer of a receiver, and then ends the receiver's time.
type answering struct {
	http.RoundTripper
	cancel context.CancelFunc
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := a.RoundTripper.RoundTrip(r)
	a.cancel()
	return answer, err
}

// A receiver whose answer has no end has answered with its status, and its answer is read no longer than
// its time allows.
func TestAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	h.answer = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := Compile([]Receiver{h.webhook("ops")}, answering{newClient(nil).Transport, cancel})
	if err != nil {
		t.Fatal(err)
	}
	r.all[0].patience = unhurried
	if err := r.Test(ctx, time.Now())[0].Err; err != nil {
		t.Error(err)
	}
}

// No error, log line or row shows a secret, whatever goes wrong.
func TestSecretsStaySecret(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h, ops := newHouse(t), newHook(t)
	h.hasty = 2 * time.Second // none of them accepts anything: looking up an unknown name may take long
	ops.fail(http.StatusForbidden)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	receivers := []Receiver{
		{Name: "refused", Form: receiver.JSON, URL: ops.URL + "/" + secret, Token: secret},
		{Name: "gone", Form: receiver.Slack, URL: gone.URL + "/" + secret + "?key=" + secret},
		{Name: "nowhere", Form: receiver.Teams, URL: "https://user:" + secret + "@" + "nowhere.invalid/" + secret},
		{Name: "port", Form: receiver.Ping, URL: "http://127.0.0.1:1/" + secret},
		{Name: "mail", Form: receiver.Mail, Server: "127.0.0.1:1", TLS: "none", User: "u", Password: secret,
			From: "a@example.com", To: "b@example.com"},
	}
	n := h.notifier(receivers...)
	h.run("acme", "coupons", "failed", "told to fail")
	h.turn(n)
	n.pingHealth(t.Context())
	all, err := h.w.Notifications(t.Context(), "", 100)
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	for _, tried := range h.compile(receivers...).Test(t.Context(), time.Now()) {
		if tried.Err == nil || strings.Contains(tried.Err.Error(), secret) {
			t.Errorf("a test of %s: %v", tried.Receiver, tried.Err)
		}
	}
	if shown := fmt.Sprintf("%+v", all); strings.Contains(shown, secret) ||
		strings.Count(h.log.String(), "did not accept a notification") != 5 || strings.Contains(h.log.String(), secret) {
		t.Errorf("stored: %s\nlogged: %s", shown, h.log)
	}
	for _, bad := range []Receiver{
		{Name: "a", Form: receiver.JSON, URL: "http://example.com/" + secret},
		{Name: "b", Form: receiver.JSON, URL: "://" + secret},
		{Name: "c", Form: receiver.JSON, URL: "https://%zz" + secret},
		{Name: "d", Form: receiver.JSON, URL: ops.URL, Token: secret, Template: "{{.Nothing}}"},
		{Name: "e", Form: receiver.JSON, URL: ops.URL, Template: "{{.Title}}"},
		{Name: "f", Form: receiver.Mail, Server: "mail.example.com:25", TLS: "none", From: "a@x.org", To: "b@x.org",
			User: "u", Password: secret},
	} {
		if _, err := Compile([]Receiver{bad}, nil); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", bad.Name, err)
		}
	}
}

// hostileText is what an API may send.
const hostileText = "<!channel> <@U123> @here *bold* `code` [a](http://evil.example) &amp; <https://evil.example|x> </script> \"quoted\" {{.ID}}\r\nBcc: evil@example.com"

// Text of the API stays text in every form.
func TestForms(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	hooks := map[string]*hook{receiver.JSON: newHook(t), receiver.Slack: newHook(t), receiver.Teams: newHook(t),
		"own": newHook(t), "markup": newHook(t)}
	var receivers []Receiver
	for form, hook := range hooks {
		r := Receiver{Name: form, Form: form, URL: hook.URL}
		switch form {
		case "own":
			r.Form, r.Template = receiver.JSON, `{"content": {{json .Text}}, "about": {{json .Streams}}}`
		case "markup":
			r.Form, r.Template = receiver.Slack, `<!here> *{{.Title}}* {{.Text}}`
		}
		receivers = append(receivers, r)
	}
	h.run("acme", "coupons", "failed", hostileText)
	h.turn(h.notifier(receivers...))
	bodies := map[string]string{}
	for form, hook := range hooks {
		got := hook.drain()
		if len(got) != 1 || !json.Valid([]byte(got[0].body)) {
			t.Fatalf("%s: %+v", form, got)
		}
		bodies[form] = got[0].body
	}
	var slack, markup struct{ Text string }
	var own struct {
		Content string
		About   []string
	}
	for form, into := range map[string]any{receiver.Slack: &slack, "markup": &markup, "own": &own} {
		if err := json.Unmarshal([]byte(bodies[form]), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"<!", "<@", "@here", "<http"} {
		if strings.Contains(slack.Text, bad) || strings.Contains(strings.TrimPrefix(markup.Text, "<!here>"), bad) {
			t.Errorf("Slack would read %q in %q or %q", bad, slack.Text, markup.Text)
		}
	}
	if !strings.HasPrefix(markup.Text, "<!here> *Failing: coupons of acme*") {
		t.Errorf("what the author of a template writes is left as it is: %q", markup.Text)
	}
	if !strings.Contains(own.Content, "<!channel>") || len(own.About) != 1 || own.About[0] != "coupons" {
		t.Errorf("a body of one's own: %+v", own)
	}
	if card := bodies[receiver.Teams]; strings.Contains(card, `"TextBlock"`) || !strings.Contains(card, `"TextRun"`) {
		t.Errorf("Teams would read markdown: %s", card)
	}
	for form, body := range bodies {
		if strings.Contains(body, "00000000-0000") {
			t.Errorf("%s: %s", form, body)
		}
	}
}

// A dead man's switch gets the begin signal before the end signal, failures with the reason, and only signals about
// its own streams.
func TestPings(t *testing.T) {
	t.Parallel()
	h, all, acme, only := newHouse(t), newHook(t), newHook(t), newHook(t)
	receivers := h.compile(Receiver{Name: "all", Form: receiver.Ping, URL: all.URL + "/uuid/"},
		Receiver{Name: "acme", Form: receiver.Ping, URL: acme.URL + "/uuid?api=1", Accounts: []string{"acme"}},
		Receiver{Name: "only", Form: receiver.Ping, URL: only.URL, Events: []string{receiver.SignalSuccess}})
	var noted atomic.Int64
	ids := []warehouse.StreamID{{Account: "acme", Stream: "coupons"}, {Account: "globex", Stream: "coupons"}}
	run := receivers.Run(ids, func(_ string, err error) {
		if err != nil {
			t.Error(err)
		}
		noted.Add(1)
	})
	run.Begin(t.Context())
	run.End(t.Context(), map[warehouse.StreamID]string{ids[1]: "the API answers 500"}, nil)
	paths := func(h *hook) (paths []string) {
		for _, r := range h.drain() {
			if !strings.Contains(r.query, "rid=") {
				t.Errorf("a ping of a run without its id: %q", r.query)
			}
			paths = append(paths, r.path+" "+r.body)
		}
		return paths
	}
	for name, c := range map[string]struct {
		*hook
		want string
	}{"all": {all, "[/uuid/start  /uuid/fail coupons of globex: the API answers 500]"},
		"acme": {acme, "[/uuid/start  /uuid ]"}, "only": {only, "[]"}} {
		if got := fmt.Sprint(paths(c.hook)); got != c.want {
			t.Errorf("%s was told %s, want %s", name, got, c.want)
		}
	}
	if noted.Load() != 4 {
		t.Errorf("%d pings were noted", noted.Load())
	}
	run = receivers.Run(ids[1:], func(string, error) {})
	run.End(t.Context(), nil, errors.New("the warehouse cannot be reached"))
	if got := fmt.Sprint(paths(all), paths(acme),
		paths(only)); got != "[/uuid/fail the warehouse cannot be reached] [] []" {
		t.Errorf("a run that did not begin: %s", got)
	}

	n := h.notifier(Receiver{Name: "all", Form: receiver.Ping, URL: all.URL + "/uuid"},
		Receiver{Name: "acme", Form: receiver.Ping, URL: acme.URL + "/uuid", Accounts: []string{"acme"}})
	h.run("globex", "coupons", "failed", "told to fail")
	n.pingHealth(t.Context())
	for name, c := range map[string]struct {
		*hook
		want string
	}{"all": {all, "/uuid/fail"}, "acme": {acme, "/uuid"}} {
		if got := c.drain(); len(got) != 1 || got[0].path != c.want || got[0].query != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
