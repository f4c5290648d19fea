package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	const password = "hunter2"
	s := NewSecret(password)
	c := Config{Warehouse: Warehouse{DSN: s}, Accounts: []Account{{Key: s, Streams: []Stream{{Key: s}}}}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s"} {
		_, _ = fmt.Fprintf(&out, verb+verb+verb+"\n", s, &s, c)
	}
	_ = json.NewEncoder(&out).Encode(c)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "secret", s, "config", c, "account", c.Accounts[0])
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "secret", s, "config", c)
	_, _ = out.WriteString(fmt.Errorf("key %w", errors.New(s.String())).Error())
	if strings.Contains(out.String(), password) || strings.Contains(out.String(), fmt.Sprintf("%x", password)) {
		t.Errorf("the secret is shown:\n%s", out.String())
	}
	if s.Reveal() != password || !s.Resolved() || (Secret{}).Resolved() || !s.Equal(NewSecret(password)) ||
		s.Equal(Secret{}) {
		t.Error("the secret is lost")
	}
}

func TestSecrets(t *testing.T) {
	keyFiles := files{
		"/run/key": {"k-file\r\n", 0o600}, "/run/loose": {"k-loose\n", 0o644}, "/run/empty": {"\n", 0o600},
		"/run/two": {"hunter2\nhunter2\n", 0o600}, "/run/bearer": {"Bearer hunter2", 0o600}, "/run/locked": {"", 0},
		"/run/a#b":  {"K=k-hash", 0o600},
		"/run/vars": {"# the key\nDEALS_API_KEY=k-first\n\nQUOTED = \"k-quoted\"\r\nexport SINGLE='k=single'\nEMPTY=\n#OFF=hunter2\nDEALS_API_KEY=k-second\n", 0o600},
	}
	const account = `account "acme": api_key: `
	tests := []struct {
		name, key string
		env       []string
		want      string
		problem   string
		warning   string
	}{
		{"variable", "env:K", []string{"K=k-env"}, "k-env", "", ""},
		{"variable not set", "env:K", nil, "", account + "environment variable K is not set", ""},
		{"variable empty", "env:K", []string{"K="}, "", account + "environment variable K is not set", ""},
		{"variable with a line break at its end", "env:K", []string{"K=k-acme\r\n"}, "k-acme", "", ""},
		{"variable with a line break", "env:K", []string{"K=hun\nter2"}, "",
			account + "the key in environment variable K holds a space, a line break or a character that no HTTP header may hold", ""},
		{"a key for the name of a variable", "env:hunter2", nil, "", account + "the environment variable it names is not set",
			""},
		{"no name", "env:", nil, "", "api_key: env: needs the name of an environment variable, such as env:DEALS_API_KEY",
			""},
		{"no name but a key", "env:hunter2+hunter2==", nil, "",
			"api_key: env: needs the name of an environment variable, such as env:DEALS_API_KEY", ""},
		{"file", "file:/run/key", nil, "k-file", "", ""},
		{"file of everybody", "file:/run/loose", nil, "k-loose", "",
			account + `every user of this machine can read the file "/run/loose" (chmod 600)`},
		{"file missing", "file:/run/gone", nil, "", account + `cannot read the key file "/run/gone": file does not exist`,
			""},
		{"file unreadable", "file:/run/locked", nil, "",
			account + `cannot read the key file "/run/locked": permission denied`, ""},
		{"file empty", "file:/run/empty", nil, "", account + `the key in the file "/run/empty" is empty`, ""},
		{"file of two lines", "file:/run/two", nil, "",
			account + `the key in the file "/run/two" holds a space, a line break or a character that no HTTP header may hold`,
			""},
		{"file of a header", "file:/run/bearer", nil, "",
			account + `the key in the file "/run/bearer" begins with "Bearer ": give the key alone`, ""},
		{"no file", "file:", nil, "", "api_key: file: needs the path of a file, such as file:/run/secrets/deals", ""},
		{"variable of a file", "env-file:/run/vars#DEALS_API_KEY", nil, "k-second", "", ""},
		{"variable of a file, in quotes", "env-file:/run/vars#QUOTED", nil, "k-quoted", "", ""},
		{"variable of a file, in others, exported", "env-file:/run/vars#SINGLE", nil, "k=single", "", ""},
		{"variable of a file that is not set", "env-file:/run/vars#GONE", nil, "",
			account + `the file "/run/vars" (environment variable GONE) does not set the variable`, ""},
		{"variable of a file that is empty", "env-file:/run/vars#EMPTY", nil, "",
			account + `the key in the file "/run/vars" (environment variable EMPTY) is empty`, ""},
		{"variable of a file that is a comment", "env-file:/run/vars#OFF", nil, "",
			account + `the file "/run/vars" (environment variable OFF) does not set the variable`, ""},
		{"variable of no file", "env-file:/run/gone#K", nil, "",
			account + `cannot read the file of variables "/run/gone": file does not exist`, ""},
		{"variable of a file of everybody", "env-file:/run/loose#K", nil, "",
			account + `the file "/run/loose" (environment variable K) does not set the variable`, ""},
		{"variable of a file with a # in its path", "env-file:/run/a#b#K", nil, "k-hash", "", ""},
		{"a key for the name of a variable of a file", "env-file:/run/vars#hunter2", nil, "",
			account + `the file "/run/vars" (the environment variable it names) does not set the variable`, ""},
		{"no variable of a file", "env-file:/run/vars", nil, "",
			"api_key: env-file: needs the path of a file of variables and the name of one, such as env-file:/etc/dealhouse/env#DEALS_API_KEY", ""},
		{"literal", "k-literal", nil, "k-literal", "",
			account[:len(account)-2] + " is written in the file: use env:NAME or file:PATH instead"},
		{"literal with a colon", "k:literal", nil, "k:literal", "",
			account[:len(account)-2] + " is written in the file: use env:NAME or file:PATH instead"},
		{"empty", "", nil, "", "api_key: is empty", ""},
		{"capitals", "ENV:hunter2", nil, "", "api_key: write env: in lower case and without a space before it", ""},
		{"shell", "$hunter2", nil, "", "api_key: looks like a shell variable: write env:NAME, without a $", ""},
		{"space", "hunter2 ", nil, "", "api_key: holds a space, a line break or a character that no HTTP header may hold",
			""},
		{"not ASCII", "hunter2é", nil, "", "api_key: holds a space, a line break or a character that no HTTP header may hold",
			""},
		{"too long", strings.Repeat("hunter2", 2000), nil, "", "api_key: is longer than 8192 bytes: that is not an API key", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := files{FileName: {strings.Replace(acme, "env:DEALS_API_KEY", tt.key, 1), 0o600}}
			for path, file := range keyFiles {
				all[path] = file
			}
			c, warnings, err := Read(Source{Env: tt.env, NeedAccounts: true, ReadFile: all.read})
			want := ""
			if tt.problem != "" {
				want = "dealhouse.toml:4:11: " + tt.problem
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
			gotWarning := ""
			for _, w := range warnings {
				gotWarning += strings.TrimPrefix(w.String(), "dealhouse.toml:4:11: ")
			}
			if diff := cmp.Diff(tt.warning, gotWarning); diff != "" {
				t.Errorf("warning (-want +got):\n%s", diff)
			}
			if err == nil && c.Accounts[0].Key.Reveal() != tt.want {
				t.Errorf("key = %q, want %q", c.Accounts[0].Key.Reveal(), tt.want)
			}
		})
	}
}

// TestSecretAgain checks that a secret in a file is read again, and says where it is from. Other secrets do not change.
func TestSecretAgain(t *testing.T) {
	for reference, from := range map[string]string{"file:/run/key": "file:/run/key",
		"env-file:/run/vars#K": "env-file:/run/vars#K", "env:K": "", "k-old": ""} {
		all := files{FileName: {strings.Replace(acme, "env:DEALS_API_KEY", reference, 1), 0o600},
			"/run/key": {"k-old\n", 0o600}, "/run/vars": {"K=k-old", 0o600}}
		c := mustLoad(t, Source{Env: []string{"K=k-old"}, NeedAccounts: true, ReadFile: all.read})
		key := c.Accounts[0].Key
		all["/run/key"], all["/run/vars"] = testFile{"k-new\n", 0o600}, testFile{"K=k-new", 0o600}
		again, err := key.Again()
		want := "k-new"
		if from == "" {
			want = "k-old"
		}
		if err != nil || again.Reveal() != want || key.Reveal() != "k-old" || key.From() != from || again.From() != from {
			t.Errorf("%s: read anew it is %q from %q, %v", reference, again.Reveal(), again.From(), err)
		}
		all["/run/key"], all["/run/vars"] = testFile{"hunter2 hunter2", 0o600}, testFile{"K=hunter2 hunter2", 0o600}
		if again, err := key.Again(); (err != nil) != (from != "") || err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %q, %v", reference, again.Reveal(), err)
		}
	}
}

func TestLooseFileWarnings(t *testing.T) {
	text := "[warehouse]\ndsn = \"clickhouse://u:hunter2@h/d\"\n" +
		strings.Replace(acme, "env:DEALS_API_KEY", "hunter2", 1)
	_, warnings, err := Read(Source{ReadFile: files{FileName: {text, 0o644}}.read})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	want := []string{
		"dealhouse.toml:2:7: the password in dsn can be read by every user of this machine: use DEALHOUSE_WAREHOUSE_DSN or chmod 600 the file",
		`dealhouse.toml:6:11: account "acme": api_key is written in the file: use env:NAME or file:PATH instead; every user of this machine can read it (chmod 600)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoPathShowsASecret checks config-3: whatever is wrong with a secret or with what is around it, no error of Load
// contains the secret.
func TestNoPathShowsASecret(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	const s = "hUnTeR2"
	values := []string{
		`"` + s + `"`, `"` + s + ` ` + s + `"`, `"Bearer ` + s + `"`, `"env:` + s + `"`, `"ENV:` + s + `"`,
		`"env:` + s + `!"`, `"file :` + s + `"`,
		`"${` + s + `}"`, `"` + strings.Repeat(s, 5000) + `"`, `"` + s + `\n"`, `"""` + s + "\n" + s + `"""`, `'` + s + `é'`,
		`"` + s, `'` + s, `"""` + s, s,
		`["` + s + `"]`, `{ key = "` + s + `" }`, `"` + s + `" # ` + s + ` ` + "\x00", `"\u12` + s + `"`,
		`"` + s + `" "` + s + `"`,
	}
	dsns := []string{
		"clickhouse://u:" + s + "@", "clickhouse://u:" + s + "@h:port/d", "clickhouse://u:a/" + s + "@h/d",
		"clickhouse://u:1/" + s + "@h/d",
		"clickhouse://u:a?" + s + "@h/d", "clickhouse://u:1?" + s + "@h/d", "clickhouse://u:a#" + s + "@h/d",
		"clickhouse://h/d?password=" + s + "%zz", "postgres://u:" + s + "@h/d",
		"u:" + s + "@h", s + "://h", "clickhouse://u:" + s + "@h/a-b", "clickhouse://u:" + s + "%@h/d", "embedded://" + s,
		"https://u:" + s + "@h/?secure=false",
	}
	urls := []string{
		"https://" + s + "@h", "https://u:" + s + "@h", "https://h/?key=" + s, "https://h/#" + s, "ftp://" + s + "@h",
		"https://u:" + s + "@h:x", s, "http://u:a/" + s + "@h",
	}
	var texts []string
	for _, v := range values {
		texts = append(texts, strings.Replace(acme, `"env:DEALS_API_KEY"`, v, 1),
			acme+"[account.streams.payouts]\napi_key = "+v+"\n",
			acme+"[account.streams.payouts]\nschedule = 1\napi_key.x = "+v+"\n", "[warehouse]\ndsn = "+v+"\n",
			"[wharehouse]\ndsn = "+v+"\n", "api_key = "+v+"\n")
	}
	for _, v := range dsns {
		texts = append(texts, "[warehouse]\ndsn = '"+v+"'\n"+acme, "[warehouse]\ndatabase = \"x\"\ndsn = '"+v+"'\n"+acme,
			"[warehouse]\ndsn = ['"+v+"']\n"+acme)
	}
	for _, v := range urls {
		texts = append(texts, strings.Replace(acme, "https://api.example.com", v, 1))
	}
	check := func(t *testing.T, src Source) {
		t.Helper()
		c, warnings, err := Read(src)
		said := fmt.Sprintf("%v %+v %#v %v", err, warnings, c, c)
		if c != nil {
			said += c.Warehouse.RedactedDSN()
		}
		if strings.Contains(said, s) {
			data, _, _ := src.ReadFile(FileName)
			t.Errorf("shown for\n%s%q:\n%s", data, src.Env, said)
		}
	}
	for _, text := range texts {
		check(t, source(text))
		check(t, source(text, acmeKey))
		check(t, Source{NeedAccounts: true, ReadFile: files{FileName: {text, 0o644}}.read})
	}
	for _, v := range append(append(dsns, urls...), s, s+" ", "env:"+s, "Bearer "+s) {
		for _, name := range []string{"WAREHOUSE_DSN", "BASE_URL", "API_KEY", "ACCOUNT_ACME_API_KEY",
			"ACCOUNT_ACME_STREAMS_PAYOUTS_API_KEY", "ACCOUNT_ACME_BASE_URL", "UNKNOWN", "ACCOUNT_X_API_KEY"} {
			check(t, source(acme, acmeKey, "DEALHOUSE_"+name+"="+v))
			check(t, Source{NeedAccounts: true, Env: []string{"DEALHOUSE_BASE_URL=https://h", "DEALHOUSE_" + name + "=" + v},
				ReadFile: files{}.read})
		}
	}
}
