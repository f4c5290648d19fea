package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Finding is something about payouts that a person should know. Two with the same words are the same.
type Finding struct {
	Account, Kind, Subject, Detail string
}

var findingColumns = columns("account String, kind String, subject String, detail String, first_seen DateTime64(3), last_seen DateTime64(3), resolved_at Nullable(DateTime64(3)), version UInt64")

// RecordFindings stores the findings that are true of an account now, and returns those that were not true the last
// time. Findings that are no longer true are marked as resolved. If two workers do this at once, both may take a
// finding for new; nothing else can go wrong.
func (w *Warehouse) RecordFindings(ctx context.Context, account string, current []Finding) ([]Finding, error) {
	fresh, err := w.At(account).recordFindings(ctx, account, current)
	if err != nil {
		return nil, fmt.Errorf("recording what was found about payouts: %w", err)
	}
	return fresh, nil
}

// HasFindings reports whether any finding was ever recorded for an account, even if it is resolved now.
func (w *Warehouse) HasFindings(ctx context.Context, account string) (bool, error) {
	var n uint64
	err := w.At(account).conn.QueryRow(ctx, selectAnyFinding, named("account", account)).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("reading whether anything was found about the payouts of account %s before: %w",
			account, err)
	}
	return n > 0, nil
}

func (w *Warehouse) recordFindings(ctx context.Context, account string, current []Finding) ([]Finding, error) {
	type standing struct {
		Finding
		firstSeen time.Time
	}
	rows, err := w.conn.Query(ctx, selectOpenFindingsOf, named("account", account))
	open, err := scanned(rows, err, func(s *standing) []any {
		return []any{&s.Account, &s.Kind, &s.Subject, &s.Detail,
			&s.firstSeen}
	})
	if err != nil {
		return nil, err
	}
	now, next, err := w.timeAfter(ctx, newestVersion, "payout_findings_log WHERE account = {account:String}",
		named("account", account))
	if err != nil {
		return nil, err
	}
	since := map[Finding]time.Time{}
	for _, s := range open {
		since[s.Finding] = s.firstSeen
	}
	var fresh []Finding
	for _, f := range current {
		if _, known := since[f]; !known {
			fresh = append(fresh, f)
		}
	}
	if len(current)+len(open) == 0 {
		return nil, nil
	}
	version := uint64(next.UnixMicro())
	return fresh, w.insert(ctx, "payout_findings_log", findingColumns, func(b driver.Batch) error {
		for _, f := range current {
			first, known := since[f]
			if !known {
				first = now
			}
			if err := b.Append(f.Account, f.Kind, f.Subject, f.Detail, first, now, nil, version); err != nil {
				return err
			}
			delete(since, f)
		}
		for f, first := range since {
			if err := b.Append(f.Account, f.Kind, f.Subject, f.Detail, first, now, &now, version); err != nil {
				return err
			}
		}
		return nil
	})
}

// selectAnyFinding says whether anything was ever found about the payouts of an account: it counts 1 row or none.
// Parameter: account.
const selectAnyFinding = "SELECT count() FROM (SELECT 1 FROM payout_findings_log WHERE account = {account:String} LIMIT 1)"

// selectOpenFindings selects the findings that are still true, the oldest first.
const selectOpenFindings = `SELECT account, kind, subject, detail, first_seen
FROM payout_findings
WHERE resolved_at IS NULL
ORDER BY first_seen, account, kind, subject, detail`

// selectOpenFindingsOf selects those of an account. Parameter: account.
const selectOpenFindingsOf = "SELECT account, kind, subject, detail, first_seen FROM payout_findings WHERE account = {account:String} AND resolved_at IS NULL"

// countOpenFindings counts the findings that are still true, by account.
const countOpenFindings = "SELECT account, count() FROM payout_findings WHERE resolved_at IS NULL GROUP BY account"
