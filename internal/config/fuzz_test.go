package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dealhouse/internal/catalog"
)

// FuzzLoad checks that Load never panics, and returns either a Config or *Problems, whatever the file and the
// environment contain. Run it with -fuzzminimizetime=10x: otherwise Go needs a minute to minimize each file.
func FuzzLoad(f *testing.F) {
	wrong, err := os.ReadFile(filepath.Join("testdata", "everything-wrong.toml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(acme), "DEALS_API_KEY", "k")
	f.Add(wrong, "DEALHOUSE_API_KEY", "env:X")
	f.Add([]byte(commentedKey.ReplaceAllString(exampleText(), "$1")), "DEALHOUSE_ACCOUNT_ACME_STREAMS_PAYOUTS_API_KEY",
		"file:x")
	f.Add([]byte("account = [{name = 'a', streams.products = {schedule = '@every 5m'}}, 1, [2]]\n[[defaults]]\n"),
		"DEALHOUSE_DEFAULTS_TIMEOUT", "1h")
	f.Add([]byte("account = []\n[warehouse]\ndsn = 'https://u:p@h?secure'"), "DEALHOUSE_BASE_URL",
		"http://[::1%25eth0]:1/")
	f.Add([]byte(acme+"[account.streams.payouts]\nschedule = 'TZ= * * * * *'\n"), "DEALHOUSE_DEFAULTS_MAX_BODY_SIZE",
		"0x1b")
	f.Fuzz(func(t *testing.T, file []byte, name, value string) {
		for _, need := range []bool{true, false} {
			src := source(string(file), acmeKey, name+"="+value)
			src.NeedAccounts = need
			c, _, err := Read(src)
			var all *Problems
			switch {
			case err == nil && c == nil:
				t.Fatal("neither a Config nor an error")
			case err != nil && (!errors.As(err, &all) || len(all.All()) == 0 || err.Error() == ""):
				t.Fatalf("the error is %#v", err)
			case err == nil:
				checkConfig(t, c, need)
			}
		}
	})
}

// checkConfig checks what the users of a Config depend on.
func checkConfig(t *testing.T, c *Config, need bool) {
	t.Helper()
	if need && len(c.Accounts) == 0 {
		t.Error("no account")
	}
	if !c.Warehouse.DSN.Resolved() || c.Warehouse.Database == "" || c.Daemon.Listen == "" {
		t.Errorf("incomplete: %+v", c)
	}
	for _, a := range c.Accounts {
		if a.Name == "" || a.BaseURL == "" || a.RequestsPerSecond <= 0 || a.Timeout <= 0 || a.MaxBodyBytes <= 0 ||
			a.BatchRows <= 0 {
			t.Errorf("incomplete: %+v", a)
		}
		if len(a.Streams) != len(catalog.Names()) || a.Key.Resolved() != need {
			t.Errorf("incomplete: %+v", a)
		}
	}
}
