package config

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A value that Go's packages would ignore is refused, whatever form it has, and never shown: a proxy has a password.
func TestProxyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	account := "[[account]]\nname = \"acme\"\nbase_url = \"https://api.example.com\"\napi_key = \"env:ACME_KEY\"\n"
	const secret = "s3cret"
	for value, good := range map[string]bool{
		"http://proxy:3128":                          true,
		"http://worker:" + secret + "%40@proxy:3128": true,
		"https://proxy":                              true,
		"socks5://127.0.0.1:1080":                    true,
		"socks5h://127.0.0.1:1080":                   true,
		"proxy:3128":                                 true,
		"proxy":                                      true,
		"worker:" + secret + "@proxy:3128":           true,
		"http://[::1]:3128/":                         true,
		"":                                           true, // not set
		"http://proxy:3128\n":                        false,
		"http://proxy:3128\r\n":                      false,
		"\nhttp://proxy:3128":                        false,
		"http://worker:" + secret + "%@proxy:3128":   false,
		"http://worker:" + secret + "%zz@proxy:3128": false,
		"http://worker:a b@proxy:3128":               false,
		"http://worker:" + secret + "#@proxy:3128":   false,
		" http://proxy:3128":                         false,
		"http://proxy 3128":                          false,
		"http:/proxy:3128":                           false,
		"http:proxy:3128":                            false,
		"http://":                                    false,
		"://proxy":                                   false,
		"http://:3128":                               false,
		"http://proxy:port":                          false,
		"http://proxy:312888":                        false,
		"ftp://proxy:21":                             false,
		"htp://proxy:3128":                           false,
		`"http://proxy:3128"`:                        false,
		`'http://proxy:3128'`:                        false,
		"${PROXY}":                                   false,
		"http://<proxy>:3128":                        false,
		"http://[::1:3128":                           false,
		"http://proxy:3128\x00":                      false,
		"http://pro\txy:3128":                        false,
	} {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
			lines := problems(t, source(account, "ACME_KEY=key", name+"="+value))
			if good != (len(lines) == 0) || !good && (len(lines) != 1 || !strings.Contains(lines[0], name) ||
				strings.Contains(lines[0], secret)) {
				t.Errorf("%s=%q: %q", name, value, lines)
			}
		}
	}
	for value, good := range map[string]bool{
		".svc,.internal,10.0.0.0/8": true, " a.example , *.b.example:8443,::1,[::1]:80,2001:db8::/32,*": true,
		"localhost,127.0.0.1\n": true, ",,": true,
		"10.0.0.0/33": false, "10.*": false, "a.example b.example": false, "a.example;b.example": false,
		"http://a.example": false, "*a.example": false, "a.example\nb.example": false, `"a.example"`: false,
		"10.0.0/8": false,
	} {
		if lines := problems(t, source(account, "ACME_KEY=key", "NO_PROXY="+value)); good != (len(lines) == 0) {
			t.Errorf("NO_PROXY=%q: %q", value, lines)
		}
	}
	// The first one that is set counts, as for Go's packages.
	if lines := problems(t, source(account, "ACME_KEY=key", "https_proxy=bad proxy", "HTTPS_PROXY=proxy:1")); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
	_, warnings, err := Read(source(account, "ACME_KEY=key", "ALL_PROXY=socks5://proxy:1080"))
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), "HTTPS_PROXY") {
		t.Errorf("%v %v", warnings, err)
	}
}

// Authorities that cannot be read are refused: those of the system would be trusted in their place.
func TestAuthoritiesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	server := httptest.NewTLSServer(nil)
	server.Close()
	whole := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	good := write("full/ca.pem", string(whole))
	broken, text := write("broken.pem", string(whole[:len(whole)/2])), write("text", "no certificate")
	full, empty, none := filepath.Dir(good), filepath.Dir(write("empty/x", "")), filepath.Join(dir, "none")
	if err := os.Symlink(none, filepath.Join(full, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, folder string
		wrong        string // the variable
	}{
		{good, "", ""}, {"", full, ""}, {good, empty, ""}, {os.DevNull, full, ""}, {"", none + ":" + full, ""},
		{none, "", "SSL_CERT_FILE"}, {full, "", "SSL_CERT_FILE"}, {text, "", "SSL_CERT_FILE"},
		{broken, "", "SSL_CERT_FILE"}, {os.DevNull, "", "SSL_CERT_FILE"}, {none, full, "SSL_CERT_FILE"},
		{good + "\n", "", "SSL_CERT_FILE"}, {"", none, "SSL_CERT_DIR"}, {"", empty, "SSL_CERT_DIR"},
		{"", good, "SSL_CERT_DIR"}, {"", full + "," + empty, "SSL_CERT_DIR"}, {text, empty, "SSL_CERT_FILE"},
		{"", full + ":" + text, "SSL_CERT_DIR"},
	} {
		lines := problems(t, source("", "DEALHOUSE_API_KEY=key", "DEALHOUSE_BASE_URL=https://api.example.com",
			"SSL_CERT_FILE="+c.file, "SSL_CERT_DIR="+c.folder))
		if c.wrong == "" && len(lines) > 0 || c.wrong != "" && (len(lines) != 1 || !strings.Contains(lines[0], c.wrong)) {
			t.Errorf("%+v: %q", c, lines)
		}
	}
}
