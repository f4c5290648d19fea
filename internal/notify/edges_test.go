package notify

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
)

// Each edge is told once, whatever runs and processes there are in between. Without a wide sample, each kind of edge
// comes once: TestWantedNoMoreAndAgain has repeated ones.
func TestEdges(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h, ops, patient, finance := newHouse(t), newHook(t), newHook(t), newHook(t)
	third, payouts := patient.webhook("patient"), finance.webhook("finance")
	third.After, third.Accounts = 3, []string{"acme"}
	payouts.Events = []string{receiver.EventFindings}
	receivers := []Receiver{ops.webhook("ops"), third, payouts}
	n := h.notifier(receivers...)
	failed := func(account, stream string) { h.run(account, stream, warehouse.OutcomeFailed, "the API answers 500") }
	good := func(account, stream string) { h.run(account, stream, warehouse.OutcomeSuccess, "") }
	expect := func(when string, opsWant, thirdWant, financeWant []string) {
		t.Helper()
		h.pass(time.Second)
		h.turn(n)
		n = h.notifier(receivers...) // a restart repeats and forgets nothing
		for name, c := range map[string]struct {
			*hook
			want []string
		}{"ops": {ops, opsWant}, "patient": {patient, thirdWant}, "finance": {finance, financeWant}} {
			if got := c.titles(t); !slices.Equal(got, c.want) {
				t.Errorf("%s: %s was told %q, want %q", when, name, got, c.want)
			}
		}
	}
	expect("nothing ran", nil, nil, nil)
	for _, s := range h.streams {
		good(s.Account, s.Stream)
	}
	expect("all is well", nil, nil, nil)
	failed("acme", "coupons")
	expect("one failed", []string{"Failing: coupons of acme"}, nil, nil)
	failed("acme", "coupons")
	h.run("acme", "coupons", warehouse.OutcomeStopped, "a signal")
	expect("again", nil, nil, nil)
	failed("acme", "coupons")
	failed("globex", "transactions")
	failed("globex", "coupons")
	expect("a third time, and others", []string{"Failing: coupons and transactions of globex"},
		[]string{"Failing: coupons of acme"}, nil)
	good("acme", "coupons")
	good("globex", "coupons")
	expect("two recover", []string{"Recovered: 2 streams of 2 accounts"}, []string{"Recovered: coupons of acme"}, nil)
	h.run("acme", "coupons", warehouse.OutcomeGuarded, "it would delete all")
	h.run("acme", "coupons", warehouse.OutcomeGuarded, "it would delete all")
	expect("a guard", []string{"A guard stopped a run, and a person must look: coupons of acme"},
		[]string{"A guard stopped a run, and a person must look: coupons of acme"}, nil)
	failed("acme", "coupons")
	expect("it fails beside", []string{"Failing: coupons of acme"}, []string{"Failing: coupons of acme"}, nil)
	good("acme", "coupons")
	expect("a person has looked", []string{"Recovered: coupons of acme"}, []string{"Recovered: coupons of acme"}, nil)

	findings := []warehouse.Finding{{Account: "acme", Kind: "drifted", Subject: "625", Detail: "payout 625 is drifted"},
		{Account: "acme", Kind: "missing", Subject: "623", Detail: "payout 623 lacks sales"}}
	record := func(all []warehouse.Finding) {
		t.Helper()
		if _, err := h.w.RecordFindings(t.Context(), "acme", all); err != nil {
			t.Fatal(err)
		}
	}
	record(findings)
	h.streams[3].Enabled = false // globex transactions, which fails
	expect("findings, and a stream is configured no more", []string{"Payouts: 2 new findings of acme"}, []string{"Payouts: 2 new findings of acme"},
		[]string{"Payouts: 2 new findings of acme"})
	if enginetest.Wide() {
		record(findings[:1])
		expect("one is settled", nil, nil, nil)
		record(findings)
		expect("it is there again", []string{"Payouts: 1 new finding of acme"}, []string{"Payouts: 1 new finding of acme"},
			[]string{"Payouts: 1 new finding of acme"})
	}
	note := func(names ...string) {
		t.Helper()
		if _, err := h.w.NoteUnknownFields(t.Context(), warehouse.StreamID{Account: "globex", Stream: "coupons"},
			names); err != nil {
			t.Fatal(err)
		}
	}
	note("colour", "size")
	expect("fields", []string{"The API sends unknown fields: 2 new fields of globex"}, nil, nil)
	if enginetest.Wide() {
		note("colour", "weight")
		expect("one more field", []string{"The API sends unknown fields: 1 new field of globex"}, nil, nil)
	}
	carry := func(code, logo uint64) {
		t.Helper()
		h.carry("acme", "coupons", 100, map[string]uint64{"code": code, "logo": logo})
	}
	carry(100, 100)
	h.streams[3].Enabled = true
	expect("all fields are there, and the stream is configured again and fails still",
		[]string{"Failing: transactions of globex"}, nil, nil)
	carry(0, 100)
	vanished := []string{"The API no longer sends what it used to send: 1 field of acme"}
	expect("a field vanishes", vanished, vanished, nil)
	if enginetest.Wide() {
		carry(0, 0)
		expect("another one does", vanished, vanished, nil)
		carry(100, 0)
		expect("the first is back", nil, nil, nil)
		carry(0, 0)
		expect("it vanishes again", vanished, vanished, nil)
	}

	allow := func(age time.Duration) {
		for i := range h.streams {
			h.streams[i].StaleAfter = age
		}
	}
	allow(time.Hour)
	h.streams[0].Paused = true // by an operator: acme coupons
	expect("nothing runs for hours, and one fails", []string{"Late: 2 streams of 2 accounts"}, []string{"Late: transactions of acme"},
		nil)
	for _, s := range h.streams {
		good(s.Account, s.Stream)
	}
	allow(longAgo)
	expect("it runs again", []string{"Recovered: 3 streams of 2 accounts"}, []string{"Recovered: transactions of acme"},
		nil)
	if !enginetest.Wide() {
		return
	}
	failed("globex", "coupons")
	expect("one fails", []string{"Failing: coupons of globex"}, nil, nil)
	h.streams[2].Enabled = false // globex coupons
	expect("it is configured no more", nil, nil, nil)
	h.streams[2].Enabled = true
	expect("it is configured again, and fails still", []string{"Failing: coupons of globex"}, nil, nil)
}

// Two processes that see the same report it once, and a process reports nothing about accounts of another process.
func TestTwoProcesses(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h, ops := newHouse(t), newHook(t)
	for _, s := range h.streams {
		h.run(s.Account, s.Stream, warehouse.OutcomeFailed, "told to fail")
	}
	var group sync.WaitGroup
	for range 4 {
		n := h.notifier(ops.webhook("ops"))
		group.Go(func() {
			if err := n.Turn(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := ops.titles(t); !slices.Equal(got, []string{"Failing: 4 streams of 2 accounts"}) {
		t.Errorf("four processes told %q", got)
	}
	all := h.streams
	h.streams = all[:2]
	h.turn(h.notifier(ops.webhook("ops")))
	h.streams = all[2:]
	h.turn(h.notifier(ops.webhook("ops")))
	h.streams = nil // the process is ending
	h.turn(h.notifier(ops.webhook("ops")))
	h.streams = all
	h.turn(h.notifier(ops.webhook("ops")))
	if got := ops.titles(t); got != nil {
		t.Errorf("processes with accounts of their own told %q", got)
	}
}

// A process that does not wait for others takes its turn all the same, however long the warehouse takes to give it.
func TestTurnWithoutPatience(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h, ops := newHouse(t), newHook(t)
	h.run("acme", "coupons", warehouse.OutcomeFailed, "told to fail")
	n := h.notifier(ops.webhook("ops"))
	n.o.limits.patience = 1
	h.turn(n)
	if got := ops.titles(t); !slices.Equal(got, []string{"Failing: coupons of acme"}) {
		t.Errorf("told %q", got)
	}
}

// A message has what its stream said, shortened, and a limited number of the things that it is about.
func TestTexts(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h, ops := newHouse(t), newHook(t)
	h.run("acme", "coupons", warehouse.OutcomeFailed,
		"a \x1b[31mred\x1b[0m error\nof two lines "+strings.Repeat("x", 10_000))
	h.turn(h.notifier(ops.webhook("ops")))
	got := ops.drain()
	if len(got) != 1 || len(got[0].body) > 1500 || strings.Contains(got[0].body, `\u001b[31m`) &&
		!strings.Contains(got[0].body, `\\u001b`) {
		t.Errorf("told: %+v", got)
	}
	var many []warehouse.Finding
	for i := range 300 {
		many = append(many, warehouse.Finding{Account: "acme", Kind: "overdue", Subject: fmt.Sprint(i),
			Detail: strings.Repeat("long ", 300)})
	}
	if _, err := h.w.RecordFindings(t.Context(), "acme", many); err != nil {
		t.Fatal(err)
	}
	h.turn(h.notifier(ops.webhook("ops")))
	if got := ops.drain(); len(got) != 1 || len(got[0].body) > 2*maxText ||
		!strings.Contains(got[0].body, "300 new findings") {
		t.Errorf("told %d messages: %+v", len(got), got)
	}
}

// Every event has a title, except those about the warehouse: they are sent without a draft.
func TestEventsHaveTitles(t *testing.T) {
	t.Parallel()
	for _, event := range append(receiver.Events(), kindVanished) {
		if titles[event] == "" && event != receiver.EventWarehouse {
			t.Errorf("%s has no title", event)
		}
	}
	if reflect.TypeFor[Message]().NumField() != 10 {
		t.Error("the fields of a message stand in config.example.toml and deploy/README.md: mend them")
	}
}
