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
