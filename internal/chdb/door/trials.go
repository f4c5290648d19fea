package door

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/chdb/exception"
)

// trial is a spare turn. A read runs in it from its beginning to its end, with little memory, before any of its
// result is sent. If the read needs more time or memory, it is broken off. No client sees this: the request
// continues to wait for a turn.
type trial struct {
	begin  time.Time
	source source
	broken time.Time               // when it was broken off for another request, if it was
	tooBig context.CancelCauseFunc // breaks the trial off
	ctx    context.Context         //nolint:containedctx // ends when the trial is broken off; not the request's
	failed bool                    // it was broken off; only the holder of the turn uses this
	lost   bool                    // another spare turn has taken the place of this one
}

const (
	// keptLong is how long all turns must have been held before spare ones are given.
	keptLong = 300 * time.Millisecond
	// longestTrial is how long a trial may take, and shortestTrial how long it may take while another request waits for
	// one.
	longestTrial, shortestTrial = time.Second, 250 * time.Millisecond
	// lostAfter is how long the end of a trial may take after it was broken off.
	lostAfter = 150 * time.Millisecond
	// briefResult is the most bytes that the result of a trial may have. The whole result is kept in memory and sent
	// outside of any turn, so it must be small: about what the system buffers for a client that does not read.
	briefResult = 64 << 10
)

// errNotBrief is the reason why a trial is broken off.
var errNotBrief = errors.New("it takes longer than a moment")

// nextTrials gives spare turns if all other turns have been held for long. They go to the requests that are due first,
// of those for which a spare turn would do. The caller holds t.mu.
func (t *turns) nextTrials() {
	for _, since := range t.holders {
		if time.Since(since) < keptLong {
			return
		}
	}
	t.queue = slices.DeleteFunc(t.queue, func(w *waiter) bool {
		if t.spare == 0 || !w.brief {
			return false
		}
		t.spare--
		w.trial = &trial{begin: time.Now(), source: w.source}
		w.trial.ctx, w.trial.tooBig = context.WithCancelCause(context.Background())
		t.trials = append(t.trials, w.trial)
		close(w.turn)
		return true
	})
}

// endTrial takes a spare turn back. The caller holds t.mu.
func (t *turns) endTrial(tr *trial) {
	tr.tooBig(nil)
	t.trials = slices.DeleteFunc(t.trials, func(other *trial) bool { return other == tr })
	if tr.lost {
		t.lost--
		return
	}
	t.spare++
}

// cutTrial breaks off the oldest trial if another request waits for one and no spare turn is
// left. The caller holds t.mu.
func (t *turns) cutTrial() {
	if t.spare > 0 || !slices.ContainsFunc(t.queue, func(w *waiter) bool { return w.brief }) {
		return
	}
	for _, tr := range t.trials {
		if tr.ctx.Err() == nil && time.Since(tr.begin) > shortestTrial {
			tr.tooBig(errNotBrief)
			tr.broken = time.Now()
			return
		}
	}
}

// replaceLost gives a spare turn in place of each that does not come back after it was broken off: the engine does not
// end what runs there. Requests like it are not tried any more. The caller holds t.mu.
func (t *turns) replaceLost() {
	for _, tr := range t.trials {
		if tr.lost || t.lost == t.mostLost {
			continue
		}
		if time.Since(tr.begin) > longestTrial+lostAfter || !tr.broken.IsZero() && time.Since(tr.broken) > lostAfter {
			tr.lost = true
			t.lost++
			t.spare++
			t.costs.record(tr.source, longestTrial)
		}
	}
}

// try runs a read in a spare turn. It fails with errNotBrief if the read needs a turn of its own.
func (t *trial) try(ctx context.Context, e *engine.Engine, r request) (*engine.Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longestTrial, errNotBrief)
	defer cancel()
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	defer context.AfterFunc(t.ctx, func() { broken(context.Cause(t.ctx)) })()
	a, err := t.run(ctx, e, &r)
	if ex, ok := errors.AsType[*clickhouse.Exception](err); ok &&
		(ex.Code == exception.MemoryLimit || ex.Code == exception.TooManyRows) {
		err = errNotBrief
	}
	if err != nil && errors.Is(context.Cause(ctx), errNotBrief) {
		err = errNotBrief
	}
	t.failed = errors.Is(err, errNotBrief)
	return a, err
}

// run does the read and keeps its whole result in memory.
func (t *trial) run(ctx context.Context, e *engine.Engine, r *request) (*engine.Answer, error) {
	r.OnlyRead = true
	r.Interrupt = nil // the client must still get an answer
	r.MaxBuffered = min(r.MaxBuffered, briefResult)
	if most := e.SpareMemory(); most > 0 {
		r.Least("max_memory_usage", most)
	}
	a, err := serve(ctx, e, r)
	if err != nil || a.Body == nil {
		return a, err
	}
	defer a.Body.Close()
	var kept bytes.Buffer
	if _, err := io.Copy(&kept, io.LimitReader(a.Body, briefResult+1)); err != nil {
		return nil, err
	}
	if kept.Len() > briefResult {
		return nil, errNotBrief
	}
	return &engine.Answer{Body: io.NopCloser(&kept), Format: a.Format}, nil
}
