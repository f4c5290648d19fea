//go:build !noengine

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"dealhouse/internal/warehouse"
)

// checkSettlements imports what reached the bank, from files and from a table, and prints the journal of a month with
// it. November 2025 is closed.
func checkSettlements(t *testing.T, b *books) {
	t.Helper()
	b.call(t, "settlements").shows(t, "No settlements are imported")
	b.call(t, "settlements", "import").want(t, 2, "[finance] settlements")
	b.call(t, "settlements", "import", "no-such-file.csv").want(t, 2, "no-such-file.csv")
	file := filepath.Join(t.TempDir(), "bank.csv")
	write := func(rows string) {
		t.Helper()
		text := "reference,received_on,currency,amount,fee,payouts,text\n" + rows
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("=A-1,2026-03-10,EUR,21.44,1.00,102,\"=cmd|' /C calc'!A0\"\nA-2,2026-03-11,EUR,4.38,,,\n")
	b.call(t, "settlements", "import", file, "--correct").want(t, 2, "--note")
	b.call(t, "settlements", "import", file, "--account", "acne").want(t, 2, `no account "acne"`)
	got := b.call(t, "settlements", "import", file, "--by", "ann")
	got.want(t, 0)
	got.shows(t, "bank.csv: 2 settlements imported, 0 corrected, 0 known already")
	b.call(t, "settlements", "import", file).shows(t, "0 settlements imported, 0 corrected, 2 known already")
	write("A-2,2026-03-11,EUR,4.39,,,\nA-3,2026-03-11,EUR,1,50,,\n")
	b.call(t, "settlements", "import", file).want(t, 2, "bank.csv: nothing was imported", `line 2: "A-2" was imported on `,
		`amount "4.38", now "4.39"`)
	b.call(t, "settlements", "import", file, "--correct", "--note", "as the bank says").shows(t,
		"1 settlement imported, 1 corrected, 0 known already")
	got = b.call(t, "settlements")
	got.shows(t, "received", "101 (amount)", "it is not known which payout it settles")
	line := regexp.MustCompile(`(?m)^acme +102 .*$`).FindString(got.out)
	if !strings.Contains(line, "22.4400     21.44  1.00") || !strings.Contains(line, "received") {
		t.Errorf("payout 102: %q", line)
	}
	rows := b.rowsOf(t, "settlements", "--list", "settlements")
	if len(rows) != 3 || rows[2]["reference"] != "'=A-1" || !strings.HasPrefix(rows[2]["text"], "'=cmd") {
		t.Errorf("%v", rows)
	}
	if n := len(b.rowsOf(t, "settlements", "--list", "revisions")); n != 4 {
		t.Errorf("%d revisions", n)
	}
	b.call(t, "settlements", "--list", "revisions").want(t, 2, "--output csv")
	if page := b.call(t, "settlements", "-o", "html").out; strings.Contains(page, "http:") ||
		strings.Contains(page, "<script") || !strings.Contains(page, "=cmd|") {
		t.Error("the page is not what it has to be")
	}
	b.importsTable(t)
	b.importsStatement(t)
	b.checkJournal(t)
}

// importsTable takes in a view of the user's own.
func (b *books) importsTable(t *testing.T) {
	t.Helper()
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: warehouse.EmbeddedScheme + b.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // what counts is that the views are there
	for _, statement := range []string{
		"CREATE VIEW receipts AS SELECT 'V-1' AS reference, toDate('2026-03-12') AS received_on, 'USD' AS currency, toDecimal64('7.00', 2) AS amount, [105]::Array(Int64) AS payouts",
		"CREATE VIEW floats AS SELECT 'V-1' AS reference, toDate('2026-03-12') AS received_on, 'USD' AS currency, 7.0 AS amount",
		"CREATE VIEW others AS SELECT 'V-1' AS reference, toDate('2026-03-12') AS received_on, 'USD' AS currency, '7.0' AS amount, 'x' AS iban",
	} {
		if err := w.Conn().Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	from := func(table string) outcome {
		return call(t, b.env, "settlements", "import", "--config",
			b.write(t, fmt.Sprintf("%s\n[finance]\nsettlements = %q\n", text, table)))
	}
	from("floats").want(t, 2, "column amount of floats is a Float64, which is not exact")
	from("others").want(t, 2, `has the column "iban", which is not known`)
	from("nothing").want(t, 2, "there is no table or view nothing")
	from("receipts").shows(t, "receipts: 1 settlement imported")
	from("receipts").shows(t, "receipts: 0 settlements imported, 0 corrected, 1 known already")
	b.call(t, "settlements").shows(t, "105 (named)")
}

// importsStatement takes in what a bank sends, in which most payments are none of the service.
func (b *books) importsStatement(t *testing.T) {
	t.Helper()
	const statement = ":20:STARTUMS\n:25:12030000/0000202051\n:28C:00012/001\n:60F:C260330USD1000,00\n" +
		":61:2603310331CR7,25NTRFNONREF\n:86:166?20PARTNER PAYMENT?32DEALS OF ACME\n" +
		":61:2603310331D850,00NTRFNONREF\n:86:166?20rent?32LANDLORD\n:62F:C260331USD157,25\n-\n"
	file := filepath.Join(t.TempDir(), "march.sta")
	text, err := os.ReadFile(b.config)
	if err := errors.Join(err, os.WriteFile(file, []byte(statement), 0o600)); err != nil {
		t.Fatal(err)
	}
	senders := strings.Replace(string(text), "[[account]]", "[[account]]\nbank_senders = [\"deals of Acme\"]", 1)
	with := func(args ...string) outcome {
		return call(t, b.env, append([]string{"settlements", "import", "--config", b.write(t, senders), file}, args...)...)
	}
	b.call(t, "settlements", "import", file).want(t, 2, "march.sta: nothing was imported", "bank_senders")
	preview := with("--preview")
	preview.want(t, 0)
	preview.shows(t, "imported for acme as 2026-03-31 USD 7.25 ", "left alone: no bank_senders is in its words", "LANDLORD")
	with().shows(t, "march.sta: 1 settlement imported, 0 corrected, 0 known already", "1 other payment left alone")
	with().shows(t, "march.sta: 0 settlements imported, 0 corrected, 1 known already")
	b.call(t, "settlements").shows(t, "PARTNER PAYMENT DEALS OF ACME")
}

// checkJournal prints the journal of a month that is closed, and of one that is not.
func (b *books) checkJournal(t *testing.T) {
	t.Helper()
	b.call(t, "journal", "--month", "2026-03").want(t, 2, "not closed", "--draft")
	b.call(t, "journal", "--month", "2026-03", "--account", "acne").want(t, 2, `there is no account "acne"`)
	got := b.call(t, "journal", "--month", "2026-03", "--draft")
	got.shows(t, "draft/acme/2026-03/EUR/paid-out/payout-102", "bank-fees", "currency", "This is a draft")
	for _, month := range []string{"2025-11", "2026-03"} {
		sum := map[string]decimal.Decimal{}
		args := []string{"journal", "--month", month}
		if month == "2026-03" {
			args = append(args, "--draft")
		}
		rows := b.rowsOf(t, args...)
		for _, row := range rows {
			for column, sign := range map[string]int64{"debit": 1, "credit": -1} {
				if row[column] != "" {
					sum[row["entry_id"]] = sum[row["entry_id"]].Add(decimal.RequireFromString(row[column]).Mul(decimal.NewFromInt(sign)))
				}
			}
		}
		for id, s := range sum {
			if !s.IsZero() {
				t.Errorf("%s does not balance: %s", id, s)
			}
		}
		if len(rows) < 4 {
			t.Errorf("the journal of %s has %d lines", month, len(rows))
		}
	}
	b.call(t, "journal", "--month", "2025-11", "-o", "json").shows(t, `"state": "closed"`,
		`"account_code": "cashback-revenue"`)
}

// checkPacket prints the packet of a payout in which a transaction was declined after it was paid.
func checkPacket(t *testing.T, b *books) {
	t.Helper()
	b.call(t, "reconcile", "packet").want(t, 2, "--payout")
	b.call(t, "reconcile", "packet", "--payout", "5").want(t, 2, "there is no payout 5")
	rows := b.rowsOf(t, "reconcile", "packet", "--payout", "102")
	var versions []string
	for _, row := range rows {
		if len(row["content_sha256"]) != 64 || row["loaded_at"] == "" || row["warehouse_hash"] == "" {
			t.Errorf("%v", row)
		}
		if row["id"] == saleID(5) {
			versions = append(versions, row["changed"])
		}
	}
	if len(versions) != 3 || !strings.Contains(versions[1], "payout_id: null, now 102") ||
		!strings.Contains(versions[2], `status: "PENDING", now "DECLINED"`) {
		t.Errorf("versions of the transaction that was declined: %q", versions)
	}
	few, all := b.rowsOf(t, "reconcile", "packet", "--payout", "101"), b.rowsOf(t, "reconcile", "packet", "--payout",
		"101", "--all")
	if len(few) != 1 || len(all) != 7 {
		t.Errorf("%d versions of all transactions, %d of those that differ", len(all), len(few))
	}
	page := b.call(t, "reconcile", "packet", "--payout", "102").out
	for _, words := range []string{"expect EUR 12.34 back", `{&#34;id&#34;:&#34;` + saleID(5), `&#34;cashback&#34;:12.34`,
		"SHA-256", "=cmd|&#39; /C calc&#39;!A0"} {
		if !strings.Contains(page, words) {
			t.Errorf("the packet has no %q", words)
		}
	}
	if strings.Contains(page, "http:") || strings.Contains(page, "<script") {
		t.Error("the page is not what it has to be")
	}
}
