package notify

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
)

// TestLinksAndCommands: a message leads to the page that it is about, and has the commands as they are to be typed.
func TestLinksAndCommands(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const page = "https://deals.example.com/x"
	h, ops, chat, plain := newHouse(t), newHook(t), newHook(t), newHook(t)
	withPage, slack := ops.webhook("ops"), chat.webhook("chat")
	slack.Form = receiver.Slack
	withPage.Page, slack.Page = page, page
	n := h.notifier(withPage, slack, plain.webhook("plain"))
	type message struct{ Text, Link string }
	told := func(c *hook) (all []message) {
		t.Helper()
		for _, r := range c.drain() {
			var m message
			if err := json.Unmarshal([]byte(r.body), &m); err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
		return all
	}
	expect := func(when, link string, commands ...string) {
		t.Helper()
		h.turn(n)
		got, chatted, without := told(ops), told(chat), told(plain)
		if len(got) != 1 || len(chatted) != 1 || len(without) != 1 {
			t.Fatalf("%s: %d, %d and %d messages", when, len(got), len(chatted), len(without))
		}
		if got[0].Link != link || !strings.HasSuffix(chatted[0].Text, "\n<"+link+">") || without[0].Link != "" {
			t.Errorf("%s: the links are %q, %q and %q, want %q", when, got[0].Link, chatted[0].Text, without[0].Link, link)
		}
		if n := strings.Count(got[0].Text, "dealhouse operate consent"); n != len(commands) {
			t.Errorf("%s: %d commands in %q", when, n, got[0].Text)
		}
		for _, command := range commands {
			if !strings.Contains(got[0].Text, "\n"+command) {
				t.Errorf("%s: %q is not in %q", when, command, got[0].Text)
			}
		}
	}
	h.run("acme", "coupons", warehouse.OutcomeFailed, "the API answers 500")
	expect("one stream fails", page+"/streams/acme/coupons")
	h.run("acme", "coupons", warehouse.OutcomeGuarded, "it would delete 300 rows")
	expect("a guard stops it", page+"/streams/acme/coupons", "dealhouse operate consent coupons --account acme")
	h.run("acme", "transactions", warehouse.OutcomeGuarded, "it would delete 300 rows")
	h.run("globex", "coupons", warehouse.OutcomeGuarded, "it would delete 300 rows")
	expect("it stops two more", page+"/", "dealhouse operate consent transactions --account acme",
		"dealhouse operate consent coupons --account globex")
	now := h.clock()
	if err := h.w.SaveRun(t.Context(), warehouse.RunRecord{Account: "globex", Stream: "transactions", RunID: uuid.New(), Mode: "incremental",
		StartedAt: now, FinishedAt: now, Outcome: warehouse.OutcomeGuarded, Error: "it is another service"}); err != nil {
		t.Fatal(err)
	}
	expect("a guard to which consent is no answer", page+"/streams/globex/transactions")
	if _, err := h.w.RecordFindings(t.Context(), "acme", []warehouse.Finding{{Account: "acme", Kind: "drifted", Subject: "625", Detail: "x"}}); err != nil {
		t.Fatal(err)
	}
	expect("a finding", page+"/payouts")
}
