package warehouse

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
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
