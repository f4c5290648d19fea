//go:build !noengine

package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// books is a simulated account whose transactions and payouts are all scripted.
type books struct {
	*bench
	sales map[int]sale
}

// sale is a transaction as it stands upstream.
type sale struct {
	status, value, cashback, currency string
	payout                            int
	sold                              string
}

func newBooks(t *testing.T) *books {
	t.Helper()
	sim, err := apisim.New(apisim.Options{
		Orgs: []apisim.Org{{Name: "acme", Key: acmeKey}}, Retailers: 5, Promotions: -1, Coupons: -1, CashbackOffers: -1,
		Transactions: -1, Products: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	b := &books{bench: &bench{sim: sim, url: server.URL, dir: filepath.Join(t.TempDir(), "data"),
		env: []string{"ACME_KEY=" + acmeKey}}, sales: map[int]sale{}}
	b.config = b.write(t, fmt.Sprintf("[warehouse]\ndsn = \"embedded:%s\"\n[defaults]\nmax_retry_elapsed = \"0s\"\n[[account]]\nname = \"acme\"\nbase_url = %q\napi_key = \"env:ACME_KEY\"\n", b.dir, b.url))
	return b
}

func saleID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// put makes a transaction what it is now, a minute after the last.
func (b *books) put(t *testing.T, n int, s sale) {
	t.Helper()
	if s.currency == "" {
		s.currency = "EUR"
	}
	if s.sold == "" {
		s.sold = "2025-11-20T10:00:00.000Z"
	}
	b.sales[n] = s
	b.sim.Advance(time.Minute)
	payout := "null"
	if s.payout != 0 {
		payout = fmt.Sprint(s.payout)
	}
	record := fmt.Sprintf(`{"id":%q,"soldAt":%q,"updatedAt":%q,"currencyCode":%q,"orderValue":%s,"cashback":%s,"status":%q,"retailerName":"=cmd|' /C calc'!A0","payoutId":%s}`,
		saleID(n), s.sold, b.sim.Now().Format("2006-01-02T15:04:05.000Z"), s.currency, s.value, s.cashback, s.status, payout)
	if err := b.sim.Put(apisim.StreamTransactions, "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
}

// pay makes a payout of what the transactions are now, and stamps them. change may make it wrong.
func (b *books) pay(t *testing.T, id int, change func(map[string]decimal.Decimal), sales ...int) {
	t.Helper()
	totals := map[string]decimal.Decimal{}
	for _, group := range []string{"total", "confirmed", "declined", "pending"} {
		for _, measure := range []string{"Transactions", "Gmv", "Cashback"} {
			totals[group+measure] = decimal.Zero
		}
	}
	for _, n := range sales {
		s := b.sales[n]
		for _, group := range []string{"total", strings.ToLower(s.status)} {
			totals[group+"Transactions"] = totals[group+"Transactions"].Add(decimal.NewFromInt(1))
			totals[group+"Gmv"] = totals[group+"Gmv"].Add(decimal.RequireFromString(s.value))
			totals[group+"Cashback"] = totals[group+"Cashback"].Add(decimal.RequireFromString(s.cashback))
		}
	}
	if len(sales) > 0 {
		totals["aov"] = totals["totalGmv"].DivRound(totals["totalTransactions"], 2)
	}
	if change != nil {
		change(totals)
	}
	text := fmt.Sprintf(`{"id":%d,"startDate":"2025-11-20T10:00:00.000Z","endDate":"2025-11-%02dT10:00:00.000Z"`, id,
		20+id%10)
	for name, v := range totals {
		text += fmt.Sprintf(",%q:%s", name, v)
	}
	if err := b.sim.Put(apisim.StreamPayouts, "acme", []byte(text+"}")); err != nil {
		t.Fatal(err)
	}
	for _, n := range sales {
		s := b.sales[n]
		s.payout = id
		b.put(t, n, s)
	}
}

func (b *books) sync(t *testing.T, args ...string) outcome {
	t.Helper()
	got := b.call(t, append([]string{"sync", "transactions", "payouts"}, args...)...)
	got.want(t, 0)
	return got
}

// play is a world with one payout of each kind, as it is after everything has happened.
func (b *books) play(t *testing.T) {
	t.Helper()
	add := func(name, by string) func(map[string]decimal.Decimal) {
		return func(totals map[string]decimal.Decimal) {
			totals[name] = totals[name].Add(decimal.RequireFromString(by))
		}
	}
	for n := 1; n <= 24; n++ {
		b.put(t, n, sale{status: "CONFIRMED", value: fmt.Sprintf("%d.10", 10*n), cashback: fmt.Sprintf("%d.05", n)})
	}
	b.put(t, 2, sale{status: "DECLINED", value: "50", cashback: "5"})
	b.put(t, 3, sale{status: "PENDING", value: "33.3333", cashback: "3.3333"})
	b.put(t, 5, sale{status: "PENDING", value: "123.40", cashback: "12.34"})
	b.put(t, 14, sale{status: "CONFIRMED", value: "70", cashback: "7", currency: "USD"})
	b.put(t, 21, sale{status: "PENDING", value: "40", cashback: "4.20", sold: "2025-10-05T00:00:00.000Z"})
	b.sync(t)

	b.pay(t, 101, nil, 1, 2, 3)
	b.pay(t, 102, nil, 4, 5, 6)
	b.pay(t, 103, nil, 7, 8, 9)
	b.pay(t, 104, add("totalGmv", "0.01"), 10, 11, 12)
	b.pay(t, 105, nil, 13, 14)
	b.pay(t, 106, nil, 15, 16)
	b.pay(t, 107, func(totals map[string]decimal.Decimal) { totals["totalTransactions"] = decimal.NewFromInt(2) })
	s := b.sales[17]
	s.payout = 999 // which is never made
	b.put(t, 17, s)
	b.sync(t)

	b.put(t, 5, sale{status: "DECLINED", value: "123.40", cashback: "12.34", payout: 102})
	if err := b.sim.Delete(apisim.StreamTransactions, "acme", saleID(8)); err != nil {
		t.Fatal(err)
	}
	b.pay(t, 106, add("totalCashback", "1.5"), 15, 16)
	b.sync(t, "--full")
}

// TestReconcile has one payout of each kind and finds each, in every output.
func TestReconcile(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBooks(t)
	b.migrated(t)
	defer hold(t, b.dir)() // to open the engine for each command takes longer than the command
	b.play(t)

	got := b.call(t, "reconcile", "--fail-on-mismatch")
	got.want(t, 1)
	b.golden(t, "reconcile.txt", got.out)
	for payout, words := range map[string][]string{
		"101": {"matched", "nothing to do"},
		"102": {"drifted", "12.34", "expect EUR 12.34 back: 1 transaction was declined after it was paid (" + saleID(5) +
			")"},
		"103": {"missing", "ask the service about EUR 8.05: it no longer lists 1 transaction that it paid (" + saleID(8) +
			")"},
		"104":     {"mismatched", "total_gmv is 330.31 and its transactions give 330.30 (difference 0.01)"},
		"105":     {"matched, mixed currency", "13.05", "EUR and USD"},
		"106":     {"mismatched, altered", "total_cashback from 31.1 to 32.6"},
		"107":     {"no transactions", "complete up to 2026-03-15"},
		"999":     {"orphan", "17.05", "does not list"},
		"2025-10": {"overdue", "4.20", "over 121 days old"},
	} {
		line := regexp.MustCompile(`(?m)^acme .*\b` + payout + `\b.*$`).FindString(got.out)
		for _, w := range words {
			if !strings.Contains(line, w) {
				t.Errorf("payout %s: no %q in %q", payout, w, line)
			}
		}
	}
	if enginetest.Wide() { // without the flag it ends with 0, as the tables show too
		plain := b.call(t, "reconcile")
		plain.want(t, 0)
		b.golden(t, "reconcile.txt", plain.out)
	}
	b.call(t, "reconcile", "--payout", "101", "--fail-on-mismatch").want(t, 0)
	b.call(t, "reconcile", "--payout", "5").want(t, 2, "there is no payout 5")
	text, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	renamed := b.write(t, strings.Replace(string(text), `"acme"`, `"globex"`, 1))
	for _, command := range [][]string{{"reconcile", "--fail-on-mismatch"}, {"reconcile", "--payout", "101"}, {"runs"},
		{"rejects"}, {"rejects", "retry"}} {
		b.call(t, append(command, "--account", "acne")...).want(t, 2,
			`there is no account "acne" in the configuration: it has acme`)
	}
	for command, code := range map[string]int{"reconcile": 0, "runs": 0, "rejects": 0} { // nothing was rejected
		if command == "reconcile" && !enginetest.Wide() {
			continue // it is asked for all accounts above
		}
		call(t, b.env, command, "--account", "acme", "--config", renamed).want(t, code)
	}
	b.call(t, "reconcile", "--since", "soon").want(t, 2, "--since")
	since := b.call(t, "reconcile", "--since", "2025-11-26")
	since.shows(t, "106", "107")
	if strings.Contains(since.out, "104") {
		t.Errorf("--since shows older payouts:\n%s", since.out)
	}
	b.call(t, "reconcile", "--payout", "102").shows(t, saleID(5), "PENDING", "DECLINED", "changed", "2026-03-15", "12.34", "in the order of their sales", "Sum of ")
	b.call(t, "reconcile", "--list", "orphans").want(t, 2, "--output csv")
	b.call(t, "reconcile", "-o", "csv", "--list", "transactions").want(t, 2, "needs --payout")

	t.Run("CSV", func(t *testing.T) { checkCSV(t, b) })
	t.Run("JSON", func(t *testing.T) { checkJSON(t, b) })
	if enginetest.Wide() {
		t.Run("HTML", func(t *testing.T) { checkHTML(t, b) })
	}
	t.Run("findings", func(t *testing.T) { checkFindings(t, b) })
	t.Run("acknowledgements", func(t *testing.T) { checkAcknowledgements(t, b) })
	if enginetest.Wide() { // package report makes statements and packets, and imports settlements, too
		t.Run("statement", func(t *testing.T) { checkStatement(t, b) })
		t.Run("packet", func(t *testing.T) { checkPacket(t, b) })
		t.Run("settlements", func(t *testing.T) { checkSettlements(t, b) })
	}
}

// golden compares an output with a file.
func (b *books) golden(t *testing.T, name, got string) {
	t.Helper()
	// The day on which the warehouse first saw something is today.
	got = regexp.MustCompile(`first seen on \d{4}-\d\d-\d\d`).ReplaceAllString(got, "first seen on TODAY")
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("not as in %s (go generate ./... writes it):\n%s", path, got)
	}
}

// wanted is what each payout has to be: its verdict, what it paid beyond what that is worth now, and the kind of that.
func wanted() map[string][3]string {
	return map[string][3]string{
		"101": {"matched", "0.00", ""}, "102": {"drifted", "12.34", "expected_clawback"},
		"103": {"missing", "8.05", "vanished"}, "104": {"mismatched", "0.00", ""},
		"105": {"matched, mixed currency", "0.00", ""}, "106": {"mismatched, altered", "1.50", "payout_error"},
		"107": {"no transactions", "0.00", ""},
	}
}

// table reads a CSV of the reconciliation.
func (b *books) table(t *testing.T, args ...string) []map[string]string {
	t.Helper()
	return b.rowsOf(t, append([]string{"reconcile"}, args...)...)
}

func checkCSV(t *testing.T, b *books) {
	t.Helper()
	seen := map[string][3]string{}
	for _, row := range b.table(t) {
		kind := ""
		for _, name := range []string{"expected_clawback", "claimable", "payout_error", "not_loaded", "vanished"} {
			if row[name] != "0.00" {
				kind += name
			}
		}
		if row["payout_id"] == "105" {
			seen["105 "+row["currency"]] = [3]string{row["paid"], row["worth_now"], kind}
		}
		seen[row["payout_id"]] = [3]string{row["verdict"], row["difference"], kind}
	}
	for id, want := range wanted() {
		if seen[id] != want {
			t.Errorf("payout %q: %v, want %v", id, seen[id], want)
		}
	}
	if seen["105 EUR"] != [3]string{"13.05", "13.05"} || seen["105 USD"] != [3]string{"7.00", "7.00"} {
		t.Errorf("a payout of two currencies: %v", seen)
	}
	for _, row := range b.table(t, "--list", "totals") {
		if row["payout_id"] == "104" && row["total"] == "total_gmv" &&
			(row["reported"] != "330.31" || row["recomputed"] != "330.30" || row["difference"] != "0.01") {
			t.Errorf("payout 104: %v", row)
		}
	}
	if rows := b.table(t, "--list", "exceptions"); len(rows) != 2 || rows[1]["transaction_id"] != saleID(5) ||
		rows[1]["status_when_paid"] != "PENDING" || rows[1]["difference"] != "12.34" {
		t.Errorf("exceptions: %v", rows)
	}
	got := b.call(t, "reconcile", "-o", "csv", "--payout", "102")
	got.shows(t, `'=cmd|' /C calc'!A0`, "PENDING,12.34,changed,DECLINED,123.40,12.34,0.00,102,")
	if !enginetest.Wide() { // checkJSON has the other two lists
		return
	}
	if rows := b.table(t, "--list", "orphans"); len(rows) != 1 || rows[0]["payout_id"] != "999" ||
		rows[0]["cashback"] != "17.05" {
		t.Errorf("orphans: %v", rows)
	}
	if rows := b.table(t, "--list", "overdue"); len(rows) != 1 || rows[0]["month"] != "2025-10" ||
		rows[0]["cashback"] != "4.20" {
		t.Errorf("overdue: %v", rows)
	}
}

func checkJSON(t *testing.T, b *books) {
	t.Helper()
	got := b.call(t, "reconcile", "-o", "json")
	var r struct {
		Payouts []struct {
			ID          json.Number            `json:"payout_id"`
			Verdict     string                 `json:"verdict"`
			AtStake     json.Number            `json:"at_stake"`
			By          map[string]json.Number `json:"at_stake_by"`
			Mixed       bool                   `json:"mixed_currency"`
			Alterations []map[string]string    `json:"alterations"`
			Difference  map[string]json.Number `json:"difference"`
		} `json:"payouts"`
		Orphans []struct {
			ID       json.Number `json:"payout_id"`
			Cashback json.Number `json:"cashback"`
		} `json:"orphans"`
		Overdue []struct {
			Cashback json.Number `json:"cashback"`
		} `json:"overdue"`
	}
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		t.Fatalf("%v\n%s", err, got.out)
	}
	seen := map[string][2]string{}
	for _, p := range r.Payouts {
		seen[p.ID.String()] = [2]string{p.Verdict, p.AtStake.String()}
		switch p.ID {
		case "102":
			if p.By["declined"] != "12.34" {
				t.Errorf("payout 102: %v", p.By)
			}
		case "103":
			if p.By["gone"] != "8.05" {
				t.Errorf("payout 103: %v", p.By)
			}
		case "105":
			if !p.Mixed {
				t.Error("payout 105 is not mixed")
			}
		case "106":
			if len(p.Alterations) != 1 || p.Alterations[0]["column"] != "total_cashback" ||
				p.Alterations[0]["before"] != "31.1" || p.Alterations[0]["after"] != "32.6" {
				t.Errorf("payout 106: %v", p.Alterations)
			}
		}
	}
	for _, o := range r.Orphans {
		seen[o.ID.String()] = [2]string{"orphan", o.Cashback.String()}
	}
	for _, o := range r.Overdue {
		seen[""] = [2]string{"overdue", o.Cashback.String()}
	}
	for id, want := range map[string][2]string{
		"101": {"matched", "0.00"}, "102": {"drifted", "12.34"}, "103": {"missing", "8.05"}, "104": {"mismatched", "0.00"},
		"105": {"matched", "0.00"}, "106": {"mismatched", "1.50"}, "107": {"no_transactions", "0.00"},
		"999": {"orphan", "17.05"}, "": {"overdue", "4.20"},
	} {
		if seen[id] != want {
			t.Errorf("payout %q: %v, want %v", id, seen[id], want)
		}
	}
}

func checkHTML(t *testing.T, b *books) {
	t.Helper()
	got := b.call(t, "reconcile", "-o", "html")
	got.want(t, 0)
	for id, want := range wanted() {
		row := regexp.MustCompile(`<tr><td>acme</td><td class="n">` + id + `</td>.*</tr>`).FindString(got.out)
		if !strings.Contains(row, want[0]) || !strings.Contains(row, want[1]) {
			t.Errorf("payout %q: want %v in %q", id, want, row)
		}
	}
	for _, id := range []string{saleID(5), saleID(8)} {
		if !strings.Contains(got.out, `<td class="id">`+id) {
			t.Errorf("the page does not name transaction %s", id)
		}
	}
	for _, word := range []string{"http:", "https:", "<script", "src="} {
		if strings.Contains(got.out, word) {
			t.Errorf("the page holds %q: it has to need nothing beside itself", word)
		}
	}
	if detail := b.call(t, "reconcile", "-o", "html", "--payout", "102").out; strings.Contains(detail, "calc'!") ||
		!strings.Contains(detail, "calc&#39;!A0") {
		t.Error("text of the service is not escaped")
	}
}

// checkFindings wants each finding once in the log, again only when it is another, and resolved ones to be known.
func checkFindings(t *testing.T, b *books) {
	t.Helper()
	quiet := b.sync(t)
	if strings.Contains(quiet.err, "finding=") {
		t.Errorf("findings were told again:\n%s", quiet.err)
	}
	b.put(t, 6, sale{status: "DECLINED", value: "60.10", cashback: "6.05", payout: 102})
	b.sim.Advance(time.Hour)
	loud := b.sync(t)
	if n := strings.Count(loud.err, "finding="); n != 1 || !strings.Contains(loud.err, "18.39") ||
		!strings.Contains(loud.err, "finding=drifted") {
		t.Errorf("%d findings, want one:\n%s", n, loud.err)
	}
	got := b.call(t, "query", "SELECT kind, subject, resolved_at IS NULL AS standing FROM payout_findings WHERE subject = '102' ORDER BY first_seen", "-o", "csv")
	got.shows(t, "drifted,102,0\ndrifted,102,1\n")
}

// checkAcknowledgements acknowledges what was found of two payouts: they are quiet, until an amount moves.
func checkAcknowledgements(t *testing.T, b *books) {
	t.Helper()
	b.call(t, "reconcile", "ack", "--reason", "expected").want(t, 2, "--payout")
	b.call(t, "reconcile", "ack", "--payout", "102").want(t, 2, "--reason")
	b.call(t, "reconcile", "ack", "--payout", "102", "--reason", "other").want(t, 2, "--note")
	b.call(t, "reconcile", "ack", "--payout", "5", "--reason", "expected").want(t, 2, "there is no payout 5")
	b.call(t, "reconcile", "ack", "--payout", "101", "--reason", "expected").want(t, 2, "payout 101 has nothing open")
	got := b.call(t, "reconcile", "ack", "--payout", "102", "--reason", "expected", "--by", "ann", "--note", "ticket 4711",
		"--tolerance", "10")
	got.want(t, 0)
	if want := "payout 102 of acme: ann acknowledged expected clawback of EUR 18.39 as expected\n"; got.out != want {
		t.Errorf("%q, want %q", got.out, want)
	}
	b.call(t, "reconcile", "ack", "--payout", "106", "--reason", "disputed", "--by", "bob", "--kind", "altered").want(t, 0)
	b.call(t, "reconcile", "--payout", "102", "--fail-on-mismatch").shows(t, "drifted, acknowledged",
		"ann acknowledged the expected clawback of EUR 18.39 as expected on ", "(ticket 4711)")
	b.call(t, "reconcile", "--payout", "106", "--fail-on-mismatch").want(t, 1) // its error is open
	b.call(t, "reconcile").shows(t, "Acknowledged: 1 payout.")
	b.call(t, "reconcile", "acks", "-o", "csv").shows(t,
		"ann,acme,102,expected_clawback,EUR,18.39,2,0.10,expected,ticket 4711", "bob,acme,106,altered")
	if !enginetest.Wide() { // package finance has what moves after it was acknowledged
		return
	}
	if quiet := b.sync(t, "--full"); strings.Contains(quiet.err, "finding=") {
		t.Errorf("what was acknowledged is told:\n%s", quiet.err)
	}
	b.put(t, 6, sale{status: "PENDING", value: "60.10", cashback: "6.15", payout: 102})
	b.put(t, 4, sale{status: "PENDING", value: "40.10", cashback: "4.15",
		payout: 102}) // 10 cents, as tolerated, and what follows
	b.sim.Advance(time.Hour)
	loud := b.sync(t)
	if !strings.Contains(loud.err, "finding=drifted subject=102") {
		t.Errorf("what moved since it was acknowledged is not told:\n%s", loud.err)
	}
	b.call(t, "reconcile", "--payout", "102", "--fail-on-mismatch").want(t, 1)
	b.call(t, "reconcile", "--payout", "102").shows(t, "and it has moved by EUR -6.05 since", "claim EUR 0.20")
}
