package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Rebuilt is what Rebuild found in one derived table of one account.
type Rebuilt struct {
	Account string `json:"account"`
	Table   string `json:"table"`
	Rows    uint64 `json:"rows"` // that were missing, too many, or other than the stream's rows say
}

// Rebuild computes the tables that follow from the rows of streams anew, compares, and replaces what differs: readers
// see all of the difference of a table or nothing of it. With check it replaces nothing. An account other than "" is
// the only one. Each stream is taken as a run takes it, so that a *HeldError says that one is under way.
func (w *Warehouse) Rebuild(ctx context.Context, account string, check bool) (all []Rebuilt, err error) {
	for _, s := range catalog.All() {
		if len(derivedTables(s)) == 0 {
			continue
		}
		accounts, err := w.accountsOf(ctx, s)
		if err != nil {
			return all, err
		}
		for _, a := range accounts {
			if account != "" && a != account {
				continue
			}
			found, err := w.rebuildStream(ctx, StreamID{a, s.Name}, s, check)
			if all = append(all, found...); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// accountsOf are the accounts that have rows in a stream, or in a table that follows from it.
func (p *pool) accountsOf(ctx context.Context, s *catalog.Stream) ([]string, error) {
	rows, err := p.conn.Query(ctx, selectAccountsOf(s))
	accounts, err := scanned(rows, err, only[string])
	if err != nil {
		return nil, fmt.Errorf("reading which accounts have rows of %s: %w", s.Name, err)
	}
	return accounts, nil
}

func selectAccountsOf(s *catalog.Stream) string {
	tables := append([]string{s.Name + "_latest"}, derivedNames(s)...)
	for i, t := range tables {
		tables[i] = "SELECT DISTINCT account FROM " + t
	}
	return "SELECT DISTINCT toString(account) AS account FROM (" + strings.Join(tables, " UNION ALL ") + ") ORDER BY account"
}

// rebuildStream takes the lease of a stream, finishes what was interrupted, and rebuilds.
func (w *Warehouse) rebuildStream(ctx context.Context, id StreamID, s *catalog.Stream, check bool) (found []Rebuilt, err error) {
	r := Run{ID: uuid.New(), Attempt: uuid.New(), Account: id.Account, Stream: s}
	l, err := w.Acquire(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("rebuilding what follows from %s of account %s: %w", s.Name, id.Account, err)
	}
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	r.StartedAt = l.Begun()
	x := w.Writer(r)
	checkpoint, err := l.Checkpoint()
	if err != nil {
		return nil, err
	}
	keep := r.ID
	if checkpoint != nil {
		keep = checkpoint.RunID
	}
	if _, err := x.Recover(ctx, l, keep); err != nil {
		return nil, err
	}
	return x.rebuild(ctx, l.Check, check, derivedTables(s)...)
}

// rebuild compares derived tables of the run's account with what follows from the stream's rows, one after the other,
// and attaches the difference where may agrees. It can be repeated. The caller holds the lease of the stream.
func (w *Writer) rebuild(ctx context.Context, may func(context.Context) error, check bool, tables ...derived) (found []Rebuilt, err error) {
	now, err := w.Now(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		rows, err := w.rebuildTable(ctx, t, now, may, check)
		if err != nil {
			return found, fmt.Errorf("rebuilding %s of account %s: %w", t.table, w.Account, err)
		}
		found = append(found, Rebuilt{w.Account, t.table, rows})
	}
	return found, nil
}

func (w *Writer) rebuildTable(ctx context.Context, t derived, now time.Time, may func(context.Context) error, check bool) (rows uint64, err error) {
	args := append(w.args(now), named("merged_at", fmt.Sprint(now.UnixMilli())))
	var empty bool
	if err := w.conn.QueryRow(ctx, hasNone(t.table), args...).Scan(&empty); err != nil {
		return 0, err
	}
	delta := w.dialect.ofRun(w.derivedDelta(t.table))
	settings := joinSettings(largeJoin)
	err = w.execAll(ctx, []step{{dropDelta(delta), nil}, {createDeltaOf(t.table, delta), nil}, {t.corrections(delta, empty), settings}}, args...)
	if err == nil {
		err = w.conn.QueryRow(ctx, "SELECT count() FROM "+delta).Scan(&rows)
	}
	if err == nil && rows > 0 && !check {
		err = w.singlePart(ctx, w.derivedDelta(t.table))
		if err == nil {
			err = may(ctx)
		}
		if err == nil {
			err = w.exec(ctx, attachDelta(t.table, delta)) // the same rows twice are one
		}
	}
	return rows, errors.Join(err, w.exec(context.WithoutCancel(ctx), dropTable(delta)))
}

func hasNone(table string) string {
	return "SELECT count() = 0 FROM (SELECT 1 FROM " + table + " WHERE account = {account:String} LIMIT 1)"
}

// corrections fills a delta with the rows that the table has to have and does not; the defaults stand for none. An
// empty table needs no comparison.
func (t derived) corrections(delta string, empty bool) string {
	if empty {
		return t.inserted(delta) + sql("SELECT {account:String}, $columns, $version, {run:UUID}\nFROM\n(\n$whole\n)",
			parts{"columns": t.columns(), "version": versionAfter("0"), "whole": t.whole})
	}
	var values, differ []string
	for _, c := range t.values {
		want, have := "anyIf("+c.name+", wanted)", "anyIf("+c.name+", NOT wanted)"
		values = append(values, want)
		if strings.HasPrefix(c.typ, "Nullable(") {
			differ = append(differ, "("+want+" IS DISTINCT FROM "+have+")")
		} else {
			differ = append(differ, want+" != "+have)
		}
	}
	return t.inserted(delta) + sql(`SELECT {account:String}, $key, $values, $version, {run:UUID}
FROM
(
    SELECT $columns, true AS wanted, toUInt64(0) AS stored FROM ($whole)
    UNION ALL
    SELECT $columns, false, _version FROM $table FINAL WHERE account = {account:String}
)
GROUP BY $key
HAVING $differ`, parts{"key": joinNames(t.key), "values": strings.Join(values, ", "), "version": versionAfter("max(stored)"), "columns": t.columns(),
		"whole": t.whole, "table": t.table, "differ": strings.Join(differ, " OR ")})
}

// fillUnnamed fills the derived tables that the intent of an older binary does not name.
func (p publication) fillUnnamed(ctx context.Context) error {
	var unnamed []derived
	for _, t := range derivedTables(p.Stream) {
		if !slices.Contains(p.intent.Derived, t.table) {
			unnamed = append(unnamed, t)
		}
	}
	if len(unnamed) == 0 || !p.intent.Record.Changes.Any() {
		return nil
	}
	_, err := p.rebuild(ctx, func(context.Context) error { return nil }, false, unnamed...)
	return err
}
