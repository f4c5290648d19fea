package warehouse

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/enginetest"
)

// before is a connection on which something happens once, before the first statement of a kind.
type before struct {
	driver.Conn
	statement string
	once      *sync.Once
	do        func()
}

func (c before) Exec(ctx context.Context, query string, args ...any) error {
	if strings.HasPrefix(query, c.statement) {
		c.once.Do(c.do)
	}
	return c.Conn.Exec(ctx, query, args...)
}

// A finding that is found again while it is about to be removed is still there afterwards.
func TestRetireSparesWhatStandsAgain(t *testing.T) {
	t.Parallel()
	w := open(t)
	must(t, w.conn.Exec(t.Context(), `INSERT INTO payout_findings_log (account, kind, subject, detail, first_seen, last_seen, resolved_at, version) VALUES
('a', 'drifted', '1', 'x', now64(3) - toIntervalDay(900), now64(3) - toIntervalDay(800), now64(3) - toIntervalDay(800), 2),
('a', 'drifted', '2', 'x', now64(3) - toIntervalDay(900), now64(3) - toIntervalDay(800), now64(3) - toIntervalDay(800), 2)`))
	stands := Finding{Account: "a", Kind: "drifted", Subject: "2", Detail: "x"}
	busy, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: w.database,
		Wrap: func(c driver.Conn) driver.Conn {
			return before{c, "ALTER TABLE payout_findings_log DELETE", new(sync.Once), func() {
				_, err := w.RecordFindings(t.Context(), "a", []Finding{stands})
				must(t, err)
			}}
		}})
	must(t, err)
	_, err = busy.Retire(t.Context(), Retention{Findings: 400 * 24 * time.Hour})
	must(t, err)
	must(t, busy.Close())
	open, err := w.OpenFindings(t.Context())
	must(t, err)
	if len(open) != 1 || open[0].Finding != stands {
		t.Errorf("what stands is %+v, want %+v", open, stands)
	}
}
