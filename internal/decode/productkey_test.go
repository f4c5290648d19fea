package decode

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// productKeys returns the key and the rule of each product.
func productKeys(t *testing.T, products ...string) (keys, rules []string) {
	t.Helper()
	b := decodeAll(t, "products", "["+strings.Join(products, ",")+"]")
	for row := range b.Len() {
		keys, rules = append(keys, b.Key(row)), append(rules, b.KeyRules[row])
	}
	return keys, rules
}

// TestSameProduct writes one product in several ways, which must give one key.
func TestSameProduct(t *testing.T) {
	for rule, forms := range map[string][]string{
		"url_gtin": {`"url":"https://x/1","gtin":"4006381333931"`, `"url":"https://x/1","gtin":4006381333931`,
			`"url":"https://x/1","gtin":"04006381333931"`, `"url":" https://x/1 ","gtin":" 4006381-333931 "`,
			`"url":"https://x/1?utm_source=feed&utm_medium=cpc","gtin":"4006381333931","mpn":"M","sku":"S"`,
			`"url":"https://x/1?gclid=a1","gtin":"4006381333931","asin":"A","brandName":"B","name":"other"`},
		"url_mpn": {`"url":"https://x/1?color=red","mpn":"M-1"`, `"url":"https://x/1?color=red&fbclid=z","mpn":" M-1"`,
			`"url":"https://x/1?utm_id=3&color=red","mpn":"M-1","gtin":"0000000000000"`, `"url":"https://x/1?color=red","mpn":"M-1","gtin":"N/A"`},
		"url_sku":   {`"url":"https://x/1","sku":"S"`, `"url":"https://x/1","sku":"S","gtin":"","mpn":null`, `"url":"https://x/1?","sku":"S","mpn":"-"`},
		"url_asin":  {`"url":"https://x/1","asin":"B01"`, `"url":"https://x/1","asin":"B01","sku":"none","mpn":"unknown"`},
		"url":       {`"url":"https://x/1#red"`, `"url":"https://x/1?utm_content=b#red"`, `"url":"https://x/1#red","gtin":0,"sku":" "`},
		"gtin":      {`"gtin":"4006381333931"`, `"url":"","gtin":"04006381333931"`, `"gtin":4006381333931,"sku":"S"`},
		"asin":      {`"asin":"B01"`, `"asin":"B01 ","gtin":"4006381333931"`},
		"brand_mpn": {`"brandName":"None","mpn":"M"`, `"brandName":" None","mpn":"M","sku":"S"`},
	} {
		for i := range forms {
			forms[i] = "{" + forms[i] + "}"
		}
		keys, rules := productKeys(t, forms...)
		if slices.Contains(rules, "") || len(slices.Compact(slices.Clone(keys))) != 1 || len(keys) != len(forms) {
			t.Errorf("%s: keys %q by %q", rule, keys, rules)
		}
		if got := slices.Compact(rules); len(got) != 1 || got[0] != rule {
			t.Errorf("%q, want %s", got, rule)
		}
	}
}

// TestOtherProduct has products that differ in one thing, which must give as many keys.
func TestOtherProduct(t *testing.T) {
	products := []string{
		`{"url":"https://x/1"}`, `{"url":"https://x/1#red"}`, `{"url":"https://x/1?color=red"}`, `{"url":"https://x/1?id=1&utmost=2"}`,
		`{"url":"https://x/1","gtin":"4006381333931"}`, `{"url":"https://x/2","gtin":"4006381333931"}`, `{"url":"https://x/1","gtin":"4006381333932"}`,
		`{"url":"https://x/1","mpn":"4006381333931"}`, `{"url":"https://x/1","sku":"4006381333931"}`, `{"url":"https://x/1","asin":"4006381333931"}`,
		`{"url":"https://x/1","mpn":"m"}`, `{"url":"https://x/1","mpn":"M"}`, `{"url":"https://x/1","gtin":"A-1"}`, `{"url":"https://x/1","gtin":"A-2"}`,
		`{"gtin":"4006381333931"}`, `{"asin":"4006381333931"}`, `{"brandName":"B","mpn":"M"}`, `{"brandName":"B","sku":"M"}`,
		`{"url":"https://x/1","sku":"007"}`, `{"url":"https://x/1","sku":"7"}`,
	}
	keys, _ := productKeys(t, products...)
	if slices.Sort(keys); len(keys) != len(products) || len(slices.Compact(keys)) != len(products) {
		t.Errorf("%d keys of %d products", len(slices.Compact(keys)), len(products))
	}
}

// TestVariantsKeepTheirKeys makes random feeds of pages with variants, in random order: each variant has a key of its
// own, which does not depend on what else the feed has or in which order.
func TestVariantsKeepTheirKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var feed []string
		for page := range 1 + random.IntN(6) {
			kind := random.IntN(4)
			for variant := range 1 + random.IntN(5) {
				id := fmt.Sprintf(`"%s":"%d%d"`, []string{"gtin", "mpn", "sku", "asin"}[kind], page+1, variant+1)
				for _, lower := range []string{"mpn", "sku", "asin"} { // what the variants of a page share tells nothing apart
					if random.IntN(3) == 0 && kind == 0 {
						id += fmt.Sprintf(`,"%s":"%d"`, lower, page)
					}
				}
				feed = append(feed, fmt.Sprintf(`{"url":"https://x/%d",%s,"price":%d}`, page, id, random.IntN(100)))
			}
		}
		keys, _ := productKeys(t, feed...)
		known := map[string]string{}
		for i, key := range keys {
			known[feed[i]] = key
		}
		slices.Sort(keys)
		if len(slices.Compact(keys)) != len(feed) {
			t.Fatalf("%d keys of %q", len(slices.Compact(keys)), feed)
		}
		random.Shuffle(len(feed), func(i, j int) { feed[i], feed[j] = feed[j], feed[i] })
		feed = feed[:1+random.IntN(len(feed))]
		again, _ := productKeys(t, feed...)
		for i, key := range again {
			if known[feed[i]] != key {
				t.Fatalf("%s has another key in another order", feed[i])
			}
		}
	}
}
