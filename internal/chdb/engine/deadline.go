package engine

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/exception"
)

// The settings that limit the time of a query. The mode "break" returns the rows that are ready by then.
const (
	maxExecutionTime    = "max_execution_time"
	timeoutOverflowMode = "timeout_overflow_mode"
	overflowBreaks      = "break"
)

// timeLimit returns how long a query may take before the engine stops it; 0 means no limit. If several places set it,
// the one closest to the query counts.
func timeLimit(l contract.Limits, q *Query, st *Statement) time.Duration {
	if cmp.Or(st.timeOverflow, q.Settings[timeoutOverflowMode]) == overflowBreaks {
		return 0
	}
	for _, text := range []string{st.timeLimit, q.Settings[maxExecutionTime]} {
		if seconds, err := strconv.ParseFloat(text, 64); err == nil {
			return time.Duration(seconds * float64(time.Second))
		}
	}
	return l.Time.Truncate(time.Second)
}

// limitsOf returns the limits that hold for a query.
func (in *instance) limitsOf(q *Query) contract.Limits {
	if in.limitReaders && !q.ReadOnly {
		return contract.Limits{}
	}
	return in.limits
}

// deadline is when the time of a read is up.
type deadline struct {
	begun time.Time
	limit time.Duration // 0 for none
}

// passed returns an error once the time is up. The engine checks the time too. But sometimes, when the time is up, it
// treats a read as complete and returns no error. So a result that ends after its time may lack rows, and never
// counts as complete (chdb-4).
func (d deadline) passed() error {
	if d.limit <= 0 || time.Since(d.begun) < d.limit {
		return nil
	}
	return exception.New(exception.TimeoutExceeded, "TIMEOUT_EXCEEDED", fmt.Sprintf(
		"the result was not read to its end within max_execution_time, %s: rows may be missing", d.limit))
}
