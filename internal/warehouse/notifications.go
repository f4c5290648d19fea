package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// States of a notification.
const (
	NotificationWaiting = "waiting"
	NotificationSent    = "sent"
	NotificationDropped = "dropped" // it became too old, or too many waited
	NotificationNoted   = "noted"   // there was nothing to send
)

// NotificationStates returns all of them.
func NotificationStates() []string {
	return []string{NotificationWaiting, NotificationSent, NotificationDropped, NotificationNoted}
}

// Notification is a message for a receiver of the configuration, and the record of what it reports.
type Notification struct {
	Receiver string
	ID       uuid.UUID // equal ones are the same message
	At       time.Time // when it was noticed, by the clock of the process
	Event    string    // "" is none: there is nothing to send
	Account  string    // "" is several, or none
	Streams  []string
	Subjects []string // what it reports: "+" and what has begun, "-" and what has ended
	Title    string
	Text     string
	State    string
	Attempts uint32
	NextAt   time.Time  // of the next attempt
	Error    string     // of the last attempt
	EndedAt  *time.Time // nil while it waits

	queued uint64
}

// ReceiverState says what became of the messages of a receiver.
type ReceiverState struct {
	Receiver string
	Waiting  uint64
	Oldest   *time.Time // when the oldest waiting one was noticed
	LastSent *time.Time
	Sent     uint64
	Dropped  uint64
	Attempts uint32 // of the first waiting one
	Error    string // of the first waiting one
}

var notificationColumns = columns("receiver String, id UUID, queued UInt64, at DateTime64(3), event String, account String, streams Array(String), subjects Array(String), title String, text String, " +
	"state String, attempts UInt32, next_at DateTime64(3), error String, ended_at Nullable(DateTime64(3)), version UInt64")

// newestQueued is the last place that is taken in the order of messages.
const newestQueued = "max(greatest(queued, version))"

// QueueNotifications adds messages in their order, all of them or none. One that is stored already is not changed.
func (w *Warehouse) QueueNotifications(ctx context.Context, all []Notification) error {
	w = w.common()
	_, next, err := w.timeAfter(ctx, newestQueued, "notifications_log")
	if err != nil {
		return err
	}
	for i := range all {
		all[i].queued = uint64(next.UnixMicro()) + uint64(i)
	}
	return w.insertNotifications(ctx, all, 0)
}

// SettleNotifications stores what became of messages.
func (w *Warehouse) SettleNotifications(ctx context.Context, all ...Notification) error {
	w = w.common()
	_, next, err := w.timeAfter(ctx, newestQueued, "notifications_log")
	if err != nil {
		return err
	}
	return w.insertNotifications(ctx, all, uint64(next.UnixMicro()))
}

func (w *Warehouse) insertNotifications(ctx context.Context, all []Notification, version uint64) error {
	err := insertEach(ctx, w.pool, "notifications_log", notificationColumns, all, func(n Notification) []any {
		return []any{n.Receiver, n.ID, n.queued, n.At.UTC(), n.Event, n.Account, append([]string{}, n.Streams...),
			append([]string{}, n.Subjects...), n.Title, n.Text, n.State, n.Attempts, n.NextAt.UTC(), n.Error, n.EndedAt,
			version}
	})
	if err != nil {
		return fmt.Errorf("writing to notifications: %w", err)
	}
	return nil
}

// Told returns the subjects of each receiver of which it was told that they began, and not yet that they ended.
func (r Reader) Told(ctx context.Context) (map[string]map[string]bool, error) {
	type row struct{ receiver, subject string }
	rows, err := r.retrying.Query(ctx, selectTold)
	all, err := scanned(rows, err, func(x *row) []any { return []any{&x.receiver, &x.subject} })
	if err != nil {
		return nil, fmt.Errorf("reading what was told to receivers: %w", err)
	}
	told := map[string]map[string]bool{}
	for _, x := range all {
		if told[x.receiver] == nil {
			told[x.receiver] = map[string]bool{}
		}
		told[x.receiver][x.subject] = true
	}
	return told, nil
}

func (n *Notification) fields() []any {
	return []any{
		&n.Receiver, &n.ID, &n.queued, &n.At, &n.Event, &n.Account, &n.Streams, &n.Subjects, &n.Title, &n.Text,
		&n.State, &n.Attempts, &n.NextAt, &n.Error, &n.EndedAt,
	}
}

// WaitingNotifications returns the first waiting messages of a receiver, or without a name of each receiver, in their
// order.
func (r Reader) WaitingNotifications(ctx context.Context, receiver string, limit int) ([]Notification, error) {
	rows, err := r.retrying.Query(ctx, selectWaiting, named("receiver", receiver), named("limit", fmt.Sprint(limit)))
	all, err := scanned(rows, err, (*Notification).fields)
	if err != nil {
		return nil, fmt.Errorf("reading which notifications wait: %w", err)
	}
	return all, nil
}

// Notifications lists the last messages of a receiver, or without a name of all, the newest first.
func (r Reader) Notifications(ctx context.Context, receiver string, limit int) ([]Notification, error) {
	rows, err := r.once.Query(ctx, selectNotifications, named("receiver", receiver),
		named("limit", fmt.Sprint(limit)))
	all, err := scanned(rows, err, (*Notification).fields)
	if err != nil {
		return nil, fmt.Errorf("reading the last notifications: %w", err)
	}
	return all, nil
}

// Receivers returns the state of each receiver that ever had a message.
func (r Reader) Receivers(ctx context.Context) (map[string]ReceiverState, error) {
	rows, err := r.once.Query(ctx, selectReceivers)
	all, err := scanned(rows, err, func(s *ReceiverState) []any {
		return []any{&s.Receiver, &s.Waiting, &s.Oldest, &s.LastSent, &s.Sent, &s.Dropped, &s.Attempts, &s.Error}
	})
	if err != nil {
		return nil, fmt.Errorf("reading how the receivers of notifications stand: %w", err)
	}
	states := map[string]ReceiverState{}
	for _, s := range all {
		states[s.Receiver] = s
	}
	return states, nil
}

// The tables in which processes say that they have a turn, for ClaimTurn.
const (
	TurnOfEdges   = "notification_edges_log"   // decides what is told, and stores it
	TurnOfSending = "notification_sending_log" // sends what waits
)

// ClaimTurn makes this process the only one that does something, for less than a minute, until it gives the turn back.
// table is one of the tables above. If another process has the turn, or wants it, other names it, and the caller tries
// again later.
func (w *Warehouse) ClaimTurn(ctx context.Context,
	table string) (giveBack func(context.Context), other string, err error) {
	t := &turn{w: w.common(), table: table, id: uuid.New()}
	if other, err = t.ask(ctx); err != nil || other != "" {
		return nil, other, err
	}
	return t.release, "", nil
}

// UnknownField is a field that the service sends and dealhouse does not know.
type UnknownField struct {
	Account, Stream, Field string
	FirstSeen              time.Time // by the clock of the warehouse
}

var unknownFieldColumns = columns("account String, stream String, field String, first_seen DateTime64(3)")

// UnknownFields returns all of them, by account, stream and name.
func (r Reader) UnknownFields(ctx context.Context) ([]UnknownField, error) {
	rows, err := r.retrying.Query(ctx, selectUnknownFields)
	all, err := scanned(rows, err, func(f *UnknownField) []any {
		return []any{&f.Account, &f.Stream, &f.Field,
			&f.FirstSeen}
	})
	if err != nil {
		return nil, fmt.Errorf("reading which fields dealhouse does not know: %w", err)
	}
	return all, nil
}

// mostUnknownFields is how many are kept of one stream. There is a limit because the service chooses the names.
const mostUnknownFields = 1000

// NoteUnknownFields stores the fields of a stream that are not stored yet, and returns these.
func (w *Warehouse) NoteUnknownFields(ctx context.Context, id StreamID, names []string) (fresh []string, err error) {
	w = w.At(id.Account)
	rows, err := w.conn.Query(ctx, selectNotedFields, named("account", id.Account), named("stream", id.Stream))
	known, err := scanned(rows, err, only[string])
	if err != nil {
		return nil, fmt.Errorf("reading which fields of %s are known: %w", id.Stream, err)
	}
	has := map[string]bool{}
	for _, name := range known {
		has[name] = true
	}
	for _, name := range names {
		if !has[name] && len(known)+len(fresh) < mostUnknownFields {
			fresh = append(fresh, name)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	now, err := w.Now(ctx)
	if err != nil {
		return nil, err
	}
	err = insertEach(ctx, w.pool, "unknown_fields_log", unknownFieldColumns, fresh, func(name string) []any {
		return []any{id.Account, id.Stream, name, now.UTC()}
	})
	if err != nil {
		return nil, fmt.Errorf("writing to unknown_fields: %w", err)
	}
	return fresh, nil
}

// OpenFinding is a finding about payouts that is still true.
type OpenFinding struct {
	Finding
	FirstSeen time.Time // by the clock of the warehouse
}

// OpenFindings returns those of all accounts, the oldest first.
func (r Reader) OpenFindings(ctx context.Context) ([]OpenFinding, error) {
	rows, err := r.retrying.Query(ctx, selectOpenFindings)
	all, err := scanned(rows, err, func(f *OpenFinding) []any {
		return []any{&f.Account, &f.Kind, &f.Subject, &f.Detail,
			&f.FirstSeen}
	})
	if err != nil {
		return nil, fmt.Errorf("reading what was found about payouts: %w", err)
	}
	return all, nil
}

// selectTold selects the subjects of each receiver of which it was told that they began, and not yet that they ended.
// Equal rows do no harm, so it needs no FINAL.
const selectTold = `SELECT receiver, substring(said, 2) AS subject
FROM notifications_log ARRAY JOIN subjects AS said
GROUP BY receiver, subject
HAVING NOT max(startsWith(said, '-'))`

// notificationFields are the columns of which Notification.fields has the values.
const notificationFields = "receiver, id, queued, at, event, account, streams, subjects, title, text, state, attempts, next_at, error, ended_at"

// selectWaiting selects the first waiting messages of a receiver, or of each, in their order. Parameters: receiver and
// limit.
var selectWaiting = sql(`SELECT $fields FROM notifications_log FINAL
WHERE state = $waiting AND {receiver:String} IN ('', receiver)
ORDER BY receiver, queued, id LIMIT {limit:UInt64} BY receiver`,
	parts{"fields": notificationFields, "waiting": quote(NotificationWaiting)})

// selectNotifications selects the last messages of a receiver, or of all, the newest first. Parameters: receiver and
// limit.
var selectNotifications = sql(`SELECT $fields FROM notifications_log FINAL
WHERE event != '' AND {receiver:String} IN ('', receiver)
ORDER BY queued DESC, receiver LIMIT {limit:UInt64}`, parts{"fields": notificationFields})

// selectReceivers selects the state of each receiver that ever had a message.
var selectReceivers = sql(`SELECT receiver, countIf(state = $waiting), minOrNullIf(at, state = $waiting),
    maxIf(ended_at, state = $sent), countIf(state = $sent), countIf(state = $dropped),
    argMinIf(attempts, (queued, id), state = $waiting), argMinIf(error, (queued, id), state = $waiting)
FROM notifications_log FINAL WHERE event != '' GROUP BY receiver`,
	parts{"waiting": quote(NotificationWaiting), "sent": quote(NotificationSent),
		"dropped": quote(NotificationDropped)})
