package warehouse

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// View is a view that people query, as its comments describe it.
type View struct {
	Name       string       `json:"name"`
	Meaning    string       `json:"meaning"`
	Parameters []string     `json:"parameters,omitempty"` // each with its type, if the view is called with some
	Columns    []ViewColumn `json:"columns"`
}

// ViewColumn is a column of a view.
type ViewColumn struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Absent  string `json:"absent"` // how a missing value shows: NULL or empty; "" when none is ever missing
	Unit    string `json:"unit"`   // of a number or a time
	Source  string `json:"source"` // API: and the field's JSON name, or the columns that it is made from
	Meaning string `json:"meaning"`
}

// dictionary describes all views of the database, in the order of their names, from their comments.
func (r Reader) dictionary(ctx context.Context) ([]View, error) {
	rows, err := r.retrying.Query(ctx, selectViews)
	defined, err := scanned(rows, err, func(v *definedView) []any {
		return []any{&v.Name, &v.Meaning, &v.definition,
			&v.columns}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the comments of the views: %w", err)
	}
	var views []View
	for _, v := range defined {
		for _, c := range v.columns {
			v.Columns = append(v.Columns, describeColumn(fmt.Sprint(c[0]), fmt.Sprint(c[1]), fmt.Sprint(c[2])))
		}
		if v.definition != "" {
			v.describeParameterized(v.definition)
		}
		views = append(views, v.View)
	}
	return views, nil
}

// definedView is a view as the server describes it: with its columns, or with its definition if it has parameters.
type definedView struct {
	View
	definition string
	columns    [][]any
}

// formatQuery writes a definition with one column in each line.
var (
	definedColumn    = regexp.MustCompile("(?m)^    `(\\w+)` (.+) COMMENT '((?:[^'\\\\]|\\\\.|'')*)',?$")
	definedParameter = regexp.MustCompile(`\{(\w+):\s*((?:[^{}'` + "`" + `]|'[^']*')+)\}`)
)

// describeParameterized takes the columns of a view with parameters from its definition, since
// system.columns lacks them.
func (v *View) describeParameterized(definition string) {
	for _, m := range definedColumn.FindAllStringSubmatch(definition, -1) {
		comment := strings.NewReplacer(`\\`, `\`, `\'`, `'`, `''`, `'`).Replace(m[3])
		v.Columns = append(v.Columns, describeColumn(m[1], m[2], comment))
	}
	for _, m := range definedParameter.FindAllStringSubmatch(definition, -1) {
		if p := m[1] + " " + m[2]; !slices.Contains(v.Parameters, p) {
			v.Parameters = append(v.Parameters, p)
		}
	}
	if len(v.Parameters) > 0 {
		v.Meaning += "; parameters: " + strings.Join(v.Parameters, ", ")
	}
}

// The end of a comment: [the unit], then (API: field) or (from columns).
var (
	commentSource = regexp.MustCompile(` \((?:(API: [^()]+)|from ([^()]+))\)$`)
	commentUnit   = regexp.MustCompile(` \[([^\[\]]+)\]$`)
	commentEmpty  = regexp.MustCompile(`\bempty (?:when|for|otherwise)\b`)
)

func describeColumn(name, typ, comment string) ViewColumn {
	c := ViewColumn{Name: name, Type: typ}
	if m := commentSource.FindStringSubmatch(comment); m != nil {
		c.Source, comment = m[1]+m[2], strings.TrimSuffix(comment, m[0])
	}
	if m := commentUnit.FindStringSubmatch(comment); m != nil {
		c.Unit, comment = m[1], strings.TrimSuffix(comment, m[0])
	}
	switch {
	case strings.HasPrefix(typ, "Nullable("), strings.HasPrefix(typ, "LowCardinality(Nullable("):
		c.Absent = "NULL"
	case commentEmpty.MatchString(comment):
		c.Absent = "empty"
	}
	c.Meaning = comment
	return c
}

// selectViews describes the views: each with its columns, or with its definition if these are not known without it.
const selectViews = `SELECT t.name, t.comment, if(empty(c.columns), formatQuery(t.create_table_query), ''), c.columns
FROM system.tables AS t
LEFT JOIN
(
    SELECT table, groupArray((name, type, comment)) AS columns
    FROM (SELECT table, name, type, comment FROM system.columns WHERE database = currentDatabase() ORDER BY table, position)
    GROUP BY table
) AS c ON t.name = c.table
WHERE t.database = currentDatabase() AND t.engine = 'View'
ORDER BY t.name`

// Carried counts in how many records of a complete run each field had a value.
type Carried struct {
	Records uint64 // that were read
	// Counted is how many of them are counted field by field, the first ones. In the rest, a field is only looked for
	// if no record had it yet.
	Counted uint64
	Fields  map[string]uint64 // of the counted records, those with a value, by the JSON name of each field
}

// CheckFields is the check that no field has vanished. A field has vanished if nearly every record of the last complete
// run with it carried it, and no record of this run does. A field that is often absent never counts as vanished, and in
// a stream of a few records no field does.
const CheckFields = "fields_kept"

const (
	fewCarried = 10 // records; of fewer, nothing follows from what they lack
	nearlyAll  = 9  // of ten records
)

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

// names returns the names of the counted fields and of those that are stored, sorted.
func (c *Carried) names(known []presence) []string {
	names := slices.Collect(maps.Keys(c.Fields))
	for _, p := range known {
		names = append(names, p.field)
	}
	slices.Sort(names)
	return slices.Compact(names)
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
