package syncer

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// listsModel says what a view must show while its list grows, shrinks, is cut short and says so, and an operator agrees
// to deletions now and then.
type listsModel struct {
	listed, shown map[int]int // what the service has, and what readers see: revisions by id
	agreed        int         // deletions that an operator has agreed to; -1: none
	next          int         // id
}

// turn changes what the service has.
func (m *listsModel) turn(random *rand.Rand) {
	for range random.IntN(4) {
		m.next++
		m.listed[m.next] = 1
	}
	for id := range m.listed {
		switch p := random.IntN(20); {
		case p < []int{0, 1, 2, 12, 20}[random.IntN(5)]:
			delete(m.listed, id)
		case p == 19:
			m.listed[id]++
		}
	}
}

// read returns how a run must end that read the list, whole or not, and takes over what it loads.
func (m *listsModel) read(list map[int]int, whole bool) (outcome string) {
	var gone []int
	for id := range m.shown {
		if _, is := list[id]; !is {
			gone = append(gone, id)
		}
	}
	live, n := len(m.shown), len(gone)
	few := n == 1 || n <= 5 && n <= live/2
	if !whole {
		if n == live && live > 5 && len(list) > 0 { // that may be somebody else's
			return warehouse.OutcomeGuarded
		}
		maps.Copy(m.shown, list)
		return warehouse.OutcomeIncomplete
	}
	if n > 0 && !few && (n == live || 5*n > live) {
		agreed := m.agreed
		m.agreed = -1 // a run that comes to the guard uses consent up
		switch {
		case agreed >= n:
		case n == live && live > 5:
			return warehouse.OutcomeGuarded
		default:
			maps.Copy(m.shown, list)
			return warehouse.OutcomeGuarded
		}
	} else if n > 0 || m.agreed >= 0 {
		m.agreed = -1 // it was about a run that is not the last one any more
	}
	m.shown = maps.Clone(list)
	return warehouse.OutcomeSuccess
}

// TestListsModel reads random histories of a small list: what is new or changed is always there, no row goes because of
// a list that is not whole, and not more rows go than may.
func TestListsModel(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	for seed := range enginetest.Sample(1, 4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random, x := rand.New(rand.NewPCG(uint64(seed), 27)), newSaid(t, "coupons")
			m, outcomes := &listsModel{listed: map[int]int{}, shown: map[int]int{}, agreed: -1}, map[string]int{}
			for step := range enginetest.Sample(25, 60) {
				m.turn(random)
				list, sign := maps.Clone(m.listed), []string{"", `,"errors":[]`, fmt.Sprintf(`,"total":%d`, len(m.listed)), `,"partial":false`}[random.IntN(4)]
				whole := random.IntN(3) > 0
				if !whole {
					for id := range list {
						if random.IntN(3) == 0 {
							delete(list, id)
						}
					}
					sign = []string{`,"errors":["x"]`, `,"incomplete_results":true`, fmt.Sprintf(`,"meta":{"total":%d}`, len(list)+1), `,"has_more":true`}[random.IntN(4)]
				}
				var records []string
				for id, revision := range list { // in any order
					records = append(records, fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","code":"%d","updatedAt":"2026-01-01T00:%02d:00Z"}`, id, revision, revision))
				}
				x.answers(`{"data":[` + strings.Join(records, ",") + `]` + sign + `}`)
				want := m.read(list, whole)
				r, err := x.Run(t.Context(), x.job)
				guard, _ := errors.AsType[*GuardError](err)
				if r.Outcome != want || guard != nil && guard.Deletes == 0 && guard.Guard != GuardService {
					t.Fatalf("step %d: %s, %v, want %s", step, r.Outcome, err, want)
				}
				outcomes[want]++
				var rows []string
				for _, id := range slices.Sorted(maps.Keys(m.shown)) {
					rows = append(rows, fmt.Sprintf("(%d,'%d')", id, m.shown[id]))
				}
				x.wants(t, "SELECT groupArray((toUInt32(substring(toString(id), 25)), code)) FROM (SELECT id, code FROM coupons ORDER BY id)", "["+strings.Join(rows, ",")+"]")
				if t.Failed() {
					t.Fatalf("step %d: %s after %s %+v", step, want, sign, r.Changes)
				}
				if guard != nil && guard.Deletes > 0 && random.IntN(2) == 0 {
					m.agreed = int(guard.Deletes)
					if _, err := x.w.RecordAction(t.Context(), warehouse.Action{Actor: "ops", Via: warehouse.ViaPage, Action: warehouse.ActionConsent,
						Account: "acme", Stream: "coupons", RunID: r.RunID, Deletes: guard.Deletes}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if outcomes[warehouse.OutcomeSuccess] == 0 || outcomes[warehouse.OutcomeGuarded] == 0 || outcomes[warehouse.OutcomeIncomplete] == 0 {
				t.Errorf("outcomes %v: these histories show too little", outcomes)
			}
			checkHistory(t, x.w, "acme", "coupons")
			checkTidy(t, x.w, "acme", "coupons")
		})
	}
}
