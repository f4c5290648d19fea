//go:build !noengine

package deploy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/chdb"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// seenConfirmed is the median time to confirmation, from all versions, of the transactions that were loaded as PENDING
// first.
const seenConfirmed = `SELECT quantileExact(0.5)(days) FROM
(
    SELECT minIf(updated_at, status = 'CONFIRMED') AS confirmed, dateDiff('second', any(sold_at), confirmed) / 86400 AS days
    FROM transactions_history
    WHERE $__timeFilter(sold_at) AND account IN (${account:singlequote}) AND currency_code = decodeURLComponent('${currency:percentencode}')
    GROUP BY account, id
    HAVING argMin(status, valid_from) = 'PENDING' AND countIf(status = 'CONFIRMED') > 0
)`

// salesPanel is the panel with the sums of the whole period, of which the order value is the fourth.
const salesPanel = 2

// singleSales has the rows of which daily_sales has sums.
const singleSales = "(SELECT *, toDate32(sold_at) AS day, toUInt64(1) AS transactions FROM transactions)"

// TestBusinessDashboard runs every query of the dashboard on a warehouse that was loaded, in wide samples by a user's
// commands: each gives rows, in the form that its panel wants.
func TestBusinessDashboard(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	w, now := filled(t)
	d := readDashboard(t, "business.json")
	macros := grafana{from: now.AddDate(-1, 0, 0), to: now, variables: map[string][]string{"account": {"acme", "globex"}}}
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
		macros.variables[v.Name] = []string{fmt.Sprint(rows[0][0])}
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
				if sums := strings.ReplaceAll(query, "FROM daily_sales", "FROM "+singleSales); sums != query {
					if _, want := ask(t, w, sums); !cmp.Equal(want, rows, cmp.Comparer(decimal.Decimal.Equal)) {
						t.Errorf("not what the transactions say: %v, want %v", rows, want)
					}
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
	for i, value := range hostileValues() {
		if i > 0 && !enginetest.Wide() {
			continue // each asks every query
		}
		macros.variables["currency"], macros.variables["product"] = []string{value}, []string{value}
		for _, p := range d.Panels {
			if p.ID != salesPanel && !enginetest.Wide() {
				continue // the others put the variable into a query in the same way
			}
			for _, target := range p.Targets {
				_, rows := ask(t, w, macros.expand(t, target.RawSQL))
				if p.ID == salesPanel && (len(rows) != 1 || fmt.Sprint(rows[0][3]) != fmt.Sprint(4711+i)) {
					t.Errorf("in the currency %q, the order value is %v, want %d", value, rows, 4711+i)
				}
			}
		}
		_, rows := ask(t, w, macros.expand(t, "SELECT name FROM products WHERE account = 'acme' AND name = decodeURLComponent('${product:percentencode}')"))
		if len(rows) != 1 || rows[0][0] != value {
			t.Errorf("the product %q finds %v", value, rows)
		}
	}
}

// hostileValues are values of the API that would break out of the literals of another quoting, or be read as another.
func hostileValues() []string {
	return []string{`\' OR 1 = 1 -- `, `\`, `'`, `''`, `') OR (1 = 1`, `%27 OR 1=1 --`, `%`, "two\nlines", `a+b c`,
		"日本語\u202e", `{x,y}`}
}

// addHostile puts a transaction and a product into the world for each hostile value.
func addHostile(t *testing.T, sim *apisim.Sim) {
	t.Helper()
	for i, value := range hostileValues() {
		for stream, changes := range map[string]map[string]any{
			apisim.StreamTransactions: {"id": fmt.Sprintf("00000000-0000-4000-8000-%012d", i), "currencyCode": value,
				"orderValue": 4711 + i, "status": "CONFIRMED"},
			apisim.StreamProducts: {"url": fmt.Sprintf("https://shop.example/%d", i), "name": value},
		} {
			record := map[string]any{}
			for first := range sim.Truth(stream, "acme") {
				if err := json.Unmarshal(first, &record); err != nil {
					t.Fatal(err)
				}
				break
			}
			maps.Copy(record, changes)
			text, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			if err := sim.Put(stream, "acme", text); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What data of the API chooses is never within a literal that it could end: only the names of accounts, which the
// configuration holds to letters, digits and hyphens, are quoted.
func TestVariablesCannotBreakOut(t *testing.T) {
	for _, name := range []string{"operations.json", "business.json"} {
		text := readFile(t, filepath.Join("grafana", "dashboards", name))
		for _, use := range regexp.MustCompile(`.{0,24}\$\{(\w+):\w+\}.{0,2}`).FindAllStringSubmatch(text, -1) {
			if use[1] != "account" && !regexp.MustCompile(`decodeURLComponent\('\$\{\w+:percentencode\}'\)$`).MatchString(use[0]) {
				t.Errorf("%s: %s", name, use[0])
			}
		}
	}
}

// filled loads a simulated API twice, a month apart.
func filled(t *testing.T) (*warehouse.Warehouse, time.Time) {
	t.Helper()
	dir, month := filepath.Join(t.TempDir(), "data"), 30*24*time.Hour
	o := apisim.Options{
		Retailers: 30, Promotions: 60, Coupons: 60, CashbackOffers: 60, Transactions: 1500, Products: 60, HistoryDays: 30,
	}
	prepare := func(sim *apisim.Sim) { addHostile(t, sim) }
	if !enginetest.Wide() { // to build the program and to run it takes longer than all queries
		return load(t, dir, o, prepare, month)
	}
	now := fill(t, dir, o, prepare, month)
	return open(t, dir), now
}

// load does what fill does without the program, and opens the folder. Of globex, it loads transactions only: the panels
// are over both accounts, and each run takes its time.
func load(t testing.TB, dir string, o apisim.Options, prepare func(*apisim.Sim),
	steps ...time.Duration) (*warehouse.Warehouse, time.Time) {
	t.Helper()
	engine, err := chdb.Open(t.Context(), chdb.Options{Dir: dir, FewRows: true}) // which all that opens it here shares
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	w := open(t, dir)
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := syncer.New(syncer.Options{Warehouse: w})
	if err != nil {
		t.Fatal(err)
	}
	sim, url := serve(t, o, prepare)
	var jobs []syncer.Job
	for _, account := range sim.Orgs() {
		key, _ := sim.Keys(account)
		client, err := dealapi.New(dealapi.Options{Account: account, BaseURL: url, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		for _, stream := range catalog.All() {
			if account != "acme" && stream != catalog.Transactions() {
				continue
			}
			job := syncer.NewJob(account, stream, client)
			job.MaxDeleteRatio = maxDeleteRatio
			jobs = append(jobs, job)
		}
	}
	for i, step := range append([]time.Duration{0}, steps...) {
		sim.Advance(step)
		due := jobs
		if i < len(steps) { // only of transactions does a panel ask what they were
			due = slices.DeleteFunc(slices.Clone(jobs), func(j syncer.Job) bool { return j.Stream != catalog.Transactions() })
		}
		for _, r := range s.All(t.Context(), due) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	return w, sim.Now()
}

// maxDeleteRatio lets a month pass between two loads.
const maxDeleteRatio = 0.9

// serve is a simulated API of the accounts acme and globex.
func serve(t testing.TB, o apisim.Options, prepare func(*apisim.Sim)) (sim *apisim.Sim, url string) {
	t.Helper()
	o.Orgs = []apisim.Org{{Name: "acme", Key: "acme-key"}, {Name: "globex", Key: "globex-key"}}
	o.Settings.PageSize = 1000
	sim, url = enginetest.Serve(t, o)
	prepare(sim)
	return sim, url
}

// open opens the folder of a warehouse.
func open(t testing.TB, dir string) *warehouse.Warehouse {
	t.Helper()
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: warehouse.EmbeddedScheme + dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// fill loads a simulated API of the accounts acme and globex into a folder, by the command that users run: once, and
// again after each of the steps. now is the API's time after the last of them.
func fill(t testing.TB, dir string, o apisim.Options, prepare func(*apisim.Sim),
	steps ...time.Duration) (now time.Time) {
	t.Helper()
	sim, url := serve(t, o, prepare)
	program := filepath.Join(t.TempDir(), "dealhouse")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cmd/dealhouse")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	config := filepath.Join(t.TempDir(), "dealhouse.toml")
	text := fmt.Sprintf("[warehouse]\ndsn = \"embedded:%s\"\n[defaults]\nrequests_per_second = 1000\nmax_delete_ratio = %v\n",
		dir, maxDeleteRatio)
	for _, name := range []string{"acme", "globex"} {
		text += fmt.Sprintf("[[account]]\nname = %q\nbase_url = %q\napi_key = \"%s-key\"\n", name, url, name)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range append([]time.Duration{0}, steps...) {
		sim.Advance(step)
		sync := exec.CommandContext(t.Context(), program, "sync", "--config", config)
		if out, err := sync.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return sim.Now()
}

// ask runs a query over the read-only connection, as the user of Grafana has it.
func ask(t testing.TB, w *warehouse.Warehouse, query string) (types []string, values [][]any) {
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

// percentEncoded is a value as :percentencode writes it: as encodeURIComponent does, and !'()* too.
func percentEncoded(value string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// grafana expands variables, and macros of the ClickHouse data source as its documentation says.
type grafana struct {
	from, to  time.Time
	variables map[string][]string
}

func (g grafana) expand(t testing.TB, query string) string {
	t.Helper()
	moment := func(at time.Time) string { return fmt.Sprintf("toDateTime(%d)", at.Unix()) }
	day := func(at time.Time) string { return at.UTC().Format("toDate('2006-01-02')") }
	between := func(column, from, to string) string {
		return column + " >= " + from + " AND " + column + " <= " + to
	}
	for name, values := range g.variables {
		var quoted []string
		for _, value := range values {
			quoted = append(quoted, "'"+strings.ReplaceAll(value, "'", `\'`)+"'")
		}
		query = strings.ReplaceAll(query, "${"+name+":singlequote}", strings.Join(quoted, ","))
		query = strings.ReplaceAll(query, "${"+name+":percentencode}", percentEncoded(values[0]))
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
