//go:build !noengine

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// filesWith counts the files below a folder that have a text.
func filesWith(t *testing.T, dir, text string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Once the command has ended, no file of the warehouse has the user, who is in its record neither.
func TestForget(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const user = "anna-who-leaves@example.test"
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	record := `{"id":"00000000-0000-4000-8000-000000000001","status":"PENDING","updatedAt":"2026-01-01T00:00:00.000Z","soldAt":"2026-01-01T00:00:00.000Z","passbackUid":"` +
		user + `","passbackData":"of ` + user + `"}`
	if err := b.sim.Put("transactions", "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
	start(t, b.env, "sync", "transactions", "--config", b.config).finish(t).want(t, 0)
	if filesWith(t, b.dir, user) == 0 {
		t.Fatal("no file has the user before")
	}
	got := start(t, b.env, "forget", "--user", user, "--output", "csv", "--config", b.config).finish(t)
	if got.code != 0 || !strings.Contains(got.out, "acme,1,1,0") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	if n := filesWith(t, b.dir, user); n > 0 {
		t.Errorf("%d files have the user", n)
	}
	start(t, b.env, "operate", "log", "--config", b.config).finish(t).shows(t, "1 transaction, 1 version and 0 rejects")
	start(t, b.env, "sync", "transactions", "--full", "--config", b.config).finish(t).want(t, 0)
	if n := filesWith(t, b.dir, user); n > 0 {
		t.Errorf("after a sync, %d files have the user", n)
	}
	b.call(t, "forget").want(t, 2, "--user")
	start(t, b.env, "forget", "--user", "x", "--account", "nobody", "--config", b.config).finish(t).want(t, 2, "nobody")
}
