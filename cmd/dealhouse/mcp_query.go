package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/term"
)

// privateColumns are the columns that may name a person: those that the catalog marks, and what was rejected.
var privateColumns = func() map[string]bool {
	names := map[string]bool{"raw": true}
	for _, s := range catalog.All() {
		for _, f := range s.Fields {
			if f.Private {
				names[f.Column] = true
			}
		}
	}
	return names
}()

// query runs the SQL of a model. What it reads is known from the engine's own reading of it, and not from its text.
func (s *agentServer) query(ctx context.Context, in sqlAsked) (any, error) {
	if err := s.mayAsk(ctx, in.SQL); err != nil {
		return nil, err
	}
	return s.rows(ctx, in.SQL)
}

// rows returns the rows of a query, within the limits.
func (s *agentServer) rows(ctx context.Context, sql string) (any, error) {
	return s.ask(ctx, "query", "--output=json", "--max-result-rows="+strconv.Itoa(s.maxRows), "--max-time=60", "--", sql)
}

// mayAsk returns an error that says why a query is refused, and what to ask instead.
func (s *agentServer) mayAsk(ctx context.Context, sql string) error {
	known, err := s.knownViews(ctx)
	if err != nil {
		return err
	}
	// The engine puts the value of a scalar subquery in its place while it resolves names. So what such a subquery reads
	// is seen only before that.
	written, err := s.explain(ctx, "run_passes = 0 ", sql)
	if err != nil {
		return err
	}
	if err := written.refuseWritten(s.allowPrivate); err != nil {
		return err
	}
	resolved, err := s.explain(ctx, "", sql)
	if err != nil {
		return err
	}
	return resolved.refuse(known, s.allowPrivate)
}

// explain returns how the engine reads a query.
func (s *agentServer) explain(ctx context.Context, how, sql string) (nodes queryTree, err error) {
	tree, err := s.ask(ctx, "query", "--output=json", "--", "EXPLAIN QUERY TREE "+how+sql)
	if err != nil {
		return nil, err
	}
	lines, is := tree.([]any)
	if !is || len(lines) == 0 {
		return nil, errors.New("the query cannot be read: ask one SELECT")
	}
	for _, line := range lines {
		if row, is := line.(map[string]any); is {
			nodes.add(fmt.Sprint(row["explain"]))
		}
	}
	return nodes, nil
}

// knownViews are the views that describe lists.
func (s *agentServer) knownViews(ctx context.Context) (map[string]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.views != nil {
		return s.views, nil
	}
	data, err := s.ask(ctx, "schema", "--output", "json")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	if all, is := data.([]any); is {
		for _, view := range all {
			if v, is := view.(map[string]any); is {
				name, _, _ := strings.Cut(fmt.Sprint(v["name"]), "(") // a view with parameters
				known[name] = true
			}
		}
	}
	s.views = known
	return known, nil
}

// queryTree is what EXPLAIN QUERY TREE says, a node a line: its depth, and what it is.
type queryTree []struct {
	depth int
	text  string
}

func (t *queryTree) add(line string) {
	text := strings.TrimLeft(line, " ")
	*t = append(*t, struct {
		depth int
		text  string
	}{len(line) - len(text), text})
}

var (
	tableNode    = regexp.MustCompile(`^TABLE id: .*table_name: ([^,]+)`)
	functionNode = regexp.MustCompile(`^TABLE_FUNCTION id: .*table_function_name: ([^,]+)`)
	columnNode   = regexp.MustCompile(`^COLUMN id: \d+, column_name: ([^,]+), result_type: ([^,]+)`)
	sumNode      = regexp.MustCompile(`^FUNCTION id: \d+, function_name: (sum|avg|quantile|median|stddev|var)\w*, function_type: (aggregate|window)`)
	nameNode     = regexp.MustCompile(`^IDENTIFIER id: .*\bidentifier: ([^,]+)`)
	behindViews  = regexp.MustCompile(`_(log|latest|versions|staging)$`)
)

// harmless are the table functions that read nothing.
var harmless = []string{"numbers", "values", "zeros", "generate_series", "generateSeries"}

// refuse returns why the query is not run.
func (t queryTree) refuse(known map[string]bool, allowPrivate bool) error {
	for i, node := range t {
		if m := tableNode.FindStringSubmatch(node.text); m != nil {
			name := m[1][strings.LastIndex(m[1], ".")+1:]
			if !known[name] && m[1] != "system.one" {
				return fmt.Errorf("%s is no view for people: describe lists those that there are", name)
			}
		}
		if m := functionNode.FindStringSubmatch(node.text); m != nil && !known[m[1]] && !slices.Contains(harmless, m[1]) {
			return fmt.Errorf("the table function %s is not allowed: describe lists the views that there are", m[1])
		}
		if m := columnNode.FindStringSubmatch(node.text); m != nil && privateColumns[m[1]] && !allowPrivate {
			return errPrivate(m[1])
		}
		if sumNode.MatchString(node.text) && t.amountBelow(i) != "" && !t.byCurrency(i) {
			return fmt.Errorf("the query adds up %s over several currencies, which means nothing: add currency_code to SELECT and GROUP BY, or a condition on it", t.amountBelow(i))
		}
	}
	return nil
}

// refuseWritten returns why the query is not run, by the names in it, before they are resolved.
func (t queryTree) refuseWritten(allowPrivate bool) error {
	for i, node := range t {
		if m := nameNode.FindStringSubmatch(node.text); m != nil {
			name := strings.Trim(m[1][strings.LastIndex(m[1], ".")+1:], "`")
			if privateColumns[name] && !allowPrivate {
				return errPrivate(name)
			}
			if behindViews.MatchString(name) {
				return fmt.Errorf("%s is no view for people: describe lists those that there are", name)
			}
		}
		if strings.HasPrefix(node.text, "MATCHER ") && !allowPrivate && t.nested(i) && !t.counts(i) {
			return errors.New("the query has a * in a subquery: name its columns")
		}
	}
	return nil
}

// nested reports whether a node is in a query inside another one.
func (t queryTree) nested(i int) bool {
	queries, depth := 0, t[i].depth
	for j := i - 1; j >= 0; j-- {
		if t[j].depth >= depth {
			continue
		}
		if depth = t[j].depth; strings.HasPrefix(t[j].text, "QUERY ") {
			queries++
		}
	}
	return queries > 1
}

// counts reports whether a * is that of count(*).
func (t queryTree) counts(i int) bool {
	return i > 2 && strings.Contains(t[i-3].text, "function_name: count,")
}

func errPrivate(name string) error {
	return fmt.Errorf("the query reads %s, which may name a person: name the columns instead of *, and leave it out (or start dealhouse mcp with --allow-private)", name)
}

// below returns the nodes inside a node.
func (t queryTree) below(i int) queryTree {
	end := i + 1
	for end < len(t) && t[end].depth > t[i].depth {
		end++
	}
	return t[i+1 : end]
}

// amountBelow returns an amount that is read inside a node, or "".
func (t queryTree) amountBelow(i int) string {
	for _, node := range t.below(i) {
		m := columnNode.FindStringSubmatch(node.text)
		if m != nil && strings.Contains(m[2], "Decimal") && !strings.Contains(m[1], "percentage") && !strings.Contains(m[1], "share") {
			return m[1]
		}
	}
	return ""
}

// byCurrency reports whether a sum is of one currency: by a condition inside it, or because its query is grouped by the
// currency or has a condition on it, at whatever level.
func (t queryTree) byCurrency(sum int) bool {
	if t.namesCurrency(t.below(sum)) {
		return true
	}
	for i, node := range t {
		if section, _, _ := strings.Cut(node.text, " "); (section == "WHERE" || section == "PREWHERE" || node.text == "GROUP BY") &&
			t.namesCurrency(t.below(i)) {
			return true
		}
	}
	return false
}

func (queryTree) namesCurrency(nodes queryTree) bool {
	for _, node := range nodes {
		if m := columnNode.FindStringSubmatch(node.text); m != nil && strings.Contains(m[1], "currency") {
			return true
		}
	}
	return false
}

// measureAsked is a measure by dimensions. Amounts always stand beside their account and their currency, so that a sum
// over currencies cannot be asked for.
type measureAsked struct {
	Measure string   `json:"measure" jsonschema:"sales, order_value, cashback, paid_cashback or approval_share (approved of decided)"`
	By      []string `json:"by,omitempty" jsonschema:"month, day, retailer, country or status; account and currency are always there"`
	From    string   `json:"from,omitempty" jsonschema:"first day of sale, such as 2026-01-01"`
	To      string   `json:"to,omitempty" jsonschema:"last day of sale"`
	Account string   `json:"account,omitempty" jsonschema:"only this account"`
}

// Conditions on the status of a sale.
const (
	notDeclined = "status != '" + catalog.StatusDeclined + "'"
	confirmed   = "status = '" + catalog.StatusConfirmed + "'"
)

// The measures and dimensions of daily_sales. Declined sales earn nothing, so they are not in the amounts.
var (
	measures = map[string]string{
		"sales":          "sum(transactions)",
		"order_value":    "sumIf(order_value, " + notDeclined + ")",
		"cashback":       "sumIf(cashback, " + notDeclined + ")",
		"paid_cashback":  "sum(paid_cashback)",
		"approval_share": "sumIf(transactions, " + confirmed + ") / nullIf(sumIf(transactions, " + confirmed + " OR NOT " + notDeclined + "), 0)",
	}
	dimensions = map[string]string{
		"month": "toStartOfMonth(day)", "day": "day", "retailer": "retailer_name", "country": "country", "status": "status",
	}
)

func (s *agentServer) measure(ctx context.Context, in measureAsked) (any, error) {
	sql, err := in.sql()
	if err != nil {
		return nil, err
	}
	return s.rows(ctx, sql)
}

func (in measureAsked) sql() (string, error) {
	value, known := measures[in.Measure]
	if !known {
		return "", fmt.Errorf("there is no measure %q: ask for one of %s", in.Measure, term.List(sortedKeys(measures)))
	}
	columns := []string{"account", "currency_code"}
	for _, name := range in.By {
		column, known := dimensions[name]
		if !known {
			return "", fmt.Errorf("there is no dimension %q: ask for some of %s", name, term.List(sortedKeys(dimensions)))
		}
		columns = append(columns, column+" AS by_"+name)
	}
	conditions := []string{"1"}
	for _, border := range []struct{ day, is string }{{in.From, ">="}, {in.To, "<="}} {
		if border.day == "" {
			continue
		}
		if _, err := time.Parse(time.DateOnly, border.day); err != nil {
			return "", fmt.Errorf("%q is no day such as 2026-01-31", border.day)
		}
		conditions = append(conditions, "day "+border.is+" '"+border.day+"'")
	}
	if in.Account != "" {
		conditions = append(conditions, "account = "+sqlText(in.Account))
	}
	return fmt.Sprintf("SELECT %s, %s AS %s FROM daily_sales WHERE %s GROUP BY ALL ORDER BY ALL",
		strings.Join(columns, ", "), value, in.Measure, strings.Join(conditions, " AND ")), nil
}

// sqlText writes a text in SQL.
func sqlText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

func sortedKeys(of map[string]string) []string { return slices.Sorted(maps.Keys(of)) }
