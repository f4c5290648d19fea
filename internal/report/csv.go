package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/visible"
	"dealhouse/internal/warehouse"
)

// byteOrderMark tells Excel that a file is UTF-8.
const byteOrderMark = "\ufeff"

// WriteCSV writes a row for each payout, for each payout that is not there (verdict orphan), and for each month that
// is overdue; for a single payout, a row for each of its transactions. It begins with a byte order mark, without which
// Excel takes UTF-8 for something else. Times are ISO 8601 in UTC, amounts plain numbers.
func (r Reconciliation) WriteCSV(w io.Writer) error {
	if _, err := io.WriteString(w, byteOrderMark); err != nil {
		return fmt.Errorf("writing the report as CSV: %w", err)
	}
	out := csv.NewWriter(w)
	records := r.payoutRecords()
	if r.Filter.Payout != nil {
		records = r.transactionRecords()
	}
	if err := out.WriteAll(records); err != nil {
		return fmt.Errorf("writing the report as CSV: %w", err)
	}
	return nil
}

func iso(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func (r Reconciliation) payoutRecords() [][]string {
	header := []string{"account", "payout_id", "verdict", "start_date", "end_date", "currency", "at_stake", "what_to_do", "altered", "mixed_currency", "mismatches",
		"transactions_loaded", "transactions_changed", "transactions_moved", "transactions_gone", "transactions_late", "complete_to"}
	for _, state := range warehouse.StakeStates() {
		header = append(header, "at_stake_"+state)
	}
	for _, of := range []string{"%s", "stamped_%s", "now_%s", "%s_difference"} {
		for _, name := range warehouse.PayoutTotals() {
			header = append(header, fmt.Sprintf(of, name))
		}
	}
	records := [][]string{header}
	for _, p := range r.Payouts {
		record := []string{visible.Cell(p.Account), strconv.FormatInt(p.ID, 10), p.Verdict, iso(p.Start), iso(p.End), visible.Cell(p.Currency()), Money(p.AtStake), visible.Cell(p.Advice()),
			strconv.FormatBool(p.Altered), strconv.FormatBool(p.MixedCurrency), strings.Join(p.Mismatches, " "),
			fmt.Sprint(p.Loaded), fmt.Sprint(p.Changed), fmt.Sprint(p.Moved), fmt.Sprint(p.Gone), fmt.Sprint(p.Late), iso(p.CompleteTo)}
		for _, amount := range p.AtStakeBy {
			record = append(record, Money(amount))
		}
		for _, totals := range [][]*decimal.Decimal{p.Reported, p.Stamped, p.AsOfNow, p.Difference} {
			for i, name := range warehouse.PayoutTotals() {
				record = append(record, Amount(name, totals[i]))
			}
		}
		records = append(records, record)
	}
	other := func(account, payout, verdict, sold, currency string, amount decimal.Decimal, n uint64, advice string) {
		record := make([]string, len(header))
		copy(record, []string{visible.Cell(account), payout, verdict, sold, "", visible.Cell(currency), Money(amount), visible.Cell(advice), "", "", "", fmt.Sprint(n)})
		records = append(records, record)
	}
	for _, o := range r.Orphans {
		other(o.Account, strconv.FormatInt(o.Payout, 10), Orphan, "", o.Currency, o.Cashback, o.Transactions, OrphanAdvice(o))
	}
	for _, o := range r.Overdue {
		other(o.Account, "", Overdue, iso(&o.OldestSale), o.Currency, o.Cashback, o.Transactions, r.OverdueAdvice(o))
	}
	return records
}

func (r Reconciliation) transactionRecords() [][]string {
	records := [][]string{{"account", "payout_id", "transaction_id", "sold_at", "retailer", "currency", "state", "stamped_status", "stamped_order_value", "stamped_cashback",
		"stamped_at", "stamped_is_first_known", "status", "order_value", "cashback", "payout_id_now", "changed_at", "at_stake"}}
	for _, t := range r.Transactions {
		now := ""
		if t.PayoutNow != nil {
			now = strconv.FormatInt(*t.PayoutNow, 10)
		}
		records = append(records, []string{visible.Cell(t.Account), strconv.FormatInt(t.Payout, 10), t.ID.String(), iso(t.SoldAt), visible.Cell(t.Retailer), visible.Cell(t.Currency), t.State,
			visible.Cell(t.StampedStatus), Amount("", t.StampedOrderValue), Amount("", t.StampedCashback), iso(t.StampedAt), strconv.FormatBool(t.FirstKnown),
			visible.Cell(t.Status), Amount("", t.OrderValue), Amount("", t.Cashback), now, iso(t.ChangedAt), Money(t.AtStake)})
	}
	return records
}
