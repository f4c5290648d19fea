package syncer

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

const unreadableKey = "sk_live_of_the_account_acme"

// TestValuesThatAreNoJSON loads lists in which single values are no JSON, or are written in other ways than the
// interface shows, behind a byte order mark. Only what nobody can read is lost, and it is kept.
func TestValuesThatAreNoJSON(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	bodies := map[string]string{
		"/v1/deals/transactions": "\ufeff" + `{"data":[
			{"id":"11111111-1111-4111-8111-111111111111","updatedAt":1767607200,"orderValue":NaN,"cashback":"1,234.50","status":"a` + "\n" + `b"},
			{"id":"22222222-2222-4222-8222-222222222222","updatedAt":"2026/01/05 10:00:00","orderValue":12.5,"cashback":-Infinity,"passbackUid":NaN},
			{"id":NaN,"updatedAt":"2026-01-05T10:00:00Z","orderValue":1}]}`,
		"/v1/deals/coupons": `{"data":[{"id":"11111111-1111-4111-8111-111111111111","code":"` + unreadableKey + `","startDate":"` + unreadableKey + `"}]}`,
		"/v1/deals/payouts": "null",
		"/v2/products": `{"data":[{"url":"https://a.example/1","price":5,"history":[{"yearMonthDay":20260105,"price":1,"views":1},
			{"yearMonthDay":"2026-01-06T00:00:00Z","price":2,"views":1},{"yearMonthDay":1767744000,"price":NaN,"views":1},
			{"yearMonthDay":"05.01.2026","price":4,"views":1}]}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(bodies[r.URL.Path])) // the client may be gone
	}))
	t.Cleanup(server.Close)
	w := open(t)
	s, err := New(Options{Warehouse: w})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobsOf(t, newClient(t, "acme", server.URL, unreadableKey), "acme", "transactions", "coupons", "payouts", "products") {
		if record, err := s.Run(t.Context(), job); err != nil || record.Outcome != warehouse.OutcomeSuccess {
			t.Errorf("%s: %s, %v", job.Stream.Name, record.Outcome, err)
		}
	}
	for query, want := range map[string]string{
		"SELECT arrayStringConcat(arraySort(groupArray(concat(substring(toString(id), 1, 1), ' ', toString(updated_at), ' ', ifNull(toString(order_value), '-'), ' ', ifNull(toString(cashback), '-'), ' ', status, passback_uid))), ', ') FROM transactions": "1 2026-01-05 10:00:00.000 - 1234.5 a\nb, 2 2026-01-05 10:00:00.000 12.5 - ",
		"SELECT arrayStringConcat(arraySort(groupArray(concat(field, ' ', reason, ' ', raw))), '; ') FROM rejected_records WHERE stream = 'transactions' AND field != ''":                                                                                     "cashback not_json -Infinity; orderValue not_json NaN; passbackUid not_json NaN",
		"SELECT count() FROM rejected_records WHERE stream = 'transactions' AND reason = 'unusable_key' AND raw LIKE '%NaN%'":                                                                                                                                 "1",
		"SELECT arrayStringConcat(arraySort(groupArray(concat(toString(day), ' ', ifNull(toString(price), '-')))), ', ') FROM product_prices":                                                                                                                 "2026-01-05 1, 2026-01-06 2, 2026-01-07 -",
		"SELECT count() FROM rejected_records WHERE stream = 'products'":                                                                                                                                                                                      "2",
		"SELECT count() FROM payouts": "0",
		"SELECT concat(code, ' ', any(raw)) FROM coupons, rejected_records WHERE stream = 'coupons' GROUP BY code": `[key] "[key]"`,
	} {
		if got := one(t, w, query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for _, table := range []string{"coupons", "rejected_records"} {
		if n := one(t, w, "SELECT countIf(toString(tuple(*)) LIKE '%"+unreadableKey+"%') FROM "+table); n != "0" {
			t.Errorf("the key is in %s rows of %s", n, table)
		}
	}
	if !strings.Contains(bodies["/v1/deals/coupons"], unreadableKey) {
		t.Error("the API did not repeat the key")
	}
}
