package engine_test

import (
	"dealhouse/internal/enginetest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// TestSandboxHoldsAgainstCorpus runs the attacks without a guard, inside the sandbox. Some wait long for another party
// that does not exist, so all run only if the environment asks for that.
func TestSandboxHoldsAgainstCorpus(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	c := newCanary(t)
	inside := startUnguarded(t, true)
	inside.ask(t, question{SQL: "CREATE TABLE guard_w (a UInt64) ENGINE = MergeTree ORDER BY a"})
	inside.ask(t, question{SQL: "INSERT INTO guard_w SELECT 1"})
	files, n := attackFiles[:1], 0
	if os.Getenv("CHDB_ALL_ATTACKS") != "" {
		files = attackFiles
	}
	for _, a := range readAttacks(t, files...) {
		v := url.Values{"max_execution_time": {"2"}}
		for key, values := range once {
			v[key] = values
		}
		for key, values := range a.v {
			v.Set(key, c.fill(values[0]))
		}
		for _, sql := range a.steps {
			if strings.HasPrefix(sql, "SYSTEM ") || strings.HasPrefix(sql, "KILL ") {
				continue // this would end the engine, or wait for that
			}
			n++
			q := question{SQL: c.fill(sql), Values: v, Within: 10 * time.Second} // some wait for somebody who never comes
			if got := inside.ask(t, q); c.leaks(got.Body) != "" {
				t.Errorf("%s: %s leaks: %.300s", a.name, sql, got.Body)
			}
		}
	}
	if c.accepted.Load() != 0 {
		t.Errorf("the listener was reached %d times", c.accepted.Load())
	}
	t.Logf("%d statements", n)
}
