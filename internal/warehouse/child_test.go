package warehouse

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// priceList is one reading of a product: views by day, and its currency.
type priceList struct {
	product  int
	currency string
	views    map[int]int
	read     int64
}

func (l priceList) json() string {
	var history []string
	for _, day := range slices.Sorted(maps.Keys(l.views)) {
		history = append(history, fmt.Sprintf(`{"yearMonthDay":"2026-01-%02d","views":%d}`, day, l.views[day]))
	}
	return fmt.Sprintf(`[{"url":"https://a.test/%d","currencyCode":%q,"history":[%s]}]`, l.product, l.currency,
		strings.Join(history, ","))
}

// pricesModel says what product_prices must hold: each entry as it was last read, also after it has left the feed.
type pricesModel map[string]price

type price struct {
	value string
	read  int64
}

// load adds the readings of one run. Of a product that was read twice, the later reading counts, with its entries and
// no others. An entry replaces the stored one if it is later and differs.
func (m pricesModel) load(run []priceList) {
	newest, last := pricesModel{}, map[int]priceList{}
	for _, l := range run {
		if l.read >= last[l.product].read {
			last[l.product] = l
		}
	}
	for _, l := range last {
		for day, views := range l.views {
			at, p := fmt.Sprintf("https://a.test/%d 2026-01-%02d", l.product, day), price{fmt.Sprint(views, " ", l.currency),
				l.read}
			if p.read >= newest[at].read {
				newest[at] = p
			}
		}
	}
	for at, p := range newest {
		if stored, is := m[at]; !is || p.read > stored.read && p.value != stored.value {
			m[at] = p
		}
	}
}

func (m pricesModel) rows() []string {
	var rows []string
	for at, p := range m {
		rows = append(rows, at+" "+p.value)
	}
	slices.Sort(rows)
	return rows
}

const selectPrices = `SELECT url, day, views, currency_code FROM
(SELECT product_key, day, views, currency_code FROM product_prices) AS c INNER JOIN (SELECT product_key, url FROM products_all_rows) AS p USING (product_key)
ORDER BY url, day`

// TestPricesModel loads lists of every kind: unchanged, with days that come and go, changed and changed back, empty, in
// another currency, twice in one run, and read earlier than what is stored. Without a wide sample, the history is
// short. For wide samples: TestProductPrices and its kind have lists that are written out.
func TestPricesModel(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	if err := w.exec(t.Context(), "CREATE VIEW products_all_rows AS SELECT DISTINCT product_key, url FROM products_latest"); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	model, last := pricesModel{}, map[int]priceList{}
	var clock int64
	for step := range enginetest.Sample(8, 25) {
		var run []priceList
		for product := range 4 {
			for range []int{1, 1, 1, 0, 2}[random.IntN(5)] {
				l := next(random, last[product])
				clock++
				l.product, l.read = product, clock
				if random.IntN(6) == 0 {
					l.read -= 5 // as a rejected record that is loaded later
				}
				last[product] = l
				run = append(run, l)
			}
		}
		if random.IntN(2) == 0 {
			slices.Reverse(run)
		}
		r := begin(t, w, "products")
		d := decode.New(r.Stream)
		for i, l := range run {
			b := decode.NewBatch(r.Stream)
			must(t, d.Page(b, []byte(l.json()), uint32(i+1), 1_700_000_000_000_000+l.read))
			if _, err := w.Writer(r).Stage(t.Context(), i, b); err != nil {
				t.Fatal(err)
			}
		}
		model.load(run)
		publish(t, w, r, Part)
		if d := gocmp.Diff(model.rows(), text(t, w, selectPrices)); d != "" {
			t.Fatalf("after run %d, %+v: %s", step, run, d)
		}
	}
}

// next returns a reading of a product that follows another one.
func next(random *rand.Rand, before priceList) priceList {
	l := priceList{currency: cmp.Or(before.currency, "EUR"), views: maps.Clone(before.views)}
	if l.views == nil {
		l.views = map[int]int{1: 1, 2: 2}
	}
	switch random.IntN(8) {
	case 0, 1: // unchanged
	case 2:
		l.views = map[int]int{}
	case 3:
		l.currency = []string{"EUR", "USD"}[random.IntN(2)]
	case 4:
		for day := range l.views {
			delete(l.views, day)
			break
		}
	default:
		l.views[1+random.IntN(6)] = random.IntN(3)
	}
	return l
}

// TestUnchangedPricesAreNotUnpacked loads the same list again: nothing is written, and no entry is unpacked.
func TestUnchangedPricesAreNotUnpacked(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	page := func(name string, views int) string {
		return fmt.Sprintf(`[{"url":"https://a.test/1","name":%q,"history":[{"yearMonthDay":"2026-01-01","views":%d},{"yearMonthDay":"2026-01-02"}]}]`, name, views)
	}
	load(t, w, "products", Whole, page("a", 1))
	if err := w.exec(t.Context(), "TRUNCATE TABLE product_prices_latest"); err != nil {
		t.Fatal(err)
	}
	load(t, w, "products", Whole, page("a", 1))
	load(t, w, "products", Whole, page("b", 1)) // what changes is not its list
	if got := text(t, w, "SELECT count(), (SELECT count() FROM product_prices_hashes) FROM product_prices_latest"); got[0] != "0 1" {
		t.Errorf("entries and hashes: %s", got[0])
	}
	if c := load(t, w, "products", Whole, page("b", 2)); c.Any() {
		t.Errorf("only prices changed, and yet %+v", c)
	}
	if got := text(t, w, "SELECT day, ifNull(views, -1) FROM product_prices ORDER BY day"); !slices.Equal(got,
		[]string{"2026-01-01 2", "2026-01-02 -1"}) {
		t.Errorf("%q", got)
	}
}

// TestPricesOfAccounts keeps the lists of two accounts apart. For wide samples: TestProductPrices has prices,
// TestAccountsDoNotMix accounts.
func TestPricesOfAccounts(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	for _, account := range []string{"acme", "globex", "acme"} {
		r := begin(t, w, "products")
		r.Account = account
		stage(t, w, r, `[{"url":"https://a.test/1","history":[{"yearMonthDay":"2026-01-01","price":"12.3456"}]}]`)
		publish(t, w, r, Whole)
	}
	if got := text(t, w, "SELECT account, price FROM product_prices ORDER BY account"); !slices.Equal(got,
		[]string{"acme 12.3456", "globex 12.3456"}) {
		t.Errorf("%q", got)
	}
}

// TestRecoverPrices kills a publication between the prices and their hashes, and one of an older version, which has no
// hashes. Whoever finishes it loads the prices, and the next run finds nothing to change. For wide samples: TestRecover
// finishes publications.
func TestRecoverPrices(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	const page = `[{"url":"https://a.test/1","history":[{"yearMonthDay":"2026-01-01","views":1}]}]`
	for name, derived := range map[string][]string{"killed between": {"product_prices_hashes"},
		"of an older version": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			r := begin(t, w, "products")
			stage(t, w, r, page)
			c, err := w.Writer(r).Plan(t.Context(), Whole, staged(t, w, r))
			must(t, err)
			now := r.StartedAt.Add(time.Second)
			_, err = w.Writer(r).Prepare(t.Context(), c, now)
			must(t, err)
			in := Intent{RunID: r.ID, MergedAt: now, Derived: derived,
				Record: RunRecord{Account: "acme", Stream: "products", RunID: r.ID, StartedAt: r.StartedAt, FinishedAt: now,
					Outcome: OutcomeSuccess, Changes: c}}
			must(t, w.saveJSON(t.Context(), r, intentName(r.ID), in))
			p := publication{Writer: w.Writer(r)}
			for _, table := range []target{{table: "products_latest", delta: r.delta()},
				{table: "product_prices_latest", delta: r.childDelta()}} {
				must(t, p.attach(t.Context(), table))
			}
			if _, err := w.RecoverAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := text(t, w, "SELECT count(), (SELECT count() FROM product_prices_hashes FINAL) FROM product_prices"); got[0] != fmt.Sprint("1 ", len(derived)) {
				t.Errorf("entries and hashes: %s", got[0])
			}
			load(t, w, "products", Whole, page)
			if got := text(t, w, "SELECT count(), (SELECT count() FROM product_prices_hashes FINAL) FROM product_prices_latest FINAL"); got[0] != "1 1" {
				t.Errorf("after the next run, entries and hashes: %s", got[0])
			}
		})
	}
}
