package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
)

// In the demo's world, every payout is right except for three of the first account. Each of these is wrong in a
// different way: one contains a transaction that the list lacks, and in the other two a transaction changes after it
// was paid, between the two syncs.

// demoRaise is by how much the cashback of a paid transaction rises.
var demoRaise = decimal.RequireFromString("4.20")

// startSimulator serves the simulated API on a free port of this machine.
func (d *demo) startSimulator(ctx context.Context) (stop func(), err error) {
	d.sim, err = apisim.New(apisim.Options{
		DecidedInTime: true,
		Settings:      apisim.Settings{PageSize: 1000, KeepExpired: true},
	})
	if err != nil {
		return nil, fmt.Errorf("making the simulated world: %w", err)
	}
	if err := d.loseTransaction(); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the simulator: %w", err)
	}
	d.url = "http://" + listener.Addr().String()
	server := &http.Server{Handler: d.sim, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // ends when the server is closed
	}()
	return func() {
		_ = server.Close()
		<-ended
	}, nil
}

// financeAccount is the account whose payouts are not all right.
func (d *demo) financeAccount() string { return d.sim.Orgs()[0] }

// loseTransaction removes a transaction that the third-last payout counts from the list.
func (d *demo) loseTransaction() error {
	t, err := d.paidTransaction(2)
	if err != nil {
		return err
	}
	if err := d.sim.Delete(apisim.StreamTransactions, d.financeAccount(), t.id); err != nil {
		return fmt.Errorf("preparing the simulated world: %w", err)
	}
	return nil
}

// passDays lets some days pass in the simulated world. During them one paid transaction is declined, and the cashback
// of another rises.
func (d *demo) passDays() error {
	d.sim.Advance(demoDays * 24 * time.Hour)
	declined, err := d.paidTransaction(0)
	if err != nil {
		return err
	}
	declined.set("status", "DECLINED")
	raised, err := d.paidTransaction(1)
	if err != nil {
		return err
	}
	raised.set("cashback", json.Number(raised.cashback.Add(demoRaise).String()))
	for _, t := range []paidTransaction{declined, raised} {
		t.set("updatedAt", d.sim.Now().Format("2006-01-02T15:04:05.000Z"))
		record, err := json.Marshal(t.fields)
		if err == nil {
			err = d.sim.Put(apisim.StreamTransactions, d.financeAccount(), record)
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

func (t *paidTransaction) set(field string, value any) { t.fields[field] = value }

// paidTransaction finds the first confirmed transaction of a payout of the first account; payouts are counted back from
// the last, which is 0.
func (d *demo) paidTransaction(back int) (paidTransaction, error) {
	var payouts []json.Number
	var last paidTransaction
	for record := range d.sim.Truth(apisim.StreamPayouts, d.financeAccount()) {
		var p struct{ ID json.Number }
		if err := json.Unmarshal(record, &p); err != nil {
			return last, fmt.Errorf("reading a simulated payout: %w", err)
		}
		payouts = append(payouts, p.ID)
	}
	if len(payouts) <= back {
		return last, fmt.Errorf("the simulated world has %d payouts, which is too few", len(payouts))
	}
	payout := payouts[len(payouts)-1-back]
	for record := range d.sim.Truth(apisim.StreamTransactions, d.financeAccount()) {
		var t struct {
			ID       string
			PayoutID json.Number
			Status   string
			Cashback decimal.Decimal
		}
		fields := map[string]json.RawMessage{}
		if err := json.Unmarshal(record, &t); err != nil {
			return last, fmt.Errorf("reading a simulated transaction: %w", err)
		}
		if t.PayoutID != payout || t.Status != "CONFIRMED" || t.Cashback.LessThan(decimal.NewFromInt(5)) {
			continue
		}
		if err := json.Unmarshal(record, &fields); err != nil {
			return last, fmt.Errorf("reading a simulated transaction: %w", err)
		}
		last = paidTransaction{id: t.ID, cashback: t.Cashback, fields: map[string]any{}}
		for name, value := range fields {
			last.fields[name] = value
		}
		return last, nil
	}
	return last, fmt.Errorf("the simulated payout %s has no confirmed transaction", payout)
}
