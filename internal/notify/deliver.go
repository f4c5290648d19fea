package notify

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"dealhouse/internal/receiver"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Limits of waiting messages (notify-4), and of the attempts to send them.
const (
	maxWaiting  = 1000
	maxAge      = 72 * time.Hour
	maxRefusals = 5  // attempts with a message that a receiver refuses as such
	atOnce      = 20 // messages that are read at a time
)

// backoff are the pauses after the first failed attempt, the second, and so on. The last one is for all
// further attempts.
var backoff = []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	15 * time.Minute, 30 * time.Minute}

// deliver sends what waits and is due, to all receivers side by side (notify-5).
func (n *Notifier) deliver(ctx context.Context, r *Receivers) error {
	w := n.outbox()
	if err := n.saveSent(ctx); err != nil {
		return err
	}
	waiting, err := w.WaitingNotifications(ctx, "", 1)
	if err != nil {
		return err
	}
	var due []*target
	for _, t := range r.all {
		i := slices.IndexFunc(waiting, func(x warehouse.Notification) bool { return x.Receiver == t.Name })
		if i >= 0 && !n.now().Before(waiting[i].NextAt) {
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return n.countWaiting(ctx, r)
	}
	sending, cancel := context.WithTimeout(ctx, n.o.limits.serving)
	defer cancel()
	giveBack, err := n.turn(sending, warehouse.TurnOfSending)
	if err != nil || giveBack == nil {
		return err // another process has the turn and sends
	}
	errs := make([]error, len(due))
	var group sync.WaitGroup
	for i, t := range due {
		group.Go(func() { errs[i] = n.serve(sending, t) })
	}
	group.Wait()
	giveBack(ctx)
	return errors.Join(errors.Join(errs...), n.countWaiting(ctx, r))
}

// countWaiting updates the metric, and drops messages above the limits.
func (n *Notifier) countWaiting(ctx context.Context, r *Receivers) error {
	states, err := n.outbox().Receivers(ctx)
	if err != nil {
		return err
	}
	for _, t := range r.all {
		n.o.Metrics.wait(t.Name, states[t.Name].Waiting)
		if more := int(states[t.Name].Waiting) - maxWaiting; more > 0 {
			oldest, err := n.outbox().WaitingNotifications(ctx, t.Name, more)
			if err == nil {
				err = n.drop(ctx, oldest, fmt.Sprintf("more than %d messages waited", maxWaiting))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// serve sends the messages of a receiver in their order (notify-3), until the receiver does not accept one or ctx ends.
func (n *Notifier) serve(ctx context.Context, t *target) error {
	for {
		waiting, err := n.outbox().WaitingNotifications(ctx, t.Name, atOnce)
		if err != nil || len(waiting) == 0 {
			return ended(ctx, err)
		}
		for _, m := range waiting {
			if more, err := n.sendOne(ctx, t, m); err != nil || !more {
				return ended(ctx, err)
			}
		}
	}
}

// ended drops the error of a step that exceeded its time limit: the next turn continues.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // see above
	}
	return err
}

// sendOne sends a message that waits, and stores the result. more says that the next one may be sent.
func (n *Notifier) sendOne(ctx context.Context, t *target, m warehouse.Notification) (more bool, err error) {
	now := n.now()
	switch {
	case now.Sub(m.At) > maxAge:
		return true, n.drop(ctx, []warehouse.Notification{m}, "it waited for more than "+maxAge.String())
	case now.Before(m.NextAt):
		return false, nil
	}
	m.Attempts++
	problem, err := n.send(ctx, t, message(m), now)
	if ctx.Err() != nil && err != nil {
		return false, nil //nolint:nilerr // it was not the receiver's fault
	}
	n.note(t, err)
	if err == nil {
		m.State, m.Error, m.EndedAt = warehouse.NotificationSent, "", &now
		if problem != nil {
			m.Error = problem.Error()
		}
		n.mu.Lock()
		n.unsettled[m.ID] = m
		n.mu.Unlock()
		n.o.point("sent")
		err = n.saveSent(context.WithoutCancel(ctx))
		n.o.point("settled")
		return true, err
	}
	m.Error = err.Error()
	fault, _ := errors.AsType[*AttemptError](err)
	if fault != nil && fault.Refused && m.Attempts >= maxRefusals {
		return true, n.drop(ctx, []warehouse.Notification{m}, m.Error)
	}
	m.NextAt = now.Add(backoff[min(int(m.Attempts), len(backoff))-1])
	if fault != nil && fault.RetryAfter > 0 {
		m.NextAt = now.Add(max(m.NextAt.Sub(now), fault.RetryAfter))
	}
	return false, n.outbox().SettleNotifications(context.WithoutCancel(ctx), m)
}

// saveSent stores that messages were sent. If that fails, the process remembers them and does not send them again.
func (n *Notifier) saveSent(ctx context.Context) error {
	n.mu.Lock()
	all := slices.Collect(maps.Values(n.unsettled))
	n.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, n.o.limits.settling)
	defer cancel()
	if err := n.outbox().SettleNotifications(ctx, all...); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range all {
		delete(n.unsettled, m.ID)
	}
	return nil
}

// drop gives up messages (notify-4).
func (n *Notifier) drop(ctx context.Context, all []warehouse.Notification, why string) error {
	now := n.now()
	for i := range all {
		all[i].State, all[i].Error, all[i].EndedAt = warehouse.NotificationDropped, why, &now
	}
	if err := n.outbox().SettleNotifications(ctx, all...); err != nil {
		return err
	}
	n.o.Metrics.count(all[0].Receiver, outcomeDropped, len(all))
	n.log.Warn("gave up sending messages to a receiver: `dealhouse notify list` shows which", "receiver", all[0].Receiver, "messages",
		len(all), "reason", why)
	return nil
}

// send makes one attempt, in the form of the receiver. problem is what a person must put right though the message is
// sent: a template that fails, in whose place the built-in text is sent, or an address that is refused.
func (n *Notifier) send(ctx context.Context, t *target, m Message, now time.Time) (problem, err error) {
	problem, err = t.send(ctx, m, n.o.roots, now)
	if problem != nil {
		n.log.Warn("a notification is not sent as it should be", "receiver", t.Name, "error", problem)
	}
	return problem, err
}

func (t *target) send(ctx context.Context, m Message, roots *x509.CertPool, now time.Time) (problem, err error) {
	m.Link = t.link(m)
	if t.Form == receiver.Mail {
		return t.mail(ctx, m, roots)
	}
	return t.post(ctx, m, now)
}

// note counts an attempt, and logs when a receiver begins to fail, fails for another reason, or works again.
func (n *Notifier) note(t *target, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, failing := n.failed[t.Name]
	if err == nil {
		n.o.Metrics.count(t.Name, outcomeSent, 1)
		delete(n.failed, t.Name)
		if failing {
			n.log.Info("a receiver of notifications works again", "receiver", t.Name)
		}
		return
	}
	n.o.Metrics.count(t.Name, outcomeFailed, 1)
	n.failed[t.Name] = err.Error()
	if before != err.Error() {
		n.log.Warn("a receiver did not accept a notification: its messages wait", "receiver", t.Name, "error",
			err)
	}
}

// message returns what is sent of a stored notification.
func message(n warehouse.Notification) Message {
	return Message{
		ID: n.ID.String(), Receiver: n.Receiver, Event: n.Event, Account: n.Account, Streams: n.Streams, Title: n.Title,
		Text: n.Text, At: n.At.UTC(), Attempt: int(n.Attempts),
	}
}

// trouble is the state of a warehouse that does not work (notify-8). It belongs to the turn.
type trouble struct {
	since time.Time       // zero: it works
	told  map[string]bool // the receivers that know of it
}

// lasts is how long the warehouse may fail before receivers are told: a restart takes less.
const lasts = time.Minute

// tellTrouble tells receivers that the warehouse does not work, or works again.
func (n *Notifier) tellTrouble(ctx context.Context, r *Receivers, err error) {
	now := n.now()
	t := &n.trouble
	switch {
	case err == nil && t.since.IsZero():
		return
	case err == nil:
		m := Message{Event: receiver.EventRecovered, Title: "Recovered: the warehouse",
			Text: "The warehouse works again, after " + term.Long(now.Sub(t.since)) + "."}
		n.tellDirectly(ctx, r, m, now,
			func(to *target) bool { return t.told[to.Name] && to.wants(receiver.EventRecovered) })
		*t = trouble{}
		return
	case t.since.IsZero():
		t.since, t.told = now, map[string]bool{}
	}
	if now.Sub(t.since) < lasts {
		return
	}
	m := Message{Event: receiver.EventWarehouse, Title: "The warehouse does not work",
		Text: "Nothing can be loaded since " + moment(t.since) + ": " + line(err.Error())}
	taken := n.tellDirectly(ctx, r, m, now,
		func(to *target) bool {
			return to.Form != receiver.Ping && to.wants(receiver.EventWarehouse) && !t.told[to.Name]
		})
	for _, name := range taken {
		t.told[name] = true
	}
}

// tellDirectly sends a message that cannot be stored to all receivers that want it, in parallel (notify-5). It returns
// the names of those that accepted it.
func (n *Notifier) tellDirectly(ctx context.Context, r *Receivers, m Message, now time.Time,
	toKnow func(*target) bool) (taken []string) {
	errs := make([]error, len(r.all))
	all := slices.DeleteFunc(slices.Clone(r.all), func(t *target) bool { return !toKnow(t) })
	var group sync.WaitGroup
	for i, t := range all {
		group.Go(func() {
			m := m
			m.ID, m.Receiver, m.At, m.Attempt = identify(t.Name,
				[]string{m.Event, stamp(n.trouble.since)}).String(), t.Name, now.UTC(), 1
			_, errs[i] = n.send(ctx, t, m, now)
			n.note(t, errs[i])
		})
	}
	group.Wait()
	for i, t := range all {
		if errs[i] == nil {
			taken = append(taken, t.Name)
		}
	}
	return taken
}
