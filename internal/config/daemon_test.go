package config

import (
	"slices"
	"strings"
	"testing"
)

func TestDaemonProblems(t *testing.T) {
	for text, want := range map[string]string{
		"[daemon]\nuser = \"ops\"\n":                                   "dealhouse.toml:2:8: user and password go together: one is set and the other is not",
		"[daemon]\npassword = \"env:OPS\"\n":                           "dealhouse.toml:2:12: user and password go together: one is set and the other is not",
		"[daemon]\nuser = \"a:b\"\npassword = \"env:OPS\"\n":           `dealhouse.toml:2:8: user: must hold neither a space nor a colon, and only ASCII; "a:b" does`,
		"[daemon]\ntls_cert = \"c.pem\"\n":                             "dealhouse.toml:2:12: tls_cert and tls_key go together: one is set and the other is not",
		"[daemon]\ntime_zone = \"Mars\"\n":                             `dealhouse.toml:2:13: time_zone: "Mars" is not a time zone that this machine knows: write one such as Europe/Paris, UTC or Local`,
		"[daemon]\njitter = \"2h\"\n":                                  `dealhouse.toml:2:10: jitter: must be from 0s to 1h; "2h" is not`,
		"[daemon]\nretry = \"1m, 5m\"\n":                               `dealhouse.toml:2:9: retry: "1m," is not a duration: write a number with its unit, such as "30s", "10m" or "24h"`,
		"[daemon]\nretry = \"1m 5\"\n":                                 `dealhouse.toml:2:9: retry: "5" is not a duration: it lacks a unit, write "5s" for seconds`,
		"[finance]\ntolerances = \"EUR=5 EUR=6\"\n":                    `dealhouse.toml:2:14: tolerances: must be amounts in the smallest units of their currencies in one string, such as "EUR=5 JPY=1", each currency once and with 0 to 1000000 units; "EUR=6" is not`,
		"[finance]\ntolerances = \"eur=5\"\n":                          `dealhouse.toml:2:14: tolerances: must be amounts in the smallest units of their currencies in one string, such as "EUR=5 JPY=1", each currency once and with 0 to 1000000 units; "eur=5" is not`,
		"[finance]\ntolerances = \"EUR=0.05\"\n":                       `dealhouse.toml:2:14: tolerances: must be amounts in the smallest units of their currencies in one string, such as "EUR=5 JPY=1", each currency once and with 0 to 1000000 units; "EUR=0.05" is not`,
		"[finance]\ntolerances = \"EUR=-1\"\n":                         `dealhouse.toml:2:14: tolerances: must be amounts in the smallest units of their currencies in one string, such as "EUR=5 JPY=1", each currency once and with 0 to 1000000 units; "EUR=-1" is not`,
		"[daemon]\nretry = \"0s\"\n":                                   `dealhouse.toml:2:9: retry: must be from 1s to 24h; "0s" is not`,
		"[daemon]\nuser = \"ops\"\npassword = \"hunter2 hunter2\"\n":   "dealhouse.toml:3:12: password: holds a space, a line break or a character that no HTTP header may hold",
		"[daemon]\nuser = \"ops\"\npassword = \"env:NOT_THERE\"\n":     "dealhouse.toml:3:12: password: environment variable NOT_THERE is not set",
		"[daemon]\nuser = \"ops\"\npassword = \"file:/not/there\"\n\n": `dealhouse.toml:3:12: password: cannot read the key file "/not/there": file does not exist`,
	} {
		src := source(text+acme, acmeKey)
		src.NeedDaemon = true
		if got := problems(t, src); !slices.Contains(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
		if strings.Contains(strings.Join(problems(t, src), " "), "hunter2") {
			t.Error("a secret is shown")
		}
	}
}

func TestTolerances(t *testing.T) {
	c := mustLoad(t, source("[finance]\ntolerances = \"EUR=5 JPY=1\"\n"+acme, acmeKey))
	if got := c.Finance.Tolerances; len(got) != 2 || got["EUR"] != 5 || got["JPY"] != 1 {
		t.Errorf("%v", got)
	}
}

// The password is read for the command that needs it, and for no other.
func TestDaemonPassword(t *testing.T) {
	text := "[daemon]\nuser = \"ops\"\npassword = \"env:OPS\"\n" + acme
	if d := mustLoad(t, source(text, acmeKey)).Daemon; d.Password.Resolved() || d.User != "ops" {
		t.Errorf("%+v", d)
	}
	src := source(text, acmeKey, "OPS=s3cret")
	src.NeedDaemon = true
	if d := mustLoad(t, src).Daemon; d.Password.Reveal() != "s3cret" {
		t.Errorf("%+v", d)
	}
}
