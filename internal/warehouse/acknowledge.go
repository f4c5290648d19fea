package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// Acknowledgement is a row of payout_acknowledgements: a person has taken note of what was found about a payout.
type Acknowledgement struct {
	Account        string
	Payout         int64
	Kind, Currency string
	At             time.Time
	ID             uuid.UUID
	Amount         decimal.Decimal
	Entries        []string          // IDs of transactions, or a reason in words
	Amounts        []decimal.Decimal // of the entries
	Tolerance      decimal.Decimal
	Reason, Note   string
	By             string
}

var acknowledgementColumns = columns("account String, payout_id Int64, kind String, currency_code String, at DateTime64(3), id UUID, amount Decimal(38,4), entries Array(String), " +
	"amounts Array(Decimal(38,4)), tolerance Decimal(38,4), reason String, note String, by String")

// Acknowledge adds acknowledgements to an account. It sets their Account, At and ID. At is the time of the warehouse,
// or a millisecond after the newest acknowledgement of the account if that is later.
func (w *Warehouse) Acknowledge(ctx context.Context, account string, all []Acknowledgement) error {
	w = w.At(account)
	_, at, err := w.timeAfter(ctx, newestTime("at"), "payout_acknowledgements_log WHERE account = {account:String}",
		named("account", account))
	if err != nil {
		return fmt.Errorf("acknowledging what was found about payouts: %w", err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("making the ID of an acknowledgement: %w", err)
	}
	for i := range all {
		all[i].Account, all[i].At, all[i].ID = account, at.UTC(), id
	}
	err = insertEach(ctx, w.pool, "payout_acknowledgements_log", acknowledgementColumns, all,
		func(a Acknowledgement) []any {
			return []any{a.Account, a.Payout, a.Kind, a.Currency, a.At, a.ID, a.Amount, a.Entries, a.Amounts,
				a.Tolerance, a.Reason, a.Note, a.By}
		})
	if err != nil {
		return fmt.Errorf("acknowledging what was found about payouts: %w", err)
	}
	return nil
}

// Acknowledgements returns the acknowledgements of one account, or of all if the name is empty, the newest first.
func (r Reader) Acknowledgements(ctx context.Context, account string) ([]Acknowledgement, error) {
	rows, err := r.retrying.Query(ctx, selectAcknowledgements, named("account", account))
	all, err := scanned(rows, err, func(a *Acknowledgement) []any {
		return []any{&a.Account, &a.Payout, &a.Kind, &a.Currency, &a.At, &a.ID, &a.Amount, &a.Entries, &a.Amounts,
			&a.Tolerance, &a.Reason, &a.Note, &a.By}
	})
	if err != nil {
		return nil, fmt.Errorf("reading what was acknowledged about payouts: %w", err)
	}
	return all, nil
}
