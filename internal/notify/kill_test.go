package notify

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
)

// The variables that tell a process of TestLife what to do.
const (
	lifeURL   = "DEALHOUSE_TEST_NOTIFY_URL"
	lifeStep  = "DEALHOUSE_TEST_NOTIFY_STEP"  // the step after which it dies; "": it does not
	lifeBegin = "DEALHOUSE_TEST_NOTIFY_BEGIN" // what fails first; "": nothing new
)

// TestLife is a process that takes a turn, and is killed during it: a part of TestKilledTurn. By itself it
// does nothing.
func TestLife(t *testing.T) {
	if os.Getenv(lifeURL) == "" {
		return
	}
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: enginetest.DSN(), Database: "lives"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // what counts was stored
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := &house{T: t, w: w, log: &lockedText{},
		streams: []Stream{{Account: "acme", Stream: "coupons", Enabled: true},
			{Account: "acme", Stream: "payouts", Enabled: true}}}
	if h.now, err = w.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stream := os.Getenv(lifeBegin); stream != "" {
		h.run("acme", stream, warehouse.OutcomeFailed, "told to fail")
	}
	n := h.notifier(Receiver{Name: "ops", Form: receiver.JSON, URL: os.Getenv(lifeURL)})
	n.o.point = func(step string) {
		if step == os.Getenv(lifeStep) {
			t.Error(enginetest.Die())
		}
	}
	h.turn(n)
}

// TestKilledTurn kills a process at each step of a turn. Nothing is lost. A repeated message has the same ID, and only
// a message that was sent and not yet stored as sent is repeated.
func TestKilledTurn(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	ops := newHook(t)
	for step, want := range map[string][]string{
		"storing": {"coupons", "payouts"}, "stored": {"coupons", "payouts"}, "settled": {"coupons", "payouts"},
		"sent": {"coupons", "coupons", "payouts"},
	} {
		folder := t.TempDir()
		live := func(step, begin string) error {
			return enginetest.Life(t.Context(), folder, "TestLife", lifeURL+"="+ops.URL, lifeStep+"="+step,
				lifeBegin+"="+begin).Run()
		}
		if err := live(step, "coupons"); !enginetest.Killed(err) {
			t.Fatalf("%s: the process was not killed: %v", step, err)
		}
		if err := errors.Join(live("", ""), live("", "payouts"), live("", "")); err != nil {
			t.Fatal(step, err)
		}
		var told []string
		ids := map[string]string{}
		for _, r := range ops.drain() {
			_, stream, _ := strings.Cut(r.body, `"title":"Failing: `)
			stream, _, _ = strings.Cut(stream, " ")
			told = append(told, stream)
			if id, known := ids[stream]; known && id != r.key {
				t.Errorf("%s: %s was repeated under another ID", step, stream)
			}
			ids[stream] = r.key
		}
		if !slices.Equal(told, want) {
			t.Errorf("killed after %s: told %q, want %q", step, told, want)
		}
	}
}
