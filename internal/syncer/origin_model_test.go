package syncer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// answering is a random history of an account for which others answer now and then: another system, another
// organization, and older copies of the system; by base_url, by the key, or by a proxy.
type answering struct {
	*world
	t       *testing.T
	w       *warehouse.Warehouse
	account string
	random  *rand.Rand
	options apisim.Options
	other   *world
	turns   int             // changes of the world
	loaded  int             // the last of them that the transactions of a run had
	clients int             // number of keys that were used
	ever    map[string]bool // every row that the account ever had
	events  []string
}

func newAnswering(t *testing.T, w *warehouse.Warehouse, seed uint64) *answering {
	t.Helper()
	a := &answering{t: t, w: w, account: fmt.Sprintf("o%d", seed), random: rand.New(rand.NewPCG(seed, 2)), ever: map[string]bool{}}
	a.options = tinyWorld(seed, a.account, "globex")
	a.options.Settings.PageSize = 3 + a.random.IntN(12)
	o := a.options
	o.Seed += 1000
	a.world, a.other = serve(t, a.options), serve(t, o)
	a.note("%d rows a page", a.options.Settings.PageSize)
	a.remember()
	return a
}

func (a *answering) note(format string, args ...any) {
	a.events = append(a.events, fmt.Sprintf(format, args...))
}

// remember notes the rows that the account has now.
func (a *answering) remember() {
	for _, stream := range kinds {
		for _, row := range truthRows(a.t, a.world, stream, a.account) {
			a.ever[stream+fmt.Sprint(row)] = true
		}
	}
}

func (a *answering) change() {
	a.turn(a.t, a.account, a.turns)
	a.turns++
	a.remember()
}

// copied returns the system as it was before the newest transaction that is loaded, with a sale of its own.
func (a *answering) copied() *world {
	c := serve(a.t, a.options)
	turns := a.random.IntN(a.loaded)
	for n := range turns {
		c.turn(a.t, a.account, n)
	}
	if a.random.IntN(2) == 0 {
		if err := c.Put(apisim.StreamTransactions, a.account, transactionAt(a.random.IntN(1000), a.Now())); err != nil {
			a.t.Fatal(err)
		}
	}
	a.note("a copy of %d changes, %d of %d are loaded", turns, a.loaded, a.turns)
	return c
}

// stranger returns a client that somebody else answers.
func (a *answering) stranger() (how string, c *dealapi.Client) {
	t, key, to := a.t, a.keyOf(a.account), a.other
	if a.random.IntN(2) == 0 && a.loaded > 0 {
		to = a.copied()
	} else if to.Advance(time.Duration(a.random.IntN(100)) * time.Hour); a.random.IntN(2) == 0 {
		to.TouchTransactions(a.account, 0.5)
	}
	a.clients++
	switch how = []string{"base_url", "api_key", "proxy", "organization"}[a.random.IntN(4)]; how {
	case "base_url":
		c = newClient(t, a.account, to.url, to.keyOf(a.account))
	case "api_key":
		c = newClientOver(t, a.account, a.url, fmt.Sprint("key-", a.clients), detour{to, to.keyOf(a.account)})
	case "proxy":
		c = newClientOver(t, a.account, a.url, key, detour{to, to.keyOf(a.account)})
	default:
		c = newClient(t, a.account, a.url, a.keyOf("globex"))
	}
	return how, c
}

// home returns a client that the service of the account answers, by one of its names and keys.
func (a *answering) home() *dealapi.Client {
	switch a.random.IntN(4) {
	case 0:
		return newClientOver(a.t, a.account, a.url+"/", fmt.Sprint("rotated-", a.random.IntN(3)), detour{a.world, a.keyOf(a.account)})
	case 1:
		return newClientOver(a.t, a.account, "http://127.0.0.1:9", a.keyOf(a.account), detour{a.world, a.keyOf(a.account)})
	}
	return a.client(a.t, a.account)
}

// run makes runs, some of which are told to stop after a while.
func (a *answering) run(c *dealapi.Client, streams []string, stop, strange bool) []Result {
	ctx, cancel := context.WithCancel(a.t.Context())
	defer cancel()
	most := uint64(1 + a.random.IntN(40))
	expireLeases(a.t, a.w, a.account) // one that was stopped while it took a lease holds it for a minute
	s, err := New(Options{Warehouse: a.w, Grace: patience, Progress: func(p Progress) {
		if stop && p.Totals.Read > most {
			cancel()
		}
	}})
	if err != nil {
		a.t.Fatal(err)
	}
	jobs := jobsOf(a.t, c, a.account, streams...)
	for i := range jobs {
		jobs[i].BatchRows, jobs[i].AllowMassDelete = 4, !strange
		jobs[i].MaxDeleteRatio = 0.5
		jobs[i].Full = strange && a.random.IntN(5) == 0 && jobs[i].Stream.Name != "transactions" // of a copy, that would be right
	}
	return s.All(ctx, jobs)
}

func (a *answering) event() {
	t := a.t
	if a.random.IntN(3) > 0 {
		a.change()
	}
	streams := slices.DeleteFunc(slices.Clone(kinds), func(string) bool { return a.random.IntN(3) == 0 })
	if len(streams) == 0 {
		streams = []string{"transactions"}
	}
	how, c, stop := "home", a.home(), a.random.IntN(3) == 0
	strange := a.random.IntN(3) > 0
	if strange {
		how, c = a.stranger()
	}
	text := fmt.Sprintf("%s, stopped %t", how, stop)
	for _, r := range a.run(c, streams, stop, strange) {
		name := r.Job.Stream.Name
		text += fmt.Sprintf("\n    %s: %v", name, r.Err)
		guard, guarded := errors.AsType[*GuardError](r.Err)
		switch {
		case !strange && guarded:
			t.Errorf("%s at home: %v", name, r.Err)
		case !strange && r.Err == nil && name == "transactions":
			a.loaded = a.turns
		case strange && name == "transactions" && (r.Err == nil || guarded && guard.Loaded):
			t.Errorf("transactions by %s: %+v, %v", how, r.Record.Changes, r.Err)
		}
	}
	a.note("%s", text)
	for _, stream := range kinds {
		for key, row := range shownRows(t, a.w, stream, a.account) {
			delete(row, "account")
			delete(row, "synced_at")
			if !a.ever[stream+fmt.Sprint(row)] {
				t.Errorf("%s: a row that the account never had: %s %v", stream, key, row)
				return
			}
		}
	}
}

// TestAnswersModel makes random histories in which others answer: no row of theirs is ever shown. Once all is put
// right, three runs at most bring back everything, whatever was interrupted.
func TestAnswersModel(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	for i := range setting(t, modelHistories, enginetest.Sample(1, 12)) {
		seed := setting(t, modelSeed, 1) + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			beside(t)
			a := newAnswering(t, w, uint64(seed))
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("again with %s=%d %s=1; what happened:\n%s", modelSeed, seed, modelHistories, strings.Join(a.events, "\n"))
				}
			})
			for _, r := range a.run(a.home(), kinds, false, false) {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			for n := 0; n < 6 && !t.Failed(); n++ {
				a.event()
			}
			var failed error
			for range 3 {
				failed = nil
				for _, r := range a.run(a.client(t, a.account), kinds, false, false) {
					failed = errors.Join(failed, r.Err)
				}
			}
			if failed != nil {
				t.Errorf("after all was put right: %v", failed)
			}
			checkTruth(t, w, a.world, a.account, kinds...)
			for _, stream := range kinds {
				checkTidy(t, w, a.account, stream)
				checkHistory(t, w, a.account, stream)
			}
		})
	}
}
