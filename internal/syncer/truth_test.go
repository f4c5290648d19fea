package syncer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// The expectation of this file is written without the catalog or the decoder: a record of the simulator, as
// encoding/json reads it, is turned into what each column of the view has to hold.

type shape struct {
	strings, times, lists []string // JSON names; all other fields are numbers, booleans or UUIDs
	skip                  []string
	key                   func(row map[string]string) string
}

func byID(row map[string]string) string { return row["id"] }

var shapes = map[string]shape{
	"promotions": {strings: []string{"description", "url", "name", "hostname", "logo", "deepLink"},
		times: []string{"startDate", "endDate", "updatedAt"}, key: byID},
	"coupons": {strings: []string{"code", "description", "url", "name", "hostname", "logo"},
		times: []string{"startDate", "endDate", "updatedAt"}, key: byID},
	"cashback_offers": {strings: []string{"description", "category", "termsAndExclusions", "url", "name", "hostname",
		"logo"},
		times: []string{"updatedAt"}, lists: []string{"countries"}, key: byID},
	"transactions": {strings: []string{"country", "currencyCode", "status", "passbackUid", "retailerName", "retailerLogo",
		"passbackData"},
		times: []string{"activatedAt", "clickedAt", "soldAt", "updatedAt"}, key: byID},
	"payouts": {times: []string{"startDate", "endDate"}, key: byID},
	"products": {strings: []string{"url", "name", "currencyCode", "brandName", "description", "categoryId",
		"categoryVersion", "categoryBreadcrumb", "asin", "sku", "gtin", "mpn"},
		times: []string{"lastViewedAt"}, lists: []string{"imageUrls"}, skip: []string{"history"},
		key: func(r map[string]string) string {
			return strings.Join([]string{r["url"], r["asin"], r["gtin"], r["brand_name"], r["mpn"], r["sku"]}, "|")
		}},
}

// columnOf returns the column of a JSON name: the name in snake_case, except for the retailer's name and logo in deals.
func columnOf(stream, name string) string {
	if stream != "products" && stream != "transactions" && (name == "name" || name == "logo") {
		return "retailer_" + name
	}
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// expected returns what the view must have for a record, by column. A column that is missing here must be empty.
func expected(t *testing.T, stream string, record []byte) map[string]string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(record))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		t.Fatalf("%s: %v", record, err)
	}
	sh := shapes[stream]
	row := map[string]string{}
	for name, value := range fields {
		if value == nil || slices.Contains(sh.skip, name) {
			continue
		}
		switch v := value.(type) {
		case string:
			switch {
			case slices.Contains(sh.times, name):
				row[columnOf(stream, name)] = instant(t, v)
			case slices.Contains(sh.strings, name):
				row[columnOf(stream, name)] = v
			default:
				row[columnOf(stream, name)] = strings.ToLower(v)
			}
		case json.Number:
			row[columnOf(stream, name)] = exact(t, v.String())
		case bool:
			row[columnOf(stream, name)] = fmt.Sprint(v)
		case []any:
			row[columnOf(stream, name)] = fmt.Sprintf("%q", v)
		default:
			t.Fatalf("%s: unexpected %T", name, value)
		}
	}
	return withoutEmpty(row)
}

func instant(t *testing.T, text string) string {
	t.Helper()
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
		}
	}
	t.Fatalf("no timestamp: %q", text)
	return ""
}

// exact returns a number as a fraction.
func exact(t *testing.T, text string) string {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("no number: %q", text)
	}
	return r.RatString()
}

func withoutEmpty(row map[string]string) map[string]string {
	for column, value := range row {
		if value == "" || value == "[]" {
			delete(row, column)
		}
	}
	return row
}

// viewRows reads all rows of a view, in the form of expected.
func viewRows(t *testing.T, w *warehouse.Warehouse, view, account string) []map[string]string {
	t.Helper()
	rows, err := w.Conn().Query(t.Context(),
		"SELECT COLUMNS('.*') APPLY (x -> ifNull(toJSONString(x), 'null')) FROM "+view+" WHERE account = {account:String}",
		named("account", account))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names := rows.Columns()
	cells, pointers := make([]string, len(names)), make([]any, len(names))
	for i := range cells {
		name, isCell := strings.CutPrefix(names[i], "ifNull(toJSONString(")
		names[i], pointers[i] = strings.TrimSuffix(name, "), 'null')"), &cells[i]
		if !isCell {
			t.Fatalf("%s: a cell is called %s", view, name)
		}
	}
	var all []map[string]string
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		row := map[string]string{}
		for i, name := range names {
			row[name] = cellText(t, name, cells[i])
		}
		all = append(all, withoutEmpty(row))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func cellText(t *testing.T, column, cell string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(cell))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("column %s: %s: %v", column, cell, err)
	}
	switch v := value.(type) {
	case nil:
		return ""
	case json.Number:
		return exact(t, v.String())
	case string:
		if at, err := time.Parse("2006-01-02 15:04:05.000", v); err == nil &&
			(strings.HasSuffix(column, "_at") || strings.HasSuffix(column, "_date")) {
			return at.Format(time.RFC3339Nano)
		}
		return v
	case bool:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%q", value)
}

// checkTruth compares every field of every record of the streams (none named: all) with the simulator's truth.
func checkTruth(t *testing.T, w *warehouse.Warehouse, x *world, account string, streams ...string) {
	t.Helper()
	if len(streams) == 0 {
		streams = catalog.Names()
	}
	for _, stream := range streams {
		want, got := truthRows(t, x, stream, account), shownRows(t, w, stream, account)
		if len(want) == 0 {
			t.Fatalf("%s: the simulator has no rows", stream)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s of %s differs from the truth (-truth +view):\n%.3000s", stream, account, d)
		}
	}
	if slices.Contains(streams, "products") {
		checkPrices(t, w, x, account)
	}
	checkCertified(t, w, account, streams...)
}

// checkCertified wants what is stored to be what the runs have certified. That rows were changed by hand, as some tests
// do, is in the certificate of the run that found it.
func checkCertified(t *testing.T, w *warehouse.Warehouse, account string, streams ...string) {
	t.Helper()
	audits, err := w.AuditCertificates(t.Context(), func(id warehouse.StreamID) bool {
		return id.Account == account && slices.Contains(streams, id.Stream)
	}, 3, nil)
	if err != nil || len(audits) == 0 {
		t.Errorf("%s: %d audits: %v", account, len(audits), err)
	}
	for _, a := range audits {
		for _, f := range a.Findings {
			if f.Kind != warehouse.FoundRestated {
				t.Errorf("%s of %s: %+v", a.Stream, a.Account, f)
			}
		}
	}
}

// truthRows returns what the view of a stream must have, by the key of the row.
func truthRows(t *testing.T, x *world, stream, account string) map[string]map[string]string {
	t.Helper()
	want := map[string]map[string]string{}
	for record := range x.Truth(stream, account) {
		row := expected(t, stream, record)
		want[shapes[stream].key(row)] = row
	}
	if stream == "payouts" {
		roundQuotients(t, want)
	}
	return want
}

// shownRows returns what the view has, in the form of truthRows. No key may be there twice.
func shownRows(t *testing.T, w *warehouse.Warehouse, stream, account string) map[string]map[string]string {
	t.Helper()
	got := map[string]map[string]string{}
	for _, row := range viewRows(t, w, stream, account) {
		if row["account"] != account || row["synced_at"] == "" {
			t.Errorf("%s: a row without account or synced_at: %v", stream, row)
		}
		for _, own := range []string{"account", "synced_at", "product_key", "product_key_rule"} {
			delete(row, own)
		}
		key := shapes[stream].key(row)
		if _, twice := got[key]; twice {
			t.Errorf("%s: %s is there twice", stream, key)
		}
		got[key] = row
	}
	return got
}

// roundQuotients rounds aov to the 6 decimals of its column.
func roundQuotients(t *testing.T, rows map[string]map[string]string) {
	t.Helper()
	for _, row := range rows {
		r, ok := new(big.Rat).SetString(row["aov"])
		if !ok {
			t.Fatalf("aov %q", row["aov"])
		}
		row["aov"] = halfEven(r, 1_000_000).RatString()
	}
}

// halfEven rounds r to a whole number of parts of a unit. It rounds a half to the even number.
func halfEven(r *big.Rat, parts int64) *big.Rat {
	scaled := new(big.Rat).Mul(r, big.NewRat(parts, 1))
	whole, rest := new(big.Int).QuoRem(scaled.Num(), scaled.Denom(), new(big.Int))
	if c := new(big.Int).Lsh(rest, 1).Cmp(scaled.Denom()); c > 0 || c == 0 && whole.Bit(0) == 1 {
		whole.Add(whole, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(whole, big.NewInt(parts))
}

// checkPrices compares the price history with the truth: it must have every day that the feed has now, with the feed's
// values. Days that have left the feed stay.
func checkPrices(t *testing.T, w *warehouse.Warehouse, x *world, account string) {
	t.Helper()
	keys := map[string]string{}
	for _, row := range viewRows(t, w, "products", account) {
		key := row["product_key"]
		keys[shapes["products"].key(row)] = key
	}
	got := map[string]map[string]string{}
	for _, row := range viewRows(t, w, "product_prices", account) {
		delete(row, "account")
		delete(row, "synced_at")
		id := row["product_key"] + " " + row["day"]
		if got[id] != nil {
			t.Errorf("product_prices: %s is there twice", id)
		}
		got[id] = row
	}
	entries := 0
	for record := range x.Truth("products", account) {
		var p struct {
			CurrencyCode string
			History      []struct {
				YearMonthDay string
				Price, Views json.Number
			}
		}
		if err := json.Unmarshal(record, &p); err != nil {
			t.Fatal(err)
		}
		key := keys[shapes["products"].key(expected(t, "products", record))]
		for _, h := range p.History {
			entries++
			want := map[string]string{"product_key": key, "day": h.YearMonthDay, "currency_code": p.CurrencyCode}
			if h.Price != "" {
				want["price"] = exact(t, h.Price.String())
			}
			if h.Views != "" {
				want["views"] = exact(t, h.Views.String())
			}
			if d := cmp.Diff(withoutEmpty(want), got[key+" "+h.YearMonthDay]); d != "" {
				t.Fatalf("product_prices: %s", d)
			}
		}
	}
	if entries == 0 || len(got) < entries {
		t.Errorf("product_prices has %d rows, the feed %d entries", len(got), entries)
	}
}

// TestTruth compares everything with the truth after each step, for page sizes and orders, and syncs once more
// when nothing has changed. The order makes no difference for payouts and products, so these are read in the
// first order only. Without a wide sample, everything is read by id and for one account, and one stream of each
// kind is synced once more.
func TestTruth(t *testing.T) {
	shortForm := map[int]apisim.Order{1: apisim.ByUpdatedAsc, 7: apisim.ByID, 1000: apisim.ByUpdatedDesc}
	for _, pageSize := range []int{1, 7, 1000} {
		for order, name := range []string{apisim.ByID: "by id", apisim.ByUpdatedAsc: "by updatedAt",
			apisim.ByUpdatedDesc: "newest first"} {
			if !enginetest.Wide() && pageSize != 7 || os.Getenv(wholeMatrix) == "" &&
				shortForm[pageSize] != apisim.Order(order) {
				continue
			}
			t.Run(fmt.Sprintf("pages of %d %s", pageSize, name), func(t *testing.T) {
				t.Parallel()
				options := smallWorld()
				options.Settings = apisim.Settings{PageSize: pageSize, Order: apisim.Order(order), Gzip: pageSize == 7,
					Timestamps: apisim.TimestampStyle(pageSize % 3)}
				if pageSize == 1 {
					options.Transactions, options.Products = 150, 40
				}
				streams := []string{"promotions", "coupons", "cashback_offers", "transactions"}
				if apisim.Order(order) == apisim.ByID {
					streams = catalog.Names()
				}
				x, w := serve(t, options), open(t)

				syncAll(t, w, x.jobs(t, "acme", streams...))
				checkTruth(t, w, x, "acme", streams...)

				x.Advance(3 * 24 * time.Hour)
				syncAll(t, w, x.jobs(t, "acme", streams...))
				checkTruth(t, w, x, "acme", streams...)
				if pageSize == 7 && enginetest.Wide() {
					changesNothing(t, w, x.jobs(t, "acme", streams...))
				} else if pageSize == 7 {
					changesNothing(t, w, x.jobs(t, "acme", kinds...))
				}

				if pageSize != 7 || !enginetest.Wide() {
					return // two accounts side by side do not depend on the size of pages, and each run takes time
				}
				syncAll(t, w, append(x.jobs(t, "globex", streams...), x.jobs(t, "acme", streams...)...))
				checkTruth(t, w, x, "acme", streams...)
				checkTruth(t, w, x, "globex", streams...)
			})
		}
	}
}

// changesNothing syncs once more, when nothing has changed.
func changesNothing(t *testing.T, w *warehouse.Warehouse, jobs []Job) {
	t.Helper()
	tables := []string{"product_prices_latest"}
	for _, s := range catalog.All() {
		if s.History {
			tables = append(tables, s.Name+"_history", s.Name+"_versions")
		}
	}
	history := func() string {
		return one(t, w, "SELECT tuple((SELECT count() FROM "+strings.Join(tables, "), (SELECT count() FROM ")+"))")
	}
	before := history()
	for name, r := range syncAll(t, w, jobs) {
		if c := r.Changes; c.Any() || c.Unchanged == 0 || c.Unchanged != c.Distinct {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if after := history(); after != before {
		t.Errorf("history grew from %s to %s", before, after)
	}
}
