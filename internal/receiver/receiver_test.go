package receiver

import (
	"slices"
	"strings"
	"testing"
)

func TestForms(t *testing.T) {
	t.Parallel()
	for _, f := range Forms() {
		got, known := Find(f.Name)
		if !known || got.Name != f.Name || len(f.Needs) == 0 || len(f.Events) == 0 {
			t.Errorf("%+v is found as %+v", f, got)
		}
		for _, key := range slices.Concat(f.Needs, f.Takes) {
			if slices.Contains(f.Useless(), key) {
				t.Errorf("%s both has and lacks %s", f.Name, key)
			}
		}
	}
	if _, known := Find("sms"); known {
		t.Error("sms is a form")
	}
	for name, want := range map[string]string{
		JSON: "server from to tls user password", Slack: "token server from to tls user password",
		Mail: "url token", Ping: "template after server from to tls user password",
	} {
		if f, _ := Find(name); strings.Join(f.Useless(), " ") != want {
			t.Errorf("%s lacks %q, want %q", name, f.Useless(), want)
		}
	}
	if slices.Contains(Events(), EventTest) {
		t.Error("a receiver can choose not to be tested")
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://hooks.example.com/x": "", "http://127.0.0.1:1/x": "", "http://LOCALHOST": "",
		"http://example.com/secret": "must be https://", "http://a.localhost": "must be https://", "http://localhost.example.com": "must be https://",
		"": "must be a URL", "secret": "must be a URL", "ftp://secret": "must be a URL", "https://:1": "must be a URL",
		"https://%zzsecret": "must be a URL",
	} {
		if _, err := ParseURL(text, false); !says(err, want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ParseURL("http://example.com", true); err != nil {
		t.Errorf("not encrypted, as permitted: %v", err)
	}
}

func TestMail(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"smtp.example.com:587": "", "[::1]:25": "", "smtp.example.com": "host:port", ":25": "host:port", "x:smtp": "host:port",
		"x:65536": "host:port", "user@x:25": "host:port", "": "host:port",
	} {
		if _, err := ParseServer(text); !says(err, want) {
			t.Errorf("server %q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"a@x.org": "", "Ops <a@x.org>": "", "a@x.org, b@x.org": "a mail address", "": "a mail address", "a": "a mail address",
	} {
		if _, err := ParseSender(text); !says(err, want) {
			t.Errorf("from %q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"a@x.org": "", "Ops <a@x.org>, b@x.org": "", "a@x.org\r\nBcc: b@x.org": "a mail address", "": "a mail address",
	} {
		if _, err := ParseRecipients(text); !says(err, want) {
			t.Errorf("to %q: %v, want %q", text, err, want)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{CheckTLS(TLSNone, "localhost", false), ""}, {CheckTLS(TLSNone, "x.org", true), ""},
		{CheckTLS(TLSStart, "x.org", false), ""}, {CheckTLS(TLSNone, "x.org", false), "on this machine"},
		{CheckLogin(true, true), ""}, {CheckLogin(false, false), ""},
		{CheckLogin(true, false), "go together"}, {CheckLogin(false, true), "go together"},
	} {
		if !says(c.err, c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
}

// says reports whether an error has a text and does not contain the secret; "" means no error.
func says(err error, want string) bool {
	if err == nil || want == "" {
		return err == nil && want == ""
	}
	return strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "secret")
}
