//go:build !noengine

package deploy_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dealhouse/internal/apisim"
	"dealhouse/internal/warehouse"
)

// seenConfirmed is the median time to confirmation, from all versions, of the transactions that were loaded as PENDING first.
const seenConfirmed = `SELECT quantileExact(0.5)(days) FROM
(
    SELECT minIf(updated_at, status = 'CONFIRMED') AS confirmed, dateDiff('second', any(sold_at), confirmed) / 86400 AS days
    FROM transactions_history
    WHERE $__timeFilter(sold_at) AND account IN (${account:singlequote}) AND currency_code = ${currency:singlequote}
    GROUP BY account, id
    HAVING argMin(status, valid_from) = 'PENDING' AND countIf(status = 'CONFIRMED') > 0
)`

// TestBusinessDashboard runs every query of the dashboard on a warehouse that a user's commands have filled: each gives
// rows, in the form that its panel wants.
func TestBusinessDashboard(t *testing.T) {
	w, now := filled(t)
	d := readDashboard(t, "business.json")
	macros := grafana{from: now.AddDate(-1, 0, 0), to: now, variables: map[string]string{"account": "'acme','globex'"}}
	for _, v := range d.Templating.List {
		if v.Type == "datasource" || v.Name == "account" {
			continue
		}
		var query string
		if err := json.Unmarshal(v.Query, &query); err != nil {
			t.Fatal(err)
		}
		_, rows := ask(t, w, macros.expand(t, query))
		if len(rows) == 0 {
			t.Fatalf("the variable %s has no values", v.Name)
		}
		macros.variables[v.Name] = "'" + strings.ReplaceAll(fmt.Sprint(rows[0][0]), "'", `\'`) + "'"
	}
	money := regexp.MustCompile(`sum(If)?\((\w+\.)?(\w*cashback|\w*gmv|order_value|price)\b`)
	queries := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			queries++
			t.Run(p.Title, func(t *testing.T) {
				query := macros.expand(t, target.RawSQL)
				types, rows := ask(t, w, query)
				if len(rows) == 0 || len(rows) == 1 && rows[0][0] == nil {
					t.Fatalf("nothing to show from\n%s", query)
				}
				if target.QueryType == "timeseries" && !strings.HasPrefix(types[0], "DateTime") {
					t.Errorf("a time series begins with a time, not with %s", types[0])
				}
				// What was confirmed before the first load was confirmed nobody knows when.
				if p.Title == "Days to confirmation" {
					_, want := ask(t, w, macros.expand(t, seenConfirmed))
					if d := cmp.Diff(want, rows, cmpopts.EquateApprox(0, 0.001)); d != "" {
						t.Errorf("not the time to the confirmations that were seen (-want +got):\n%s", d)
					}
				}
				// Whoever adds up amounts must have said of which currency.
				if money.MatchString(query) && !strings.Contains(query, "currency") {
					t.Errorf("amounts without a currency in\n%s", query)
				}
			})
		}
	}
	if queries < 10 {
		t.Errorf("only %d queries were found", queries)
	}
}

// filled loads a simulated API twice, a month apart, by the command that users run.
func filled(t *testing.T) (*warehouse.Warehouse, time.Time) {
	t.Helper()
	sim, err := apisim.New(apisim.Options{
		Orgs:      []apisim.Org{{Name: "acme", Key: "acme-key"}, {Name: "globex", Key: "globex-key"}},
		Retailers: 30, Promotions: 60, Coupons: 60, CashbackOffers: 60, Transactions: 1500, Products: 60, HistoryDays: 30,
		Settings: apisim.Settings{PageSize: 1000},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	dir := filepath.Join(t.TempDir(), "data")
	program := filepath.Join(t.TempDir(), "dealhouse")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cmd/dealhouse")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	config := filepath.Join(t.TempDir(), "dealhouse.toml")
	text := fmt.Sprintf("[warehouse]\ndsn = \"embedded:%s\"\n[defaults]\nrequests_per_second = 1000\nmax_delete_ratio = 0.9\n", dir)
	for _, name := range []string{"acme", "globex"} {
		text += fmt.Sprintf("[[account]]\nname = %q\nbase_url = %q\napi_key = \"%s-key\"\n", name, server.URL, name)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		sync := exec.CommandContext(t.Context(), program, "sync", "--config", config)
		if out, err := sync.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		sim.Advance(30 * 24 * time.Hour)
	}
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: warehouse.EmbeddedScheme + dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, sim.Now()
}

// ask runs a query over the read-only connection, as the user of Grafana has it.
func ask(t *testing.T, w *warehouse.Warehouse, query string) (types []string, values [][]any) {
	t.Helper()
	rows, err := w.ReadOnly().Query(t.Context(), query)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer rows.Close()
	for _, c := range rows.ColumnTypes() {
		types = append(types, c.DatabaseTypeName())
	}
	for rows.Next() {
		into := make([]any, len(types))
		for i, c := range rows.ColumnTypes() {
			into[i] = reflect.New(c.ScanType()).Interface()
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatalf("%v\n%s", err, query)
		}
		row := make([]any, len(types))
		for i := range into {
			v := reflect.ValueOf(into[i]).Elem()
			if v.Kind() == reflect.Pointer && v.IsNil() {
				continue // NULL
			}
			row[i] = reflect.Indirect(v).Interface()
		}
		values = append(values, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	return types, values
}

// grafana expands variables, and macros of the ClickHouse data source as its documentation says.
type grafana struct {
	from, to  time.Time
	variables map[string]string // as :singlequote writes them
}

func (g grafana) expand(t *testing.T, query string) string {
	t.Helper()
	moment := func(at time.Time) string { return fmt.Sprintf("toDateTime(%d)", at.Unix()) }
	day := func(at time.Time) string { return at.UTC().Format("toDate('2006-01-02')") }
	between := func(column, from, to string) string {
		return column + " >= " + from + " AND " + column + " <= " + to
	}
	for name, value := range g.variables {
		query = strings.ReplaceAll(query, "${"+name+":singlequote}", value)
	}
	expanded := regexp.MustCompile(`\$__(\w+)(?:\(([^()]*)\))?`).ReplaceAllStringFunc(query, func(macro string) string {
		name, argument, _ := strings.Cut(strings.TrimSuffix(macro, ")"), "(")
		switch name {
		case "$__timeFilter":
			return between(argument, moment(g.from), moment(g.to))
		case "$__dateFilter":
			return between(argument, day(g.from), day(g.to))
		case "$__fromTime":
			return moment(g.from)
		case "$__toTime":
			return moment(g.to)
		}
		t.Fatalf("the macro %s is not known to this test", macro)
		return ""
	})
	if strings.Contains(expanded, "$") {
		t.Fatalf("a variable is left in\n%s", expanded)
	}
	return expanded
}
