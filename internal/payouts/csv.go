package payouts

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// byteOrderMark tells Excel that a file is UTF-8.
const byteOrderMark = "\ufeff"

// The kinds of rows. A CSV has rows of one kind: see WriteCSV.
const (
	ListTotals     = "totals"     // one per total of a payout: reported, recomputed, difference, as of now
	ListExceptions = "exceptions" // one per transaction whose worth differs from what was paid for it
	ListOrphans    = "orphans"    // one per missing payout and currency
	ListOverdue    = "overdue"    // one per month of sales that should have been paid, and currency
)

// ListPayouts names the list with a row for each payout and currency: what was paid, what it is worth now, and why.
func ListPayouts() string { return catalog.Payouts().Name }

// ListTransactions names the list with a row for each transaction of one payout.
func ListTransactions() string { return catalog.Transactions().Name }

// Lists returns the names of all lists.
func Lists() []string {
	return []string{ListPayouts(), ListTotals, ListExceptions, ListTransactions(), ListOrphans, ListOverdue}
}

// WriteCSV writes one kind of rows, one of Lists. It begins with a byte order mark, without which Excel misreads UTF-8.
// Times are ISO 8601 in UTC, amounts plain numbers.
func (r Reconciliation) WriteCSV(w io.Writer, list string) error {
	records := map[string]func() [][]string{
		ListPayouts(): r.payoutRecords, ListTotals: r.totalRecords, ListExceptions: r.exceptionRecords,
		ListTransactions(): r.transactionRecords,
		ListOrphans:        r.orphanRecords, ListOverdue: r.overdueRecords,
	}[list]
	return writeRecords(w, records())
}

func writeRecords(w io.Writer, records [][]string) error {
	return writeRows(w, records[0], func(write func(...string) error) error {
		for _, record := range records[1:] {
			if err := write(record...); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeRows writes the rows that each passes to write, and keeps none in memory. If each fails, the file ends there,
// and writeRows returns the error (rows are written while they are read).
func writeRows(w io.Writer, header []string, each func(write func(...string) error) error) error {
	if _, err := io.WriteString(w, byteOrderMark); err != nil {
		return fmt.Errorf("writing the report as CSV: %w", err)
	}
	out := csv.NewWriter(w)
	write := func(record ...string) error {
		if err := out.Write(record); err != nil {
			return fmt.Errorf("writing the report as CSV: %w", err)
		}
		return nil
	}
	if err := write(header...); err != nil {
		return err
	}
	if err := each(write); err != nil {
		return err
	}
	if out.Flush(); out.Error() != nil {
		return fmt.Errorf("writing the report as CSV: %w", out.Error())
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
	header := []string{"account", "payout_id", "start_date", "end_date", "currency", "verdict", "paid", "worth_now",
		"difference"}
	for _, k := range KindColumns() {
		header = append(header, string(k.Kind))
	}
	records := [][]string{append(header, "what_to_do")}
	for _, p := range r.Payouts {
		for _, l := range p.Explained.Lines {
			record := []string{term.Cell(p.Account), strconv.FormatInt(p.ID, 10), iso(p.Start), iso(p.End),
				term.Cell(l.Currency), p.Word(),
				MoneyIn(l.Currency, l.Paid), MoneyIn(l.Currency, l.Worth), MoneyIn(l.Currency, l.Difference())}
			for _, k := range KindColumns() {
				record = append(record, MoneyIn(l.Currency, l.Sum(k.Kind)))
			}
			records = append(records, append(record, term.Cell(p.Advice())))
		}
	}
	return records
}

func (r Reconciliation) totalRecords() [][]string {
	records := [][]string{{"account", "payout_id", "currency", "total", "reported", "recomputed", "difference",
		"as_of_now"}}
	for _, p := range r.Payouts {
		for i, name := range warehouse.PayoutTotals() {
			records = append(records, []string{term.Cell(p.Account), strconv.FormatInt(p.ID, 10), term.Cell(p.Currency()),
				name,
				Amount(name, p.Reported[i]), Amount(name, p.Stamped[i]), Amount(name, p.Difference[i]), Amount(name, p.AsOfNow[i])})
		}
	}
	return records
}

func (r Reconciliation) exceptionRecords() [][]string {
	records := [][]string{{"account", "payout_id", "transaction_id", "sold_at", "retailer", "currency", "kind", "reason",
		"status_when_paid", "status_now", "paid", "worth_now", "difference", "changed_at"}}
	for _, p := range r.Payouts {
		for _, e := range p.Exceptions() {
			records = append(records, []string{term.Cell(p.Account), strconv.FormatInt(p.ID, 10), e.ID.String(),
				iso(e.SoldAt), term.Cell(e.Retailer), term.Cell(e.Currency),
				string(e.Kind), string(e.Reason), term.Cell(e.WhenPaid), term.Cell(e.Status), MoneyIn(e.Currency, e.Paid),
				MoneyIn(e.Currency, e.Worth),
				MoneyIn(e.Currency, e.Paid.Sub(e.Worth)), iso(e.ChangedAt)})
		}
	}
	return records
}

func (r Reconciliation) orphanRecords() [][]string {
	records := [][]string{strings.Fields("account payout_id currency transactions cashback was_listed certain what_to_do")}
	for _, o := range r.Orphans {
		records = append(records, []string{term.Cell(o.Account), strconv.FormatInt(o.Payout, 10), term.Cell(o.Currency),
			fmt.Sprint(o.Transactions), MoneyIn(o.Currency, o.Cashback),
			strconv.FormatBool(o.WasListed), strconv.FormatBool(o.Certain), term.Cell(OrphanAdvice(o))})
	}
	return records
}

func (r Reconciliation) overdueRecords() [][]string {
	records := [][]string{strings.Fields("account month currency transactions cashback oldest_sale what_to_do")}
	for _, o := range r.Overdue {
		records = append(records, []string{term.Cell(o.Account), o.Month, term.Cell(o.Currency),
			fmt.Sprint(o.Transactions), MoneyIn(o.Currency, o.Cashback), iso(&o.OldestSale), term.Cell(r.OverdueAdvice(o))})
	}
	return records
}

// transactionColumns returns the columns of ListTransactions.
func transactionColumns() []string {
	return []string{"account", "payout_id", "transaction_id", "sold_at", "retailer", "currency", "status_when_paid",
		"paid", "state", "status_now", "order_value", "cashback_now", "worth_now",
		"payout_id_now", "changed_at"}
}

func (r Reconciliation) transactionRecord(t warehouse.PayoutTransaction) []string {
	now := ""
	if t.PayoutNow != nil {
		now = strconv.FormatInt(*t.PayoutNow, 10)
	}
	p := r.Payout(t)
	return []string{term.Cell(t.Account), strconv.FormatInt(t.Payout, 10), t.ID.String(),
		iso(t.SoldAt), term.Cell(t.Retailer), term.Cell(t.Currency),
		term.Cell(p.WhenPaid(t)), moneyOrNone(t.Currency, p.PaidFor(t)), t.State, term.Cell(t.Status),
		Amount("", t.OrderValue), Amount("", t.Cashback), MoneyIn(t.Currency, p.WorthOf(t)), now, iso(t.ChangedAt)}
}

func (r Reconciliation) transactionRecords() [][]string {
	records := [][]string{transactionColumns()}
	for _, t := range r.Transactions {
		records = append(records, r.transactionRecord(t))
	}
	return records
}

// WriteTransactionsCSV writes the rows of ListTransactions while it reads them. It is for a reconciliation of one
// payout that has not read them (Filter.WithoutTransactions).
func (r Reconciliation) WriteTransactionsCSV(ctx context.Context, w *warehouse.Warehouse, to io.Writer) error {
	return writeRows(to, transactionColumns(), func(write func(...string) error) error {
		return w.EachPayoutTransaction(ctx, r.paidTransactions(), func(t warehouse.PayoutTransaction) error {
			return write(r.transactionRecord(t)...)
		})
	})
}
