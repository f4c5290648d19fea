//go:build !noengine

package daemon

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// late is a connection that holds back its answer about what operators requested until the test lets it go.
type late struct {
	driver.Conn
	hold  *atomic.Bool
	held  chan struct{}
	let   chan struct{}
	until context.Context // the test's context
}

func (l late) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	rows, err := l.Conn.Query(ctx, query, args...)
	if strings.Contains(query, "operator_actions_log") && l.hold.CompareAndSwap(true, false) {
		l.held <- struct{}{}
		select {
		case <-l.let:
		case <-l.until.Done():
		}
	}
	return rows, err
}

// A pause is not undone by something that was read before it and arrives after it: the daemon's own reading,
// or a reload (daemon-10).
func TestOldReadingChangesNothing(t *testing.T) {
	t.Parallel()
	l := late{hold: &atomic.Bool{}, held: make(chan struct{}), let: make(chan struct{}), until: t.Context()}
	w := warehousetest.Again(t, open(t), warehouse.Options{Wrap: func(c driver.Conn) driver.Conn {
		l := l
		l.Conn = c
		return l
	}})
	looks := make(chan time.Time)
	b := operated(t, w, hourly(t, "coupons", "payouts"), func(_ *bed, o *Options) {
		o.looks = looks
		o.Load = func(context.Context) (*Plan, error) { return hourly(t, "coupons", "payouts"), nil }
	})
	l.hold.Store(true)
	answer := make(chan error, 1)
	if err := b.inLoop(t.Context(), func(l *loop) { l.reload(l.serving, answer) }); err != nil {
		t.Fatal(err)
	}
	<-l.held
	b.does(warehouse.ActionPause, "payouts", "no run starts")
	l.let <- struct{}{}
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if b.stream("acme", "payouts").Paused == nil {
		t.Error("a reload that began before has ended the pause")
	}

	l.hold.Store(true)
	looks <- time.Now()
	<-l.held
	b.does(warehouse.ActionPause, "coupons", "no run starts")
	l.let <- struct{}{}
	looks <- time.Now() // the first look has ended
	if b.stream("acme", "coupons").Paused == nil {
		t.Error("a look that began before has ended the pause")
	}
}
