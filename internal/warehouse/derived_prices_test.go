package warehouse

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// randomPrices writes random readings of the prices of a few products: days that come, are corrected and leave the
// feed, days without a price, other currencies, products that are gone and come back.
type randomPrices struct {
	*rand.Rand
	lists [5]struct {
		currency string
		days     map[int]string
	}
}

func (p *randomPrices) pick(from ...string) string { return from[p.IntN(len(from))] }

// page has some of the products, each once.
func (p *randomPrices) page(some float64) string {
	var records []string
	for i := range p.lists {
		if p.Float64() > some {
			continue
		}
		l := &p.lists[i]
		if l.days == nil {
			l.currency, l.days = "EUR", map[int]string{}
		}
		for range p.IntN(4) {
			l.days[1+p.IntN(9)] = p.pick("", `,"price":"oops"`, `,"price":0`, `,"price":5`, `,"price":5`, `,"price":5`,
				`,"price":-7.0001`, `,"price":99999999999999.9999`) + p.pick("", `,"views":1`, `,"views":2`)
		}
		switch p.IntN(8) {
		case 0:
			l.currency = p.pick("EUR", "USD", "")
		case 1:
			for day := range l.days { // it leaves the feed; the warehouse keeps it
				if p.IntN(2) == 0 {
					delete(l.days, day)
				}
			}
		}
		var history []string
		for _, day := range slices.Sorted(maps.Keys(l.days)) {
			history = append(history, fmt.Sprintf(`{"yearMonthDay":"2026-01-%02d"%s}`, day, l.days[day]))
		}
		records = append(records, fmt.Sprintf(`{"url":"https://a.test/%d","currencyCode":%q,"name":%q,"history":[%s]}`, i,
			l.currency, p.pick("a", "b"), strings.Join(history, ",")))
	}
	return "[" + strings.Join(records, ",") + "]"
}

// stageRead stages pages of products. after is when they were read, in microseconds after the start of the run.
func stageRead(t *testing.T, w *Warehouse, r Run, after int64, pages ...string) {
	t.Helper()
	d := decode.New(r.Stream)
	for i, page := range pages {
		b := decode.NewBatch(r.Stream)
		must(t, d.Page(b, []byte(page), uint32(i+1), r.StartedAt.UnixMicro()+after+int64(i)))
		_, err := w.Writer(r).Stage(t.Context(), i, b)
		must(t, err)
	}
}

const selectPriceChanges = "SELECT * FROM product_price_changes ORDER BY account, product_key, currency_code, day"

// kill publishes what a run has staged up to some target, and dies. how says what the next holder of the lease finds:
// everything, an intent of an older version, or that the last delta is gone.
func kill(t *testing.T, w *Warehouse, r Run, scope Scope, random *rand.Rand) (how string) {
	t.Helper()
	x := w.Writer(r)
	c, err := x.Plan(t.Context(), scope, staged(t, w, r))
	must(t, err)
	prepared, err := x.Prepare(t.Context(), c, r.StartedAt)
	must(t, err)
	in := Intent{RunID: r.ID, MergedAt: r.StartedAt, Prepared: prepared,
		Record: RunRecord{Account: r.Account, Stream: r.Stream.Name, RunID: r.ID, StartedAt: r.StartedAt,
			FinishedAt: r.StartedAt, Outcome: OutcomeSuccess, Changes: c}}
	in.divide(derivedNames(r.Stream))
	how = []string{"whole", "of an older version", "without the last delta"}[random.IntN(3)]
	if how == "of an older version" {
		in.Derived, in.Untouched = nil, nil
	}
	in.Derived = append(in.Derived, childHashes(r.Stream))
	must(t, w.saveJSON(t.Context(), r, intentName(r.ID), in))
	p := publication{Writer: x, intent: in}
	targets := p.targets()
	before := text(t, w, selectPriceChanges)
	reached := random.IntN(len(targets) + 1)
	for _, target := range targets[:reached] {
		must(t, p.attach(t.Context(), target))
	}
	seen := text(t, w, selectPriceChanges)
	if last := targets[len(targets)-1].table; (last != "product_price_changes_latest" || reached < len(targets)) &&
		!slices.Equal(before, seen) {
		t.Fatalf("killed after %d of %d targets, and readers see some of it: %s", reached, len(targets),
			gocmp.Diff(before, seen))
	}
	if how == "without the last delta" && reached < len(targets) {
		must(t, w.exec(t.Context(), "DROP TABLE "+targets[len(targets)-1].delta+" SYNC"))
	}
	return fmt.Sprintf("%s, after %d of %d targets", how, reached, len(targets))
}

// TestPriceChangesFollow loads prices of two accounts at random, in runs of which some die while they publish. After
// each the view shows, to the byte, what it showed when it read the whole history, and a comparison finds nothing. For
// wide samples: TestProductPriceChanges has changes that are written out.
func TestPriceChangesFollow(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	seed := firstSeed(t)
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			t.Logf("again with %s=%d", worldSeed, seed+uint64(i))
			w := open(t)
			makeReferences(t, w)
			random := rand.New(rand.NewPCG(seed+uint64(i), 99))
			accounts := map[string]*randomPrices{"acme": {Rand: random}, "globex": {Rand: random}}
			for run := range 40 {
				r := begin(t, w, "products")
				r.Account = []string{"acme", "acme", "globex"}[run%3]
				p, scope, some := accounts[r.Account], Part, 0.6
				if random.IntN(3) == 0 {
					scope, some = Whole, 0.8
				}
				pages := []string{p.page(some)}
				if random.IntN(4) == 0 {
					pages = append(pages, p.page(some)) // the same products, and the same days, read twice
				}
				var after int64
				if random.IntN(6) == 0 {
					after = -1e9 // read long before what is stored, as a rejected record that is loaded later
				}
				stageRead(t, w, r, after, pages...)
				when := fmt.Sprintf("run %d of %s", run, r.Account)
				if random.IntN(3) == 0 {
					when += ", killed: " + kill(t, w, r, scope, random)
					next := begin(t, w, "products")
					next.Account = r.Account
					takeOver(t, w, next)
				} else {
					when += fmt.Sprintf(" (%+v)", publish(t, w, r, scope))
				}
				compareReference(t, w, when, "product_price_changes", "1")
			}
			if len(text(t, w, selectPriceChanges)) == 0 {
				t.Error("no price has moved")
			}
			for account := range accounts {
				if wrong, err := w.CheckDerived(t.Context(), StreamID{account, "products"}); err != nil || len(wrong) > 0 {
					t.Errorf("%s: not as if it was made anew: %v %v", account, wrong, err)
				}
			}
		})
	}
}

// TestRebuildPriceChanges notices that rows are missing from the table, and rebuilds it from the prices.
func TestRebuildPriceChanges(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	makeReferences(t, w)
	p := &randomPrices{Rand: rand.New(rand.NewPCG(1, 2))}
	for range 4 {
		load(t, w, "products", Part, p.page(1))
	}
	id := StreamID{"acme", "products"}
	must(t, w.exec(t.Context(), "TRUNCATE TABLE product_price_changes_latest"))
	if wrong, err := w.CheckDerived(t.Context(), id); err != nil ||
		!slices.Equal(wrong, []string{"product_price_changes_latest"}) {
		t.Errorf("what is missing is not found: %v %v", wrong, err)
	}
	must(t, w.RebuildDerived(t.Context(), id))
	compareReference(t, w, "made anew", "product_price_changes", "1")
	load(t, w, "products", Part, p.page(1))
	compareReference(t, w, "a run after it", "product_price_changes", "1")
}
