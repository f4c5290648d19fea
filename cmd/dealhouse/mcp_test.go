//go:build !noengine

package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// agent is a client of the program, as an assistant has one.
type agent struct{ *mcp.ClientSession }

func (b *bench) agent(t *testing.T, flags ...string) agent {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(),
		&mcp.CommandTransport{Command: childCommand(t, b.env, append([]string{"mcp", "--config", b.config}, flags...)...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return agent{session}
}

// leave ends the program.
func (a agent) leave(t *testing.T) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// ask calls a tool, and returns its answer, or why it gave none.
func (a agent) ask(t *testing.T, tool string, args map[string]any) (text, refused string) {
	t.Helper()
	result, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	for _, c := range result.Content {
		if part, is := c.(*mcp.TextContent); is {
			text += part.Text
		}
	}
	if result.IsError {
		return "", text
	}
	return text, ""
}

// rows returns the rows of an answer, which must say how fresh it is.
func (a agent) rows(t *testing.T, tool string, args map[string]any) []map[string]any {
	t.Helper()
	text, refused := a.ask(t, tool, args)
	if refused != "" {
		t.Fatalf("%s %v: %s", tool, args, refused)
	}
	var answer struct {
		Data      []map[string]any
		Freshness []struct {
			Account, Stream string
			Certified       int `json:"last_run_certified"`
		}
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(answer.Freshness) != 4 || slices.ContainsFunc(answer.Freshness, func(f struct {
		Account, Stream string
		Certified       int `json:"last_run_certified"`
	}) bool {
		return f.Certified != 1
	}) {
		t.Errorf("%s %v: freshness %+v", tool, args, answer.Freshness)
	}
	return answer.Data
}

// TestMCPConfiguration: what the document and the help say that an assistant starts is a command that there is.
func TestMCPConfiguration(t *testing.T) {
	found := regexp.MustCompile(`(?m)^ *(\{"mcpServers".*)$`).FindAllStringSubmatch(readDocument(t, "schema/README.md").text+"\n"+mcpLong, -1)
	if len(found) != 2 {
		t.Fatalf("%d configurations", len(found))
	}
	for _, m := range found {
		var client struct {
			Servers map[string]struct {
				Command string
				Args    []string
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(m[1]), &client); err != nil {
			t.Fatal(err)
		}
		started := client.Servers["dealhouse"]
		call(t, nil, append(started.Args, "--help")...).want(t, 0)
		if started.Command != "dealhouse" || started.Args[0] != "mcp" {
			t.Errorf("%+v", started)
		}
	}
}

// refusals are questions that are not answered, with a part of the reason.
var refusals = []struct{ sql, why string }{
	{"SELECT sum(cashback) FROM transactions", "several currencies"},
	{"SELECT retailer_name, avg(order_value) FROM transactions GROUP BY retailer_name", "several currencies"},
	{"SELECT sum(c) FROM (SELECT cashback AS c FROM transactions)", "several currencies"},
	{"SELECT sum(cashback) OVER (ORDER BY sold_at) FROM transactions", "several currencies"},
	{"SELECT * FROM transactions LIMIT 1", "passback"},
	{"SELECT tuple(*) AS t FROM transactions LIMIT 1", "passback"},
	{"SELECT t.* FROM transactions AS t LIMIT 1", "passback"},
	{"SELECT COLUMNS('^pass') FROM transactions LIMIT 1", "passback"},
	{"SELECT x FROM (SELECT passback_uid AS x FROM transactions)", "passback_uid"},
	{"SELECT count() FROM transactions WHERE passback_data LIKE 'a%'", "passback_data"},
	{"WITH (SELECT groupArray(passback_uid) FROM transactions) AS x SELECT x[1]", "passback_uid"},
	{"WITH (SELECT groupArray(tuple(*)) FROM transactions) AS x SELECT x[1]", "* in a subquery"},
	{"SELECT raw FROM rejected_records", "raw"},
	{"SELECT id FROM transactions_latest", "no view for people"},
	{"SELECT (SELECT any(value) FROM sync_state_log)", "no view for people"},
	{"SELECT id FROM transactions WHERE id IN (SELECT id FROM transactions_versions)", "no view for people"},
	{"SELECT * FROM file('/etc/passwd')", "not allowed"},
	{"SELECT * FROM url('http://127.0.0.1/')", "not allowed"},
	{"SELECT id FROM transactions", "max rows"},
	{"DROP TABLE transactions", "Syntax error"},
	{"INSERT INTO coupons SELECT * FROM coupons", "Syntax error"},
	{"SELECT 1; SELECT 2", ""},
	{"", ""},
}

// TestMCP asks the tools as an assistant does.
func TestMCP(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBench(t)
	b.migrated(t)
	b.call(t, "sync", "transactions", "payouts").want(t, 0)
	a := b.agent(t, "--max-rows", "200")
	defer a.leave(t)
	tools, err := a.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 7 {
		t.Fatal(tools, err)
	}
	for _, tool := range tools.Tools {
		if !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s does not say that it only reads", tool.Name)
		}
	}
	for i, r := range refusals {
		if i%4 != 0 && !enginetest.Wide() {
			continue
		}
		if text, why := a.ask(t, "query", map[string]any{"sql": r.sql}); why == "" || !strings.Contains(why, r.why) {
			t.Errorf("%s: refused because of %q: %s", r.sql, why, text)
		}
	}
	for tool, want := range map[string]struct {
		args  map[string]any
		words []string
	}{
		"guide":     {nil, []string{"## Cookbook", "Never add up two currencies"}},
		"describe":  {map[string]any{"views": []string{"daily_sales"}}, []string{"retailer_name", "currency_code"}},
		"status":    {nil, []string{`"stream":"transactions"`}},
		"reconcile": {map[string]any{"account": "acme"}, []string{`"payouts":[`}},
		"statement": {map[string]any{"account": "acme", "month": "2026-02"}, []string{`"opening"`}},
	} {
		text, why := a.ask(t, tool, want.args)
		for _, word := range want.words {
			if !strings.Contains(text, word) || strings.Contains(text, `"passback_uid":`) || strings.Contains(text, `"passback_data":`) {
				t.Errorf("%s: %s%.2000s", tool, why, text)
			}
		}
	}
	if rows := a.rows(t, "query", map[string]any{"sql": "SELECT sum(cashback) OVER (PARTITION BY currency_code) AS c FROM transactions LIMIT 1"}); len(rows) != 1 {
		t.Errorf("%v", rows)
	}
	open := b.agent(t, "--allow-private")
	defer open.leave(t)
	if rows := open.rows(t, "query", map[string]any{"sql": "SELECT * FROM transactions LIMIT 2"}); len(rows) != 2 || rows[0]["passback_uid"] == nil {
		t.Errorf("%v", rows)
	}
	b.call(t, "mcp", "--max-rows", "0").want(t, 2, "--max-rows")
}

// askedSale is what the questions are about, as the API has it.
type askedSale struct {
	account                    string
	Status, Country, SoldAt    string
	CurrencyCode, RetailerName string
	OrderValue, Cashback       json.Number
	PayoutID                   *int64 `json:"payoutId"`
}

func askedSales(t *testing.T, b *bench) (all []askedSale) {
	t.Helper()
	for _, account := range []string{"acme", "globex"} {
		for record := range b.sim.Truth(apisim.StreamTransactions, account) {
			s := askedSale{account: account}
			if err := json.Unmarshal(record, &s); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
	}
	return all
}

// value is what a sale adds to a measure. The two parts of a share are added up by themselves.
func (s askedSale) value(measure string) (above, below *big.Rat) {
	of := func(n json.Number, counts bool) *big.Rat {
		r, valid := new(big.Rat).SetString(n.String())
		if !valid || !counts {
			return new(big.Rat)
		}
		return r
	}
	one := func(counts bool) *big.Rat { return of("1", counts) }
	declined := s.Status == "DECLINED"
	switch measure {
	case "sales":
		return one(true), nil
	case "order_value":
		return of(s.OrderValue, !declined), nil
	case "cashback":
		return of(s.Cashback, !declined), nil
	case "paid_cashback":
		return of(s.Cashback, !declined && s.PayoutID != nil), nil
	}
	return one(s.Status == "CONFIRMED"), one(s.Status == "CONFIRMED" || declined)
}

func (s askedSale) dimension(name string) string {
	day, _, _ := strings.Cut(s.SoldAt, "T")
	switch name {
	case "day":
		return day
	case "month":
		return day[:min(8, len(day))] + "01"
	case "retailer":
		return s.RetailerName
	case "country":
		return s.Country
	}
	return s.Status
}

// TestMCPQuestions asks many questions whose answers are known: each measure by each dimension, and by pairs of them.
// The answers are computed again from the records of the API, by code that shares nothing with the views.
func TestMCPQuestions(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey, Currency: "EUR"}, apisim.Org{Name: "globex", Key: globexKey, Currency: "USD"})
	b.migrated(t)
	b.call(t, "sync", "transactions", "payouts").want(t, 0)
	a, all := b.agent(t, "--max-rows", "100000"), askedSales(t, b)
	defer a.leave(t)
	questions := 0
	names := []string{"month", "day", "retailer", "country", "status"}
	for m, measure := range []string{"sales", "order_value", "cashback", "paid_cashback", "approval_share"} {
		for d, first := range names {
			if (m+d)%5 != 0 && !enginetest.Wide() {
				continue
			}
			for _, by := range [][]string{{first}, {first, names[(d+1)%len(names)]}} {
				want := map[string][2]*big.Rat{}
				for _, s := range all {
					above, below := s.value(measure)
					key := s.account + " " + s.CurrencyCode
					for _, name := range by {
						key += " " + s.dimension(name)
					}
					sums, seen := want[key]
					if !seen {
						sums = [2]*big.Rat{new(big.Rat), new(big.Rat)}
						want[key] = sums
					}
					sums[0].Add(sums[0], above)
					if below != nil {
						sums[1].Add(sums[1], below)
					}
				}
				got := map[string]string{}
				for _, row := range a.rows(t, "measure", map[string]any{"measure": measure, "by": by}) {
					key := fmt.Sprint(row["account"], " ", row["currency_code"])
					for _, name := range by {
						key += fmt.Sprint(" ", row["by_"+name])
					}
					got[key] = fmt.Sprint(row[measure])
				}
				questions += len(want)
				if d := cmp.Diff(shown(want, measure), asRead(t, got, measure)); d != "" {
					t.Errorf("%s by %v: %.2000s", measure, by, d)
				}
			}
		}
	}
	t.Logf("%d answers are right", questions)
	if questions < 100 {
		t.Errorf("only %d questions were asked", questions)
	}
}

// shown writes sums exactly, and shares with nine decimals.
func shown(sums map[string][2]*big.Rat, measure string) map[string]string {
	texts := map[string]string{}
	for key, s := range sums {
		switch {
		case measure != "approval_share":
			texts[key] = s[0].FloatString(4)
		case s[1].Sign() == 0:
			texts[key] = "none"
		default:
			texts[key] = new(big.Rat).Quo(s[0], s[1]).FloatString(9)
		}
	}
	return texts
}

func asRead(t *testing.T, got map[string]string, measure string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for key, text := range got {
		r, valid := new(big.Rat).SetString(text)
		switch {
		case !valid:
			texts[key] = "none"
		case measure == "approval_share":
			texts[key] = r.FloatString(9)
		default:
			texts[key] = r.FloatString(4)
		}
	}
	return texts
}
