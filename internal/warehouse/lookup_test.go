package warehouse

import (
	"testing"

	"dealhouse/internal/enginetest"
)

// parameters are values for the views that have parameters.
var parameters = map[string]string{
	"deals_active":                 "(at = '2026-01-15 00:00:00')",
	"transactions_by_passback_uid": "(passback_uid = 'u1')",
	"promotions_as_of":             "(at = '2026-01-15 00:00:00')",
	"coupons_as_of":                "(at = '2026-01-15 00:00:00')",
	"cashback_offers_as_of":        "(at = '2026-01-15 00:00:00')",
	"transactions_as_of":           "(at = '2026-01-15 00:00:00')",
	"payouts_as_of":                "(at = '2026-01-15 00:00:00')",
}

// asked returns a query that reads all rows of a view.
func asked(t *testing.T, v View) string {
	t.Helper()
	if (parameters[v.Name] == "") != (len(v.Parameters) == 0) {
		t.Errorf("%s has the parameters %v", v.Name, v.Parameters)
	}
	return v.Name + parameters[v.Name]
}

// TestLookup looks up the transactions of a user, in every state that a row can have. The view of the lookup must have
// the same rows as the view of the stream, before and after the parts are merged.
func TestLookup(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const day1, day2 = "2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z"
	of := func(id, sold, user, updated string) string {
		at := ""
		if sold != "" {
			at = `"soldAt":"` + sold + `",`
		}
		return `{"id":"` + id + `",` + at + `"status":"PENDING","updatedAt":"` + updated + `","passbackUid":"` + user + `"}`
	}
	first := []string{of(idA, day1, "u1", day1), of(idB, "", "u1", day1), of(idC, day1, "u2", day1)}
	for i, step := range []struct {
		name  string
		scope Scope
		rows  string
		u1    []string
		u2    []string
	}{
		{"as they are loaded", Whole, sales(first...), []string{idA, idB}, []string{idC}},
		{"one goes to another user", Part, sales(of(idA, day1, "u2", "2026-02-01T00:00:00Z")), []string{idB}, []string{idA, idC}},
		{"one moves, one gets a time", Part, sales(of(idC, day2, "u2", "2026-02-02T00:00:00Z"), of(idB, day2, "u1", "2026-02-02T00:00:00Z")),
			[]string{idB}, []string{idA, idC}},
		{"one moves and goes to another user", Part, sales(of(idC, "", "u1", "2026-02-03T00:00:00Z")), []string{idB, idC}, []string{idA}},
		{"one is gone", Whole, sales(of(idA, day1, "u2", "2026-02-01T00:00:00Z"), of(idC, "", "u1", "2026-02-03T00:00:00Z")),
			[]string{idC}, []string{idA}},
	} {
		load(t, w, "transactions", step.scope, step.rows)
		for range 2 {
			for user, want := range map[string][]string{"u1": step.u1, "u2": step.u2, "nobody": nil} {
				if user == "nobody" && i > 0 && !enginetest.Wide() {
					continue
				}
				wantRows(t, w, "SELECT id FROM transactions_by_passback_uid(passback_uid = '"+user+"') ORDER BY id", want...)
				wantRows(t, w, "SELECT id FROM transactions WHERE passback_uid = '"+user+"' ORDER BY id", want...)
			}
			if i != 3 && !enginetest.Wide() { // one has moved and has another user too
				break
			}
			must(t, w.exec(t.Context(), "OPTIMIZE TABLE transactions_latest FINAL"))
		}
	}
}
