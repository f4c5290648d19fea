package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/chdb"
)

// Hold holds the leases of all streams of all accounts, so that nobody else runs one. A copy that is made meanwhile
// shows one moment: the state of a stream never claims more than its tables have (warehouse-19).
type Hold struct {
	w      *Warehouse
	leases map[StreamID]*Lease
}

// Hold waits until the runs under way have ended, and takes the lease of each stream that was ever run and of those in
// named. It also finishes what runs that died had begun to publish. It calls waiting whenever it has to wait for a
// stream. When waitCtx ends, Hold stops waiting and returns its cause as the error.
func (w *Warehouse) Hold(ctx, waitCtx context.Context, named []StreamID, waiting func(StreamID)) (*Hold, error) {
	h := &Hold{w: w, leases: map[StreamID]*Lease{}}
	for {
		known, err := w.KnownStreams(ctx)
		if err != nil {
			return nil, errors.Join(err, h.Release(ctx))
		}
		known = slices.DeleteFunc(append(known, named...), func(id StreamID) bool {
			_, err := catalog.Find(id.Stream) // a stream that this version does not know cannot run here
			return h.leases[id] != nil || err != nil
		})
		if len(known) == 0 {
			return h, nil
		}
		for _, id := range known { // a stream may have been run for the first time meanwhile: look again
			if err := h.take(ctx, waitCtx, id, waiting); err != nil {
				return nil, errors.Join(err, h.Release(ctx))
			}
		}
	}
}

// KnownStreams returns the streams that were ever run.
func (w *Warehouse) KnownStreams(ctx context.Context) ([]StreamID, error) {
	rows, err := w.conn.Query(ctx, selectKnownStreams)
	all, err := scanned(rows, err, func(id *StreamID) []any { return []any{&id.Account, &id.Stream} })
	if err != nil {
		return nil, fmt.Errorf("listing the streams that were run: %w", err)
	}
	return all, nil
}

// take takes the lease of a stream as soon as nobody has it, unless this Hold has it already.
func (h *Hold) take(ctx, waitCtx context.Context, id StreamID, waiting func(StreamID)) error {
	if h.leases[id] != nil {
		return nil
	}
	s, err := catalog.Find(id.Stream)
	if err != nil {
		return err
	}
	r := Run{ID: uuid.New(), Attempt: uuid.New(), Account: id.Account, Stream: s}
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		l, err := h.w.Acquire(ctx, r)
		if err == nil {
			h.leases[id] = l
			r.StartedAt = l.Begun()
			_, err = h.w.Writer(r).Recover(ctx, l, r.ID)
			return err
		}
		if _, held := errors.AsType[*HeldError](err); !held && !errors.Is(err, ErrLeaseLost) {
			return err
		}
		waiting(id)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-waitCtx.Done():
			return fmt.Errorf("%s of account %s: %w", id.Stream, id.Account, context.Cause(waitCtx))
		case <-time.After(pause):
		}
	}
}

// Check returns ErrLeaseLost if this process was paused for so long that another one has taken over a stream.
func (h *Hold) Check(ctx context.Context) error {
	for _, l := range h.leases {
		if err := l.Check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Release lets the streams be run again.
func (h *Hold) Release(ctx context.Context) error {
	var errs []error
	for _, l := range h.leases {
		errs = append(errs, l.Release(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}

// State is the state of a warehouse's schema.
type State struct{ Schema, Generation uint32 }

// SchemaState returns the number of the newest file in schema/ that was applied, and the generation of the
// tables and views.
func (w *Warehouse) SchemaState(ctx context.Context) (s State, err error) {
	if err := w.conn.QueryRow(ctx, selectSchemaState).Scan(&s.Schema, &s.Generation); err != nil {
		return s, fmt.Errorf("asking the warehouse for its schema: %w", err)
	}
	return s, nil
}

// KnownState returns the newest schema that this program knows.
func KnownState() (s State, err error) {
	files, err := numberedMigrations(dialect{})
	if err != nil {
		return s, err
	}
	streams, err := (migrator{}).streams(dialect{})
	return State{Schema: files[len(files)-1].version, Generation: streams.generation}, err
}

// BackUp makes the embedded engine write the database into a new folder of its backups. Meanwhile no stream is run and
// the schema is not changed. See Hold for waitCtx, named and waiting.
func (w *Warehouse) BackUp(ctx, waitCtx context.Context, name string, named []StreamID, waiting func(StreamID)) error {
	return w.inTurn(ctx, func(ctx context.Context) (err error) {
		hold, err := w.Hold(ctx, waitCtx, named, waiting)
		if err != nil {
			return fmt.Errorf("waiting for runs to end: %w", err)
		}
		defer func() { err = errors.Join(err, hold.Release(ctx)) }()
		if err := w.admin.Exec(ctx, backUpTo(w.database, name)); err != nil {
			return fmt.Errorf("writing the backup: %w", err)
		}
		return hold.Check(ctx)
	})
}

// Restore makes the embedded engine create the database from a folder of its backups. No database of that
// name may exist.
func (w *Warehouse) Restore(ctx context.Context, name string) error {
	if err := w.admin.Exec(ctx, restoreFrom(w.database, name)); err != nil {
		return fmt.Errorf("reading the backup: %w", err)
	}
	if err := w.CheckSchema(ctx); err != nil && !errors.Is(err, ErrSchemaOld) { // the next run upgrades it
		return err
	}
	return nil
}

// selectKnownStreams lists the streams that were ever run.
const selectKnownStreams = "SELECT DISTINCT account, stream FROM sync_state_log ORDER BY account, stream"

// selectSchemaState selects the newest file that was applied, and the newest generation.
const selectSchemaState = "SELECT max(version), max(generation) FROM schema_migrations"

// backUpTo writes a database into a new folder of the backups.
func backUpTo(database, name string) string {
	return sql("BACKUP DATABASE `$database` TO Disk($disk, $name)", backupParts(database, name))
}

// restoreFrom makes a database of a folder of the backups.
func restoreFrom(database, name string) string {
	return sql("RESTORE DATABASE `$database` FROM Disk($disk, $name)", backupParts(database, name))
}

func backupParts(database, name string) parts {
	return parts{"database": database, "disk": quote(chdb.BackupDisk), "name": quote(name)}
}
