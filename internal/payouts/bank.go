package payouts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
)

// Statements of a bank have all that happened on an account, so an entry is a settlement only if its words are those of
// a sender of payouts. An entry that is one becomes a row like one of the CSV form, with the same checks. All others
// are left alone, and the caller is told why.

// The formats of statements, as people know them.
const (
	formatCAMT  = "CAMT (a bank statement in the XML of ISO 20022)"
	formatMT940 = "MT940 (a bank statement of SWIFT)"
)

// entry is one payment in a statement.
type entry struct {
	line      int
	reference string // the bank's own, unique for each payment of the bank account; "": it gives none
	batch     string // reference of the booking that it is, or is a part of; "": it has none
	on        string // the day on which it was booked, as 2026-03-31
	booked    bool
	currency  string
	amount    decimal.Decimal // below zero: it left the account
	fee       decimal.Decimal // what the bank kept of it
	sent      decimal.Decimal // what was sent, in sentIn
	sentIn    string          // "": it was not converted
	words     string          // who sent it, and what for
	within    string          // the bank account
	wrong     string          // why it cannot be read; ""
}

// Left is an entry that was left alone.
type Left struct {
	Line             int
	On               string
	Currency, Amount string
	Words, Why       string
}

// statementReader returns what reads a format; nil if it is no format of statements.
func statementReader(format string) func([]byte) ([]entry, []Problem) {
	switch format {
	case formatCAMT:
		return readCAMT
	case formatMT940:
		return readMT940
	}
	return nil
}

// take divides the entries of a statement into rows and those that are left alone.
func (u Rules) take(entries []entry, problems []Problem) Reading {
	read := Reading{Problems: problems}
	if len(u.senders()) == 0 {
		read.Problems = append(read.Problems, Problem{Text: "it is the statement of a bank, which has more than payouts: " +
			"write the words by which it shows the sender of payouts as bank_senders of the account; --preview shows the words of each entry"})
	}
	seen, equal := map[string]Row{}, map[string]int{}
	for _, e := range entries {
		account, why, ambiguous := u.accountOf(e)
		if ambiguous != "" {
			read.Problems = append(read.Problems, Problem{Line: e.line, Text: ambiguous})
		}
		if account == "" {
			read.Left = append(read.Left, Left{e.line, e.on, e.currency, finance.Format(e.amount, e.currency), strings.TrimSpace(e.words), why})
			continue
		}
		if e.reference == "" {
			e.reference = e.madeUp()
			if equal[e.reference]++; equal[e.reference] > 1 {
				e.reference += fmt.Sprintf(" (%d)", equal[e.reference])
			}
		}
		if e.wrong != "" {
			read.Problems = append(read.Problems, Problem{Line: e.line, Text: e.wrong})
			continue
		}
		row, wrong := parse(e.line, e.fields(), account, u.Until)
		row.batch = e.batch
		key := row.Account + "\x00" + referenceKey(row.Reference)
		first, again := seen[key]
		switch {
		case again && first.Hash() == row.Hash():
			continue // a file may have the same day twice
		case again:
			wrong = append(wrong, Problem{row.Line, columnReference, fmt.Sprintf(
				"%s is that of another payment on line %d: import this statement in the CSV form, with references of your own", quoted(row.Reference), first.Line)})
		}
		seen[key] = row
		read.Rows, read.Problems = append(read.Rows, row), append(read.Problems, wrong...)
	}
	return read
}

// senders are the words of the accounts that the file may be of.
func (u Rules) senders() map[string][]string {
	if u.Account == "" {
		return u.Senders
	}
	if words := u.Senders[u.Account]; len(words) > 0 {
		return map[string][]string{u.Account: words}
	}
	return nil
}

// accountOf returns the account whose settlement an entry is, or "" and why it is none.
func (u Rules) accountOf(e entry) (account, why, ambiguous string) {
	words := referenceKey(e.words)
	var found []string
	for account, senders := range u.senders() {
		if slices.ContainsFunc(senders, func(s string) bool { return strings.Contains(words, referenceKey(s)) }) {
			found = append(found, account)
		}
	}
	slices.Sort(found)
	switch {
	case len(found) == 0:
		return "", "no bank_senders is in its words", ""
	case len(found) > 1:
		text := "it has the bank_senders of " + strings.Join(found, " and ") + ": give --account, or longer words"
		return "", text, text
	case !e.booked:
		return "", "it is not booked yet", ""
	case e.amount.IsZero() && e.wrong == "":
		return "", "its amount is 0", ""
	}
	return found[0], "", ""
}

// madeUp is the reference of an entry to which the bank gives none. It comes from what another file with the same entry
// says too.
func (e entry) madeUp() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{e.within, referenceKey(e.words)}, "\x00")))
	return strings.Join([]string{e.on, e.currency, e.amount.String(), hex.EncodeToString(sum[:4])}, " ")
}

// fields are the entry in the CSV form.
func (e entry) fields() map[string]string {
	text := strings.Join(strings.Fields(visibleOnly(e.words)), " ")
	if len(text) > maxText {
		text = strings.TrimSpace(strings.ToValidUTF8(text[:maxText], ""))
	}
	f := map[string]string{columnReference: e.reference, columnReceivedOn: e.on, columnCurrency: e.currency,
		columnAmount: e.amount.String(), columnText: text}
	if !e.fee.IsZero() {
		f[columnFee] = e.fee.String()
	}
	if e.sentIn != "" && e.sentIn != e.currency {
		f[columnPayoutCurrency], f[columnPayoutAmount] = e.sentIn, e.sent.String()
	}
	return f
}
