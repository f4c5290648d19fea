//go:build !noengine

package main

import (
	"testing"

	"dealhouse/internal/enginetest"
)

// TestVerifyRepairs has a row that somebody altered by hand: the command names it and its field, and loads it again.
func TestVerifyRepairs(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBench(t)
	b.migrated(t)
	defer hold(t, b.dir)()
	b.call(t, "sync", "coupons", "--account", "acme").want(t, 0)
	b.call(t, "verify", "coupons", "--account", "acme").shows(t, "Everything is equal.")
	b.exec(t, "ALTER TABLE coupons_latest UPDATE code = 'ALTERED' WHERE id IN (SELECT min(id) FROM coupons) SETTINGS mutations_sync = 2")
	wrong := b.call(t, "verify", "coupons", "--account", "acme")
	wrong.want(t, 1, "wrong or missing: 1 record; dealhouse verify --repair loads them again")
	wrong.shows(t, "wrong", "code")
	b.call(t, "verify", "coupons", "--account", "acme", "--repair").want(t, 0)
	b.call(t, "verify", "coupons", "--account", "acme").shows(t, "Everything is equal.")
	b.call(t, "verify", "--limit", "0").want(t, 2, "--limit: want at least 1")
}

// TestVerifyOffline holds what is stored against the certificates, without an API: nothing is found at first, and then
// a row that somebody altered.
func TestVerifyOffline(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBench(t)
	b.migrated(t)
	defer hold(t, b.dir)()
	b.call(t, "verify", "--offline").want(t, 1, "no certificate of these streams yet")
	b.call(t, "sync", "coupons", "promotions", "--account", "acme").want(t, 0)
	b.call(t, "verify", "--offline").shows(t, "Everything is as the runs certified it.")
	b.exec(t, "ALTER TABLE coupons_latest UPDATE code = 'ALTERED' WHERE id IN (SELECT min(id) FROM coupons) SETTINGS mutations_sync = 2")
	b.call(t, "verify", "--offline", "promotions").shows(t, "Everything is as the runs certified it.")
	found := b.call(t, "verify", "--offline", "--output", "json")
	found.want(t, 1, "changed by something else than a run: 1 finding")
	found.shows(t, `"kind": "altered"`, `"stream": "coupons"`)
	b.call(t, "verify", "coupons", "--account", "acme", "--repair").want(t, 0)
	b.call(t, "verify", "--offline").shows(t, "restated", "Everything is as the runs certified it.")
	b.call(t, "verify", "--offline", "nothing").want(t, 2, "nothing")
	b.call(t, "verify", "--offline", "--repair").want(t, 2, "leave out --offline")
}
