package warehouse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
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

// selectClashes counts the keys that different staged records have, and returns some of them. A page is known by the
// time at which it was read.
func (x script) selectClashes(apart bool) string {
	page, differ := "_hash", ""
	if x.Stream.Child != nil {
		page += ", cityHash64(_entries)"
	}
	if i := x.Stream.VersionField(); i >= 0 {
		differ = x.render(" OR uniqExact($updated, _hash) > uniqExact($updated)", parts{"updated": x.Stream.Fields[i].Column})
	} else if !apart {
		var values []string
		for _, f := range x.Stream.Fields {
			if !f.Key && f.Type != catalog.Time {
				values = append(values, f.Column)
			}
		}
		differ = " OR uniqExact(" + hashOf(values) + ") > 1"
	}
	return x.render(`SELECT count(), groupArray($some)(key) FROM
(
    SELECT toString($key) AS key FROM $staging
    WHERE run_id = {run:UUID} AND $key IN (SELECT $key FROM $staging WHERE run_id = {run:UUID} GROUP BY $key HAVING count() > 1)
    GROUP BY $key HAVING uniqExact(_fetched, $page) > uniqExact(_fetched)$differ
    ORDER BY key
)`, parts{"page": page, "differ": differ, "some": fmt.Sprint(someClashes)})
}

// someClashes is how many keys of different records are named.
const someClashes = 5

// inspectDelta counts the rows that break each rule, with an example. known says that there are earlier versions of
// some rows. Parameters: account and server.
func (x script) inspectDelta(rules []rule, known bool) string {
	payouts := "toUInt64(0)"
	if f := x.Stream.Reference(catalog.Payouts()); f != nil {
		payouts = "countIf(" + f.Column + " IS NOT NULL)"
		if known {
			payouts += x.render(` + (SELECT uniqExact($key) FROM $versions
    WHERE account = {account:String} AND $named IS NOT NULL AND $key IN (SELECT $key FROM $delta WHERE $named IS NULL))`,
				parts{"named": f.Column})
		}
	}
	columns := []string{fmt.Sprintf("groupArrayIf(%d)(toString($key), _deleted = 0)", someKeys), payouts}
	for _, r := range rules {
		broken := "_deleted = 0 AND ifNull(" + r.broken + ", false)"
		columns = append(columns, "countIf("+broken+")", "anyIf(toString($key), "+broken+")")
	}
	return x.render("SELECT "+joined(columns)+"\nFROM $delta", nil)
}

// The content of a row has a hash. A run that reads a row compares its hash with the stored one, and writes the row
// only if they differ (warehouse-21).

// hashOf returns the hash of some values: 16 bytes, from two functions that have nothing in common. sipHash128 of the
// same values takes eight times as long, which was a tenth of a load.
func hashOf(values []string) string {
	list := strings.Join(values, ", ")
	return "reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(" + list + ")), 64), toUInt128(xxHash64(" + list +
		"))), 'FixedString(16)')"
}

// stagedHash returns the hash of the content of a staged row: of its values except the key, and of which are missing.
func stagedHash(s *catalog.Stream) string {
	values := []string{"_nulls", "_extra"}
	for _, f := range s.Fields {
		if !f.Key {
			values = append(values, f.Column)
		}
	}
	return hashOf(values)
}

// storedHash returns the same hash for a row of <stream>_latest or <stream>_versions.
func storedHash(s *catalog.Stream) string {
	var absent []string
	for i, bit := range catalog.NullBits(s.Fields) {
		if bit >= 0 {
			absent = append(absent, fmt.Sprintf("%d * isNull(%s)", uint64(1)<<bit, s.Fields[i].Column))
		}
	}
	values := []string{"toUInt64(" + strings.Join(absent, " + ") + ")", "_extra"}
	for _, f := range s.Fields {
		if !f.Key {
			values = append(values, toWire(f))
		}
	}
	return hashOf(values)
}

// toWire returns the value of a field of a stored row in the form in which its staging table has it. fromWire
// does the reverse.
func toWire(f catalog.Field) string {
	value := f.Column
	switch {
	case f.Type.List():
		value = "arrayStringConcat(arrayMap(x -> concat(x, '\\0'), " + f.Column + "))"
	case f.Type.Wire() != "UUID" && f.Type.Wire() != "String" && f.Type != catalog.Int:
		value = "reinterpret(" + f.Column + ", '" + f.Type.Wire() + "')"
	}
	if !f.Nullable() {
		return value
	}
	none := "0"
	if f.Type.Wire() == "UUID" {
		none = "toUUID('00000000-0000-0000-0000-000000000000')"
	}
	return "ifNull(" + value + ", " + none + ")"
}

// hashComment is the comment of the column _hash. It names what the hash is made of, so that a table says by which hash
// its rows are stored.
func hashComment(s *catalog.Stream) string {
	sum := sha256.Sum256([]byte(stagedHash(s)))
	return "Hash of the content: equal hashes are equal rows (" + hex.EncodeToString(sum[:4]) + ")"
}

// Writer writes for one run: it stages what the run reads, compares it with what is there, publishes the difference,
// and keeps the state of the stream. It is cheap to make.
type Writer struct {
	pool *pool
	Run
	script script
	filled []derived // the derived tables of which Prepare has made a delta
	lacked bool      // one of these deltas was filled by a second insert
}

// Writer writes for a run of a stream whose lease the caller holds.
func (w *Warehouse) Writer(r Run) *Writer { return w.At(r.Account).writer(r) }

func (p *pool) writer(r Run) *Writer { return &Writer{pool: p, Run: r, script: p.dialect.script(r)} }
