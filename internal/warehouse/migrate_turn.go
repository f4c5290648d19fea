package warehouse

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// ErrTurnLost says that this process could not report for a while that it is alive, so that another one may be changing
// the schema by now. Migrating again continues where it stopped.
var ErrTurnLost = errors.New("the upgrade of the schema took too long, and another process may have continued it: run it again")

// createTurns makes the table in which processes say that they change the schema.
var createTurns = sqlFile("create_turns", nil)

// schemaTurns is the name of that table.
const schemaTurns = "schema_turns_log"

// selectTurns selects the other processes that have the turn or want it, from a table of that form.
func selectTurns(table string) string {
	return sql(`SELECT toString(id), owner, version, greatest(0, toUnixTimestamp64Micro(now64(6)) - toUnixTimestamp64Micro(said_at))
FROM $table FINAL WHERE over = 0 AND id != {id:UUID}`, parts{"table": table})
}

var turnColumns = columns("id UUID, owner String, over UInt8, version UInt64")

// turn is the right to change the schema. If two processes ask for it at once, one of them gets it or none. Each
// first says that it asks, and then looks for others. So at least one of them sees the other, and whoever sees
// another one steps back.
//
// A lease of a stream would not do, since two processes may believe for a moment that they have it. DDL of two
// processes gets in each other's way, and rows would be copied twice. A dead process is recognised in the same way as
// with a lease (sightings, isGone).
type turn struct {
	w       *Warehouse
	table   string // in which processes say so
	id      uuid.UUID
	version uint64
}

// Migrate creates or upgrades the schema. It only adds: a column of another type than this binary expects is refused.
// It may run twice, and in several processes at once, which take turns (warehouse-17). It returns the statements that
// it ran.
func (w *Warehouse) Migrate(ctx context.Context) ([]string, error) {
	statements, err := w.migrateAll(ctx)
	if err != nil {
		return statements, err
	}
	public, err := viewsDatabase{w}.migrate(ctx)
	return append(statements, public...), err
}

// migrateAll is Migrate, except for the database of views.
func (w *Warehouse) migrateAll(ctx context.Context) ([]string, error) {
	if w.shards != nil {
		return w.migrateShards(ctx)
	}
	plan, err := w.migrator.pending(ctx)
	if err != nil || plan.empty() {
		return nil, err
	}
	var statements []string
	err = w.inTurn(ctx, func(ctx context.Context) (err error) {
		statements, err = w.migrate(ctx) // another process may have done it meanwhile
		return err
	})
	return statements, mayNot(err)
}

// inTurn calls do while no other process changes the schema. It cancels the context of do when another one may do
// so after all.
func (w *Warehouse) inTurn(ctx context.Context, do func(context.Context) error) error {
	if err := w.prepareTurns(ctx); err != nil {
		return err
	}
	t := &turn{w: w, table: schemaTurns, id: uuid.New()}
	if err := t.wait(ctx); err != nil {
		return err
	}
	held, lose := context.WithCancelCause(ctx)
	beat, stop := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() { t.keep(beat, lose) })
	err := do(held)
	stop()
	beating.Wait()
	if errors.Is(context.Cause(held), ErrTurnLost) {
		err = errors.Join(ErrTurnLost, err)
	}
	lose(nil)
	t.release(ctx)
	return err
}

// prepareTurns makes what taking turns needs.
func (w *Warehouse) prepareTurns(ctx context.Context) error {
	for _, shard := range append([]*Warehouse{w}, w.migrator.others...) {
		if err := shard.makeDatabase(ctx); err != nil {
			return err
		}
	}
	if err := w.exec(ctx, w.dialect.lasting(createTurns)); err != nil {
		return fmt.Errorf("making the table of who upgrades the schema: %w", err)
	}
	return nil
}

// makeDatabase creates the database if it does not exist.
func (w *Warehouse) makeDatabase(ctx context.Context) error {
	create := w.migrator.createDatabase()
	if err := w.retry(ctx, create, func() error { return w.admin.Exec(ctx, create) }); err != nil {
		return fmt.Errorf("creating the database %s: %w", w.database, err)
	}
	return nil
}

// mayNot adds advice to the error if the user of the warehouse may not change its schema.
func mayNot(err error) error {
	if IsDenied(err) {
		return fmt.Errorf("%w, as a user who may change it: %w", ErrSchemaOld, err)
	}
	return err
}

// wait returns when it is this process's turn.
func (t *turn) wait(ctx context.Context) error {
	for attempt := 0; ; attempt++ {
		other, err := t.ask(ctx)
		if err != nil || other == "" {
			return err
		}
		if attempt == 10 {
			t.w.log.Info("waiting for another process that upgrades the schema", "process", other)
		}
		// At random, so that two do not step back from each other again and again.
		timer := time.NewTimer(time.Duration(1+rand.IntN(20)) * time.Duration(min(1+attempt, 50)) * time.Millisecond)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, while %s upgrades the schema", context.Cause(ctx), other)
		case <-timer.C:
		}
	}
}

// ask takes the turn, or returns which process has it or wants it.
func (t *turn) ask(ctx context.Context) (other string, err error) {
	if other, err = t.other(ctx); err != nil || other != "" {
		return other, err
	}
	if err = t.store(ctx, false); err == nil {
		other, err = t.other(ctx)
	}
	if err != nil || other != "" {
		t.release(ctx)
	}
	return other, err
}

// release gives the turn back. If that cannot be stored, the other processes notice it after some time.
func (t *turn) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := t.store(ctx, true); err != nil {
		t.w.log.Warn("could not release a turn: other processes wait for up to a minute",
			"table", t.table, "error", err)
	}
}

// store stores that the process changes the schema or wants to, or that it no longer does.
func (t *turn) store(ctx context.Context, over bool) error {
	t.version++
	flag := uint8(0)
	if over {
		flag = 1
	}
	err := t.w.insert(ctx, t.table, turnColumns, func(b driver.Batch) error {
		return b.Append(t.id, t.w.owner.String(), flag, t.version)
	})
	if err != nil {
		return fmt.Errorf("taking turns, by %s: %w", t.table, err)
	}
	return nil
}

// other returns the name of another process that changes the schema or wants to, or "".
func (t *turn) other(ctx context.Context) (string, error) {
	type row struct {
		id, owner string
		version   uint64
		age       int64
	}
	rows, err := t.w.conn.Query(ctx, selectTurns(t.table), named("id", t.id.String()))
	all, err := scanned(rows, err, func(r *row) []any { return []any{&r.id, &r.owner, &r.version, &r.age} })
	if err != nil {
		return "", fmt.Errorf("looking for other processes, by %s: %w", t.table, err)
	}
	for _, r := range all {
		byClock := leaseTTL - time.Duration(r.age)*time.Microsecond
		if !t.w.isGone(r.owner) && t.w.sightings.left(StreamID{Stream: t.table + " " + r.id}, r.version, byClock) > 0 {
			return r.owner, nil
		}
	}
	return "", nil
}

// keep stores that this process is alive, four times within the time after which a process counts as dead. If it
// cannot, it calls lost before that time is over.
func (t *turn) keep(ctx context.Context, lost context.CancelCauseFunc) {
	tick := time.NewTicker(leaseTTL / 4)
	defer tick.Stop()
	for said := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		attempt, cancel := context.WithDeadline(ctx, said.Add(leaseTTL*3/4))
		begin := time.Now()
		err := t.store(attempt, false)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			said = begin
		case time.Since(said) >= leaseTTL*3/4:
			lost(ErrTurnLost)
			return
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

// migrate applies what is pending, and returns the statements that it ran. The caller has the turn, and the database
// exists.
func (w *Warehouse) migrate(ctx context.Context) ([]string, error) {
	m := w.migrator
	plan, err := m.pending(ctx)
	if err != nil || plan.empty() {
		return nil, err
	}
	// The files are recorded first: from then on no older binary starts to work.
	if err := m.run(ctx, plan.files...); err != nil {
		return nil, err
	}
	if plan.streams != nil {
		if err := m.apply(ctx, plan.tables); err != nil {
			return nil, err
		}
		for _, shard := range append([]*Warehouse{w}, w.migrator.others...) {
			for _, s := range plan.rehashed {
				if err := shard.rehash(ctx, s); err != nil {
					return nil, err
				}
			}
			if err := shard.refresh(ctx); err != nil {
				return nil, err
			}
		}
		if err := m.run(ctx, *plan.streams); err != nil {
			return nil, err
		}
	}
	return plan.statements, nil
}
