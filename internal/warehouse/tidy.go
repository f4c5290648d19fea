package warehouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
)

// backfillLife is how long the state of a backfill that was interrupted is kept, with what it had staged, for the same
// backfill to go on with.
const backfillLife = 30 * 24 * time.Hour

// expireBackfills forgets backfills of the lease's stream that nobody has gone on with for backfillLife. What they have
// published stays. The age is that of the state's version.
func (w *Warehouse) expireBackfills(ctx context.Context, l *Lease, r Run) (expired bool, err error) {
	for _, s := range l.states {
		saved := time.UnixMicro(int64(s.version))
		if s.value == "" || !strings.HasPrefix(s.name, BackfillPrefix) || l.begun.Sub(saved) < backfillLife {
			continue
		}
		state, err := parseState[struct {
			RunID string `json:"run_id"`
		}](l.account, l.stream, s.name, s.value)
		if err != nil {
			return expired, err
		}
		w.log.Warn("forgetting an interrupted backfill that was not repeated: what it had read and not published is dropped",
			"account", l.account, "stream", l.stream, "backfill", strings.TrimPrefix(s.name, BackfillPrefix), "saved_at", saved.UTC(), "kept_for", backfillLife)
		if err := w.saveStates(ctx, l.account, l.stream, stateRow{s.name, "", 0}); err != nil {
			return expired, err
		}
		expired = true
		if id, err := uuid.Parse(state.RunID); err == nil { // without one, nothing is staged
			if err := w.Discard(ctx, Run{ID: id, Account: l.account, Stream: r.Stream}); err != nil {
				return expired, err
			}
		}
	}
	return expired, nil
}

// keptCleared is how many states that were cleared stay of a stream. Each run has an intent of its own, and each
// backfilled range a state, so without a bound they would be as many as the runs.
const keptCleared = 100

// tidyTime bounds how long a run waits for cleared states to be dropped: a server whose merges are stopped does not.
const tidyTime = 15 * time.Second

// tidyStates drops cleared states of runs and backfills, but for the newest. It is done in two steps, so that a state
// which was cleared does not come back for as long as one of them takes: first what was stored before it was cleared,
// then that it was. That it fails is no reason for a run to.
func (w *Warehouse) tidyStates(ctx context.Context, l *Lease) {
	var cleared []string // the oldest first
	for _, s := range l.states {
		if s.value == "" && strings.Contains(s.name, ":") {
			cleared = append(cleared, s.name)
		}
	}
	if len(cleared) < 2*keptCleared {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	names := literals(cleared[:len(cleared)-keptCleared])
	for _, which := range []string{"value != ''", "value = ''"} {
		statement := fmt.Sprintf("ALTER TABLE sync_state_log DELETE WHERE account = %s AND stream = %s AND name IN (%s) AND %s", quote(l.account), quote(l.stream), names, which)
		if err := w.execAll(ctx, []step{{statement, clickhouse.Settings{"mutations_sync": 2}}}); err != nil {
			w.log.Warn("could not drop the cleared states of runs that ended long ago", "account", l.account, "stream", l.stream, "error", err)
			return
		}
	}
}
