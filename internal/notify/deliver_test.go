package notify

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// queue stores messages for a receiver, as a turn does.
func (h *house) queue(name string, titles ...string) {
	h.Helper()
	var all []warehouse.Notification
	for _, title := range titles {
		all = append(all, warehouse.Notification{
			Receiver: name, ID: uuid.New(), At: h.clock(), Event: receiver.EventTest, Title: title, Text: title,
			State: warehouse.NotificationWaiting, NextAt: h.clock(),
		})
	}
	if err := h.w.QueueNotifications(h.Context(), all); err != nil {
		h.Fatal(err)
	}
}

func (h *house) states(name string) (states []string) {
	h.Helper()
	all, err := h.w.Notifications(h.Context(), name, 2000)
	if err != nil {
		h.Fatal(err)
	}
	slices.Reverse(all)
	for _, n := range all {
		states = append(states, fmt.Sprintf("%s %s %d", n.Title, n.State, n.Attempts))
	}
	return states
}

// Nothing is lost while a receiver is down, no other receiver has to wait, and the messages arrive in order
// when it is up.
func TestReceiverIsDown(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h, ops, up := newHouse(t), newHook(t), newHook(t)
	receivers := []Receiver{ops.webhook("ops"), up.webhook("up")}
	n := h.notifier(receivers...)
	ops.fail(http.StatusInternalServerError)
	h.queue("ops", "a", "b")
	h.queue("up", "c")
	h.turn(n)
	h.turn(n)
	if got := up.titles(t); !slices.Equal(got, []string{"c"}) {
		t.Errorf("the receiver that is up was told %q", got)
	}
	tries := 1
	for range 11 { // for hours, also in steps that are shorter than the pause
		h.pass(24 * time.Minute)
		h.turn(n)
		tries++
	}
	waiting, err := h.w.WaitingNotifications(t.Context(), "ops", 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(waiting) != 2 || waiting[0].Attempts < 6 || int(waiting[0].Attempts) >= tries || waiting[1].Attempts != 0 ||
		waiting[0].Error != "it answers 500 Internal Server Error" {
		t.Errorf("after hours: %+v", waiting)
	}
	h.queue("ops", "d")
	ops.fail(0)
	h.pass(backoff[len(backoff)-1])
	h.turn(h.notifier(receivers...))
	requests := ops.drain()
	var bodies strings.Builder
	for _, r := range requests {
		bodies.WriteString(r.body + "\n")
	}
	if len(requests) != 3 || !strings.Contains(requests[0].body, `"title":"a"`) ||
		!strings.Contains(requests[1].body, `"title":"b"`) || !strings.Contains(requests[2].body, `"title":"d"`) {
		t.Errorf("told: %s", bodies.String())
	}
	if requests[0].key != waiting[0].ID.String() || !strings.Contains(requests[0].body, requests[0].key) {
		t.Errorf("the message has the key %q, its ID is %s", requests[0].key, waiting[0].ID)
	}
	if got := strings.Count(h.log.String(), "did not accept a notification"); got != 1 {
		t.Errorf("it was logged %d times that the receiver is down", got)
	}
}

// Waiting messages are limited in age and number. A message that the receiver refuses does not hold up the next.
func TestBounds(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h, ops := newHouse(t), newHook(t)
	n := h.notifier(ops.webhook("ops"))
	h.queue("ops", "old")
	h.pass(maxAge + time.Minute)
	h.queue("ops", "new")
	h.turn(n)
	if got := h.states("ops"); !slices.Equal(got, []string{"old dropped 0", "new sent 1"}) {
		t.Errorf("too old: %q", got)
	}
	ops.fail(http.StatusBadRequest)
	h.queue("ops", "bad")
	h.queue("ops", "good")
	for range maxRefusals {
		h.pass(time.Hour)
		h.turn(n)
		if got := h.states("ops"); strings.HasPrefix(got[len(got)-1], "good sent") {
			t.Fatal("the order was not kept")
		}
	}
	ops.fail(0)
	h.pass(time.Hour)
	h.turn(n)
	if got := h.states("ops")[2:]; !slices.Equal(got, []string{"bad dropped 5", "good sent 2"}) {
		t.Errorf("refused: %q", got)
	}
	ops.fail(http.StatusServiceUnavailable)
	many := make([]string, maxWaiting+7)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	h.queue("ops", many...)
	h.turn(n)
	state, err := h.w.Receivers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s := state["ops"]; s.Waiting != maxWaiting || s.Dropped != 2+7 || s.Error != "" &&
		s.Error != "it answers 503 Service Unavailable" {
		t.Errorf("too many: %+v", s)
	}
}

// A receiver says when the next attempt should be made.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, "-5": 0, "99999999": time.Hour, "soon": 0,
		"Sun, 01 Mar 2026 00:10:00 GMT": 10 * time.Minute, "Sun, 01 Mar 2020 00:10:00 GMT": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// noRoom is a warehouse that can be read, and accepts no rows.
type noRoom struct{ driver.Conn }

func (noRoom) PrepareBatch(context.Context, string, ...driver.PrepareBatchOption) (driver.Batch, error) {
	return nil, &clickhouse.Exception{Code: 243, Name: "NOT_ENOUGH_SPACE", Message: "not enough space"}
}

// If the warehouse accepts no rows, it has no record of failed runs. The failures are reported all the same.
func TestWarehouseWithoutRoom(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h, ops := newHouse(t), newHook(t)
	h.run("acme", "coupons", warehouse.OutcomeSuccess, "")
	n := h.notifier(ops.webhook("ops"))
	n.o.Warehouse = warehousetest.Again(t, h.w,
		warehouse.Options{NoRetry: true, Wrap: func(c driver.Conn) driver.Conn { return noRoom{c} }})
	h.turn(n)
	h.streams[0].Failed = true
	for range 4 {
		if err := n.Turn(t.Context()); err == nil {
			t.Fatal("nobody noticed that nothing can be stored")
		}
		h.pass(30 * time.Second)
	}
	h.streams[0].Failed = false
	h.turn(n)
	if got := ops.titles(t); !slices.Equal(got, []string{"The warehouse does not work", "Recovered: the warehouse"}) {
		t.Errorf("told %q", got)
	}
}

// That the warehouse does not work is reported once, though it cannot be stored; so is that it works again.
func TestWarehouseInTrouble(t *testing.T) {
	t.Parallel()
	h, ops := newHouse(t), newHook(t)
	works := h.w
	broken := warehousetest.Again(t, h.w, warehouse.Options{})
	n := h.notifier(ops.webhook("ops"))
	if err := broken.Close(); err != nil {
		t.Fatal(err)
	}
	n.o.Warehouse = broken
	for range 5 {
		if err := n.Turn(t.Context()); err == nil {
			t.Fatal("a warehouse that is closed answers")
		}
		h.pass(30 * time.Second)
	}
	if got := ops.titles(t); !slices.Equal(got, []string{"The warehouse does not work"}) {
		t.Errorf("told %q", got)
	}
	n.o.Warehouse = works
	h.turn(n)
	h.turn(n)
	if got := ops.titles(t); !slices.Equal(got, []string{"Recovered: the warehouse"}) {
		t.Errorf("told %q", got)
	}
}
