package warehouse

import (
	"context"
	"fmt"
	"slices"
)

// Written holds what the checks need to know about the rows that a run publishes. It is read from the delta, before
// readers see them: afterwards they are among all other rows, and finding them there takes longer the more rows there
// are.
type Written struct {
	Broken  []Broken // one for each rule of the stream
	Keys    []string // of a sample of the rows
	Payouts uint64   // rows that name a payout, or that did in an earlier version
}

// Broken is how many rows of a run break a rule.
type Broken struct {
	Rule    string
	Rows    uint64
	Example string // the key of one of them
}

// someKeys is how many rows of a run are checked to be visible exactly once. Each needs a search.
const someKeys = 20

// Add adds what another run has written.
func (n *Written) Add(more Written) {
	for _, b := range more.Broken {
		i := slices.IndexFunc(n.Broken, func(x Broken) bool { return x.Rule == b.Rule })
		if i < 0 {
			n.Broken = append(n.Broken, b)
			continue
		}
		n.Broken[i].Rows += b.Rows
		if n.Broken[i].Example == "" {
			n.Broken[i].Example = b.Example
		}
	}
	n.Keys = append(n.Keys, more.Keys[:min(len(more.Keys), someKeys-min(len(n.Keys), someKeys))]...)
	n.Payouts += more.Payouts
}

// Clashes are the keys under which a run has read several records that are not the same record read again. One of them
// is loaded: the one that was read last, of a page the last one.
type Clashes struct {
	Keys     uint64
	Examples []string // some of the keys
}

// Add adds those of another run.
func (c *Clashes) Add(more Clashes) {
	c.Keys += more.Keys
	c.Examples = append(c.Examples, more.Examples[:min(len(more.Examples), someClashes-min(len(c.Examples), someClashes))]...)
}

// Clashes returns those of the run's staged rows. A list may be read again while it moves, so only records with
// different contents count. They count if they were on one page, or have the same updatedAt. Of records without an
// updatedAt, those of different pages count too, unless they differ in their times alone; apart says that these pages
// were read long after each other, and do not count.
func (w *Writer) Clashes(ctx context.Context, apart bool) (c Clashes, err error) {
	err = w.pool.conn.QueryRow(ctx, w.script.selectClashes(apart), named("run", w.ID.String())).Scan(&c.Keys, &c.Examples)
	if err != nil {
		return c, fmt.Errorf("looking for different records with one key in run %s of %s: %w", w.ID, w.Stream.Name, err)
	}
	return c, nil
}

// Inspect reads from the prepared rows of the run what the checks need. If none of the prepared sales carries a payout,
// or ever did, their versions are not read.
func (w *Writer) Inspect(ctx context.Context, c Changes, prepared Prepared) (Written, error) {
	var written Written
	if !c.Any() {
		return written, nil
	}
	rules := rulesOf(w.Stream, !w.ServerTime.IsZero())
	written.Broken = make([]Broken, len(rules))
	into := []any{&written.Keys, &written.Payouts}
	for i, r := range rules {
		written.Broken[i].Rule = r.name
		into = append(into, &written.Broken[i].Rows, &written.Broken[i].Example)
	}
	args := []any{named("account", w.Account), named("server", fmt.Sprint(w.ServerTime.UnixMilli()))}
	_, paid := prepared[membersTable]
	known := c.Updated+c.Deleted > 0 && (paid || !w.Stream.NamesPayouts())
	if err := w.pool.conn.QueryRow(ctx, w.script.inspectDelta(rules, known), args...).Scan(into...); err != nil {
		return written, fmt.Errorf("reading what run %s of %s is about to publish: %w", w.ID, w.Stream.Name, err)
	}
	return written, nil
}
