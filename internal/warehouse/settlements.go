package warehouse

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
)

// SettlementRevision is a row of settlement_revisions: what reached the bank, as it was imported.
type SettlementRevision struct {
	Account, Reference string
	Revision           uint32
	Hash               string
	ReceivedOn         time.Time // a day
	Currency           string
	Amount, Fee        decimal.Decimal
	PayoutCurrency     string
	PayoutAmount, Unit decimal.Decimal
	Payouts            []int64
	Text               string
	At                 time.Time
	ID                 uuid.UUID
	Source             string
	Line               uint32
	By, Note           string
}

var settlementColumns = columns("account String, reference String, revision UInt32, hash String, received_on Date, currency_code String, amount Decimal(38,4), fee Decimal(38,4), payout_currency String, " +
	"payout_amount Decimal(38,4), unit Decimal(38,4), payouts Array(Int64), text String, at DateTime64(3), id UUID, source String, line UInt32, by String, note String")

// AddSettlements adds revisions of settlements: of the accounts of a shard, all of them or none. It sets their ID, and
// their At by the clock of the warehouse.
func (w *Warehouse) AddSettlements(ctx context.Context, all []SettlementRevision) error {
	for _, shard := range w.each() {
		var here []*SettlementRevision
		for i := range all {
			if w.At(all[i].Account) == shard {
				here = append(here, &all[i])
			}
		}
		if len(here) == 0 {
			continue
		}
		if err := shard.addSettlements(ctx, here); err != nil {
			return err
		}
	}
	return nil
}

func (w *Warehouse) addSettlements(ctx context.Context, all []*SettlementRevision) error {
	_, at, err := w.timeAfter(ctx, newestTime("at"), "settlements_log")
	if err != nil {
		return fmt.Errorf("importing settlements: %w", err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("making the ID of an import: %w", err)
	}
	err = insertEach(ctx, w.pool, "settlements_log", settlementColumns, all, func(s *SettlementRevision) []any {
		s.At, s.ID = at.UTC(), id
		return []any{s.Account, s.Reference, s.Revision, s.Hash, s.ReceivedOn, s.Currency, s.Amount, s.Fee,
			s.PayoutCurrency, s.PayoutAmount, s.Unit, s.Payouts, s.Text, s.At, s.ID, s.Source, s.Line, s.By, s.Note}
	})
	if err != nil {
		return fmt.Errorf("importing settlements: %w", err)
	}
	return nil
}

// SettlementRevisions reads every revision of settlements, of one account or, without a name, of all, in the order in
// which they were imported.
func (r Reader) SettlementRevisions(ctx context.Context, account string) ([]SettlementRevision, error) {
	return r.settlementRevisions(ctx, selectSettlementRevisions(false), named("account", account))
}

// RevisionsOfSettlements reads every revision of the settlements of an account that have these references.
func (r Reader) RevisionsOfSettlements(ctx context.Context, account string,
	references []string) ([]SettlementRevision, error) {
	list, err := json.Marshal(references) // a bank may write quotes and backslashes
	if err != nil {
		return nil, fmt.Errorf("naming settlements of account %s: %w", account, err)
	}
	return r.settlementRevisions(ctx, selectSettlementRevisions(true), named("account", account),
		named("references", string(list)))
}

func (r Reader) settlementRevisions(ctx context.Context, query string, args ...any) ([]SettlementRevision, error) {
	rows, err := r.retrying.Query(ctx, query, args...)
	all, err := scanned(rows, err, func(s *SettlementRevision) []any {
		return []any{&s.Account, &s.Reference, &s.Revision, &s.Hash, &s.ReceivedOn, &s.Currency, &s.Amount, &s.Fee,
			&s.PayoutCurrency, &s.PayoutAmount, &s.Unit, &s.Payouts, &s.Text, &s.At, &s.ID,
			&s.Source, &s.Line, &s.By, &s.Note}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the settlements: %w", err)
	}
	return all, nil
}

// Settlement is a row of the view settlements, whose columns say what each field means.
type Settlement struct {
	Account, Reference string
	Revision           uint32
	ReceivedOn         time.Time
	Currency           string
	Amount, Fee        decimal.Decimal
	PayoutCurrency     string
	PayoutAmount       decimal.Decimal
	Text, MatchedBy    string
	Payouts            []int64
	Shares, Fees       []decimal.Decimal // of Payouts
	NotLoaded          []int64
	At                 time.Time
	By                 string
}

// Settlements reads what reached the bank, of one account or, without a name, of all; the newest first.
func (r Reader) Settlements(ctx context.Context, account string) ([]Settlement, error) {
	return r.settlements(ctx, selectSettlements(false), named("account", account))
}

// SettlementsOfPayout reads the settlements that settle one payout, alone or with others.
func (r Reader) SettlementsOfPayout(ctx context.Context, account string, payout int64) ([]Settlement, error) {
	return r.settlements(ctx, selectSettlements(true), named("account", account), named("payout", fmt.Sprint(payout)))
}

// CountSettlements returns how many settlements of an account were imported.
func (r Reader) CountSettlements(ctx context.Context, account string) (n uint64, err error) {
	if err := r.retrying.QueryRow(ctx, countSettlements, named("account", account)).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting the settlements of account %s: %w", account, err)
	}
	return n, nil
}

func (r Reader) settlements(ctx context.Context, query string, args ...any) ([]Settlement, error) {
	rows, err := r.retrying.Query(ctx, query, args...)
	all, err := scanned(rows, err, func(s *Settlement) []any {
		return []any{&s.Account, &s.Reference, &s.Revision, &s.ReceivedOn, &s.Currency, &s.Amount,
			&s.Fee, &s.PayoutCurrency,
			&s.PayoutAmount, &s.Text, &s.MatchedBy, &s.Payouts, &s.Shares, &s.Fees, &s.NotLoaded, &s.At, &s.By}
	})
	if err != nil {
		return nil, fmt.Errorf("reading what reached the bank: %w", err)
	}
	return all, nil
}

// ThreeWay is a row of payout_three_way: what a payout earned, paid out and brought, in one currency.
type ThreeWay struct {
	Account                                                           string
	Payout                                                            int64
	Currency                                                          string
	Earned, PaidOut, Received, Fees, Converted, Rounding, Outstanding decimal.Decimal
	State                                                             string
	Settlements                                                       []string
	LastReceivedOn                                                    *time.Time
}

// ThreeWays reads what payouts earned, paid out and brought, of one account or, without a name, of all; the newest
// payout first.
func (r Reader) ThreeWays(ctx context.Context, account string) ([]ThreeWay, error) {
	return r.threeWays(ctx, false, named("account", account))
}

// ThreeWaysOfPayout reads the same for one payout, which has a row for each currency.
func (r Reader) ThreeWaysOfPayout(ctx context.Context, account string, payout int64) ([]ThreeWay, error) {
	return r.threeWays(ctx, true, named("account", account), named("payout", fmt.Sprint(payout)))
}

func (r Reader) threeWays(ctx context.Context, ofPayout bool, args ...any) ([]ThreeWay, error) {
	rows, err := r.retrying.Query(ctx, selectThreeWays(ofPayout), args...)
	all, err := scanned(rows, err, func(t *ThreeWay) []any {
		return []any{&t.Account, &t.Payout, &t.Currency, &t.Earned, &t.PaidOut, &t.Received, &t.Fees, &t.Converted,
			&t.Rounding, &t.Outstanding, &t.State, &t.Settlements, &t.LastReceivedOn}
	})
	if err != nil {
		return nil, fmt.Errorf("comparing payouts with settlements: %w", err)
	}
	return all, nil
}

// PayoutDue is a row of payout_paid: what a payout paid in one currency.
type PayoutDue struct {
	Payout        int64
	Currency      string // empty: not known
	Paid, Stamped decimal.Decimal
	End           *time.Time // of its sales
}

// PayoutsDue reads what the payouts of an account paid.
func (r Reader) PayoutsDue(ctx context.Context, account string) ([]PayoutDue, error) {
	rows, err := r.retrying.Query(ctx, selectPayoutsDue, named("account", account))
	all, err := scanned(rows, err, func(d *PayoutDue) []any {
		return []any{&d.Payout, &d.Currency, &d.Paid, &d.Stamped, &d.End}
	})
	if err != nil {
		return nil, fmt.Errorf("reading what the payouts of account %s paid: %w", account, err)
	}
	return all, nil
}

// PayoutsReadAt returns when the payouts of an account were last read completely, or a time without end if it was
// today.
func (r Reader) PayoutsReadAt(ctx context.Context, account string) (at time.Time, err error) {
	if err := r.retrying.QueryRow(ctx, selectPayoutsReadAt, named("account", account)).Scan(&at); err != nil {
		return at, fmt.Errorf("reading when the payouts of account %s were read: %w", account, err)
	}
	return at.UTC(), nil
}

// SettlementMatch says which payouts a revision of a settlement settles. The last row of a settlement counts.
type SettlementMatch struct {
	Account, Reference     string
	Revision               uint32
	Hash                   string
	At                     time.Time
	MatchedBy              string // empty: they are not known
	Payouts                []int64
	Shares, Fees, Rounding []decimal.Decimal // of Payouts
}

var matchColumns = columns("account String, reference String, revision UInt32, hash String, at DateTime64(3), matched_by String, payouts Array(Int64), " +
	"shares Array(Decimal(38,4)), fees Array(Decimal(38,4)), rounding Array(Decimal(38,4))")

// SettlementMatches reads all matches of an account that were ever made, in that order.
func (r Reader) SettlementMatches(ctx context.Context, account string) ([]SettlementMatch, error) {
	rows, err := r.retrying.Query(ctx, selectSettlementMatches, named("account", account))
	all, err := scanned(rows, err, func(m *SettlementMatch) []any {
		return []any{&m.Account, &m.Reference, &m.Revision, &m.Hash, &m.At, &m.MatchedBy, &m.Payouts, &m.Shares, &m.Fees,
			&m.Rounding}
	})
	if err != nil {
		return nil, fmt.Errorf("reading which payouts the settlements of account %s settle: %w", account, err)
	}
	return all, nil
}

// AddSettlementMatches adds matches of an account: all of them, or none.
func (w *Warehouse) AddSettlementMatches(ctx context.Context, account string, all []SettlementMatch) error {
	if len(all) == 0 {
		return nil
	}
	w = w.At(account)
	_, at, err := w.timeAfter(ctx, newestTime("at"), "settlement_matches_log")
	if err == nil {
		err = insertEach(ctx, w.pool, "settlement_matches_log", matchColumns, all, func(m SettlementMatch) []any {
			return []any{m.Account, m.Reference, m.Revision, m.Hash, at.UTC(), m.MatchedBy, m.Payouts, m.Shares, m.Fees,
				m.Rounding}
		})
	}
	if err != nil {
		return fmt.Errorf("storing which payouts the settlements of account %s settle: %w", account, err)
	}
	return nil
}

// LastRevisions returns the last revision of each settlement, as the view settlements has it.
func LastRevisions(all []SettlementRevision) []SettlementRevision {
	all = slices.Clone(all)
	SortRevisions(all)
	var last []SettlementRevision
	for i, s := range all {
		if i+1 == len(all) || all[i+1].Account != s.Account || all[i+1].Reference != s.Reference {
			last = append(last, s)
		}
	}
	return last
}

// SortRevisions sorts revisions by settlement, the one that counts last.
func SortRevisions(all []SettlementRevision) {
	slices.SortStableFunc(all, func(a, b SettlementRevision) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Reference, b.Reference),
			cmp.Compare(a.Revision, b.Revision), a.At.Compare(b.At), cmp.Compare(b.Hash, a.Hash))
	})
}

// selectSettlementRevisions selects revisions of settlements, of one account or of all, in the order in which they were
// imported. chosen says that only those with some references are wanted. Parameters: account; with chosen, also
// references, as JSON.
func selectSettlementRevisions(chosen bool) string {
	and := ""
	if chosen {
		and = " AND has(JSONExtract({references:String}, 'Array(String)'), reference)"
	}
	return sql(`SELECT account, reference, revision, hash, received_on, currency_code, amount, fee, payout_currency,
    payout_amount, unit, payouts, text, at, id, source, line, by, note
FROM settlement_revisions
WHERE {account:String} IN ('', account)$and
ORDER BY at, account, reference, revision, hash`, parts{"and": and})
}

// countSettlements counts the settlements of an account. Parameter: account.
const countSettlements = "SELECT uniqExact(reference) FROM settlement_revisions WHERE account = {account:String}"

// selectSettlements selects what reached the bank, of one account or of all, the newest first. ofPayout says that only
// what settles one payout is wanted. Parameters: account; with ofPayout, also payout.
func selectSettlements(ofPayout bool) string {
	and := ""
	if ofPayout {
		and = " AND has(payouts, {payout:Int64})"
	}
	return sql(`SELECT account, reference, revision, received_on, currency_code, amount, fee, payout_currency,
    payout_amount, text, matched_by, payouts, shares, fees, not_loaded, at, by
FROM settlements
WHERE {account:String} IN ('', account)$and
ORDER BY account, received_on DESC, reference`, parts{"and": and})
}

// selectThreeWays selects what payouts earned, paid out and brought, of one account or of all, the newest payout first.
// ofPayout says that only one payout is wanted. Parameters: account; with ofPayout, also payout.
func selectThreeWays(ofPayout bool) string {
	and := ""
	if ofPayout {
		and = " AND payout_id = {payout:Int64}"
	}
	return sql(`SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted, rounding,
    outstanding, state, settlements, last_received_on
FROM payout_three_way
WHERE {account:String} IN ('', account)$and
ORDER BY account, payout_id DESC, currency_code`, parts{"and": and})
}

// selectPayoutsDue selects what the payouts of an account paid, by currency. Parameter: account.
var selectPayoutsDue = sql(`SELECT payout_id, toString(currency_code), paid, stamped, end_date
FROM payout_paid
LEFT JOIN (SELECT account, id AS payout_id, end_date FROM $latest FINAL) AS p USING (account, payout_id)
WHERE account = {account:String}
ORDER BY payout_id, currency_code`, parts{"latest": latestTable(catalog.Payouts())})

// selectPayoutsReadAt selects when the last run of payouts that succeeded began; the end of times if that was today, or
// if no run is known. Parameter: account.
var selectPayoutsReadAt = sql(`SELECT if(count() = 0 OR toDate(max(started_at)) >= toDate(now('UTC')), toDateTime64('2200-01-01 00:00:00', 3, 'UTC'), max(started_at))
FROM sync_runs WHERE account = {account:String} AND stream = $stream AND outcome = $success`,
	parts{"stream": quote(catalog.Payouts().Name), "success": quote(OutcomeSuccess)})

// selectSettlementMatches selects all matches of an account that were ever made, in that order. Parameter: account.
const selectSettlementMatches = `SELECT account, reference, revision, hash, at, toString(matched_by), payouts, shares, fees, rounding
FROM settlement_matches_log FINAL WHERE account = {account:String} ORDER BY at, reference`
