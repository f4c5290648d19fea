package payouts

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// TestRates changes the rate of an offer in the middle of a month, and wants the statement to say which sales came at
// which, exactly and in each currency.
func TestRates(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newWorld(t, scripted())
	const offer = "00000000-0000-4000-8000-00000000000f"
	put := func(stream, record string) {
		t.Helper()
		if err := x.Put(stream, "acme", []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	for _, rate := range []struct{ from, percentage string }{{"2025-01-01", "0.05"}, {"2025-08-15", "0.08"}} {
		put(apisim.StreamCashbackOffers, fmt.Sprintf(`{"id":%q,"updatedAt":"%sT00:00:00Z","cashbackPercentage":%s}`, offer, rate.from, rate.percentage))
		x.sync(false, "cashback_offers")
	}
	sales := []struct{ click, sold, retailer, status, currency, cashback, offer string }{
		{"2025-08-01", "2025-08-02", "Shop", "CONFIRMED", "EUR", "20", offer},
		{"2025-08-01", "2025-08-02", "Shop", "PENDING", "EUR", "20.004", offer},
		{"2025-08-14", "2025-08-16", "Shop", "CONFIRMED", "EUR", "32", offer},
		{"2025-08-03", "2025-08-04", "Shop", "CONFIRMED", "EUR", "10", offer},
		{"2025-08-20", "2025-08-21", "Other", "CONFIRMED", "EUR", "20", offer},
		{"2025-08-20", "2025-08-21", "Other", "DECLINED", "EUR", "0", offer},
		{"2025-08-20", "2025-08-21", "Other", "CONFIRMED", "USD", "1", offer},
		{"2025-08-20", "2025-08-21", "Other", "CONFIRMED", "EUR", "1", ""},
		{"2024-08-20", "2025-08-21", "Other", "CONFIRMED", "EUR", "1", offer},
		{"2025-07-20", "2025-07-31", "Other", "CONFIRMED", "EUR", "1", offer}, // another month
		{"2025-08-20", "2025-09-01", "Other", "CONFIRMED", "EUR", "1", offer}, // and another
	}
	for i, s := range sales {
		of := ""
		if s.offer != "" {
			of = fmt.Sprintf(`,"cashbackOfferId":%q`, s.offer)
		}
		put(apisim.StreamTransactions, fmt.Sprintf(`{"id":"%08d-0000-4000-8000-00000000000d","clickedAt":"%sT10:00:00Z","soldAt":"%sT00:00:00Z","updatedAt":%q,"retailerName":%q,"status":%q,"currencyCode":%q,"orderValue":400,"cashback":%s%s}`,
			i, s.click, s.sold, x.Now().Format(time.RFC3339), s.retailer, s.status, s.currency, s.cashback, of))
	}
	x.sync(false, "transactions")
	month := time.Date(2025, 8, 1, 0, 0, 0, 0, time.UTC)
	s, err := NewStatement(t.Context(), x.w, "acme", month)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.Currencies {
		for _, rows := range [][]RateRow{c.RateRows(), c.RateRetailers()} {
			for _, r := range rows {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", c.Currency, r.Name, r.Count, strings.Join(strings.Fields(r.Promised+" "+r.Came+" "+r.Difference), " "))))
			}
		}
		var promised, came, difference decimal.Decimal
		for _, sum := range c.Rates {
			promised, came, difference = promised.Add(sum.Promised), came.Add(sum.Came), difference.Add(sum.Difference)
		}
		if !promised.Add(difference).Equal(came) {
			t.Errorf("%s: %s promised, %s came, and the difference is %s", c.Currency, promised, came, difference)
		}
	}
	want := []string{
		"EUR as promised at the click 2 40.00 40.004 0.004", "EUR as the offer gave at the sale 1 20.00 32.000 12.000",
		"EUR as the offer gave at another time 1 32.00 20.000 -12.000", "EUR below any rate that is known 1 20.00 10.000 -10.000",
		"EUR the offer was not known at the click 1", "EUR names no offer 1",
		"EUR Other 1 32.00 20.00 -12.00", "EUR Shop 1 20.00 10.00 -10.00",
		"USD below any rate that is known 1 32.00 1.00 -31.00", "USD Other 1 32.00 1.00 -31.00",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var file, page, object bytes.Buffer
	if err := WriteRatesCSV(t.Context(), x.w, "acme", month, &file); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file.String(), byteOrderMark))).ReadAll()
	if err != nil || len(records) != 10 {
		t.Fatalf("%d rows, %v", len(records), err)
	}
	row := map[string]string{}
	for i, name := range records[0] {
		row[name] = records[4][i] // they are in the order of the sales
	}
	for name, want := range map[string]string{"transaction_id": "00000002-0000-4000-8000-00000000000d", "percentage_at_click": "0.05", "percentage_at_sale": "0.08",
		"promised": "20.00", "came": "32.00", "difference": "12.00", "verdict": "as_at_sale", "paid_as_from": "2025-08-15T00:00:00.000Z",
		"rates_known_from": "2025-01-01T00:00:00.000Z", "payout_id": "", "cashback_offer_id": offer} {
		if row[name] != want {
			t.Errorf("%s is %q, want %q", name, row[name], want)
		}
	}
	if err := s.WriteHTML(&page); err != nil || !strings.Contains(page.String(), "less than promised: Shop") || !strings.Contains(page.String(), "Rates: promised is") {
		t.Errorf("the page lacks the rates: %v", err)
	}
	if err := s.WriteJSON(&object); err != nil || !strings.Contains(object.String(), `"verdict": "as_at_another_time"`) || !strings.Contains(object.String(), `"difference": -12.00`) {
		t.Errorf("%v\n%s", err, object.String())
	}
}
