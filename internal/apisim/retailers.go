package apisim

import (
	"fmt"
	"strings"
)

// retailer is a shop that the offers and transactions belong to. It never changes, so its part
// of a record is made once.
type retailer struct {
	name      string
	hostname  string
	country   string // home country, quoted
	nameText  string // the name as JSON text, no quotes around it
	countries []string
	listJSON  string // countries as a JSON array

	// Parts of records, each with the comma before it.
	head  string // retailerId
	url   string // url, name, hostname: the deal streams
	logo  string // logo, or nothing
	sold  string // retailerId, retailerName, retailerLogo: transactions
	price int64  // a factor on order values, in hundredths
}

func newRetailers(seed uint64, n int) []retailer {
	ids := newIdentity(at(seed, 11))
	first := strings.Fields("Alpen Blue Bright Casa City Cloud Euro Fresh Gold Grün Happy Hansa Koffer Lucky Metro Nord " +
		"Nova Ocean Pixel Prime Pure Rapid Rosé Silver Sonnen Star Sun Terra Urban Vita Wald Zoo")
	second := strings.Fields("Bikes Books Boutique Café Direct Fashion Garten Gear Home Kids Kitchen Living Market Mode " +
		"Möbel Optik Outlet Pets Pharm Shop Shoes Sport Studio Tech Toys Travel Wear World")
	suffix := []string{"", "", "", " & Co.", " GmbH", " 24", "®", " \"Online\"", " / Outlet", "’s"}
	homes := []struct{ country, tld string }{
		{"DE", "de"}, {"GB", "co.uk"}, {"US", "com"}, {"FR", "fr"}, {"ES", "es"},
		{"IT", "it"}, {"NL", "nl"}, {"PL", "pl"}, {"SE", "se"}, {"AT", "at"},
	}
	out := make([]retailer, n)
	for i := range out {
		h := at(seed, 1<<32+uint64(i))
		pick := func(n int, k uint64) int { return int(below(at(h, k), int64(n))) }
		a, b := first[pick(len(first), 1)], second[pick(len(second), 2)]
		home := homes[pick(len(homes), 3)]
		r := &out[i]
		r.name = a + " " + b + suffix[pick(len(suffix), 4)]
		if i >= 100 { // many small retailers share a name, but never a hostname
			r.hostname = fmt.Sprintf("www.%s-%s-%d.%s", slug(a), slug(b), i, home.tld)
		} else {
			r.hostname = fmt.Sprintf("www.%s%s%d.%s", slug(a), slug(b), i, home.tld)
		}
		r.country = `"` + home.country + `"`
		r.countries = append(r.countries, home.country)
		for k, other := range homes {
			if other.country != home.country && pick(6, uint64(10+k)) == 0 {
				r.countries = append(r.countries, other.country)
			}
		}
		r.listJSON = `["` + strings.Join(r.countries, `","`) + `"]`
		q := quoted(r.name, h&3 == 0)
		r.nameText = q[1 : len(q)-1]
		id := string(ids.appendUUID(nil, uint64(i)))
		r.head = `,"retailerId":"` + id + `"`
		r.url = `,"url":"https://` + r.hostname + `/","name":` + q + `,"hostname":"` + r.hostname + `"`
		logo := `"https://logos.deals.test/` + id + `.png?w=128&h=128"`
		r.sold = r.head + `,"retailerName":` + q
		switch pick(20, 5) {
		case 0: // no logo at all
		case 1:
			r.logo = `,"logo":null`
			r.sold += `,"retailerLogo":null`
		case 2:
			r.logo = `,"logo":""`
			r.sold += `,"retailerLogo":""`
		default:
			r.logo = `,"logo":` + logo
			r.sold += `,"retailerLogo":` + logo
		}
		r.price = 40 + int64(pick(160, 6))
	}
	return out
}

// slug returns a name in the form that a host name uses.
func slug(s string) string {
	return unaccent.Replace(strings.ToLower(s))
}

var unaccent = strings.NewReplacer("ü", "ue", "ö", "oe", "ä", "ae", "é", "e", "ø", "o", "í", "i", "ê", "e")
