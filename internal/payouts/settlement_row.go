package payouts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
	"dealhouse/internal/finance"
	"dealhouse/internal/term"
)

// Column is a column of a file or a table of settlements.
type Column struct {
	Name     string
	Required bool
	About    string
}

// Names of columns. That of the payouts is columnPayouts.
const (
	columnReference      = "reference"
	columnReceivedOn     = "received_on"
	columnCurrency       = "currency"
	columnAmount         = "amount"
	columnFee            = "fee"
	columnPayoutCurrency = "payout_currency"
	columnPayoutAmount   = "payout_amount"
	columnText           = "text"
	columnAccount        = "account"
)

// Columns returns all that a file or a table may have, in any order.
func Columns() []Column {
	return []Column{
		{columnReference, true, "the reference of the bank; unique for each settlement of an account"},
		{columnReceivedOn, true, "the day on which it reached the bank, as 2026-03-31"},
		{columnCurrency, true, "the currency that reached the bank, as ISO 4217 has it: EUR"},
		{columnAmount, true, "what reached the bank, after fees, as 1234.50; below zero: it was taken back"},
		{columnFee, false, "what the bank kept, in the same currency; empty: nothing"},
		{columnPayoutCurrency, false, "the currency in which it was sent, where it was converted"},
		{columnPayoutAmount, false, "what was sent, in that currency"},
		{columnPayouts(), false, "the ids of its payouts, separated by spaces; if empty, matched by its text or its amount"},
		{columnText, false, "in the words of the bank"},
		{columnAccount, false, "the account in the configuration; needed if there are several and no --account"},
	}
}

// columnPayouts is the column of the payouts that a row settles.
func columnPayouts() string { return catalog.Payouts().Name }

// Row is a settlement as it was read.
type Row struct {
	Line               int // of the file, or number of the row of a table
	Account, Reference string
	ReceivedOn         time.Time
	Currency           string
	Amount, Fee        decimal.Decimal
	PayoutCurrency     string
	PayoutAmount       decimal.Decimal // what was sent
	Payouts            []int64         // sorted
	Text               string

	batch string // of a bank statement: the reference of the booking that it is, or is a part of
}

// Hash is the SHA-256 of what the row says, in hexadecimal digits: equal hashes are the same settlement.
func (r Row) Hash() string {
	parts := []string{r.Account, r.Reference, r.ReceivedOn.Format(time.DateOnly), r.Currency, r.Amount.String(),
		r.Fee.String(), r.PayoutCurrency, r.PayoutAmount.String(), fmt.Sprint(r.Payouts), r.Text}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// unit is the smallest unit of the currency in which it was sent.
func (r Row) unit() decimal.Decimal { return finance.FromMinor(1, r.PayoutCurrency) }

const (
	maxReference = 200
	maxText      = 2000
	maxDigits    = 18 // before the point
)

var (
	amountPattern = regexp.MustCompile(`^-?[0-9]{1,18}(\.[0-9]{1,4})?$`)
	idPattern     = regexp.MustCompile(`^[0-9]{1,18}$`)
)

// parser reads the fields of a row, and keeps what is wrong with them.
type parser struct {
	fields   map[string]string
	line     int
	problems []Problem
}

func (p *parser) wrong(column, format string, args ...any) {
	p.problems = append(p.problems, Problem{p.line, column, fmt.Sprintf(format, args...)})
}

// parse makes a row of its fields. until is the last day on which it can have been received.
func parse(line int, fields map[string]string, account string, until time.Time) (Row, []Problem) {
	p := &parser{fields: fields, line: line}
	p.fields[columnReference] = visibleOnly(fields[columnReference])
	r := Row{Line: line, Account: account, Reference: p.text(columnReference, maxReference),
		Text: p.text(columnText, maxText)}
	if r.Reference == "" {
		p.wrong(columnReference, "is empty: write what the bank knows it by")
	}
	if own := fields[columnAccount]; own != "" {
		if account != "" && account != own {
			p.wrong(columnAccount, "is %s, and --account says %s", quoted(own), quoted(account))
		}
		r.Account = own
	}
	if r.Account == "" {
		p.wrong(columnAccount, "is not given: add the column account, or --account")
	}
	r.ReceivedOn = p.day(columnReceivedOn, until)
	r.Currency = p.currency(columnCurrency)
	r.Amount = p.amount(columnAmount, r.Currency)
	if fields[columnAmount] == "" {
		p.wrong(columnAmount, "is empty: write what reached the bank, such as 1234.50")
	}
	r.Fee = p.amount(columnFee, r.Currency)
	if r.Fee.IsNegative() {
		p.wrong(columnFee, "is below zero: write what was kept as 1.50")
	}
	r.Payouts = p.payouts()
	p.sent(&r)
	return r, p.problems
}

// sent reads what was sent: what arrived and the fee, if it was not converted (currencies are never added up).
func (p *parser) sent(r *Row) {
	currency, amount := p.fields[columnPayoutCurrency], p.fields[columnPayoutAmount]
	r.PayoutCurrency, r.PayoutAmount = r.Currency, r.Amount.Add(r.Fee)
	switch {
	case currency == "" && amount == "":
		return
	case currency == "":
		p.wrong(columnPayoutCurrency,
			"is empty, and payout_amount is not: write both, or neither where nothing was converted")
		return
	case amount == "":
		p.wrong(columnPayoutAmount,
			"is empty, and payout_currency is not: write both, or neither where nothing was converted")
		return
	}
	r.PayoutCurrency = p.currency(columnPayoutCurrency)
	sent := p.amount(columnPayoutAmount, r.PayoutCurrency)
	switch {
	case r.PayoutCurrency == r.Currency && !sent.Equal(r.PayoutAmount):
		p.wrong(columnPayoutAmount, "is %s, and amount and fee make %s in the same currency: correct the fee", sent,
			r.PayoutAmount)
	case sent.Sign()*r.Amount.Sign() < 0:
		p.wrong(columnPayoutAmount, "is %s, and amount is %s: both are above zero, or both below", sent, r.Amount)
	}
	r.PayoutAmount = sent
}

// text reads a field that is one line of text.
func (p *parser) text(column string, most int) string {
	s := p.fields[column]
	switch {
	case !utf8.ValidString(s):
		p.wrong(column, "is not UTF-8: save the file as UTF-8")
	case len(s) > most:
		p.wrong(column, "is longer than %d bytes", most)
	case strings.ContainsFunc(s, unicode.IsControl):
		p.wrong(column, "has a line break or another control character: %s", quoted(s))
	case strings.TrimSpace(s) != s:
		p.wrong(column, "begins or ends with a space: %s", quoted(s))
	}
	return s
}

func (p *parser) day(column string, until time.Time) time.Time {
	s := p.fields[column]
	day, err := time.Parse(time.DateOnly, s)
	switch {
	case err != nil:
		p.wrong(column, "is %s, which is not a day: write it as 2026-03-31", quoted(s))
	case day.Year() < 2000:
		p.wrong(column, "is %s, which is too long ago", quoted(s))
	case day.After(until):
		p.wrong(column, "is %s, which is yet to come", quoted(s))
	}
	return day
}

func (p *parser) currency(column string) string {
	s := p.fields[column]
	if !finance.IsCurrency(s) {
		p.wrong(column, "is %s, which is not a currency: write three capital letters of ISO 4217, such as EUR", quoted(s))
	}
	return s
}

// amount reads a decimal with no more decimals than its currency has (amounts are decimals). An empty field is zero.
func (p *parser) amount(column, currency string) decimal.Decimal {
	s := p.fields[column]
	if s == "" {
		return decimal.Zero
	}
	if !amountPattern.MatchString(s) {
		p.wrong(column, "is %s, which is not an amount: %s", quoted(s), amountHint(s))
		return decimal.Zero
	}
	d := decimal.RequireFromString(s)
	decimals := finance.Digits(currency)
	whole, fraction, _ := strings.Cut(s, ".")
	switch thousands := len(fraction) == 3 && decimals < 3; {
	case thousands: // 1.234 or 1.000
		p.wrong(column, "is %s, and its currency has %d decimals: write %s%s if the point separates thousands, and else %s",
			quoted(s), decimals, whole, fraction, d.StringFixed(decimals))
	case !d.Equal(d.Truncate(decimals)):
		p.wrong(column, "is %s, and its currency has %d decimals", quoted(s), decimals)
	}
	return d
}

// amountHint says how to write an amount that was not written in the right way.
func amountHint(s string) string {
	switch {
	case strings.Contains(s, ",") && strings.Contains(s, "."):
		return "it has both a comma and a point; write 1234.50, without a separator of thousands"
	case strings.Contains(s, ","):
		return "write a decimal point, and no separator of thousands: 1234.50"
	case strings.HasPrefix(s, "("), strings.HasPrefix(s, "\u2212"), strings.HasPrefix(s, "\u2013"), strings.HasSuffix(s, "-"):
		return "write an amount below zero as -1234.50"
	case strings.ContainsFunc(s, unicode.IsSpace):
		return "write it without spaces: 1234.50"
	case strings.ContainsAny(s, "eE"):
		return "write all its digits: 1234.50"
	case strings.ContainsFunc(s, unicode.IsLetter), strings.ContainsFunc(s,
		func(r rune) bool { return unicode.Is(unicode.Sc, r) }):
		return "write the number alone, and its currency in the column currency: 1234.50"
	}
	return fmt.Sprintf("write 1234.50, with at most %d digits before the point and 4 after it", maxDigits)
}

func (p *parser) payouts() []int64 {
	ids := []int64{}
	for _, word := range strings.Fields(p.fields[columnPayouts()]) {
		if !idPattern.MatchString(word) {
			p.wrong(columnPayouts(), "has %s, which is not the id of a payout: write whole numbers with spaces between", quoted(word))
			continue
		}
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil || slices.Contains(ids, id) {
			p.wrong(columnPayouts(), "names payout %s twice", word)
			continue
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// quoted shows a field that is not understood.
func quoted(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(term.Line(s))
}
