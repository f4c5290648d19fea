package notify

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/receiver"
)

// Tried is the result of the test of a receiver.
type Tried struct {
	Receiver, Form string
	Err            error // nil: it accepted the message
}

// Test sends each receiver a message that says it is a test, and returns the results, in the order of the
// configuration. A dead man's switch gets a success. Nothing is stored.
func (r *Receivers) Test(ctx context.Context, now time.Time) []Tried {
	tried := make([]Tried, len(r.all))
	var group sync.WaitGroup
	for i, t := range r.all {
		tried[i] = Tried{Receiver: t.Name, Form: t.Form}
		group.Go(func() { tried[i].Err = t.try(ctx, now) })
	}
	group.Wait()
	return tried
}

// Only returns the receivers without all but the one of that name; false: there is none.
func (r *Receivers) Only(name string) (*Receivers, bool) {
	for _, t := range r.all {
		if t.Name == name {
			return &Receivers{[]*target{t}}, true
		}
	}
	return &Receivers{}, false
}

func (t *target) try(ctx context.Context, now time.Time) error {
	if t.Form == receiver.Ping {
		return t.ping(ctx, receiver.SignalSuccess, "a test", uuid.Nil)
	}
	m := Message{
		ID: uuid.NewString(), Receiver: t.Name, Event: receiver.EventTest, Title: "A test of dealhouse",
		Text: "This receiver is set up correctly.", At: now.UTC(), Attempt: 1,
	}
	problem, err := t.send(ctx, m, nil, now)
	if err == nil {
		err = problem
	}
	return err
}
