package warehouse

import (
	"context"
	"fmt"
)

// Openings counts what waits for a person besides failed runs.
type Openings struct {
	Rejects  map[StreamID]uint64 // rejected records that nothing has replaced since
	Findings map[string]uint64   // open findings about payouts, by account
}

// Openings counts what waits for a person, of all accounts.
func (r Reader) Openings(ctx context.Context) (o Openings, err error) {
	o = Openings{Rejects: map[StreamID]uint64{}, Findings: map[string]uint64{}}
	rejects, err := r.CountOpenRejects(ctx, RejectFilter{})
	if err != nil {
		return o, err
	}
	for _, x := range rejects {
		o.Rejects[StreamID{x.Account, x.Stream}] = x.Rejects
	}
	type count struct {
		account string
		n       uint64
	}
	rows, err := r.once.Query(ctx, countOpenFindings)
	all, err := scanned(rows, err, func(c *count) []any { return []any{&c.account, &c.n} })
	if err != nil {
		return o, fmt.Errorf("counting what was found about payouts: %w", err)
	}
	for _, c := range all {
		o.Findings[c.account] = c.n
	}
	return o, nil
}

// Storage is how much of its disk the database uses, and how much is free, in bytes.
type Storage struct{ Used, Free uint64 }

// Limits of the free space on the disk of an embedded warehouse, in bytes. Below LittleRoom somebody should look at it;
// below NoRoom the next load is likely to fail.
const (
	LittleRoom = 2 << 30
	NoRoom     = 200 << 20
)

// Storage asks how much disk space the database uses, and how much is left.
func (r Reader) Storage(ctx context.Context) (s Storage, err error) {
	if err := r.retrying.QueryRow(ctx, selectStorage).Scan(&s.Used, &s.Free); err != nil {
		return s, fmt.Errorf("asking the warehouse how much room it takes: %w", err)
	}
	return s, nil
}
