package warehouse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// What an operator can do, as operator_actions has it.
const (
	ActionRun     = "run"      // run now
	ActionRunFull = "run_full" // run now, and read everything
	ActionPause   = "pause"    // start no runs until it is resumed
	ActionResume  = "resume"
	ActionConsent = "consent" // let one run delete what a guard kept another one from deleting
	ActionCancel  = "cancel"  // stop what runs
	ActionReload  = "reload"  // read the configuration again

	ActionAcknowledge = "acknowledge" // take note of what was found about a payout
	ActionCloseMonth  = "close_month" // keep the statement of a month as it is

	actionConsentUsed = "consent_used" // by a run, which has used up a consent
)

// Where an action comes from.
const (
	ViaPage    = "page"
	ViaAPI     = "api"
	ViaCommand = "command"

	viaRun = "run"
)

// Action is something that an operator did. It is never changed afterwards.
type Action struct {
	ID      uuid.UUID
	At      time.Time // by the clock of the warehouse
	Actor   string    // who
	Via     string
	Action  string
	Account string
	Stream  string    // "" is all of the account
	RunID   uuid.UUID // of consent: the run that the guard stopped; otherwise zero
	Deletes uint64    // of consent: how many rows may be deleted
	Reason  string    // what the operator wrote
	Key     string    // recognises the same request when it comes again; kept as a hash. "" is none
}

// streamID is the stream, or the account, that an action is about.
func (a Action) streamID() StreamID { return StreamID{a.Account, a.Stream} }

// request identifies what an action asks for.
func (a Action) request() string {
	return hash(a.Actor, a.Via, a.Action, a.Account, a.Stream, a.RunID.String(), a.Reason)
}

// hash hashes texts. A zero byte separates them, so that none can be taken for the end of another.
func hash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// KeyReusedError says that an idempotency key came before with another request.
type KeyReusedError struct{ Action string }

func (e *KeyReusedError) Error() string {
	return "this idempotency key was given before, with another request (" + e.Action +
		"): give each request a key of its own"
}

var actionColumns = columns("action_id UUID, at DateTime64(3), actor String, via String, action String, account String, stream String, run_id UUID, deletes UInt64, " +
	"reason String, key String, request String, version UInt64")

// recordAction adds an action, with the time of the warehouse, and returns it as it is stored.
func (p *pool) recordAction(ctx context.Context, a Action) (Action, error) {
	now, next, err := p.timeAfter(ctx, newestVersion, "operator_actions_log")
	if err != nil {
		return a, err
	}
	a.ID, a.At = uuid.New(), now.Truncate(time.Millisecond)
	key := ""
	if a.Key != "" {
		key = hash(a.Actor, a.Key)
	}
	err = p.insert(ctx, "operator_actions_log", actionColumns, func(b driver.Batch) error {
		return b.Append(a.ID, a.At, a.Actor, a.Via, a.Action, a.Account, a.Stream, a.RunID, a.Deletes, a.Reason, key,
			a.request(), uint64(next.UnixMicro()))
	})
	if err != nil {
		return a, fmt.Errorf("writing to operator_actions: %w", err)
	}
	return a, nil
}

func (a *Action) fields() []any {
	return []any{&a.ID, &a.At, &a.Actor, &a.Via, &a.Action, &a.Account, &a.Stream, &a.RunID, &a.Deletes, &a.Reason}
}

// EarlierAction returns the action that came before under the key of this one, or nil if none did. If the key came with
// another request, it returns a *KeyReusedError.
func (p *pool) EarlierAction(ctx context.Context, a Action) (*Action, error) {
	type stored struct {
		Action
		asked string // request, as it was then
	}
	rows, err := p.conn.Query(ctx, selectEarlierAction, named("key", hash(a.Actor, a.Key)))
	found, err := scanned(rows, err, func(s *stored) []any { return append(s.fields(), &s.asked) })
	switch {
	case err != nil:
		return nil, fmt.Errorf("looking for an action of the same key: %w", err)
	case len(found) == 0:
		return nil, nil //nolint:nilnil // none is no error
	case found[0].asked != a.request():
		return nil, &KeyReusedError{found[0].Action.Action}
	}
	return &found[0].Action, nil
}

// Actions lists the last actions, the newest first.
func (r Reader) Actions(ctx context.Context, limit int) ([]Action, error) {
	rows, err := r.once.Query(ctx, selectActions(limit))
	all, err := scanned(rows, err, (*Action).fields)
	if err != nil {
		return nil, fmt.Errorf("reading what operators did: %w", err)
	}
	return all, nil
}

// Directives are the requests of operators that stay in force: pauses and consents.
type Directives struct {
	Pauses   []Action // in force, of streams and of accounts
	Consents []Action // not used and not too old; Consent decides whether one still counts
}

// PauseOf returns the pause that keeps a stream from being run, or nil. That of its account comes first.
func (d Directives) PauseOf(id StreamID) *Action {
	for _, of := range []StreamID{{id.Account, ""}, id} {
		for i := range d.Pauses {
			if d.Pauses[i].streamID() == of {
				return &d.Pauses[i]
			}
		}
	}
	return nil
}

// consentFor is how long a consent counts: it is about what somebody has looked at today.
const consentFor = 24 * time.Hour

// Directives reads what operators have asked for. It costs little: the table has a row for each action of a person.
func (r Reader) Directives(ctx context.Context) (d Directives, err error) {
	type latest struct {
		Action
		fresh bool
	}
	rows, err := r.retrying.Query(ctx, selectDirectives())
	all, err := scanned(rows, err, func(l *latest) []any { return append(l.fields(), &l.fresh) })
	if err != nil {
		return d, fmt.Errorf("reading what operators have asked for: %w", err)
	}
	for _, l := range all {
		switch {
		case l.Action.Action == ActionPause:
			d.Pauses = append(d.Pauses, l.Action)
		case l.Action.Action == ActionConsent && l.fresh:
			d.Consents = append(d.Consents, l.Action)
		}
	}
	return d, nil
}

// GuardedRun is a run that a guard stopped because it would have deleted too much. No run has read the whole
// stream since then.
type GuardedRun struct {
	StreamID
	RunID     uuid.UUID
	StartedAt time.Time
	Mode      string
	Deletes   uint64 // rows that it would have deleted
}

// GuardedRuns returns those of all streams.
func (r Reader) GuardedRuns(ctx context.Context) ([]GuardedRun, error) {
	return r.guardedRuns(ctx, StreamID{})
}

// GuardedRun returns that of a stream, or nil if there is none.
func (r Reader) GuardedRun(ctx context.Context, id StreamID) (*GuardedRun, error) {
	all, err := r.guardedRuns(ctx, id)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func (r Reader) guardedRuns(ctx context.Context, id StreamID) ([]GuardedRun, error) {
	rows, err := r.retrying.Query(ctx, selectGuardedRuns(), named("account", id.Account), named("stream", id.Stream))
	all, err := scanned(rows, err, func(g *GuardedRun) []any {
		return []any{&g.Account, &g.Stream, &g.RunID, &g.StartedAt, &g.Mode, &g.Deletes}
	})
	if err != nil {
		return nil, fmt.Errorf("reading which runs a guard has stopped: %w", err)
	}
	return all, nil
}

// consent returns the consent of an operator to what a run of a stream is about to delete, or nil if there is
// none. A consent counts for a day at most, and only if no run has reached the guard since the one that it is
// about. It is for one run: the run that asks uses it up, whatever it then does. If only is set, nothing is
// written, so it is not used up.
func (p *pool) consent(ctx context.Context, id StreamID, run uuid.UUID, deletes uint64, only bool) (*Action, error) {
	d, err := p.Directives(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range d.Consents {
		if c.streamID() != id {
			continue
		}
		guarded, err := p.GuardedRun(ctx, id)
		if err != nil || guarded == nil || guarded.RunID != c.RunID {
			return nil, err
		}
		if !only {
			used := Action{Via: viaRun, Action: actionConsentUsed, Account: id.Account, Stream: id.Stream, RunID: run,
				Deletes: deletes}
			if deletes > c.Deletes {
				used.Reason = "more than was agreed to: nothing was deleted"
			}
			_, err = p.recordAction(ctx, used)
		}
		return &c, err
	}
	return nil, nil //nolint:nilnil // no consent is no error
}
