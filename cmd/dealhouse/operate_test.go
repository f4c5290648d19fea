//go:build !noengine

package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"dealhouse/internal/apisim"
)

// shrink lets the API list half of the coupons of acme, which the guard of deletions stops.
func (b *bench) shrink(t *testing.T) {
	t.Helper()
	var ids []string
	for record := range b.sim.Truth(apisim.StreamCoupons, "acme") {
		var c struct{ ID string }
		if err := json.Unmarshal(record, &c); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ID)
	}
	for _, id := range ids[:len(ids)/2] {
		if err := b.sim.Delete(apisim.StreamCoupons, "acme", id); err != nil {
			t.Fatal(err)
		}
	}
}

// By commands alone: what is paused is left out by a sync, which says so, and consent lets one sync delete.
func TestOperateWithoutDaemon(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env = append(b.env, "USER=robin")
	b.call(t, "operate", "pause", "coupons", "--account", "acme").want(t, 2, "there is no warehouse")
	defer engineTurn(t)()
	b.call(t, "sync", "coupons", "payouts").want(t, 0)
	for args, says := range map[string]string{
		"pause coupons":                               "say which account",
		"pause vouchers --account acme":               `there is no stream "vouchers"`,
		"pause --account initech":                     `there is no account "initech"`,
		"pause coupons payouts --account acme":        "accepts at most 1 arg",
		"consent --account acme":                      "name the stream",
		"consent coupons --account acme --run 12":     "no id of a run",
		"log --limit 0":                               "want 1 or more",
		"":                                            "say what to do",
		"pause --account acme --reason " + "\x1b[31m": "want one line of text",
	} {
		b.call(t, append([]string{"operate"}, strings.Fields(args)...)...).want(t, 2, says)
	}
	b.call(t, "operate", "consent", "coupons", "--account", "acme").want(t, 1, "no run of coupons of acme waits for consent")
	b.call(t, "operate", "pause", "coupons", "--account", "acme", "--reason", "half empty").shows(t, "Coupons of acme is paused")
	b.call(t, "operate", "pause", "coupons", "--account", "acme").shows(t, "paused already, by robin")
	b.call(t, "operate", "pause", "--account", "globex").want(t, 0)
	got := b.call(t, "sync", "coupons", "payouts")
	got.want(t, 0, "robin has paused this stream", "(half empty)", "`dealhouse operate resume coupons --account acme`", "robin has paused account globex", "`dealhouse operate resume --account globex`")
	if strings.Contains(got.out, "coupons") || strings.Contains(got.out, "globex") || !strings.Contains(got.out, "payouts") {
		t.Errorf("what is paused was loaded:\n%s", got.out)
	}
	b.call(t, "backfill", "transactions", "--account", "globex", "--from", "2025-11-01", "--to", "2025-11-02").want(t, 0, "robin has paused account globex")
	b.call(t, "operate", "resume", "--account", "globex").shows(t, "is resumed")
	b.call(t, "operate", "resume", "coupons", "--account", "acme").shows(t, "is resumed")

	b.shrink(t)
	b.call(t, "sync", "coupons", "--account", "acme").want(t, 4, "`dealhouse operate consent coupons --account acme`", "--allow-mass-delete")
	b.call(t, "operate", "consent", "coupons", "--account", "acme", "--run", "00000000-0000-4000-8000-000000000001").want(t, 1, "another run of coupons of acme was stopped since")
	b.call(t, "operate", "consent", "coupons", "--account", "acme").shows(t, "may delete up to", "rows, within a day")
	b.call(t, "sync", "coupons", "--account", "acme").want(t, 0, "robin has agreed to the deletion")
	b.shrink(t)
	b.call(t, "sync", "coupons", "--account", "acme").want(t, 4, "stopped by a guard")
	log := b.call(t, "operate", "log", "--output", "csv")
	log.shows(t, ",robin,command,pause,acme,coupons,0,half empty,", ",,run,consent_used,acme,coupons,", ",robin,command,resume,globex,,")
	if n := strings.Count(log.out, "\n"); n != 7 {
		t.Errorf("%d lines:\n%s", n, log.out)
	}
	b.call(t, "operate", "log", "--limit", "2").shows(t, "consent_used", "robin")
}

// Beside a daemon, the same commands work through it, and it obeys.
func TestOperateBesideDaemon(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.migrated(t)
	b.yearly(t)
	d := b.daemon(t, b.config)
	d.succeeds(t, b, 1)
	b.call(t, "operate", "pause", "coupons").want(t, 0)
	d.until(t, "it is paused", func() bool { return d.sum(t, "dealhouse_paused", "stream=coupons") == 1 })
	b.call(t, "operate", "resume", "coupons").want(t, 0)
	d.until(t, "it is resumed", func() bool { return d.sum(t, "dealhouse_paused") == 0 })
	b.shrink(t)
	b.call(t, "sync", "coupons").want(t, 4, "stopped by a guard")
	before := d.sum(t, "dealhouse_live_rows", "stream=coupons")
	b.call(t, "operate", "consent", "coupons").want(t, 0)
	d.until(t, "the daemon has deleted them", func() bool {
		rows := d.sum(t, "dealhouse_live_rows", "stream=coupons")
		return rows > 0 && rows < before
	})
	b.call(t, "operate", "pause").want(t, 0)
	d.ends(t, syscall.SIGTERM)
	next := b.daemon(t, b.config)
	if n := next.sum(t, "dealhouse_paused"); n < 6 {
		t.Errorf("after a restart %v streams are paused", n)
	}
	if runs := next.sum(t, "dealhouse_runs_total"); runs > 0 {
		t.Errorf("%v runs of what is paused", runs)
	}
	next.ends(t, syscall.SIGTERM)
}
