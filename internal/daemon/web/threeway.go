package web

import (
	"fmt"
	"io"
	"strings"

	"dealhouse/internal/payouts"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// threeWayTable shows what payouts earned, what they paid out, and what arrived, on the page of a payout or of a month.
type threeWayTable struct {
	Path        string // of the page; the addresses of its downloads begin with it
	Summary     string
	Several     bool // payouts, so that each is named
	Rows        []threeWayRow
	Settlements []settlementRow
}

// threeWayRow is a payout in one currency.
type threeWayRow struct {
	ID, Path, Currency                                                string
	Earned, PaidOut, Received, Fees, Converted, Rounding, Outstanding string
	State                                                             pill
	Advice                                                            string
}

// settlementRow is what reached the bank, and what it settles.
type settlementRow struct{ Reference, Day, Arrived, Payouts, Text, Advice string }

// newThreeWayTable makes the table of the page with a path.
func newThreeWayTable(t payouts.ThreeWay, path string) threeWayTable {
	table := threeWayTable{Path: path, Summary: t.Summary(), Several: strings.HasPrefix(path, "/statements/")}
	d := payouts.AlignThreeWay(payouts.Page, t.Payouts)
	for _, p := range t.Payouts {
		text := map[string]string{}
		for column, amount := range payouts.ThreeWayAmounts(p) {
			if text[column] = d.Text(column, p.Currency, amount); amount.IsZero() && column != "earned" &&
				column != "paid out" && column != "received" {
				text[column] = "" // there is no such part
			}
		}
		row := threeWayRow{ID: fmt.Sprint(p.Payout), Path: payoutPath(p.Account, p.Payout), Currency: p.Currency,
			Earned: text["earned"], PaidOut: text["paid out"], Received: text["received"],
			Fees: text["fees"], Converted: text["converted"], Rounding: text["rounding"], Outstanding: text["outstanding"],
			State: pill{threeWayTone(p.State), p.State}}
		if t.Imported > 0 { // before the first import there is no advice
			row.Advice = term.Sentence(payouts.ThreeWayAdvice(p))
		}
		table.Rows = append(table.Rows, row)
	}
	for _, s := range t.Settlements {
		table.Settlements = append(table.Settlements,
			settlementRow{Reference: s.Reference, Day: payouts.Day(&s.ReceivedOn), Arrived: payouts.Arrived(s),
				Payouts: payouts.SettlementPayouts(s),
				Text:    s.Text, Advice: term.Sentence(payouts.SettlementAdvice(s))})
	}
	return table
}

// threeWayTone returns the state whose colour a state of a payout gets.
func threeWayTone(of string) state {
	switch of {
	case warehouse.ThreeWayReceived, warehouse.ThreeWayNothingDue:
		return stateFine
	case warehouse.ThreeWayOutstanding:
		return stateWaiting
	}
	return stateLate
}

// orWrite writes a list of t as CSV, or returns err if reading t has failed.
func orWrite(err error, t payouts.ThreeWay, list string, to io.Writer) error {
	if err != nil {
		return err
	}
	return t.WriteCSV(to, list)
}
