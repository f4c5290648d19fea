package payouts

import (
	"context"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Balances of a statement as figures.
const (
	Opening = "opening"
	Closing = "closing"
)

// Figure is a figure of a statement, or a row of them.
type Figure struct {
	Of       string // Opening, Closing, or one of finance.Events
	Currency string // "" means all currencies
	OneAge   bool   // only for Closing: only the unpaid cashback of sales of the age below
	Age      int    // in AgeTitles
}

// Known reports whether a statement can have the figure.
func (f Figure) Known() bool {
	if f.OneAge && (f.Of != Closing || f.Age < 0 || f.Age >= len(AgeTitles())) {
		return false
	}
	return f.Of == Opening || f.Of == Closing || slices.Contains(finance.Events(), finance.Event(f.Of))
}

// Title returns the figure in words.
func (f Figure) Title() string {
	switch {
	case f.OneAge:
		return "unpaid, " + AgeTitles()[f.Age]
	case f.Of == Opening, f.Of == Closing:
		return f.Of + " balance"
	}
	return f.Of
}

// Behind is what one transaction contributes to a figure.
type Behind struct {
	ID       uuid.UUID
	Currency string
	At       time.Time // time of the last change that is included
	SoldAt   *time.Time
	Age      int // index in AgeTitles: age of the sale at the time of the balance, or at the end of the month
	Retailer string
	Status   string // Status and Payout are as they were then
	Payout   *int64
	finance.Balance
}

// EachBehind calls do for each part of a figure of a month's statement: for a balance, each transaction in it; for an
// event, each change. The parts add up to the figure exactly.
func EachBehind(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time, f Figure,
	do func(Behind) error) error {
	closes, err := w.Closes(ctx, account)
	if err != nil {
		return err
	}
	end := month.AddDate(0, 1, 0)
	switch f.Of {
	case Opening:
		return eachStanding(ctx, w, account, month, closes, f, do)
	case Closing:
		return eachStanding(ctx, w, account, end, closes, f, do)
	}
	return w.EachChange(ctx, account, month, end, closes, func(c warehouse.Change) error {
		var by finance.Balance
		some := false
		for _, step := range changeOf(c.ChangeSum).Steps() {
			event := step.Event
			if c.Late {
				event = finance.Adjustment
			}
			if event == finance.Event(f.Of) && (f.Currency == "" || c.Currency == f.Currency) {
				by, some = by.Add(step.Balance), true
			}
		}
		if !some {
			return nil
		}
		return do(behind(c, by))
	})
}

// eachStanding calls do for each transaction's part of a balance. Transactions without a part are left out.
func eachStanding(ctx context.Context, w *warehouse.Warehouse, account string, at time.Time, closes []warehouse.Close,
	f Figure, do func(Behind) error) error {
	var now Behind
	flush := func() error {
		if f.OneAge {
			now.Settled = decimal.Zero
		}
		if now.Equal(finance.Balance{}) {
			return nil
		}
		return do(now)
	}
	err := w.EachChange(ctx, account, time.UnixMilli(0), at, closes, func(c warehouse.Change) error {
		if f.Currency != "" && c.Currency != f.Currency || f.OneAge && int(c.Age) != f.Age {
			return nil
		}
		var sum finance.Balance
		if c.ID == now.ID && c.Currency == now.Currency {
			sum = now.Balance
		} else if err := flush(); err != nil {
			return err
		}
		for _, step := range changeOf(c.ChangeSum).Steps() {
			sum = sum.Add(step.Balance)
		}
		now = behind(c, sum)
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

func behind(c warehouse.Change, b finance.Balance) Behind {
	return Behind{c.ID, c.Currency, c.At, c.SoldAt, int(c.Age), c.Retailer, c.Status, c.Payout, b}
}

// WriteBehindCSV writes the parts of a figure while they are read, one row per transaction.
func WriteBehindCSV(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time, f Figure,
	to io.Writer) error {
	header := []string{"account", "month", "figure", "currency", "transaction_id", "at", "sold_at", "age", "retailer",
		"status", "payout_id", "pending", "confirmed", "after_payment", "total"}
	ages := AgeTitles()
	return writeRows(to, header, func(write func(...string) error) error {
		return EachBehind(ctx, w, account, month, f, func(b Behind) error {
			payout := ""
			if b.Payout != nil {
				payout = strconv.FormatInt(*b.Payout, 10)
			}
			return write(term.Cell(account), month.Format("2006-01"), f.Title(), term.Cell(b.Currency),
				b.ID.String(), iso(&b.At), iso(b.SoldAt), ages[b.Age],
				term.Cell(b.Retailer), term.Cell(b.Status), payout, MoneyIn(b.Currency, b.Pending),
				MoneyIn(b.Currency, b.Confirmed), MoneyIn(b.Currency, b.Settled), MoneyIn(b.Currency, b.Total()))
		})
	})
}
