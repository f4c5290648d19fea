package apisim_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/apisim"
)

// fieldsOf returns what the API's documentation says: name and kind of each field, in order; '!'
// marks the required ones.
func fieldsOf() map[string]string {
	return map[string]string{
		apisim.StreamPromotions: "id:uuid! startDate:time! endDate:time! description:string! retailerId:uuid! url:string! " +
			"name:string! hostname:string! logo:string deepLink:string! updatedAt:time!",
		apisim.StreamCoupons: "id:uuid! code:string! startDate:time! endDate:time description:string retailerId:uuid! url:string! " +
			"name:string! hostname:string! updatedAt:time! logo:string",
		apisim.StreamCashbackOffers: "id:uuid! featured:bool! countries:strings! maximumFixedCommissionFee:number description:string " +
			"category:string termsAndExclusions:string cashbackPercentage:number retailerId:uuid! url:string! name:string! " +
			"hostname:string! updatedAt:time! logo:string",
		apisim.StreamTransactions: "id:uuid! country:string activatedAt:time clickedAt:time soldAt:time! updatedAt:time! " +
			"currencyCode:string! orderValue:number! cashback:number! status:string! passbackUid:string retailerId:uuid! " +
			"retailerName:string! retailerLogo:string payoutId:number passbackData:string cashbackOfferId:uuid couponId:uuid promotionId:uuid",
		apisim.StreamPayouts: "id:number! totalTransactions:number! totalGmv:number! aov:number! totalCashback:number! " +
			"confirmedTransactions:number! declinedTransactions:number! pendingTransactions:number! confirmedGmv:number! " +
			"declinedGmv:number! pendingGmv:number! confirmedCashback:number! declinedCashback:number! pendingCashback:number! " +
			"startDate:time! endDate:time!",
		apisim.StreamProducts: "lastViewedAt:time! url:string name:string! price:number! currencyCode:string! brandName:string " +
			"description:string imageUrls:strings categoryId:string categoryVersion:string categoryBreadcrumb:string asin:string " +
			"sku:string gtin:string mpn:string ratingValue:number ratingCount:number bestRating:number worstRating:number history:history",
	}
}

func isKind(kind string, raw json.RawMessage) bool {
	var s string
	text := json.Unmarshal(raw, &s) == nil
	switch kind {
	case "uuid":
		return text && isUUID4(s)
	case "time":
		_, err := time.Parse("2006-01-02T15:04:05.000Z", s)
		return text && err == nil
	case "string":
		return text
	case "bool":
		return string(raw) == "true" || string(raw) == "false"
	case "number":
		return isPlainNumber(raw)
	case "strings":
		var list []string
		return json.Unmarshal(raw, &list) == nil && list != nil
	case "history":
		var list []map[string]json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return false
		}
		for _, e := range list {
			if len(e) != 3 || !isKind("string", e["yearMonthDay"]) || !isKind("number", e["price"]) ||
				!isKind("number", e["views"]) {
				return false
			}
		}
		return true
	}
	return false
}

func isUUID4(s string) bool {
	id, err := uuid.Parse(s)
	return err == nil && id.String() == s && id.Version() == 4
}

// isPlainNumber tells whether a number has only digits, and possibly a point and digits.
func isPlainNumber(raw json.RawMessage) bool {
	whole, frac, point := strings.Cut(string(raw), ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return digits(whole) && (!point || digits(frac))
}

// fieldsIn returns the keys of an object in their order, and the fields.
func fieldsIn(t *testing.T, raw json.RawMessage) ([]string, map[string]json.RawMessage) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	var keys []string
	fields := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		must(t, err)
		keys = append(keys, key.(string))
		var value json.RawMessage
		must(t, d.Decode(&value))
		fields[key.(string)] = value
	}
	return keys, fields
}

func TestEveryRecordIsAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	o := apisim.Options{Promotions: 700, Coupons: 700, CashbackOffers: 700, Transactions: 1000, Products: 500,
		HistoryDays: 5}
	o.Settings.PageSize = 1000
	s := start(t, o)
	for stream, spec := range fieldsOf() {
		t.Run(stream, func(t *testing.T) {
			kinds, required, order := map[string]string{}, []string{}, []string{}
			for _, word := range strings.Fields(spec) {
				name, kind, _ := strings.Cut(word, ":")
				kinds[name] = strings.TrimSuffix(kind, "!")
				order = append(order, name)
				if strings.HasSuffix(kind, "!") {
					required = append(required, name)
				}
			}
			seen, nulls, absent := map[string]int{}, 0, 0
			records, _ := s.walk(stream, "acme", nil)
			if len(records) == 0 {
				t.Fatal("no records")
			}
			for _, r := range records {
				keys, fields := fieldsIn(t, r)
				at := 0
				for _, key := range keys {
					i := slices.Index(order[at:], key)
					if i < 0 {
						t.Fatalf("field %q is unknown, there twice or out of order in %s", key, r)
					}
					at += i + 1
					seen[key]++
				}
				absent += len(order) - len(keys)
				for name, raw := range fields {
					if string(raw) == "null" && !slices.Contains(required, name) {
						nulls++
						continue
					}
					if name == "code" && string(raw) == "null" {
						continue
					}
					if !isKind(kinds[name], raw) {
						t.Fatalf("%s is no %s: %s", name, kinds[name], raw)
					}
				}
				for _, name := range required {
					if fields[name] == nil {
						t.Fatalf("%s is missing in %s", name, r)
					}
				}
			}
			for _, name := range order {
				if seen[name] == 0 {
					t.Errorf("no record has %s", name)
				}
			}
			if stream != apisim.StreamPayouts && stream != apisim.StreamPromotions && (nulls == 0 || absent == 0) {
				t.Errorf("%d nulls and %d absent fields; want some of both", nulls, absent)
			}
		})
	}
}

// The paths in the simulator's table are those of the API's documentation.
func TestPathsAreThoseOfTheDocument(t *testing.T) {
	for stream, want := range map[string]string{
		apisim.StreamPromotions:     "/v1/deals/promotions",
		apisim.StreamCoupons:        "/v1/deals/coupons",
		apisim.StreamCashbackOffers: "/v1/deals/cashback-offers",
		apisim.StreamTransactions:   "/v1/deals/transactions",
		apisim.StreamPayouts:        "/v1/deals/payouts",
		apisim.StreamProducts:       "/v2/products",
	} {
		if got := paths()[stream]; got != want {
			t.Errorf("%s is at %q, want %s", stream, got, want)
		}
		if own := stream == apisim.StreamTransactions || stream == apisim.StreamPayouts; apisim.OfOrganizations(stream) != own {
			t.Errorf("%s belongs to organizations: %t", stream, !own)
		}
	}
	deals := []string{apisim.StreamPromotions, apisim.StreamCoupons, apisim.StreamCashbackOffers}
	for _, stream := range documented() {
		if slices.Contains(addressed(), stream) != slices.Contains(deals, stream) {
			t.Errorf("records of %s have an address: %v", stream, addressed())
		}
	}
}

func TestGetByID(t *testing.T) {
	s := start(t, small())
	for _, stream := range addressed() {
		for _, record := range s.truth(stream, "")[:5] {
			id := field(t, record, "id")
			for _, spelled := range []string{id, strings.ToUpper(id)} {
				if got := s.get(paths()[stream]+"/"+spelled, s.key("acme"), http.StatusOK); string(got) != string(record) {
					t.Errorf("%s %s:\n got %s\nwant %s", stream, spelled, got, record)
				}
			}
		}
		s.get(paths()[stream]+"/"+uuidText(1), s.key("acme"), http.StatusNotFound)
		s.get(paths()[stream]+"/nonsense", s.key("acme"), http.StatusBadRequest)
	}
	s.get("/v1/deals/transactions/"+uuidText(1), s.key("acme"), http.StatusNotFound)
	s.get("/v1/nothing", s.key("acme"), http.StatusNotFound)
}

func TestRecordsAreRealistic(t *testing.T) {
	t.Parallel()
	s := start(t, apisim.Options{Transactions: 5000, Products: 500})
	var all strings.Builder
	for _, stream := range apisim.Streams() {
		for record := range s.Truth(stream, "acme") {
			all.Write(record)
		}
	}
	text := all.String()
	for _, part := range []string{`\"`, "ü", `\u00fc`, `\/`, `\n`, `\ud83c\udf81`, "\U0001F30D", `\u0001`, `":""`, `\\`,
		"&", "<"} {
		if !strings.Contains(text, part) {
			t.Errorf("nothing holds %q", part)
		}
	}
	statuses, currencies, decimals := map[string]int{}, map[string]int{}, map[int]int{}
	for _, r := range s.truth(apisim.StreamTransactions, "acme") {
		tx := parse[struct {
			Status, CurrencyCode string
			OrderValue           json.Number
		}](t, r)
		statuses[tx.Status]++
		currencies[tx.CurrencyCode]++
		_, frac, _ := strings.Cut(tx.OrderValue.String(), ".")
		decimals[len(frac)]++
	}
	if len(statuses) != 3 || statuses["PENDING"] < 200 || statuses["DECLINED"] < 200 {
		t.Errorf("statuses %v", statuses)
	}
	if len(currencies) != 1 || currencies["EUR"] == 0 {
		t.Errorf("currencies %v, want EUR only", currencies)
	}
	if decimals[0] < 30 || decimals[2] < 3000 || decimals[4] < 10 {
		t.Errorf("decimals of order values %v", decimals)
	}
	demo := newSim(t, apisim.Options{})
	if n, p := demo.Count(apisim.StreamTransactions, "globex"), demo.Count(apisim.StreamPayouts, "globex"); n != 40000 ||
		p != 11 {
		t.Errorf("globex has %d transactions and %d payouts", n, p)
	}
	mixed := start(t, apisim.Options{Transactions: 1000, MixedCurrencies: 0.2})
	foreign := 0
	for _, r := range mixed.truth(apisim.StreamTransactions, "acme") {
		if field(t, r, "currencyCode") != "EUR" {
			foreign++
		}
	}
	if foreign < 120 || foreign > 280 {
		t.Errorf("%d of 1000 in foreign currencies, want about 200", foreign)
	}
}
