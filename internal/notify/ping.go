package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
)

// steps are what a signal adds to the path of the URL.
var steps = map[string]string{receiver.SignalStart: "start", receiver.SignalFail: "fail"}

// Run is a run of `dealhouse sync` for the dead man's switches. It tells them when it begins, and how it ended.
type Run struct {
	id      uuid.UUID
	targets []*target
	note    func(receiver string, err error)
	started sync.WaitGroup
}

// Run returns a run of these streams; none are all. note is called for each ping that a switch wants.
func (r *Receivers) Run(streams []warehouse.StreamID, note func(receiver string, err error)) *Run {
	run := &Run{id: uuid.New(), note: note}
	for _, t := range r.all {
		concerned := func(id warehouse.StreamID) bool { return t.concerns(id.Account, id.Stream) }
		if t.Form == receiver.Ping && (len(streams) == 0 || slices.ContainsFunc(streams, concerned)) {
			run.targets = append(run.targets, t)
		}
	}
	return run
}

// Begin tells the switches that the run begins, in the background: nothing waits for them.
func (r *Run) Begin(ctx context.Context) {
	for _, t := range r.targets {
		r.started.Go(func() { r.ping(ctx, t, receiver.SignalStart, "") })
	}
}

// End tells the switches how the run ended, and waits until each has answered, or failed to. failed are the streams
// that failed, with the reason; err is the reason if there was no run.
func (r *Run) End(ctx context.Context, failed map[warehouse.StreamID]string, err error) {
	r.started.Wait() // otherwise the end could arrive before the beginning
	var group sync.WaitGroup
	for _, t := range r.targets {
		var lines []string
		if err != nil {
			lines = append(lines, line(err.Error()))
		}
		for id, why := range failed {
			if t.concerns(id.Account, id.Stream) {
				lines = append(lines, fmt.Sprintf("%s of %s: %s", id.Stream, id.Account, line(why)))
			}
		}
		slices.Sort(lines)
		signal := receiver.SignalSuccess
		if len(lines) > 0 {
			signal = receiver.SignalFail
		}
		group.Go(func() { r.ping(ctx, t, signal, strings.Join(lines, "\n")) })
	}
	group.Wait()
}

func (r *Run) ping(ctx context.Context, t *target, signal, text string) {
	err := t.ping(ctx, signal, text, r.id)
	if !errors.Is(err, errNotWanted) {
		r.note(t.Name, err)
	}
}

// errNotWanted says that a switch does not take the signal.
var errNotWanted = errors.New("the receiver is not configured for this signal")

// ping sends a signal to a switch. rid distinguishes runs at the same time, for the switches that know it.
func (t *target) ping(ctx context.Context, signal, text string, rid uuid.UUID) error {
	if len(t.Events) > 0 && !slices.Contains(t.Events, signal) {
		return errNotWanted
	}
	u := *t.url
	if step := steps[signal]; step != "" {
		u = *t.url.JoinPath(step)
	}
	if rid != uuid.Nil {
		query := u.Query()
		query.Set("rid", rid.String())
		u.RawQuery = query.Encode()
	}
	return t.request(ctx, &u, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte(clip(text, maxText)),
		time.Time{})
}

// pingHealth tells the switches, while the daemon lives, whether all streams are well.
func (n *Notifier) pingHealth(ctx context.Context) {
	var switches []*target
	for _, t := range n.receivers.Load().all {
		if t.Form == receiver.Ping {
			switches = append(switches, t)
		}
	}
	if len(switches) == 0 {
		return
	}
	reading, cancel := context.WithTimeout(ctx, n.o.limits.storing)
	o, err := n.observe(reading)
	cancel()
	if ctx.Err() != nil || errors.Is(err, errEnded) {
		return
	}
	var group sync.WaitGroup
	for _, t := range switches {
		signal, text := receiver.SignalSuccess, ""
		if lines := o.ills(t); err != nil {
			signal, text = receiver.SignalFail, "the warehouse does not work: "+line(err.Error())
		} else if len(lines) > 0 {
			signal, text = receiver.SignalFail, strings.Join(lines, "\n")
		}
		group.Go(func() {
			if err := t.ping(ctx, signal, text, uuid.Nil); !errors.Is(err, errNotWanted) && ctx.Err() == nil {
				n.note(t, err)
			}
		})
	}
	group.Wait()
}

// ills returns the problems of the streams that a receiver wants to know about.
func (o *observation) ills(t *target) (lines []string) {
	for _, s := range o.streams {
		if !t.concerns(s.Account, s.Stream) {
			continue
		}
		for _, event := range lasting {
			if holds, _, _ := o.holds(event, s, t.After); holds {
				lines = append(lines, o.describe(event, s))
				break
			}
		}
	}
	return lines
}
