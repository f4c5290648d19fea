package syncer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// states has the contents that a view may show: nothing, and what was there right after each publication. A state
// is a digest of all rows.
type states struct {
	mu    sync.Mutex
	legal map[string]map[string]bool
}

func newStates() *states {
	s := &states{legal: map[string]map[string]bool{}}
	for _, stream := range kinds {
		s.legal[stream] = map[string]bool{"0/0": true}
	}
	return s
}

// reader queries the views without pause, and whenever a worker has done a step that matters.
type reader struct {
	w       *warehouse.Warehouse
	account string
	states  *states
	nudge   chan struct{}
	done    chan struct{}
	ended   sync.WaitGroup

	seen   map[string]map[string]bool
	broken []string
}

func watch(t *testing.T, w *warehouse.Warehouse, account string, s *states) *reader {
	t.Helper()
	r := &reader{w: w, account: account, states: s, nudge: make(chan struct{}, 1), done: make(chan struct{}),
		seen: map[string]map[string]bool{}}
	r.ended.Go(func() {
		var mark int64
		for i := 0; ; i++ {
			select {
			case <-r.done:
				return
			case <-r.nudge:
			}
			r.read(kinds[i%len(kinds)])
			if i%len(kinds) != 0 {
				continue
			}
			var now int64 // nanoseconds; 0: there is none
			err := w.Conn().QueryRow(context.Background(),
				"SELECT max(toUnixTimestamp64Nano(parseDateTime64BestEffort(value, 9, 'UTC'))) FROM sync_state "+
					"WHERE account = {account:String} AND stream = 'transactions' AND name = 'watermark'",
				named("account", account)).Scan(&now)
			if err != nil || now < mark {
				r.broken = append(r.broken, fmt.Sprintf("the watermark went from %d to %d: %v", mark, now, err))
			}
			mark = now
		}
	})
	return r
}

// digest returns the number of rows of a view and of their keys, and a text that identifies its content.
func (r *reader) digest(stream string) (rows, keys uint64, text string, err error) {
	s, err := catalog.Find(stream)
	if err != nil {
		return 0, 0, "", err
	}
	var sum uint64
	err = r.w.Conn().QueryRow(context.Background(),
		"SELECT count(), uniqExact("+s.KeyColumn()+"), sum(sipHash64(toString(tuple(* EXCEPT synced_at)))) FROM "+stream+
			" WHERE account = {account:String}", named("account", r.account)).Scan(&rows, &keys, &sum)
	return rows, keys, fmt.Sprintf("%d/%d", rows, sum), err
}

func (r *reader) read(stream string) {
	rows, keys, text, err := r.digest(stream)
	if err != nil || rows != keys {
		r.broken = append(r.broken, fmt.Sprintf("%s has %d rows of %d keys: %v", stream, rows, keys, err))
	}
	if r.seen[stream] == nil {
		r.seen[stream] = map[string]bool{}
	}
	r.seen[stream][text] = true
}

// watch is part of the workers' hooks. It wakes the reader before and after steps that matter. What a view shows right
// after a publication is a legal state.
func (r *reader) watch(_ context.Context, step string, after bool) error {
	if strings.HasPrefix(step, "ALTER TABLE") || strings.HasPrefix(step, "INSERT sync_state_log intent") {
		select {
		case r.nudge <- struct{}{}:
		default:
		}
	}
	head, attached := strings.CutSuffix(step, "_latest ATTACH")
	stream := strings.TrimPrefix(head, "ALTER TABLE ")
	if !attached || !after || r.states.legal[stream] == nil {
		return nil
	}
	return r.register(stream)
}

func (r *reader) register(stream string) error {
	_, _, text, err := r.digest(stream)
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	r.states.legal[stream][text] = true
	return err
}

// stop ends the reader, and compares what it has seen with the legal states.
func (r *reader) stop(t *testing.T) {
	t.Helper()
	close(r.done)
	r.ended.Wait()
	for _, text := range r.broken {
		t.Error(text)
	}
	for stream, seen := range r.seen {
		for text := range seen {
			if !r.states.legal[stream][text] {
				t.Errorf("a reader of %s saw %s, which no run has published", stream, text)
			}
		}
	}
}
