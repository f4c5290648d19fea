package apisim

import (
	"fmt"
	"strings"
)

// lexicon has the words of the records. Those that records use unchanged are JSON text.
type lexicon struct {
	categories []category
	brands     []string
	adjectives []string
	promos     []phrase
	coupons    []phrase
	terms      []string // quoted JSON strings
	blurbs     []string // JSON text of product descriptions, no quotes around it
	passback   []string // quoted JSON strings
}

type category struct {
	name   string   // as in cashback offers
	quoted string   // the name as a JSON string
	crumb  string   // quoted breadcrumb of products
	number int      // category id of products
	nouns  []string // names of its products
}

// phrase is JSON text around a number and a retailer's name.
type phrase struct{ before, middle, after string }

// What a world is written with.
var (
	brandNames = strings.Fields("Acorn Brix Calyx Dømus Elwood Fjäll Gräf Hollis Íris Juno Kestrel Lumo Möbel Norvik " +
		"Ostra Pêche Quill Rønne Søster Tarn Umber Växjö Wisp Xeno Yarrow Zephyr")
	adjectives = strings.Fields("Classic Compact Cordless Deluxe Essential Foldable Heavy-Duty Light Mini Modern " +
		"Organic Portable Premium Quiet Rapid Slim Smart Solid Vintage Waterproof")
	// categoryLines are the name, the breadcrumb and the products of each category.
	categoryLines = []string{
		"Electronics|Home > Electronics|Headphones,Speaker,Monitor 27\",Keyboard,Power Bank,Webcam",
		"Fashion|Clothing & Accessories > Women's|Jacket,Sneakers,T-Shirt,Jeans,Scarf,Belt",
		"Home & Garden|Home > Garden > Tools|Rake,Desk Lamp,Cushion,Vase,Hose 15 m,Bücherregal",
		"Beauty|Health & Beauty > Skin Care|Face Cream,Shampoo,Lip Balm,Eau de Toilette,Crème Brûlée Scrub",
		"Groceries|Food > Pantry|Espresso Beans,Olive Oil,Müsli,Chocolate 70%,Green Tea",
		"Sports|Sport & Outdoor > Fitness|Yoga Mat,Dumbbell 5 kg,Tent,Running Belt,Bike Light",
		"Toys|Toys & Games > Building|Brick Set,Puzzle 1\u00a0000,Kite,Plush Bear 🐻,Board Game",
		"Travel|Travel > Bags|Cabin Case,Backpack,Neck Pillow,Packing Cubes",
		"Books|Books > Non-Fiction|Cookbook,Atlas,Notebook A5,Field Guide",
		"Pets|Pets > Dogs|Dog Bed,Cat Tree,Lead,Aquarium Filter",
		"Auto|Auto > Parts|Wiper Blades,Roof Box,Dash Cam,Brake Pads",
		"Finance|Finance > Insurance|Gift Card,Travel Cover,Prepaid Card",
	}
	promoTemplates = []string{
		"Up to %d% off everything at %s",
		"Sparen Sie %d % auf alle Möbel bei %s – nur für kurze Zeit",
		"%d% off “Summer” styles at %s \U0001F389",
		"\"Buy 2, get %d% back\" at %s\nTerms apply.",
		"Jusqu'à %d % de réduction chez %s",
		"Extra %d% für Neukunden · %s\tgültig online",
		"Clearance <b>%d%</b> & more @ %s \\ outlet",
		"Hasta un %d % de descuento en %s ☀️",
	}
	couponTemplates = []string{
		"%d% off your first order at %s",
		"%d% Rabatt auf alles bei %s, außer Geschenkgutscheine",
		"Save %d% sitewide / free delivery | %s",
		"Student deal: %d% off with \"UNiDAYS\" at %s",
		"%d% zusätzlich auf Sale-Artikel \U0001F381 %s",
		"-%d % dès 50 € d'achat · %s",
	}
	termTexts = []string{
		"", "Excludes gift cards.", "Not valid with other offers; VAT & shipping excluded.",
		"Only for new customers.\nReturns cancel the cashback.",
		"Gilt nicht für Bücher, Gutscheine & \"Sale\"-Artikel.",
		"Cashback is paid on the net value (ex. 20 % VAT) — see https://example.test/terms?x=1&y=2",
		"対象外: ギフトカード", "\u0001control and \ttab",
	}
	blurbTexts = []string{
		"Made to last: tested for 10,000 hours and backed by a two-year warranty. Ships in recycled packaging, ready to use out of the box.",
		"Größe: 30 × 20 × 10 cm. Gewicht: 1,2 kg. Pflegeleicht, robust und in vielen Farben erhältlich – auch als Geschenk beliebt.",
		"“Best in test” 2025. Includes \"quick start\" guide, spare parts and a carry bag. Suitable for indoor & outdoor use.",
		"Un classique revisité : léger, élégant et fabriqué en Europe. Lavable à 30°. \U0001F30D",
		"• Easy to clean\n• Energy class A\n• Noise below 40 dB\n• Fits standard sockets (type C/F)",
		"Path C:\\goods\\new — imported from the old catalogue, <em>description pending</em>; colours may differ from the picture.",
	}
	passbackTexts = []string{
		"", "newsletter", `{"campaign":"spring","slot":3}`, "app/ios", "größe=L;farbe=grün",
		"ref \"friend\"", "🎁 bonus", "a,b;c|d", "utm_source=mail&utm_medium=cpc",
	}
)

func newLexicon() *lexicon {
	x := &lexicon{brands: brandNames, adjectives: adjectives, promos: phrases(promoTemplates),
		coupons: phrases(couponTemplates)}
	for i, line := range categoryLines {
		part := strings.Split(line, "|")
		x.categories = append(x.categories, category{
			name: part[0], number: 1000 + 37*i,
			quoted: quoted(part[0], false),
			crumb:  quoted(part[1], i%4 == 3),
			nouns:  strings.Split(part[2], ","),
		})
	}
	for i, s := range termTexts {
		x.terms = append(x.terms, quoted(s, i%3 == 2))
	}
	for i, s := range blurbTexts {
		q := quoted(s, i%3 == 1)
		x.blurbs = append(x.blurbs, q[1:len(q)-1])
	}
	for i, s := range passbackTexts {
		x.passback = append(x.passback, quoted(s, i%4 == 3))
	}
	return x
}

// phrases cuts templates at their number (%d) and retailer (%s), and turns the parts into JSON text. Every third is
// pure ASCII with escapes.
func phrases(templates []string) []phrase {
	out := make([]phrase, len(templates))
	for i, t := range templates {
		inner := func(s string) string {
			q := quoted(s, i%3 == 1)
			return q[1 : len(q)-1]
		}
		before, rest, ok := strings.Cut(t, "%d")
		middle, after, ok2 := strings.Cut(rest, "%s")
		if !ok || !ok2 {
			panic(fmt.Sprintf("apisim: phrase %q lacks a number or a retailer", t))
		}
		out[i] = phrase{inner(before), inner(middle), inner(after)}
	}
	return out
}

func quoted(s string, ascii bool) string { return string(appendText(nil, s, ascii)) }
