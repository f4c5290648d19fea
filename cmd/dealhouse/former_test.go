//go:build !noengine

package main

import (
	"dealhouse/internal/enginetest"
	"slices"
	"strings"
	"testing"
)

// An account that the warehouse knows and the configuration does not is no mistake: each command says about it what it
// says about a configured account. Of a name that neither knows, it says so.
func TestFormerAccount(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBench(t)
	b.migrated(t)
	defer hold(t, b.dir)() // to open the engine for each command takes longer than the command
	b.call(t, "sync", "coupons", "--account", "acme").want(t, 0)

	env := []string{"DEALHOUSE_WAREHOUSE_DSN=embedded:" + b.dir, "USER=robin"} // and no configuration
	const receipts = "reference,received_on,currency,amount\nA-1,2026-03-10,EUR,21.44\n"
	const named = "reference,received_on,currency,amount,account\nA-2,2026-03-10,EUR,21.44,acme\n"
	for _, c := range []struct {
		command, stdin string
		code           int
		says           []string
	}{
		{"rejects", "", 0, []string{"there is nothing to list"}},
		{"rejects retry", "", 0, []string{"there is nothing to retry"}},
		{"runs --stream payouts", "", 0, nil},
		{"statement --month 2026-03", "", 0, []string{"There are no transactions up to the end of this month"}},
		{"journal --month 2026-03", "", 2, []string{"the month is not closed"}},
		{"reconcile --since 2027-01-01", "", 0, nil},
		{"settlements", "", 0, []string{"No settlements are imported"}},
		{"settlements import -", receipts, 0, []string{"1 settlement imported"}},
		{"settlements import -", named, 0, []string{"1 settlement imported"}},
		{"operate pause", "", 0, []string{"Account acme is paused"}},
		{"operate resume", "", 0, []string{"Account acme is resumed"}},
	} {
		args := strings.Fields(c.command)
		former := callWith(t, c.stdin, env, append(slices.Clone(args), "--account", "acme")...)
		former.want(t, c.code)
		for _, words := range c.says {
			if !strings.Contains(former.out+former.err, words) {
				t.Errorf("%s: no %q:\n%s%s", c.command, words, former.out, former.err)
			}
		}
		if !strings.Contains(c.command, "import") { // which has changed something
			configured := b.call(t, append(slices.Clone(args), "--account", "acme")...)
			configured.want(t, c.code)
		}
		if c.command == "operate resume" {
			continue // it ends a pause of any account
		}
		callWith(t, c.stdin, env, append(slices.Clone(args), "--account", "acne")...).want(t, 2,
			`there is no account "acne" in the configuration: it has none, and the warehouse has no rows of a former account`)
	}
	callWith(t, strings.ReplaceAll(named, "acme", "acne"), env, "settlements", "import", "-").want(t, 2,
		`account is "acne", which is neither in the configuration nor in the warehouse`)
	b.call(t, "settlements", "--account", "initech").want(t, 2,
		`there is no account "initech" in the configuration: it has acme and globex`)
}
