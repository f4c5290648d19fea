package notify

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
)

// TestWantedNoMoreAndAgain checks that what a receiver was told, and does not want for a while, has not ended, and is
// not told again when the receiver wants it again: what is still true is told once, however the configuration changes.
// For wide samples: TestEdges tells what stands once.
func TestWantedNoMoreAndAgain(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	h, ops := newHouse(t), newHook(t)
	finding := func(payout string) warehouse.Finding {
		return warehouse.Finding{Account: "acme", Kind: "drifted", Subject: payout,
			Detail: "payout " + payout + " is drifted"}
	}
	record := func(payouts ...string) {
		t.Helper()
		var all []warehouse.Finding
		for _, p := range payouts {
			all = append(all, finding(p))
		}
		if _, err := h.w.RecordFindings(t.Context(), "acme", all); err != nil {
			t.Fatal(err)
		}
	}
	note := func(name string) {
		t.Helper()
		if _, err := h.w.NoteUnknownFields(t.Context(), warehouse.StreamID{Account: "acme", Stream: "coupons"},
			[]string{name}); err != nil {
			t.Fatal(err)
		}
	}
	all, little, elsewhere := ops.webhook("ops"), ops.webhook("ops"), ops.webhook("ops")
	little.Events = []string{receiver.EventFailing}
	elsewhere.Accounts = []string{"globex"}
	expect := func(when string, r Receiver, want ...string) {
		t.Helper()
		h.pass(time.Second)
		h.turn(h.notifier(r))
		h.turn(h.notifier(r))
		if got := ops.titles(t); !slices.Equal(got, want) {
			t.Errorf("%s: told %q, want %q", when, got, want)
		}
	}
	record("1")
	note("colour")
	expect("all", all, "Payouts: 1 new finding of acme",
		"The API sends unknown fields: 1 new field of acme")
	record("1", "2")
	expect("one more", all, "Payouts: 1 new finding of acme")
	record("1", "2", "3")
	expect("it wants little", little)
	expect("it is about others", elsewhere)
	expect("it wants all again", all, "Payouts: 1 new finding of acme")
	record("1", "3")
	expect("one is settled", all)
	record("1", "3", "2")
	note("size")
	expect("it is there again, and a field", all, "Payouts: 1 new finding of acme",
		"The API sends unknown fields: 1 new field of acme")
}

// A success is sent to the URL as it is configured, and other signals to paths below it, whatever its path contains.
func TestPingPaths(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	paths := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		paths <- r.URL.EscapedPath()
	}))
	t.Cleanup(server.Close)
	h := newHouse(t)
	for _, c := range [][3]string{
		{"/ping/id", "/ping/id", "/ping/id/fail"}, {"/ping/id/", "/ping/id/", "/ping/id/fail"},
		{"/a%2Fb", "/a%2Fb", "/a%2Fb/fail"}, {"/", "/", "/fail"}, {"", "/", "/fail"},
	} {
		r := h.compile(Receiver{Name: "switch", Form: receiver.Ping, URL: server.URL + c[0]})
		for i, signal := range []string{receiver.SignalSuccess, receiver.SignalFail} {
			if err := r.all[0].ping(t.Context(), signal, "", uuid.Nil); err != nil {
				t.Fatal(err)
			}
			if got := <-paths; got != c[i+1] {
				t.Errorf("%s of %q is told to %q, want %q", signal, c[0], got, c[i+1])
			}
		}
	}
}

// A receiver that hangs does not keep others from hearing that the warehouse does not work.
func TestTroubleIsToldSideBySide(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h, ops := newHouse(t), newHook(t)
	told := make(chan struct{}, 8)
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case <-told: // by the other one, which it waits for
		case <-t.Context().Done():
		}
	}))
	t.Cleanup(hanging.Close)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told <- struct{}{}
		ops.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(other.Close)
	n := h.notifier(Receiver{Name: "hangs", Form: receiver.JSON, URL: hanging.URL},
		Receiver{Name: "ops", Form: receiver.JSON, URL: other.URL})
	n.tellTrouble(t.Context(), n.receivers.Load(), errors.New("no room"))
	h.pass(lasts)
	n.tellTrouble(t.Context(), n.receivers.Load(), errors.New("no room"))
	if got := ops.titles(t); !slices.Equal(got, []string{"The warehouse does not work"}) || !n.trouble.told["hangs"] {
		t.Errorf("told %q, and it is known of %v", got, n.trouble.told)
	}
}
