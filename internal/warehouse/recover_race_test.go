package warehouse

import (
	"context"
	"dealhouse/internal/enginetest"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// noted calls a function when a certain message is logged.
type noted struct {
	slog.Handler
	message string
	call    func()
}

func (h noted) Enabled(context.Context, slog.Level) bool { return true }

func (h noted) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.call()
	}
	return nil
}

// TestTwoFinishOneRun makes two workers find a stream free at the same moment, after a run died while it published. The
// second takes the stream when the first has checked its lease and is about to attach what the dead run had prepared.
// The second must not attach it again at the same time.
func TestTwoFinishOneRun(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	dead, in := prepared(t, w, "["+coupon(idA, "a", day1)+"]")
	must(t, w.saveJSON(t.Context(), dead, intentName(dead.ID), in))

	looked, takes, careful := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var onceLooked, onceAttached, onceCareful sync.Once
	beCareful := func() { onceCareful.Do(func() { close(careful) }) }
	first, one := through(t, w, Options{})
	second, two := through(t, w, Options{Logger: slog.New(noted{slog.DiscardHandler, waitsForOther, beCareful})})
	two.set(func(s string) {
		if strings.Contains(s, "coupons_versions ATTACH") {
			beCareful() // it was not careful
		}
	}, func(s string) {
		if strings.Contains(s, selectLease(false)) {
			onceLooked.Do(func() { close(looked); <-takes })
		}
	})
	one.set(func(s string) {
		if strings.Contains(s, "coupons_versions ATTACH") {
			onceAttached.Do(func() { close(takes); <-careful })
		}
	}, nil)

	var ended sync.WaitGroup
	errs := make([]error, 2)
	ended.Go(func() { _, errs[1] = second.recoverAs(t.Context(), begin(t, w, "coupons")) })
	<-looked
	_, errs[0] = first.recoverAs(t.Context(), begin(t, w, "coupons"))
	ended.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrLeaseLost) {
			t.Error(err)
		}
	}
	wantRows(t, w, "SELECT code FROM coupons_versions", "a")
	wantRows(t, w, "SELECT code FROM coupons", "a")
	wantRows(t, w, "SELECT outcome, inserted FROM sync_runs", "success 1")
	wantRows(t, w, "SELECT name FROM sync_state")
}
