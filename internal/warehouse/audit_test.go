package warehouse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/enginetest"
)

// tampered is what somebody does by hand to a warehouse, and what the audit then finds: its kind, and the key that it
// names.
var tampered = []struct {
	name, sql string
	kind, key string
}{
	{"an amount", "ALTER TABLE transactions_latest UPDATE cashback = 7 WHERE id = '" + idA + "'", FoundAltered, idA},
	{"an amount in the history", "ALTER TABLE transactions_versions UPDATE cashback = 7 WHERE id = '" + idB + "'", FoundAltered, idB},
	{"a text", "ALTER TABLE transactions_latest UPDATE passback_uid = 'other' WHERE id = '" + idA + "'", FoundAltered, idA},
	{"a value that is taken away", "ALTER TABLE transactions_latest UPDATE payout_id = NULL WHERE id = '" + idA + "'", FoundAltered, idA},
	{"a row that is deleted", "ALTER TABLE transactions_latest DELETE WHERE id = '" + idA + "'", FoundRows, ""},
	{"a row that is made a deleted one", "ALTER TABLE transactions_latest UPDATE _deleted = 1 WHERE id = '" + idA + "'", FoundRows, ""},
	{"a row that is added", "INSERT INTO transactions_latest SELECT * REPLACE (generateUUIDv4() AS id) FROM (SELECT * FROM transactions_latest WHERE id = '" + idA + "')", FoundRows, ""},
	{"a row over another", "INSERT INTO transactions_latest SELECT * REPLACE ('" + idC + "'::UUID AS id, 9 AS cashback, _version + 9 AS _version) FROM (SELECT * FROM transactions_latest WHERE id = '" + idA + "')", FoundRows, ""},
	{"a row with a hash that fits", "ALTER TABLE transactions_latest UPDATE _hash = unhex('00112233445566778899AABBCCDDEEFF') WHERE id = '" + idA + "'", FoundAltered, idA},
	{"a row put back to an earlier version", "INSERT INTO transactions_latest SELECT * REPLACE (_version + bitShiftLeft(toUInt128(1), 110) AS _version) FROM transactions_versions WHERE id = '" + idA + "' AND status = 'PENDING'", FoundRows, ""},
	{"the rows of a run", "ALTER TABLE transactions_versions DELETE WHERE status = 'CONFIRMED'", FoundRun, ""},
	{"a certificate", "ALTER TABLE sync_runs_log UPDATE certificate = replace(certificate, '\"inserted\":1', '\"inserted\":2') WHERE stream = 'transactions'", FoundCertificate, ""},
	{"a certificate that is removed", "ALTER TABLE sync_runs_log UPDATE certificate = '' WHERE stream = 'transactions' AND inserted = 1", FoundCertificate, ""},
	{"the counts of a run", "ALTER TABLE sync_runs_log UPDATE inserted = 5 WHERE stream = 'transactions' AND inserted = 1", FoundCertificate, ""},
	{"a run that is removed", "ALTER TABLE sync_runs_log DELETE WHERE stream = 'transactions' AND inserted = 1", FoundCertificate, ""},
}

// TestAuditFinds changes what is stored in many ways, each in a warehouse of its own. The audit finds it, names the row
// where there is one, and finds nothing before.
func TestAuditFinds(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	for i, test := range tampered {
		if i%3 != 0 && !enginetest.Wide() {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			for _, page := range []string{
				sales(certifiedSale(idA, "PENDING", "2026-01-01"), certifiedSale(idB, "PENDING", "2026-01-01")),
				sales(certifiedSale(idA, "CONFIRMED", "2026-01-02"), certifiedSale(idC, "PENDING", "2026-01-02")),
				sales(certifiedSale(idC, "PENDING", "2026-01-02")), // nothing changes
			} {
				c := &certifiedRun{w: w, r: begin(t, w, "transactions")}
				must(t, c.goThrough(t, page, func(string) {}))
			}
			if strings.Contains(test.name, "deleted") || strings.Contains(test.name, "added") {
				must(t, w.exec(t.Context(), "OPTIMIZE TABLE transactions_latest FINAL"))
			}
			if a := auditOf(t, w); a.Certificates != 3 || a.Rows != 3 || len(a.Findings) > 0 {
				t.Errorf("before: %+v", a)
			}
			must(t, w.conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"mutations_sync": 2})), test.sql))
			a := auditOf(t, w)
			if !slices.ContainsFunc(a.Findings, func(f AuditFinding) bool { return f.Kind == test.kind && f.Key == test.key }) {
				t.Errorf("%s %s is not among %+v", test.kind, test.key, a.Findings)
			}
		})
	}
}

func certifiedSale(id, status, day string) string {
	return fmt.Sprintf(`{"id":%q,"status":%q,"cashback":1.5,"payoutId":3,"soldAt":"2025-12-31T10:00:00Z","updatedAt":"%sT00:00:00Z"}`, id, status, day)
}

// auditOf returns the audit of the transactions.
func auditOf(t *testing.T, w *Warehouse) Audit {
	t.Helper()
	all, err := w.AuditCertificates(t.Context(), func(id StreamID) bool { return id.Stream == "transactions" }, 10)
	must(t, err)
	if len(all) != 1 {
		t.Fatalf("%d audits", len(all))
	}
	return all[0]
}

// TestRestated changes rows by hand between two runs. A run that reads everything says in its certificate that they are
// not those that the run before it had left, and what readers see after it is right again.
func TestRestated(t *testing.T) {
	t.Parallel()
	w := open(t)
	page := sales(certifiedSale(idA, "PENDING", "2026-01-01"), certifiedSale(idB, "PENDING", "2026-01-01"))
	must(t, (&certifiedRun{w: w, r: begin(t, w, "transactions")}).goThrough(t, page, func(string) {}))
	must(t, w.conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"mutations_sync": 2})),
		"ALTER TABLE transactions_latest UPDATE _deleted = 1 WHERE id = '"+idA+"'"))
	page = sales(certifiedSale(idA, "PENDING", "2026-01-01"), certifiedSale(idB, "CONFIRMED", "2026-01-02"))
	must(t, (&certifiedRun{w: w, r: begin(t, w, "transactions"), mode: ModeFull}).goThrough(t, page, func(string) {}))
	a := auditOf(t, w)
	if len(a.Findings) != 1 || a.Findings[0].Kind != FoundRestated {
		t.Errorf("%+v", a)
	}
}
