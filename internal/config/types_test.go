package config

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "1b": 1, "0x1b": 27, "1_000": 1000, "2kB": 2000, "2KiB": 2048, "1GB": 1e9, "1gib": 1 << 30,
		" 3 MiB ":             3 << 20, //nolint:gocritic // mapKey: the spaces are what is tested
		"9223372036854775807": math.MaxInt64,
		"":                    -1, "MiB": -1, "-1": -1, "1.5MiB": -1, "9223372036854775807KiB": -1, "1TiB": -1,
	} {
		got, err := parseSize(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("parseSize(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestShortDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 90 * time.Second: "1m30s", time.Minute: "1m", 24 * time.Hour: "24h",
		10*time.Hour + 10*time.Minute: "10h10m",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestPlaintext(t *testing.T) {
	for url, want := range map[string]bool{
		"https://api.example.com": false, "http://localhost:1": false, "http://127.9.9.9": false, "http://a.localhost": true,
		"http://[::1]:1": false, "http://LOCALHOST": false,
		"http://api.example.com": true, "http://10.0.0.1": true, "http://localhost.example.com": true, "http://[::2]": true,
		"http://0.0.0.0": true,
	} {
		if got := plaintext(url); got != want {
			t.Errorf("plaintext(%q) = %v", url, got)
		}
	}
}

func TestBaseURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://h": "https://h", "https://h/": "https://h", "https://h:8443/deals//": "https://h:8443/deals",
		"HTTPS://h": "https://h",
		"https://":  "", "h": "", "ftp://h": "", "https://:1": "", "https://h?": "", "https://h?a=1": "", "https://h#a": "",
		"https://u@h": "",
	} {
		got, err := parseBaseURL(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("parseBaseURL(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestSchedules(t *testing.T) {
	for text, good := range map[string]bool{
		"": true, "*/5 * * * *": true, "@every 10m": true, "@daily": true, "CRON_TZ=Europe/Paris 30 2 * * *": true,
		"TZ=UTC @every 1h": true,
		"0 0 29 2 *":       true, "* * * * * *": false, "60 * * * *": false, "@every 0s": false, "@every -1m": false,
		"@every": false, "TZ=": false, "0 0 30 2 *": false,
	} {
		if err := checkSchedule(text); (err == nil) != good {
			t.Errorf("checkSchedule(%q) = %v", text, err)
		}
	}
}

func TestAllowInsecure(t *testing.T) {
	text := strings.Replace(acme, "https://", "http://", 1) + "allow_insecure = true\n"
	if a := mustLoad(t, source("\uFEFF"+text, acmeKey)).Accounts[0]; !a.AllowInsecure ||
		a.BaseURL != "http://api.example.com" {
		t.Errorf("got %+v", a)
	}
}

// TestRealFiles is the only test that uses the file system itself.
func TestRealFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	load := func(key string) (*Config, []Warning, error) {
		text := strings.Replace(acme, "env:DEALS_API_KEY", "file:"+key, 1)
		return Read(Source{Path: write("c.toml", text, 0o600), NeedAccounts: true})
	}
	for _, loose := range []bool{false, true} {
		mode := map[bool]os.FileMode{false: 0o600, true: 0o644}[loose]
		c, warnings, err := load(write("key", "k-file\n", mode))
		if err != nil || c.Accounts[0].Key.Reveal() != "k-file" || (len(warnings) == 1) != loose {
			t.Errorf("mode %o: %v, warnings %v", mode, err, warnings)
		}
	}
	for path, want := range map[string]string{
		dir:                        "it is a directory",
		filepath.Join(dir, "gone"): "no such file or directory",
		write("big", strings.Repeat("k", largestFile+1), 0o600): fmt.Sprintf("it is larger than %d bytes", largestFile),
	} {
		_, _, err := load(path)
		if err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("cannot read the key file %s: %s", quote(path), want)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestConfigsShareNothing checks config-1.
func TestConfigsShareNothing(t *testing.T) {
	src := source(acme, acmeKey)
	first, second := mustLoad(t, src), mustLoad(t, src)
	first.Accounts[0].Streams[0].Name = "changed"
	first.Accounts[0].Name = "changed"
	if diff := cmp.Diff(standardConfig(), second); diff != "" {
		t.Error(diff)
	}
}
