package warehouse

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"dealhouse/internal/enginetest"
)

// rate is what an offer gives from a time on: a percentage, or a fixed amount.
type rate struct {
	from              time.Time
	percentage, fixed string
}

func (r rate) record(id string) string {
	more := ""
	if r.percentage != "" {
		more += `,"cashbackPercentage":` + r.percentage
	}
	if r.fixed != "" {
		more += `,"maximumFixedCommissionFee":` + r.fixed
	}
	return fmt.Sprintf(`{"id":%q,"updatedAt":%q%s}`, id, r.from.Format(time.RFC3339), more)
}

func (r rate) promises(order decimal.Decimal) decimal.Decimal {
	if r.fixed != "" {
		return decimal.RequireFromString(r.fixed)
	}
	return order.Mul(decimal.RequireFromString(r.percentage))
}

// audited is a sale and what an accountant would say of it.
type audited struct {
	id, currency, order, cashback string
	click, sold                   time.Time
	offer                         string
}

func (a audited) record() string {
	more := ""
	if a.offer != "" {
		more = fmt.Sprintf(`,"cashbackOfferId":%q`, a.offer)
	}
	if !a.click.IsZero() {
		more += fmt.Sprintf(`,"clickedAt":%q`, a.click.Format(time.RFC3339))
	}
	if a.cashback != "" {
		more += `,"cashback":` + a.cashback
	}
	return fmt.Sprintf(`{"id":%q,"status":"CONFIRMED","orderValue":%s,"currencyCode":%q,"soldAt":%q,"updatedAt":"2026-01-01T00:00:00Z"%s}`,
		a.id, a.order, a.currency, a.sold.Format(time.RFC3339), more)
}

func dayOf(n int) time.Time { return time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

// TestRateAudit follows an offer through a year: 5 %, then 8 % from day 100 and 4 % from day 200, and one that pays a
// fixed amount. Each sale has the verdict that an accountant would write.
func TestRateAudit(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	rates := []rate{{dayOf(0), "0.05", ""}, {dayOf(100), "0.08", ""}, {dayOf(200), "0.04", ""}}
	for i, r := range rates {
		fixed := []rate{{dayOf(10), "", "7.5"}, {dayOf(10), "", "7.5"}, {dayOf(150), "", "9"}}[i]
		load(t, w, "cashback_offers", Whole, "["+r.record(idA)+","+fixed.record(idB)+"]")
	}
	sale := func(n int, order, cashback, offer string, click, sold int) audited {
		a := audited{id: fmt.Sprintf("0000000%x-0000-4000-8000-00000000000d", n), currency: "EUR", order: order, cashback: cashback, offer: offer, sold: dayOf(sold)}
		if click != 0 {
			a.click = dayOf(click)
		}
		return a
	}
	list := []audited{
		sale(1, "400", "20", idA, 50, 51), sale(2, "400", "32", idA, 99, 101), sale(3, "400", "16", idA, 50, 51),
		sale(4, "400", "10", idA, 50, 51), sale(5, "400", "40", idA, 50, 51), sale(6, "400", "24", idA, 120, 121),
		sale(7, "19.99", "1.00", idA, 50, 51), sale(8, "400", "20", idA, -5, 3), sale(9, "400", "32", idA, -5, -4),
		sale(10, "400", "7.5", idB, 20, 21), sale(11, "400", "7", idB, 160, 161), sale(12, "400", "5", "", 20, 21),
		sale(13, "400", "5", idC, 20, 21), sale(14, "400", "", idA, 20, 21), sale(15, "400", "20", idA, 0, 51),
	}
	list[6].currency = ""
	var records []string
	for _, a := range list {
		records = append(records, a.record())
	}
	load(t, w, "transactions", Part, "["+strings.Join(records, ",")+"]")
	want := []string{
		"as_promised 20 0", "as_at_sale 20 12", "as_at_another_time 20 -4", "below_any_rate 20 -10", "above_any_rate 20 20",
		"between_rates 32 -8", "as_promised 0.9995 0.0005", "as_at_sale - -", "as_at_another_time - -",
		"as_promised 7.5 0", "below_any_rate 9 -2", "no_offer - -", "not_known_then - -", "no_amount 20 -", "as_at_sale - -",
	}
	if d := cmp.Diff(want, text(t, w, "SELECT concat(verdict, ' ', ifNull(toString(promised), '-'), ' ', ifNull(toString(difference), '-')) FROM rate_audit ORDER BY id")); d != "" {
		t.Error(d)
	}
	wantRows(t, w, "SELECT toDate(paid_as_from), toDate(known_from) FROM rate_audit WHERE verdict = 'as_at_another_time' ORDER BY id", "2025-07-20 2025-01-01", "2025-04-11 2025-01-01")
	wantRows(t, w, "SELECT percentage_at_click, percentage_at_sale FROM rate_audit WHERE verdict = 'as_at_sale' ORDER BY id LIMIT 1", "0.05 0.08")
	if d := cmp.Diff(text(t, w, "SELECT concat(toString(id), ' ', toString((percentage_at_click, fixed_at_click, percentage_at_sale, fixed_at_sale))) FROM rate_audit ORDER BY id"),
		text(t, w, "SELECT concat(toString(id), ' ', toString((offer_percentage_at_click, offer_fixed_at_click, offer_percentage_at_sale, offer_fixed_at_sale))) FROM transactions_enriched ORDER BY id")); d != "" {
		t.Errorf("transactions_enriched says something else: %s", d)
	}
}

// TestRateAuditOfWorlds draws offers, changes of rate and sales at random. What the view says equals a calculation that
// shares nothing with it, and promised plus difference is what came.
func TestRateAuditOfWorlds(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	seed := rand.Uint64()
	chance := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	offers, pages := map[string][]rate{}, make([][]string, 6)
	for i := range enginetest.Worlds(40, 300) {
		id, from := fmt.Sprintf("%08x-0000-4000-8000-00000000000f", i), dayOf(chance.IntN(100))
		for page := range pages {
			r := rate{from: from, percentage: fmt.Sprintf("0.%02d", 1+chance.IntN(12))}
			if chance.IntN(4) == 0 {
				r = rate{from: from, fixed: fmt.Sprintf("%d.50", 1+chance.IntN(20))}
			}
			offers[id] = append(offers[id], r)
			pages[page] = append(pages[page], r.record(id))
			from = from.AddDate(0, 0, 1+chance.IntN(60))
		}
	}
	for _, page := range pages {
		load(t, w, "cashback_offers", Whole, "["+strings.Join(page, ",")+"]")
	}
	var records, want []string
	n := 0
	for id, rates := range offers {
		for range 12 {
			a := audited{id: fmt.Sprintf("%08x-0000-4000-8000-00000000000d", n), currency: []string{"EUR", "JPY", "KWD"}[n%3], offer: id,
				order: fmt.Sprintf("%d.%02d", chance.IntN(900), chance.IntN(100)), click: dayOf(chance.IntN(400))}
			a.sold = a.click.Add(time.Duration(chance.IntN(200)) * time.Hour)
			paid := rates[chance.IntN(len(rates))].promises(decimal.RequireFromString(a.order))
			if chance.IntN(3) == 0 {
				paid = paid.Mul(decimal.NewFromFloat(0.5 + chance.Float64())).Round(2)
			}
			a.cashback = paid.Round(map[string]int32{"EUR": 2, "JPY": 0, "KWD": 3}[a.currency]).String()
			records, n = append(records, a.record()), n+1
			want = append(want, a.id+" "+verdictOf(a, rates))
		}
	}
	load(t, w, "transactions", Part, "["+strings.Join(records, ",")+"]")
	if d := cmp.Diff(slices.Sorted(slices.Values(want)), text(t, w, "SELECT concat(toString(id), ' ', verdict, ' ', ifNull(toString(promised), '-')) FROM rate_audit ORDER BY toString(id)")); d != "" {
		t.Errorf("seed %d: %s", seed, d)
	}
	wantRows(t, w, "SELECT count() FROM rate_audit WHERE promised + difference != cashback", "0")
}

func verdictOf(a audited, rates []rate) string {
	order, cashback := decimal.RequireFromString(a.order), decimal.RequireFromString(a.cashback)
	unit := map[string]decimal.Decimal{"EUR": decimal.New(1, -2), "JPY": decimal.New(1, 0), "KWD": decimal.New(1, -3)}[a.currency]
	at := func(when time.Time) (found *rate) {
		for i := range rates {
			if !rates[i].from.After(when) {
				found = &rates[i]
			}
		}
		return found
	}
	paid := func(r *rate) bool { return r != nil && cashback.Sub(r.promises(order)).Abs().LessThan(unit) }
	click, promised := at(a.click), "-"
	if click != nil {
		promised = click.promises(order).Round(4).String()
	}
	another, below, above := false, true, true
	for i := range rates {
		another = another || paid(&rates[i])
		below = below && cashback.LessThan(rates[i].promises(order))
		above = above && cashback.GreaterThan(rates[i].promises(order))
	}
	verdict := "between_rates"
	switch {
	case paid(click):
		verdict = "as_promised"
	case paid(at(a.sold)):
		verdict = "as_at_sale"
	case another:
		verdict = "as_at_another_time"
	case click == nil:
		verdict = "not_known_then"
	case below:
		verdict = "below_any_rate"
	case above:
		verdict = "above_any_rate"
	}
	return verdict + " " + promised
}
