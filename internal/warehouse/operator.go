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
	"github.com/shopspring/decimal"
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

	ActionForget = "forget" // remove a user from what is stored

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

// Openings counts what waits for a person besides failed runs.
type Openings struct {
	Rejects  map[StreamID]uint64 // rejected records that nothing has replaced since
	Findings map[string]uint64   // open findings about payouts, by account
}

// Openings counts what waits for a person, of all accounts.
func (r Reader) Openings(ctx context.Context) (o Openings, err error) {
	o = Openings{Rejects: map[StreamID]uint64{}, Findings: map[string]uint64{}}
	rejects, err := r.CountOpenRejects(ctx, RejectFilter{})
	if err != nil {
		return o, err
	}
	for _, x := range rejects {
		o.Rejects[StreamID{x.Account, x.Stream}] = x.Rejects
	}
	type count struct {
		account string
		n       uint64
	}
	rows, err := r.once.Query(ctx, countOpenFindings)
	all, err := scanned(rows, err, func(c *count) []any { return []any{&c.account, &c.n} })
	if err != nil {
		return o, fmt.Errorf("counting what was found about payouts: %w", err)
	}
	for _, c := range all {
		o.Findings[c.account] = c.n
	}
	return o, nil
}

// Storage is how much of its disk the database uses, and how much is free, in bytes.
type Storage struct{ Used, Free uint64 }

// Limits of the free space on the disk of an embedded warehouse, in bytes. Below LittleRoom somebody should look at it;
// below NoRoom the next load is likely to fail.
const (
	LittleRoom = 2 << 30
	NoRoom     = 200 << 20
)

// Storage asks how much disk space the database uses, and how much is left.
func (r Reader) Storage(ctx context.Context) (s Storage, err error) {
	if err := r.retrying.QueryRow(ctx, selectStorage).Scan(&s.Used, &s.Free); err != nil {
		return s, fmt.Errorf("asking the warehouse how much room it takes: %w", err)
	}
	return s, nil
}

// actionFields are the columns of which Action.fields has the values.
const actionFields = "action_id, at, actor, via, action, account, stream, run_id, deletes, reason"

// selectEarlierAction selects the first action under a key, and what it asked for. Parameter: key.
var selectEarlierAction = sql("SELECT $fields, request FROM operator_actions_log WHERE key = {key:String} ORDER BY version LIMIT 1",
	parts{"fields": actionFields})

// selectActions selects the last actions, the newest first.
func selectActions(limit int) string {
	return sql("SELECT $fields FROM operator_actions_log FINAL ORDER BY version DESC LIMIT $limit",
		parts{"fields": actionFields, "limit": fmt.Sprint(limit)})
}

// selectDirectives reads the last requests for each stream and each account: whether it is paused, and what it may
// delete.
func selectDirectives() string {
	return sql(`SELECT $fields, at > now64(3, 'UTC') - toIntervalSecond($age) AND at < now64(3, 'UTC') + toIntervalMinute(1) AS fresh
FROM operator_actions_log
WHERE action IN ($lasting)
ORDER BY version DESC
LIMIT 1 BY account, stream, action IN ($pausing)`, parts{
		"fields": actionFields, "age": fmt.Sprint(int(consentFor.Seconds())),
		"lasting": words([]string{ActionPause, ActionResume, ActionConsent, actionConsentUsed}),
		"pausing": words([]string{ActionPause, ActionResume}),
	})
}

// selectGuardedRuns reads, for each stream, the last run that reached the guard. Most streams were never stopped by it,
// and their runs are not read.
func selectGuardedRuns() string {
	return sqlFile("select_guarded_runs", parts{"success": quote(OutcomeSuccess), "guarded": quote(OutcomeGuarded),
		"whole": wholeModes, "not_ahead": notAhead})
}

// selectStorage asks how many bytes the database takes, and how many are free on its disk.
const selectStorage = `SELECT
    (SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()),
    (SELECT min(free_space) FROM system.disks)`

// Acknowledgement is a row of payout_acknowledgements: a person has taken note of what was found about a payout.
type Acknowledgement struct {
	Account        string
	Payout         int64
	Kind, Currency string
	At             time.Time
	ID             uuid.UUID
	Amount         decimal.Decimal
	Entries        []string          // IDs of transactions, or a reason in words
	Amounts        []decimal.Decimal // of the entries
	Tolerance      decimal.Decimal
	Reason, Note   string
	By             string
}

var acknowledgementColumns = columns("account String, payout_id Int64, kind String, currency_code String, at DateTime64(3), id UUID, amount Decimal(38,4), entries Array(String), " +
	"amounts Array(Decimal(38,4)), tolerance Decimal(38,4), reason String, note String, by String")

// Acknowledge adds acknowledgements to an account. It sets their Account, At and ID. At is the time of the warehouse,
// or a millisecond after the newest acknowledgement of the account if that is later.
func (w *Warehouse) Acknowledge(ctx context.Context, account string, all []Acknowledgement) error {
	w = w.At(account)
	_, at, err := w.timeAfter(ctx, newestTime("at"), "payout_acknowledgements_log WHERE account = {account:String}",
		named("account", account))
	if err != nil {
		return fmt.Errorf("acknowledging what was found about payouts: %w", err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("making the ID of an acknowledgement: %w", err)
	}
	for i := range all {
		all[i].Account, all[i].At, all[i].ID = account, at.UTC(), id
	}
	err = insertEach(ctx, w.pool, "payout_acknowledgements_log", acknowledgementColumns, all,
		func(a Acknowledgement) []any {
			return []any{a.Account, a.Payout, a.Kind, a.Currency, a.At, a.ID, a.Amount, a.Entries, a.Amounts,
				a.Tolerance, a.Reason, a.Note, a.By}
		})
	if err != nil {
		return fmt.Errorf("acknowledging what was found about payouts: %w", err)
	}
	return nil
}

// Acknowledgements returns the acknowledgements of one account, or of all if the name is empty, the newest first.
func (r Reader) Acknowledgements(ctx context.Context, account string) ([]Acknowledgement, error) {
	rows, err := r.retrying.Query(ctx, selectAcknowledgements, named("account", account))
	all, err := scanned(rows, err, func(a *Acknowledgement) []any {
		return []any{&a.Account, &a.Payout, &a.Kind, &a.Currency, &a.At, &a.ID, &a.Amount, &a.Entries, &a.Amounts,
			&a.Tolerance, &a.Reason, &a.Note, &a.By}
	})
	if err != nil {
		return nil, fmt.Errorf("reading what was acknowledged about payouts: %w", err)
	}
	return all, nil
}
