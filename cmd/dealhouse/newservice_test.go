//go:build !noengine

package main

import "testing"

// anotherService lets the key of another organization in, and consents to it: a guard stops the first run, with its
// exit code and the command that consents. check says what an older initial_from lacks.
func (b *bench) anotherService(t *testing.T) {
	streams := []string{"transactions", "--account", "acme"}
	b.sync(t, 0, streams...)
	b.call(t, "check").want(t, 0)
	other := *b
	other.env = []string{"ACME_KEY=" + globexKey, "GLOBEX_KEY=" + globexKey}
	rows, got := other.sync(t, exitGuard, streams...)
	if r := rows["acme transactions"]; r.Outcome != "guarded" || r.Inserted+r.Updated+r.Deleted != 0 {
		t.Errorf("%+v", r)
	}
	got.want(t, exitGuard, "api_key is another one than it was", "dealhouse sync --account acme --new-service")
	for _, c := range []*bench{&other, b} {
		rows, _ = c.sync(t, 0, append(streams, "--new-service")...)
		if r := rows["acme transactions"]; r.Mode != "full" || r.Inserted == 0 || r.Deleted == 0 {
			t.Errorf("%+v", r)
		}
	}
	b.exec(t, "INSERT INTO sync_state_log (account, stream, name, value, version) "+
		"SELECT 'acme', 'transactions', 'loaded_from', '2026-01-01T00:00:00Z', max(version) + 1 FROM sync_state_log")
	got = b.call(t, "check")
	got.want(t, 0)
	got.shows(t, "initial_from: acme transactions", "`dealhouse sync transactions --account acme --full`")
	got = b.call(t, "sync", "transactions", "--account", "acme")
	got.want(t, 0, "initial_from is not set any more")
	b.sync(t, 0, append(streams, "--full")...)
}
