package web

import (
	"slices"
	"testing"
	"time"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

var noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

// stands makes a configured stream of acme whose last success has the given age; negative: it never succeeded.
func stands(stream string, age time.Duration, faults ...warehouse.Faults) streamState {
	st := streamState{Stream: Stream{Account: "acme", Stream: stream, Enabled: true, StaleAfter: time.Hour},
		id: warehouse.StreamID{Account: "acme", Stream: stream}, configured: true}
	if age >= 0 {
		at := noon.Add(-age)
		st.standing.LastSuccess = &at
	}
	for _, f := range faults {
		st.standing.Faults = f
	}
	return st
}

func faults(outcome string, ago time.Duration) warehouse.Faults {
	since := noon.Add(-ago)
	return warehouse.Faults{Count: 2, Since: &since, Outcome: outcome}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	fine, late := stands("coupons", time.Minute), stands("payouts", 3*time.Hour)
	failing := stands("promotions", time.Hour, faults("failed", 30*time.Minute))
	killed := stands("cashback_offers", time.Hour, faults("killed", 26*time.Hour))
	guarded := stands("products", time.Hour, faults("guarded", time.Minute))
	partial := stands("promotions", time.Minute, faults("incomplete", time.Minute))
	odd, twice, oddLate, oddOff := stands("coupons", time.Minute), stands("products", time.Minute), stands("payouts",
		3*time.Hour), stands("payouts", time.Minute)
	failed, holds := warehouse.Check{Name: "rows_match", Detail: "why"}, warehouse.Check{Name: "keys_unique", OK: true}
	odd.checks, twice.checks = []warehouse.Check{failed, holds}, []warehouse.Check{failed, failed}
	oddLate.checks, oddOff.checks, oddOff.Enabled = odd.checks, odd.checks, false
	fine.checks = []warehouse.Check{holds}
	never, off, broken := stands("transactions", -1), stands("coupons", time.Hour), stands("products", -1)
	off.Enabled, broken.LastError = false, "no lease"
	// Runs fail and cannot even be recorded; the stream is late only after an hour.
	mute, mended := stands("payouts", 30*time.Minute), stands("coupons", time.Minute)
	mute.LastError, mute.FailedAt = "no lease", noon.Add(-time.Minute)
	mended.LastError, mended.FailedAt = "no lease", noon.Add(-time.Hour) // and then somebody ran a sync
	removed := stands("coupons", 900*time.Hour)
	removed.configured = false
	patient := stands("products", 900*time.Hour)
	patient.StaleAfter = 0
	for _, c := range []struct {
		streams []streamState
		state   state
		text    string
	}{
		{nil, stateWaiting, "No stream is enabled: there is nothing to do."},
		{[]streamState{off, removed}, stateWaiting, "No stream is enabled: there is nothing to do."},
		{[]streamState{fine}, stateFine, "All is fine: the one stream is up to date."},
		{[]streamState{fine, patient, off, removed}, stateFine, "All is fine: 2 streams are up to date."},
		{[]streamState{fine, odd, oddOff}, stateDoubtful, "Everything is loaded, but a check of the coupons of acme failed."},
		{[]streamState{fine, twice}, stateDoubtful, "Everything is loaded, but 2 checks of the products of acme failed."},
		{[]streamState{odd, twice}, stateDoubtful, "Everything is loaded, but checks of 2 streams of acme failed."},
		{[]streamState{odd, never}, stateDoubtful, "A check of the coupons of acme failed; 1 stream has not run yet."},
		{[]streamState{odd, oddLate}, stateLate, "The payouts of acme are late: they were last loaded 3 hours ago."},
		{[]streamState{fine, oddOff}, stateFine, "All is fine: the one stream is up to date."},
		{[]streamState{never, never}, stateWaiting, "Nothing has run yet."},
		{[]streamState{fine, never}, stateWaiting, "1 stream is up to date; 1 stream has not run yet."},
		{[]streamState{fine, late}, stateLate, "The payouts of acme are late: they were last loaded 3 hours ago."},
		{[]streamState{late, late, fine}, stateLate, "2 streams of acme are late."},
		{[]streamState{failing, fine}, stateFailing, "The promotions of acme have been failing since 11:30 UTC."},
		{[]streamState{killed, failing, late}, stateFailing,
			"2 streams of acme have been failing, the first since 14 March 10:00 UTC. 1 other is late."},
		{[]streamState{partial, fine}, stateIncomplete,
			"The promotions of acme may lack rows: their list moved while it was read."},
		{[]streamState{partial, late, partial}, stateIncomplete,
			"2 streams of acme may lack rows: their lists moved while they were read. 1 other is late."},
		{[]streamState{partial, failing}, stateFailing,
			"The promotions of acme have been failing since 11:30 UTC. 1 other is incomplete."},
		{[]streamState{partial, guarded, failing}, stateGuarded,
			"A guard stopped the products of acme: a person must look. 1 other is failing. 1 other is incomplete."},
		{[]streamState{broken}, stateFailing, "The products of acme have been failing."},
		{[]streamState{mute, mended}, stateFailing, "The payouts of acme have been failing."},
		{[]streamState{mended}, stateFine, "All is fine: the one stream is up to date."},
		{[]streamState{guarded, failing, late, late}, stateGuarded,
			"A guard stopped the products of acme: a person must look. 1 other is failing. 2 others are late."},
		{[]streamState{guarded, guarded}, stateGuarded, "Guards stopped 2 streams of acme: a person must look."},
	} {
		o := overview{now: noon, local: noon, known: noon, streams: c.streams}
		for i := range o.streams {
			o.streams[i].state = o.judge(&o.streams[i])
		}
		if s, text := o.verdict(); s != c.state || text != c.text {
			t.Errorf("%s: %q, want %s: %q", s, text, c.state, c.text)
		}
	}
	room := warehouse.Storage{Free: 48e6}
	for text, streams := range map[string][]streamState{
		"": {fine}, " 2 streams of acme are late.": {late, late, fine}, " Nothing has run yet.": {never},
	} {
		o := overview{now: noon, local: noon, known: noon, streams: slices.Clone(streams), room: &room}
		for i := range o.streams {
			o.streams[i].state = o.judge(&o.streams[i])
		}
		if s, got := o.verdict(); s == stateFine ||
			got != "The disk of the warehouse has 45.8 MiB left: make room, or nothing can be loaded soon."+text {
			t.Errorf("with a full disk: %s: %q", s, got)
		}
	}
	// What waits for a person is never green, and nothing hides what is worse.
	reject, rejects := stands("coupons", time.Minute), stands("payouts", time.Minute)
	reject.rejects, rejects.rejects = 1, 7
	for _, c := range []struct {
		findings map[string]uint64
		refused  string
		streams  []streamState
		state    state
		text     string
	}{
		{map[string]uint64{"acme": 3}, "", []streamState{fine}, stateDoubtful, "Everything is loaded, but the payouts of acme need a look."},
		{map[string]uint64{"acme": 3}, "", []streamState{fine, never}, stateDoubtful, "The payouts of acme need a look; 1 stream has not run yet."},
		{map[string]uint64{"a": 1, "c": 1, "b": 1, "d": 1}, "", []streamState{fine}, stateDoubtful, "Everything is loaded, but the payouts of 4 accounts need a look."},
		{map[string]uint64{"acme": 3}, "", []streamState{fine, failing}, stateFailing, "The promotions of acme have been failing since 11:30 UTC."},
		{map[string]uint64{"b": 1, "a": 1}, "", []streamState{reject, odd}, stateDoubtful,
			"Everything is loaded, but a check of the coupons of acme failed, records of the coupons of acme could not be loaded and the payouts of a and b need a look."},
		{nil, "", []streamState{reject, rejects, fine}, stateDoubtful, "Everything is loaded, but records of 2 streams of acme could not be loaded."},
		{nil, "line 3", []streamState{fine}, stateDoubtful,
			"The new configuration was refused, and the previous one is in force: a restart would fail. The one stream is up to date."},
		{nil, "line 3", []streamState{failing}, stateFailing,
			"The new configuration was refused, and the previous one is in force: a restart would fail. The promotions of acme have been failing since 11:30 UTC."},
	} {
		o := overview{now: noon, local: noon, known: noon, streams: slices.Clone(c.streams), findings: c.findings, refused: c.refused}
		for i := range o.streams {
			o.streams[i].state = o.judge(&o.streams[i])
		}
		if s, got := o.verdict(); s != c.state || got != c.text {
			t.Errorf("%s: %q, want %s: %q", s, got, c.state, c.text)
		}
	}
	o := overview{now: noon, local: noon}
	if s := o.judge(&never); s != stateUnknown {
		t.Errorf("before the warehouse was ever asked, a stream is %s", s)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"just now": ago(0), "1 second ago": ago(time.Second), "59 minutes ago": ago(time.Hour - 1),
		"47 hours ago": ago(47 * time.Hour), "2 days ago": ago(49 * time.Hour),
		"now": until(0), "in 5 minutes": until(5*time.Minute + 59*time.Second), "0 ms": term.Span(-time.Second),
		"1.5 s": term.Span(1500 * time.Millisecond), "2 min 5 s": term.Span(125 * time.Second),
		"26 h 0 min": term.Span(26 * time.Hour), "1,234,567": term.Count(1234567), "123": term.Count(123),
		"1 row": term.Plural(1, "row"), "0 rows": term.Plural(0, "row"),
		"999 B": term.Size(999), "1.2 KiB": term.Size(1234), "3.2 MiB": term.Size(3_400_000), "4.7 GiB": term.Size(5e9),
		"2026-03-15T12:00:00.000Z": rfc3339(noon),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
