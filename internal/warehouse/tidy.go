package warehouse

import (
	"context"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
)

// backfillLife is how long the state of an interrupted backfill is kept, with what it had staged, so that the same
// backfill can continue.
const backfillLife = 30 * 24 * time.Hour

// expireBackfills forgets backfills of the lease's stream that nobody has continued for backfillLife. What they have
// published stays. The age is that of the state's version.
func (r recovery) expireBackfills(ctx context.Context) (expired bool, err error) {
	for _, s := range r.lease.states {
		saved := time.UnixMicro(int64(s.version))
		if s.value == "" || !strings.HasPrefix(s.name, BackfillPrefix) || r.lease.begun.Sub(saved) < backfillLife {
			continue
		}
		state, err := parseState[struct {
			RunID string `json:"run_id"`
		}](r.Account, r.Stream.Name, s.name, s.value)
		if err != nil {
			return expired, err
		}
		r.pool.log.Warn("dropping an interrupted backfill that nobody continued: what it read and did not publish is removed",
			"account", r.Account, "stream", r.Stream.Name,
			"backfill", strings.TrimPrefix(s.name, BackfillPrefix), "saved_at", saved.UTC(), "kept_for", backfillLife)
		if err := r.save(ctx, stateRow{s.name, "", 0}); err != nil {
			return expired, err
		}
		expired = true
		if id, err := uuid.Parse(state.RunID); err == nil { // without one, nothing is staged
			if err := r.pool.writer(Run{ID: id, Account: r.Account, Stream: r.Stream}).Discard(ctx); err != nil {
				return expired, err
			}
		}
	}
	return expired, nil
}

// keptCleared is how many cleared states of a stream are kept. Each run has an intent of its own, and each backfilled
// range a state, so without a limit there would be as many as there are runs.
const keptCleared = 100

// dropTimeout is how long a run waits for cleared states to be dropped: a server whose merges are stopped
// never drops them.
const dropTimeout = 15 * time.Second

// dropCleared drops the cleared states of runs and backfills, except for the newest. It does so in two steps: first the
// rows from before a state was cleared, then the row that clears it. So no cleared state comes back while a step is
// under way. If it fails, the run does not.
func (r recovery) dropCleared(ctx context.Context) {
	var cleared []string // the oldest first
	for _, s := range r.lease.states {
		if s.value == "" && strings.Contains(s.name, ":") {
			cleared = append(cleared, s.name)
		}
	}
	if len(cleared) < 2*keptCleared {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dropTimeout)
	defer cancel()
	names := cleared[:len(cleared)-keptCleared]
	for _, last := range []bool{false, true} {
		statement := deleteCleared(r.Account, r.Stream.Name, names, last)
		if err := r.pool.execAll(ctx, []step{{statement: statement,
			settings: clickhouse.Settings{"mutations_sync": 1}}}); err != nil {
			r.pool.log.Warn("could not remove the cleared states of old runs", "account", r.Account, "stream",
				r.Stream.Name, "error", err)
			return
		}
	}
}
