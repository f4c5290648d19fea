package notify

import (
	"slices"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// A fault is told once, however many streams it stops one after the other, and so is its end. Another fault is told,
// also of a stream that fails already.
func TestOneMessageOfACause(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h, ops := newHouse(t), newHook(t)
	const down, other, key = "service https://a.example.com:443", "service https://b.example.com:443", "key"
	failed := func(account, stream, cause string) {
		t.Helper()
		h.runOf(account, stream, warehouse.OutcomeFailed, "it fails of "+cause, cause)
	}
	good := func(account, stream string) { h.run(account, stream, warehouse.OutcomeSuccess, "") }
	expect := func(when string, want ...string) {
		t.Helper()
		h.turn(h.notifier(ops.webhook("ops"))) // a restart repeats and forgets nothing
		if got := ops.titles(t); !slices.Equal(got, want) {
			t.Errorf("%s: told %q, want %q", when, got, want)
		}
	}
	for _, s := range h.streams {
		good(s.Account, s.Stream)
	}
	expect("all is well")
	failed("acme", "coupons", down)
	expect("the service is down", "Failing: coupons of acme")
	failed("acme", "transactions", down)
	expect("the next stream meets it")
	failed("globex", "coupons", down)
	failed("acme", "coupons", down)
	expect("another account does")
	failed("globex", "transactions", other)
	expect("another service is down", "Failing: transactions of globex")
	good("globex", "transactions")
	expect("that one is back", "Recovered: transactions of globex")
	good("acme", "coupons")
	expect("one stream is back")
	failed("acme", "transactions", key)
	expect("it answers, and refuses a key", "Failing: transactions of acme")
	failed("acme", "transactions", down)
	failed("acme", "coupons", key)
	expect("to and fro")
	failed("globex", "coupons", key)
	expect("another account's key", "Failing: coupons of globex")
	for i := range 3 {
		h.streams[i].StaleAfter = time.Hour
	}
	expect("what fails is late, too")
	for i := range 3 {
		h.streams[i].StaleAfter = longAgo
	}
	good("acme", "coupons")
	good("globex", "coupons")
	expect("of the first account, another stream fails still", "Recovered: coupons of globex")
	good("acme", "transactions")
	expect("all is back", "Recovered: coupons and transactions of acme")
	failed("acme", "coupons", down)
	expect("down again", "Failing: coupons of acme")
	h.pass(joinWithin)
	failed("globex", "coupons", down)
	expect("much later, it may be another fault", "Failing: coupons of globex")
	good("acme", "coupons")
	expect("it is told then who is back", "Recovered: coupons of acme")
	h.run("acme", "coupons", warehouse.OutcomeFailed, "a run of before")
	h.run("acme", "transactions", warehouse.OutcomeFailed, "a run of before")
	expect("of an unknown cause each is told", "Failing: coupons and transactions of acme")
}
