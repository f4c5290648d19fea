package syncer

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/warehouse"
)

// initialBackfill names the state of the backfill that is a stream's first sync.
const initialBackfill = warehouse.BackfillPrefix + "initial"

// stateName returns the name of the state of a backfill. A backfill continues an earlier one of
// the same range and window.
func stateName(r Range) string {
	return fmt.Sprintf("%s%s/%s/%s", warehouse.BackfillPrefix, r.From.Format(time.RFC3339Nano),
		r.To.Format(time.RFC3339Nano), r.Window)
}

// progressState is the state of a backfill that has not ended, as sync_state stores it.
type progressState struct {
	BegunAt     time.Time `json:"begun_at"`         // by the clock of the warehouse
	ServerStart time.Time `json:"server_start"`     // the server's time when it began; the first sync's only
	Origin      string    `json:"origin,omitempty"` // identity of the service that is read
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	Window      string    `json:"window"`
	Newest      int64     `json:"newest"` // newest updatedAt in windows done or staged, in milliseconds since 1970
	Done        spans     `json:"done"`   // numbers of windows, from 0, that readers see
	// The load that is staged but not published. The warehouse looks for the name run_id in sync_state, so it does not
	// take these rows for those of a dead run.
	RunID  string           `json:"run_id,omitempty"`
	Staged spans            `json:"staged,omitempty"`
	Totals warehouse.Totals `json:"totals"`
}

// has reports whether a window need not be read.
func (s *progressState) has(window int) bool { return s.Done.has(window) || s.Staged.has(window) }

// count returns the number of windows that need not be read.
func (s *progressState) count() int { return s.Done.count() + s.Staged.count() }

// isOf reports whether the backfill was begun on the present service: windows that another service returned are not
// done here.
func (s *progressState) isOf(origin string) bool { return s.Origin == "" || s.Origin == origin }

// unstaged returns the state without its staged load.
func (s progressState) unstaged() progressState {
	s.RunID, s.Staged, s.Totals = "", nil, warehouse.Totals{}
	return s
}

// store saves the state by itself, without a publication.
func (b *backfill) store(ctx context.Context, s progressState) error {
	if err := b.session.lease.Check(ctx); err != nil {
		return err
	}
	text, err := s.text()
	if err != nil {
		return err
	}
	if err := b.session.run.writer().SaveBackfill(ctx, b.name, text); err != nil {
		return err
	}
	b.state = s
	return nil
}

func (s *progressState) text() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("writing the state of a backfill: %w", err)
	}
	return string(text), nil
}

// restore returns the bundle that an interrupted backfill had staged, nil if there is none. Rows that were staged
// after the state was last saved belong to windows that will be read again: they do no harm. If rows are missing,
// the windows are read again.
func (b *backfill) restore(ctx context.Context) (*bundle, error) {
	if b.state.RunID == "" {
		return nil, nil
	}
	id, err := uuid.Parse(b.state.RunID)
	if err != nil {
		return nil, fmt.Errorf("reading the state %s: %w", b.name, err)
	}
	u, err := b.newBundle()
	if err != nil {
		return nil, err
	}
	r := u.run
	r.ID, r.record.RunID = id, id
	rows, err := r.writer().CountStaged(ctx)
	if err != nil {
		return nil, err
	}
	if rows < b.state.Totals.Staged {
		b.session.log.Warn("the staged rows of an interrupted backfill are gone: reading them again", "run_id", id)
		b.state = b.state.unstaged()
		return nil, r.writer().Discard(ctx)
	}
	u.windows, r.record.Totals, u.seen.newest = b.state.Staged.numbers(), b.state.Totals, b.state.Newest
	r.record.Totals.Staged = rows
	return u, u.begin(ctx)
}
