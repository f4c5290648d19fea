package payouts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Acknowledging is a person's acknowledgement of findings about a payout.
type Acknowledging struct {
	Account        string // may be "" if only one account has a payout with the id
	Payout         int64
	Kind, Currency string // "" means everything that is open
	Reason, Note   string // Reason is one of Reasons
	By             string
	Tolerance      int64  // how far the amount may move, in the smallest unit of the currency
	Seen           string // Payout.Seen of the state that the person looked at; "" accepts the present state
	// Rules says what is within the tolerance, and therefore not open.
	Rules Filter
}

// Refusal is why nothing was written.
type Refusal int

// The refusals.
const (
	Unreadable  Refusal = iota // the request makes no sense
	NotThere                   // there is no such payout
	NothingOpen                // there is nothing to acknowledge
	HasMoved                   // the state has changed since the person looked at it
)

// RefusedError says why nothing was written, for people.
type RefusedError struct {
	Why    Refusal
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

func refused(why Refusal, format string, args ...any) error {
	return &RefusedError{why, fmt.Sprintf(format, args...)}
}

// maxNote is the longest text that a person may write, in characters.
const maxNote = 500

// checkNote returns a *RefusedError if a text cannot be a note or a name. Both must be one line of text.
func checkNote(what, text string) error {
	if utf8.RuneCountInString(text) > maxNote || term.Line(text) != text {
		return refused(Unreadable, "%s: want one line of at most %d characters", what, maxNote)
	}
	return nil
}

func (a *Acknowledging) check() error {
	codes := make([]string, 0, len(Reasons()))
	for _, r := range Reasons() {
		codes = append(codes, r[0])
	}
	switch {
	case !slices.Contains(codes, a.Reason):
		return refused(Unreadable, "the reason is one of %s", term.List(codes))
	case NeedsNote(a.Reason) && strings.TrimSpace(a.Note) == "":
		return refused(Unreadable, "the reason %s needs a note", a.Reason)
	case a.Tolerance < 0:
		return refused(Unreadable, "the tolerance is not below 0")
	case a.By == "":
		return refused(Unreadable, "somebody has to acknowledge it")
	}
	if err := checkNote("the note", a.Note); err != nil {
		return err
	}
	return checkNote("the name", a.By)
}

// Acknowledge stores that a person has acknowledged all open matters of a payout, or the requested ones (what is
// acknowledged stays so). It returns what it stored. If it stored nothing, its error is a *RefusedError or an error of
// the warehouse.
func Acknowledge(ctx context.Context, w *warehouse.Warehouse, a Acknowledging) ([]warehouse.Acknowledgement, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	f := a.Rules
	f.Account, f.Payout, f.WithoutTransactions = a.Account, &a.Payout, true
	r, err := Reconcile(ctx, w, f)
	if err != nil {
		return nil, err
	}
	p, err := r.One(a.Payout)
	if err != nil {
		return nil, err
	}
	all := a.of(p)
	switch {
	case len(all) == 0:
		of := ""
		if a.Kind+a.Currency != "" {
			of = " of that kind"
		}
		return nil, refused(NothingOpen, "payout %d has nothing open%s: %s", p.ID, of, p.Advice())
	case a.Seen != "" && a.Seen != p.Seen():
		return nil, refused(HasMoved, "what is open of payout %d has changed since you looked at it: %s", p.ID, p.Advice())
	}
	return all, w.Acknowledge(ctx, p.Account, all)
}

// of returns the acknowledgements of all open matters of the payout that were requested.
func (a *Acknowledging) of(p Payout) []warehouse.Acknowledgement {
	var all []warehouse.Acknowledgement
	for _, m := range p.Matters {
		if !m.Open || a.Kind != "" && m.Kind != a.Kind || a.Currency != "" && m.Currency != a.Currency {
			continue
		}
		k := warehouse.Acknowledgement{Payout: p.ID, Kind: m.Kind, Currency: m.Currency, Amount: m.Amount(),
			Entries: []string{}, Amounts: []decimal.Decimal{},
			Tolerance: finance.FromMinor(a.Tolerance, m.Currency), Reason: a.Reason, Note: a.Note, By: a.By}
		for _, name := range slices.Sorted(maps.Keys(m.Entries)) {
			k.Entries, k.Amounts = append(k.Entries, name), append(k.Amounts, m.Entries[name])
		}
		all = append(all, k)
	}
	return all
}

// Seen returns a text that identifies the open matters of the payout with their amounts: if the text
// differs, the state has changed.
func (p Payout) Seen() string {
	sum := sha256.New()
	for _, m := range p.Matters {
		if !m.Open {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(m.Entries)) {
			fmt.Fprintf(sum, "%q %q %q %s\n", m.Kind, m.Currency, name, m.Entries[name])
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// Acknowledged returns what was acknowledged, in words: "expected clawback of EUR 12.34".
func Acknowledged(k warehouse.Acknowledgement) string {
	if k.Amount.IsZero() && k.Currency == "" {
		return term.Spaced(k.Kind)
	}
	return term.Spaced(k.Kind) + " of " + withCurrency(k.Currency, k.Amount.Abs())
}
