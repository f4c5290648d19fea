package apisim

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/shopspring/decimal"
)

// DemoDays are how far the world moves on between two syncs.
const DemoDays = 3

// raise is by how much the cashback of a paid transaction rises.
var raise = decimal.RequireFromString("4.20")

// Demo is the world of the demonstration: a simulated API, on a port of this machine, in which every payout is right
// except for three of one account. Each of these is wrong in a different way: one contains a transaction that the list
// lacks, and in the other two a transaction changes after it was paid, while days pass.
type Demo struct {
	Sim *Sim
	URL string // where it answers

	server *http.Server
	ended  chan struct{}
}

// NewDemo makes a world, and serves it on a free port until Close.
func NewDemo(ctx context.Context) (*Demo, error) {
	sim, err := New(Options{
		DecidedInTime: true,
		Settings:      Settings{PageSize: 1000, KeepExpired: true},
	})
	if err != nil {
		return nil, fmt.Errorf("making the simulated world: %w", err)
	}
	w := &Demo{Sim: sim, ended: make(chan struct{})}
	if err := w.loseTransaction(); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the simulator: %w", err)
	}
	w.URL = "http://" + listener.Addr().String()
	w.server = &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(w.ended)
		_ = w.server.Serve(listener) // ends when the server is closed
	}()
	return w, nil
}

// Close ends the server.
func (w *Demo) Close() {
	_ = w.server.Close()
	<-w.ended
}

// Account is the one whose payouts are not all right.
func (w *Demo) Account() string { return w.Sim.Orgs()[0] }

// loseTransaction removes a transaction that the third-last payout counts from the list.
func (w *Demo) loseTransaction() error {
	t, err := w.paidTransaction(2)
	if err != nil {
		return err
	}
	if err := w.Sim.Delete(StreamTransactions, w.Account(), t.id); err != nil {
		return fmt.Errorf("preparing the simulated world: %w", err)
	}
	return nil
}

// PassDays lets some days pass. During them one paid transaction is declined, and the cashback of another rises.
func (w *Demo) PassDays() error {
	w.Sim.Advance(DemoDays * 24 * time.Hour)
	declined, err := w.paidTransaction(0)
	if err != nil {
		return err
	}
	declined.fields["status"] = "DECLINED"
	raised, err := w.paidTransaction(1)
	if err != nil {
		return err
	}
	raised.fields["cashback"] = json.Number(raised.cashback.Add(raise).String())
	for _, t := range []paidTransaction{declined, raised} {
		t.fields["updatedAt"] = w.Sim.Now().Format("2006-01-02T15:04:05.000Z")
		record, err := json.Marshal(t.fields)
		if err == nil {
			err = w.Sim.Put(StreamTransactions, w.Account(), record)
		}
		if err != nil {
			return fmt.Errorf("moving the simulated world on: %w", err)
		}
	}
	return nil
}

// paidTransaction is a confirmed transaction that is in a payout.
type paidTransaction struct {
	id       string
	cashback decimal.Decimal
	fields   map[string]any
}

// payout finds a payout of the account; they are counted back from the last, which is 0.
func (w *Demo) payout(back int) (id json.Number, err error) {
	var all []json.Number
	for record := range w.Sim.Truth(StreamPayouts, w.Account()) {
		var p struct{ ID json.Number }
		if err := json.Unmarshal(record, &p); err != nil {
			return "", fmt.Errorf("reading a simulated payout: %w", err)
		}
		all = append(all, p.ID)
	}
	if len(all) <= back {
		return "", fmt.Errorf("the simulated world has %d payouts, which is too few", len(all))
	}
	return all[len(all)-1-back], nil
}

// paidTransaction finds the first confirmed transaction of a payout, which is counted as payout does.
func (w *Demo) paidTransaction(back int) (found paidTransaction, err error) {
	payout, err := w.payout(back)
	if err != nil {
		return found, err
	}
	for record := range w.Sim.Truth(StreamTransactions, w.Account()) {
		var t struct {
			ID       string
			PayoutID json.Number
			Status   string
			Cashback decimal.Decimal
		}
		if err := json.Unmarshal(record, &t); err != nil {
			return found, fmt.Errorf("reading a simulated transaction: %w", err)
		}
		if t.PayoutID != payout || t.Status != "CONFIRMED" || t.Cashback.LessThan(decimal.NewFromInt(5)) {
			continue
		}
		fields := map[string]json.RawMessage{} // as they are: a number must not become another one
		if err := json.Unmarshal(record, &fields); err != nil {
			return found, fmt.Errorf("reading a simulated transaction: %w", err)
		}
		found = paidTransaction{id: t.ID, cashback: t.Cashback, fields: map[string]any{}}
		for name, value := range fields {
			found.fields[name] = value
		}
		return found, nil
	}
	return found, fmt.Errorf("the simulated payout %s has no confirmed transaction", payout)
}
