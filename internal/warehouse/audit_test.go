package warehouse

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	all, err := w.AuditCertificates(t.Context(), func(id StreamID) bool { return id.Stream == "transactions" }, 10, nil)
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

// TestSigned signs certificates from the second run on. An auditor with the public key finds what is not signed by it:
// a signature that was taken away, one of another key, and the text of a certificate that was altered.
func TestSigned(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	file := func(name, kind string, der []byte, err error) string {
		t.Helper()
		must(t, err)
		path := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	pair := func() (private, public string) {
		t.Helper()
		of, key, err := ed25519.GenerateKey(nil)
		must(t, err)
		der, err := x509.MarshalPKCS8PrivateKey(key)
		private = file("private.pem", "PRIVATE KEY", der, err)
		der, err = x509.MarshalPKIXPublicKey(of)
		return private, file("public.pem", "PUBLIC KEY", der, err)
	}
	private, public := pair()
	_, other := pair()
	found := func(public string) []string {
		t.Helper()
		key, err := ReadPublicKey(public)
		must(t, err)
		all, err := w.AuditCertificates(t.Context(), func(StreamID) bool { return true }, 10, key)
		must(t, err)
		var what []string
		for _, f := range all[0].Findings {
			what = append(what, f.What)
		}
		return what
	}
	run := func(day string) {
		t.Helper()
		must(t, (&certifiedRun{w: w, r: begin(t, w, "transactions")}).goThrough(t, sales(certifiedSale(idA, "PENDING", day)), func(string) {}))
	}
	run("2026-01-01")
	if got := found(public); len(got) != 1 || !strings.Contains(got[0], "not signed by") {
		t.Errorf("nothing is signed: %q", got)
	}
	var err error
	w.signing, err = readSigningKey(private)
	must(t, err)
	for _, day := range []string{"2026-01-02", "2026-01-03", "2026-01-04"} {
		run(day)
	}
	if got := found(public); len(got) != 0 {
		t.Errorf("all but the first are signed: %q", got)
	}
	if got := found(other); len(got) != 3 {
		t.Errorf("of another key: %q", got)
	}
	alter := func(what string) {
		t.Helper()
		must(t, w.exec(t.Context(), "ALTER TABLE sync_runs_log UPDATE "+what+" WHERE run_id IN (SELECT run_id FROM sync_runs ORDER BY started_at LIMIT 1 OFFSET 2) SETTINGS mutations_sync = 2"))
	}
	signature := text(t, w, "SELECT signature FROM sync_runs ORDER BY started_at LIMIT 1 OFFSET 2")[0]
	alter("signature = ''")
	if got := found(public); len(got) != 1 || !strings.Contains(got[0], "an older one is") {
		t.Errorf("a signature is gone: %q", got)
	}
	alter("signature = '" + signature + "', certificate = replace(certificate, 'records', 'Records')")
	if got := found(public); len(got) == 0 {
		t.Error("an altered certificate was not found")
	}
	for _, bad := range []string{public, filepath.Join(t.TempDir(), "nothing")} {
		if _, err := Open(t.Context(), Options{DSN: w.given.DSN, SigningKeyFile: bad}); err == nil || !strings.Contains(err.Error(), "signing_key_file") {
			t.Errorf("%v", err)
		}
	}
}

// TestAuditAfterRetention removes old runs because of their age. That is no finding, and neither are the versions that
// they have left.
func TestAuditAfterRetention(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const runs = 6
	for day := 1; day <= runs; day++ {
		page := sales(certifiedSale(idA, "PENDING", fmt.Sprintf("2026-01-%02d", day)))
		must(t, (&certifiedRun{w: w, r: begin(t, w, "transactions")}).goThrough(t, page, func(string) {}))
	}
	removed, err := w.Retire(t.Context(), Retention{Runs: time.Millisecond})
	must(t, err)
	if len(removed) != 1 || removed[0].Rows == 0 {
		t.Fatalf("%+v", removed)
	}
	a := auditOf(t, w)
	if len(a.Findings) > 0 || a.Certificates == 0 || a.Certificates == runs {
		t.Errorf("%+v", a)
	}
}

// TestCertificateOfAnotherVersion has a last certificate with a field that this version does not write. The next one
// names it by its text as it was stored.
func TestCertificateOfAnotherVersion(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	run := func(day string) {
		t.Helper()
		must(t, (&certifiedRun{w: w, r: begin(t, w, "transactions")}).goThrough(t, sales(certifiedSale(idA, "PENDING", day)), func(string) {}))
	}
	run("2026-01-01")
	for _, column := range []string{"sync_runs_log UPDATE certificate", "sync_state_log UPDATE value"} {
		name := column[strings.LastIndex(column, " ")+1:]
		must(t, w.exec(t.Context(), "ALTER TABLE "+column+" = replace("+name+", '{\"account\"', '{\"of_later\":1,\"account\"') WHERE "+name+" LIKE '{\"account\"%live_after%' SETTINGS mutations_sync = 2"))
	}
	run("2026-01-02")
	if a := auditOf(t, w); a.Certificates != 2 || len(a.Findings) > 0 {
		t.Errorf("%+v", a)
	}
}

// TestAuditWhileARunPublishes begins an audit while a run has attached its rows and not stored its certificate. What it
// finds then is no fault, and once the run has ended, it finds nothing.
func TestAuditWhileARunPublishes(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	must(t, (&certifiedRun{w: w, r: begin(t, w, "transactions")}).goThrough(t, sales(certifiedSale(idA, "PENDING", "2026-01-01")), func(string) {}))
	far, f := serve(t, w, Options{}, is())
	ended, looked := make(chan error, 1), make(chan struct{})
	f.does(func(s string) string { // a reader whose first look falls between the attachment and the state
		if strings.Contains(s, "FROM transactions_latest FINAL") && strings.Contains(s, "sum(cityHash64") {
			select {
			case <-looked:
			default:
				close(looked)
				ended <- (&certifiedRun{w: w, r: begin(t, w, "transactions")}).goThrough(t,
					sales(certifiedSale(idB, "PENDING", "2026-01-02")), func(string) {})
			}
		}
		return s
	})
	a := auditOf(t, far)
	must(t, <-ended)
	if len(a.Findings) > 0 || a.Certificates != 2 || a.Rows != 2 {
		t.Errorf("%+v", a)
	}
}
