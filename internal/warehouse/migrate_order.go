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

// A stream whose tables have another order than the catalog wants is stored again: each table is copied into a new one
// of the right order, and both exchange their names. Readers see the same rows before and after. What is left to do
// follows from the tables that exist, so the work may be killed at any statement and done again.
//
// Nobody may publish meanwhile. So the leases of all accounts are taken first, which waits for runs under way. Workers
// of an older binary that continue afterwards find no staging table (stagingTable), and a delta that they have already
// made does not fit. The intents of those that died are carried out before anything is copied.

// orderedSuffix ends the name of the table that a copy is made in.
const orderedSuffix = "_ordered"

// migrationWait is how long a migration waits for a run under way to end, or until a dead run counts as dead.
const migrationWait = 3 * leaseTTL

// stored is what the database has: the columns of each table with their types, its order, and what it says of the
// content hashes of its rows.
type stored struct {
	columns map[string]map[string]string
	orders  map[string]string
	hashes  map[string]string
}

func (h stored) has(table string) bool { return h.columns[table] != nil }

// misordered reports whether the tables of a stream have another order than is wanted, or were not
// completely put into it.
func (h stored) misordered(s *catalog.Stream) bool {
	return s.OrderedBy != "" && (h.has(firstStagingTable(s)) ||
		slices.ContainsFunc(orderedTables(s), func(t orderedTable) bool {
			return h.has(t.name+orderedSuffix) || h.needs(t, s)
		}))
}

func (h stored) needs(t orderedTable, s *catalog.Stream) bool {
	return h.has(t.name) && h.orders[t.name] != sortingColumns(s)
}

// orderedTable is a table of a stream, how it is made under another name, and whether only its current rows are copied
// (final). They are for _latest: rows that are replaced there might not be replaced in another order.
type orderedTable struct {
	name   string
	create string
	final  string
}

// orderedTables returns the tables of a stream whose order the catalog decides.
func orderedTables(s *catalog.Stream) []orderedTable {
	latest, versions := latestTable(s), versionsTable(s)
	return []orderedTable{
		{versions, createStored(versions+orderedSuffix, s, "MergeTree",
			"Storage behind the view "+s.Name+"_history"), ""},
		{latest, createStored(latest+orderedSuffix, s, "ReplacingMergeTree(_version)",
			"Storage behind the view "+s.Name),
			" FINAL"},
	}
}

// orderStatements returns the statements that put the tables of a stream into order.
func (h stored) orderStatements(d dialect, s *catalog.Stream) (statements []string) {
	statements = h.renameStaging(d, s)
	for _, t := range orderedTables(s) {
		if h.needs(t, s) {
			statements = append(append(statements, h.copyTable(d, t, s)...), exchangeTables(d, t.name))
		}
		statements = append(statements, d.everywhere(dropTable(t.name+orderedSuffix)))
	}
	return statements
}

// renameStaging returns the statements that give the staging table its new name. If both tables exist, the old one was
// made after the new one, and nobody uses it.
func (h stored) renameStaging(d dialect, s *catalog.Stream) []string {
	drop := d.everywhere(dropTable(firstStagingTable(s)))
	if h.has(stagingTable(s)) {
		return []string{drop}
	}
	return []string{sql("RENAME TABLE IF EXISTS $from TO $to$on_cluster",
		parts{"on_cluster": d.onCluster, "from": firstStagingTable(s), "to": stagingTable(s)}), drop}
}

// copyTable returns the statements that copy a table into its order. They are repeated together.
func (h stored) copyTable(d dialect, t orderedTable, s *catalog.Stream) []string {
	columns := slices.DeleteFunc(storedColumns(s), func(c column) bool { return h.columns[t.name][c.name] == "" })
	create := strings.Replace(t.create, hashComment(s), earlierHashComment, 1) // the hashes are copied as they are
	return []string{d.everywhere(dropTable(t.name + orderedSuffix)), d.lasting(create),
		sql("INSERT INTO $table$suffix ($columns) SELECT $columns FROM $table$final",
			parts{"table": t.name, "suffix": orderedSuffix, "columns": joinNames(columns), "final": t.final})}
}

// countCopied counts the rows that were to be copied of a table, and those that were copied.
func countCopied(t orderedTable) string {
	return sql("SELECT (SELECT count() FROM $table$final), (SELECT count() FROM $table$suffix)",
		parts{"table": t.name, "final": t.final, "suffix": orderedSuffix})
}

func exchangeTables(d dialect, table string) string {
	return sql("EXCHANGE TABLES $table$suffix AND $table$on_cluster",
		parts{"table": table, "suffix": orderedSuffix, "on_cluster": d.onCluster})
}

// order puts the tables of a stream into the order that the catalog wants.
func (w *Warehouse) order(ctx context.Context, s *catalog.Stream) error {
	h := holder{w: w, stream: s, leases: map[string]*Lease{}}
	if err := h.end(ctx, h.order(ctx)); err != nil {
		return fmt.Errorf("storing %s in another order: %w", s.Name, err)
	}
	return nil
}

// holder has the leases of a stream, of all accounts.
type holder struct {
	w      *Warehouse
	stream *catalog.Stream
	leases map[string]*Lease
}

// end gives the leases back. err is the result of the work under them.
func (h holder) end(ctx context.Context, err error) error {
	for _, l := range h.leases {
		err = errors.Join(err, l.Expire(context.WithoutCancel(ctx))) // the next holder finishes what dead runs left
	}
	return err
}

func (h holder) order(ctx context.Context) error {
	if err := h.take(ctx); err != nil {
		return err
	}
	tables, err := h.w.migrator.stored(ctx)
	if err != nil {
		return err
	}
	for _, statement := range tables.renameStaging(h.w.dialect, h.stream) {
		if err := h.w.exec(ctx, statement); err != nil {
			return err
		}
	}
	// An account may have begun meanwhile. Its run can no longer stage anything.
	if err := h.takeAndFinish(ctx); err != nil {
		return err
	}
	for _, t := range orderedTables(h.stream) {
		if tables.needs(t, h.stream) {
			if err := h.store(ctx, tables, t); err != nil {
				return err
			}
		}
		if err := h.w.exec(ctx, h.w.dialect.everywhere(dropTable(t.name+orderedSuffix))); err != nil {
			return err
		}
	}
	return nil
}

// store copies a table into its order, and puts the copy in its place.
func (h holder) store(ctx context.Context, tables stored, t orderedTable) error {
	h.w.log.Info("copying a table into a new sort order: this takes time, and free disk space of the size of the table",
		"table", t.name)
	statements := tables.copyTable(h.w.dialect, t, h.stream)
	steps := make([]step, len(statements))
	for i, statement := range statements {
		steps[i] = step{statement: statement}
	}
	if err := h.w.execAll(ctx, steps); err != nil {
		return err
	}
	var want, have uint64
	if err := h.w.conn.QueryRow(ctx, countCopied(t)).Scan(&want, &have); err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("the copy of %s has %d rows instead of %d", t.name, have, want)
	}
	for _, l := range h.leases {
		if err := l.Check(ctx); err != nil {
			return err
		}
	}
	exchange := exchangeTables(h.w.dialect, t.name)
	return h.w.retry(ctx, exchange, func() error {
		now, err := h.w.migrator.stored(ctx)
		if err != nil || !now.needs(t, h.stream) { // an attempt whose answer was lost has done it
			return err
		}
		return h.w.conn.Exec(h.w.write(ctx), exchange)
	})
}

// takeAndFinish takes the leases, and finishes what runs that died had begun to publish.
func (h holder) takeAndFinish(ctx context.Context) error {
	if err := h.take(ctx); err != nil {
		return err
	}
	for account, l := range h.leases {
		r := Run{ID: l.value.RunID, Attempt: l.value.Attempt, Account: account, Stream: h.stream, StartedAt: l.Begun()}
		if _, err := (recovery{h.w.Writer(r), l, r.ID}).finishIntents(ctx); err != nil {
			return err
		}
	}
	return nil
}

// take takes the leases of the stream that it does not have yet.
func (h holder) take(ctx context.Context) error {
	accounts, err := h.w.accountsOf(ctx, h.stream)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		if h.leases[account] != nil {
			continue
		}
		l, err := h.w.await(ctx, Run{ID: uuid.New(), Attempt: uuid.New(), Account: account, Stream: h.stream})
		if err != nil {
			return fmt.Errorf("%s of account %s is being loaded: stop the other workers, or try again when they are done: %w",
				h.stream.Name, account, err)
		}
		h.leases[account] = l
	}
	return nil
}

// await takes a lease as soon as it is free.
func (w *Warehouse) await(ctx context.Context, r Run) (*Lease, error) {
	for deadline := time.Now().Add(migrationWait); ; {
		l, err := w.Acquire(ctx, r)
		_, held := errors.AsType[*HeldError](err)
		if !held && !errors.Is(err, ErrLeaseLost) || time.Now().After(deadline) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// accountsOf returns the accounts that have anything of a stream.
func (w *Warehouse) accountsOf(ctx context.Context, s *catalog.Stream) ([]string, error) {
	rows, err := w.conn.Query(ctx, selectAccountsOf(s), named("stream", s.Name))
	accounts, err := scanned(rows, err, only[string])
	if err != nil {
		return nil, fmt.Errorf("reading which accounts have %s: %w", s.Name, err)
	}
	return accounts, nil
}

// refresh brings the derived tables of all streams up to date, for those who read them through a view.
func (w *Warehouse) refresh(ctx context.Context) error {
	for _, s := range catalog.All() {
		if len(derivedTables(s)) == 0 {
			continue
		}
		accounts, err := w.accountsOf(ctx, s)
		if err != nil {
			return err
		}
		for _, account := range accounts {
			if err := w.refreshAccount(ctx, account, s); err != nil {
				return fmt.Errorf("bringing what follows from %s of account %s up to date: %w", s.Name, account, err)
			}
		}
	}
	return nil
}

// refreshAccount does this for one stream of one account. It takes no lease if nothing is out of date.
func (w *Warehouse) refreshAccount(ctx context.Context, account string, s *catalog.Stream) error {
	state, err := w.state(ctx, account, s.Name, stateDerived)
	if err != nil {
		return err
	}
	if fresh := (&Lease{states: []stateRow{{name: stateDerived, value: state.value}}}).derived(); !lacksAny(fresh,
		derivedNames(s)) {
		return nil
	}
	r := Run{ID: uuid.New(), Attempt: uuid.New(), Account: account, Stream: s}
	l, err := w.await(ctx, r)
	if err != nil {
		return err
	}
	r.StartedAt = l.Begun()
	_, err = w.Writer(r).Recover(ctx, l, r.ID)
	return giveBack(ctx, l, err)
}
