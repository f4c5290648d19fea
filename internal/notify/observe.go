package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
)

// Stream is what the process itself knows of a stream.
type Stream struct {
	Account, Stream string
	Enabled         bool
	Paused          bool          // by an operator: it is not late
	StaleAfter      time.Duration // age of the last success from which on it is late; 0: not known
	Failed          bool          // the last attempt of this process failed
}

// errEnded says that the streams are no longer known: the process is ending.
var errEnded = errors.New("the process is ending")

// observation is the present state of everything that receivers may be told about.
type observation struct {
	now       time.Time
	streams   []Stream        // configured and enabled
	accounts  map[string]bool // that are configured; other processes report about others
	standings map[warehouse.StreamID]warehouse.StreamStatus
	guarded   map[warehouse.StreamID]warehouse.GuardedRun
	findings  []warehouse.OpenFinding
	fields    []warehouse.UnknownField
	vanished  []warehouse.VanishedField
}

// observe reads the present state. It reads the bookkeeping only, and so costs little.
func (n *Notifier) observe(ctx context.Context) (o observation, err error) {
	streams := n.o.Streams()
	if len(streams) == 0 { // otherwise all streams would look as if they were no longer configured
		return o, errEnded
	}
	o = observation{now: n.now(), accounts: map[string]bool{}, standings: map[warehouse.StreamID]warehouse.StreamStatus{},
		guarded: map[warehouse.StreamID]warehouse.GuardedRun{}}
	for _, s := range streams {
		o.accounts[s.Account] = true
		if s.Enabled {
			o.streams = append(o.streams, s)
		}
	}
	w := n.o.Warehouse
	standings, err := w.Standings(ctx)
	if err != nil {
		return o, err
	}
	for _, s := range standings {
		o.standings[warehouse.StreamID{Account: s.Account, Stream: s.Stream}] = s
	}
	guarded, err := w.GuardedRuns(ctx)
	if err != nil {
		return o, err
	}
	for _, g := range guarded {
		o.guarded[g.StreamID] = g
	}
	if o.findings, err = w.OpenFindings(ctx); err != nil {
		return o, err
	}
	if o.fields, err = w.UnknownFields(ctx); err != nil {
		return o, err
	}
	o.vanished, err = w.VanishedFields(ctx)
	return o, err
}

// lasting are the conditions that begin and end. Each is reported by the event of its name.
var lasting = []string{receiver.EventGuarded, receiver.EventFailing, receiver.EventStale}

// holds reports whether a condition of a stream is true now, since when, and whether it has ended. If it is neither,
// nothing is reported.
func (o *observation) holds(event string, s Stream, after int) (holds, ended bool, since time.Time) {
	st, known := o.standings[warehouse.StreamID{Account: s.Account, Stream: s.Stream}]
	if !known {
		return false, true, since
	}
	faults := st.Faults
	if faults.Since != nil {
		since = *faults.Since
	}
	switch event {
	case receiver.EventGuarded:
		return faults.Outcome == warehouse.OutcomeGuarded, faults.Count == 0, since
	case receiver.EventFailing:
		return faults.Outcome != warehouse.OutcomeGuarded && faults.Count >= uint64(after), faults.Count == 0, since
	}
	if st.LookedAt == nil { // no run has succeeded yet, and failures are reported as such
		return false, true, since
	}
	// Both times are by the clock of the warehouse.
	late := s.StaleAfter > 0 && !s.Paused && st.Now.Sub(*st.LookedAt) > s.StaleAfter
	return late, !late && s.StaleAfter > 0, *st.LookedAt
}

// unrecorded reports whether a run failed and the warehouse has no row of it: the warehouse may refuse writes.
func (o *observation) unrecorded() bool {
	return slices.ContainsFunc(o.streams, func(s Stream) bool {
		return s.Failed && o.standings[warehouse.StreamID{Account: s.Account, Stream: s.Stream}].Faults.Count == 0
	})
}

// describe returns a line about a condition of a stream.
func (o *observation) describe(event string, s Stream) string {
	id := warehouse.StreamID{Account: s.Account, Stream: s.Stream}
	st := o.standings[id]
	switch event {
	case receiver.EventGuarded:
		text := fmt.Sprintf("%s of %s: %s", s.Stream, s.Account, line(st.Faults.Error))
		if g, ok := o.guarded[id]; ok {
			text += fmt.Sprintf(" (run %s would have deleted %d rows)", g.RunID, g.Deletes)
		}
		return text
	case receiver.EventFailing:
		times := "once"
		if st.Faults.Count > 1 {
			times = strconv.FormatUint(st.Faults.Count, 10) + " times in a row"
		}
		return fmt.Sprintf("%s of %s: failed %s, %s: %s", s.Stream, s.Account, times, sinceOf(st.Faults.Since),
			line(st.Faults.Error))
	case receiver.EventStale:
		return fmt.Sprintf("%s of %s: last in step with the API at %s, which is more than %s ago", s.Stream, s.Account,
			moment(*st.LookedAt), s.StaleAfter)
	}
	text := fmt.Sprintf("%s of %s: up to date", s.Stream, s.Account)
	if st.LastSuccess != nil {
		text += " since " + moment(*st.LastSuccess)
	}
	return text
}

func sinceOf(t *time.Time) string {
	if t == nil {
		return "now"
	}
	return "since " + moment(*t)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// subject identifies a condition, so that it is told once: what, for which stream, and since when.
type subject struct{ event, account, name, since string }

func (s subject) String() string { return s.about() + "@" + s.since }

func (s subject) about() string { return s.event + "/" + s.account + "/" + s.name }

// digest makes a short name of texts of any length.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(t), t) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func stamp(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func subjectOfFinding(f warehouse.OpenFinding) subject {
	return subject{receiver.EventFindings, f.Account, digest(f.Kind, f.Subject, f.Detail), stamp(f.FirstSeen)}
}

func subjectOfField(f warehouse.UnknownField) subject {
	return subject{receiver.EventDrift, f.Account, digest(f.Stream, f.Field), ""}
}

func subjectOfVanished(f warehouse.VanishedField) subject {
	return subject{receiver.EventDrift, f.Account, digest("vanished", f.Stream, f.Field), stamp(f.MissingSince)}
}
