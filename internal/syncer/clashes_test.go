package syncer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// shirt is a product with a price, and one entry of its history on the first days of the year for each price.
func shirt(url, sku, name string, prices ...int) string {
	var history []string
	for i, p := range prices {
		history = append(history, fmt.Sprintf(`{"yearMonthDay":"2026-01-%02d","price":%d}`, i+1, p))
	}
	return fmt.Sprintf(`{"url":%q,"sku":%q,"name":%q,"price":%d,"currencyCode":"EUR","history":[%s]}`, url, sku, name,
		prices[len(prices)-1], strings.Join(history, ","))
}

const (
	selectShirts = "SELECT groupArray((name, price)) FROM (SELECT name, price FROM products ORDER BY name)"
	selectSeries = `SELECT groupArray((name, prices)) FROM (SELECT name, groupArray(h.price) AS prices FROM products AS p
INNER JOIN (SELECT account, product_key, day, price FROM product_prices ORDER BY day) AS h USING (account, product_key) GROUP BY name ORDER BY name)`
)

// Shirts of two colours share their pages, but are products of their own, each with its own series of prices, in
// whichever order the feed has them.
func TestVariantsOfOnePage(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newSaid(t, "products")
	var feed []string
	for i := range 10 {
		url := fmt.Sprintf("https://x.test/shirt-%d", i)
		feed = append(feed, shirt(url, fmt.Sprint("r", i), fmt.Sprint("red ", i), 10, 11), shirt(url, fmt.Sprint("b", i), fmt.Sprint("blue ", i), 20, 22))
	}
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 3 {
		x.answers(`{"data":[` + strings.Join(feed, ",") + `]}`)
		r := x.run(t, warehouse.OutcomeSuccess)
		if r.Duplicates != 0 || r.Changes.Any() != (i == 0) {
			t.Errorf("%+v, %d duplicates", r.Changes, r.Duplicates)
		}
		random.Shuffle(len(feed), func(i, j int) { feed[i], feed[j] = feed[j], feed[i] })
	}
	x.wants(t, "SELECT (count(), countIf(product_key_rule = 'url_sku'), countIf(name LIKE 'red%' AND price = 11), countIf(name LIKE 'blue%' AND price = 22)) FROM products",
		"(20,20,10,10)")
	x.wants(t, "SELECT groupArray(DISTINCT (substring(name, 1, 3), prices)) FROM ("+strings.TrimPrefix(selectSeries, "SELECT groupArray((name, prices)) FROM (")+
		"", "[('blu',[20,22]),('red',[10,11])]")
	x.wants(t, "SELECT (groupUniqArray(change), count()) FROM (SELECT toString(price - previous_price) AS change FROM product_price_changes) WHERE change != '1' AND change != '2'",
		"([],0)")
}

// Of different records with one key, the last of the list is loaded, in all tables. They are named by a warning and a
// check, until the list has them no more.
func TestRecordsThatShareAKey(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newSaid(t, "products")
	one1, two, three := shirt("https://x.test/1", "s", "one", 1, 2, 3), shirt("https://x.test/1", "s", "two", 10, 20), shirt("https://x.test/1", "s", "three", 100, 200)
	other := shirt("https://x.test/2", "", "other", 7)
	for _, step := range []struct {
		feed         []string
		shirts, kept string
		clashes      uint64
	}{
		{[]string{one1, two, other, three}, "[('other',7),('three',200)]", "[('other',[7]),('three',[100,200])]", 1},
		{[]string{three, other, two, two}, "[('other',7),('two',20)]", "[('other',[7]),('two',[10,20])]", 1},
		{[]string{three, one1, other, other}, "[('one',3),('other',7)]", "[('one',[1,2,3]),('other',[7])]", 1},
		{[]string{one1, other, one1}, "[('one',3),('other',7)]", "[('one',[1,2,3]),('other',[7])]", 0},
	} {
		x.answers(`{"data":[` + strings.Join(step.feed, ",") + `]}`)
		r := x.run(t, warehouse.OutcomeSuccess)
		x.wants(t, selectShirts, step.shirts)
		x.wants(t, selectSeries, step.kept)
		key := one(t, x.w, "SELECT product_key FROM products WHERE url = 'https://x.test/1'")
		if r.Clashes.Keys != step.clashes || warned(r, "several records that differ: 1") != (step.clashes > 0) || warned(r, key) != (step.clashes > 0) {
			t.Errorf("%+v %q", r.Clashes, r.Warnings)
		}
		checks, err := x.w.CheckQuality(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if c.Name == warehouse.CheckKeysTellApart && (c.OK != (step.clashes == 0) || c.Found != step.clashes || c.OK == strings.Contains(c.Detail, key)) ||
				c.Name != warehouse.CheckKeysTellApart && !c.OK {
				t.Errorf("%+v", c)
			}
		}
	}
	checkDerived(t, x.w, "acme", "products")
}

// The same on any stream: payouts with one id and two amounts, deals and transactions of one id that differ.
func TestClashesOfStreams(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	for stream, test := range map[string]struct{ first, last, shown string }{
		"payouts":      {`{"id":7,"totalCashback":1.5}`, `{"id":7,"totalCashback":2.5}`, "SELECT (count(), sum(total_cashback)) FROM payouts WHERE id = 7 AND total_cashback = 2.5"},
		"coupons":      {`{"id":"$","code":"A","updatedAt":"2026-01-01T00:00:00Z"}`, `{"id":"$","code":"B","updatedAt":"2026-01-01T00:00:00Z"}`, "SELECT (count(), 2.5) FROM coupons WHERE code = 'B'"},
		"transactions": {`{"id":"$","cashback":1,"updatedAt":"2026-01-02T00:00:00Z"}`, `{"id":"$","cashback":2.5,"updatedAt":"2026-01-02T00:00:00Z"}`, "SELECT (count(), sum(cashback)) FROM transactions WHERE cashback = 2.5"},
		"promotions":   {`{"id":"$","name":"A"}`, `{"id":"$","name":"B"}`, "SELECT (count(), 2.5) FROM promotions WHERE retailer_name = 'B'"},
	} {
		if stream == "promotions" && !enginetest.Wide() {
			continue
		}
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			x := newSaid(t, stream)
			list := func(records ...string) {
				text := strings.ReplaceAll(strings.Join(records, ","), "$", "00000000-0000-4000-8000-000000000007")
				x.answers(map[bool]string{true: "[" + text + "]", false: `{"data":[` + text + `]}`}[stream == "payouts"])
			}
			list(test.first, test.first, test.last)
			if r := x.run(t, warehouse.OutcomeSuccess); r.Clashes.Keys != 1 || !warned(r, "7") || !warned(r, "several records that differ: 1; the one that it lists last is loaded") {
				t.Errorf("%+v %q", r.Clashes, r.Warnings)
			}
			x.wants(t, test.shown, "(1,2.5)")
			x.job.Full = true
			list(test.last, test.last)
			if r := x.run(t, warehouse.OutcomeSuccess); r.Clashes.Keys != 0 || r.Duplicates != 1 || r.Changes.Any() {
				t.Errorf("%+v %+v", r.Clashes, r.Changes)
			}
			checkHistory(t, x.w, "acme", stream)
		})
	}
}
