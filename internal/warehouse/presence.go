package warehouse

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// CheckFields is the check that no field has vanished. A field has vanished if nearly every record of the last complete
// run with it carried it, and no record of this run does. A field that is often absent never counts as vanished, and in
// a stream of a few records no field does.
const CheckFields = "fields_kept"

// vanishedFor is how long the check fails after a field has vanished. By then everybody knows that the API no longer
// sends it.
const vanishedFor = 14 * 24 * time.Hour

// presence is what is known of a field of a stream.
type presence struct {
	field, scope string
	usual        bool       // nearly every record of the last complete run that had it carried it
	missing      *time.Time // since when complete runs have it in no record; nil: they have it
}

// after returns what is known of the field after a complete run that counted c.
func (p presence) after(c *Carried, now time.Time) presence {
	n := c.Fields[p.field]
	switch {
	case n > 0:
		p.missing = nil
		if c.Records >= fewCarried {
			p.usual = 10*n >= nearlyAll*c.Counted
		}
	case p.usual && p.missing == nil && c.Records >= fewCarried:
		p.missing = &now
	}
	return p
}

// presences reads what selectPresence has answered.
func presences(rows [][]any) (known []presence, err error) {
	for _, row := range rows {
		p, ok := presence{}, [4]bool{}
		var missing int64
		p.field, ok[0] = row[0].(string)
		p.scope, ok[1] = row[1].(string)
		p.usual, ok[2] = row[2].(bool)
		missing, ok[3] = row[3].(int64)
		if ok != [4]bool{true, true, true, true} {
			return nil, fmt.Errorf("the stored presence of a field has other types: %T", row)
		}
		if missing != 0 {
			at := time.UnixMilli(missing).UTC()
			p.missing = &at
		}
		known = append(known, p)
	}
	return known, nil
}

var presenceColumns = columns("account String, stream String, field String, scope String, usual Bool, missing_since Nullable(DateTime64(3)), noted_at DateTime64(6)")

// fields checks that no field has vanished, and stores what is new about the fields. If nothing is new, it
// writes nothing.
func (q *quality) fields(ctx context.Context) error {
	if q.run.Carried == nil {
		return nil
	}
	known, err := presences(q.presence)
	if err != nil {
		return err
	}
	before := map[string]presence{}
	for _, p := range known {
		before[p.field] = p
	}
	var changed []presence
	var gone []string
	for _, name := range q.run.Carried.names(known) {
		stored, there := before[name]
		// Nothing follows from records of another scope, or from a field of another version.
		p := presence{field: name, scope: q.run.Scope}
		if _, named := q.run.Carried.Fields[name]; named && there && stored.scope == p.scope {
			p = stored
		}
		p = p.after(q.run.Carried, q.next)
		if p != stored && (there || p.usual) {
			changed = append(changed, p)
		}
		if p.missing != nil && q.next.Sub(*p.missing) < vanishedFor {
			gone = append(gone, name)
		}
	}
	q.add(CheckFields, uint64(len(gone)), 0,
		"fields that nearly every record had, and that no record of a complete run has now: "+strings.Join(gone, ", ")+
			"; their columns are NULL or empty now; the view vanished_fields shows since when, and unknown_fields whether the service has renamed them")
	return q.notePresence(ctx, changed)
}

func (q *quality) notePresence(ctx context.Context, changed []presence) error {
	if len(changed) == 0 {
		return nil
	}
	err := insertEach(ctx, q.w.pool, "field_presence_log", presenceColumns, changed, func(p presence) []any {
		return []any{q.run.Account, q.run.Stream, p.field, p.scope, p.usual, p.missing, q.next}
	})
	if err != nil {
		return fmt.Errorf("noting which fields the service sends: %w", err)
	}
	return nil
}

// VanishedField is a field that the service used to send and no longer sends.
type VanishedField struct {
	Account, Stream, Field string
	MissingSince           time.Time // by the clock of the warehouse
}

// VanishedFields returns all of them, by account, stream and name.
func (r Reader) VanishedFields(ctx context.Context) ([]VanishedField, error) {
	rows, err := r.retrying.Query(ctx, selectVanishedFields)
	all, err := scanned(rows, err, func(f *VanishedField) []any {
		return []any{&f.Account, &f.Stream, &f.Field,
			&f.MissingSince}
	})
	if err != nil {
		return nil, fmt.Errorf("reading which fields have vanished: %w", err)
	}
	return all, nil
}

// selectUnknownFields selects the fields that the service sends and dealhouse does not know.
const selectUnknownFields = "SELECT account, stream, field, first_seen FROM unknown_fields ORDER BY account, stream, field"

// selectNotedFields selects those of a stream. Parameters: account and stream.
const selectNotedFields = "SELECT field FROM unknown_fields WHERE account = {account:String} AND stream = {stream:String}"

// selectVanishedFields selects the fields that the service used to send and no longer sends.
const selectVanishedFields = "SELECT account, stream, field, missing_since FROM vanished_fields ORDER BY account, stream, field"

// selectPresence is a subquery for what is known of the fields of a stream. It is part of a larger statement, so that a
// quiet run needs no statement for it alone. Times are in milliseconds, 0 for a field that is not missing.
const selectPresence = `SELECT groupArray((field, scope, usual, ifNull(toUnixTimestamp64Milli(missing_since), 0)))
    FROM field_presence_log FINAL WHERE account = {account:String} AND stream = {stream:String}`
