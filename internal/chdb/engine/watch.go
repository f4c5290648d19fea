package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"dealhouse/internal/chdb/contract"
)

// Some work of the engine looks at no clock and hears no KILL: a distance, a regular expression, a sort of one large
// value. Nothing in this process can end it (chdb-12).
const (
	// readGrace and writeGrace are how long a statement may go on after it had to end. A merge that nobody waits for any
	// more takes its time, a read does not.
	readGrace, writeGrace = 10 * time.Second, time.Minute
	// stopGrace is how long stop waits for the statements that it has killed.
	stopGrace = 30 * time.Second
	looking   = 250 * time.Millisecond // how often the statements are looked at
)

// errNotEnded is the error of an engine that was left as it is.
var errNotEnded = errors.New("the engine has a statement that it does not end: only the end of this process ends it")

// calls notes that a call of the library begins. The returned function notes its end. Between calls a statement waits
// for its client, which is no fault of the engine.
func (l *lease) calls() (returned func()) {
	l.calling.Store(time.Now().UnixNano())
	return func() { l.calling.Store(0) }
}

// overdue returns how long the call that is under way has gone on after it had to end, or 0 if it does not have to.
func (l *lease) overdue(now time.Time) time.Duration {
	calling, ended, due := l.calling.Load(), l.ended.Load(), l.due.Load()
	if calling == 0 {
		return 0
	}
	from := int64(0)
	if ended > 0 {
		from = max(ended, calling)
	}
	if due > 0 && due < now.UnixNano() && (from == 0 || due < from) {
		from = max(due, calling)
	}
	if from == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, from))
}

// watch tells once of a statement that does not end, and returns then, or when the engine is closed.
func (in *instance) watch(stuck func(contract.Stuck)) {
	tick := time.NewTicker(looking)
	defer tick.Stop()
	for {
		select {
		case <-in.stopped:
			return
		case now := <-tick.C:
			var found *contract.Stuck
			in.leases.Range(func(key, _ any) bool {
				l := key.(*lease)
				if over := l.overdue(now); over > time.Duration(l.grace.Load()) {
					found = &contract.Stuck{Statement: beginning(l.text), Over: over}
				}
				return found == nil
			})
			if found != nil {
				stuck(*found)
				return
			}
		}
	}
}

// beginning is what a log may show of a statement.
func beginning(sql string) string {
	const most = 120
	sql = strings.Join(strings.Fields(sql[:min(len(sql), 4*most)]), " ")
	if len(sql) > most {
		sql = strings.ToValidUTF8(sql[:most], "") + "..."
	}
	return sql
}

// stop kills the running queries, waits until their connections are back, and closes all connections. The control
// connection is the last, because it does the killing. A statement that does not end is left behind, with all that it
// uses: the caller has to end the process.
func (in *instance) stop() error {
	in.cancel(contract.ErrClosed)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		in.writers.Close()
		in.readers.Close()
		in.guard.Close()
		in.control.Close()
		_ = in.lock.Close() // nothing was written
	}()
	patience, enough := context.WithTimeout(context.Background(), stopGrace)
	defer enough()
	defer close(in.stopped)
	select {
	case <-closed:
		return nil
	case <-patience.Done():
		return errNotEnded
	}
}
