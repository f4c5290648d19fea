//go:build !noengine

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// answers holds the results of the README's queries against the API that they were loaded from. What each expects is
// computed here from the API's own JSON.
type answers struct {
	api string
	got map[string][]map[string]any
}

// list reads all pages of a list of the API.
func (a *answers) list(t *testing.T, path string) []map[string]any {
	t.Helper()
	if all, ok := a.got[path]; ok {
		return all
	}
	next := map[string]string{"/v2/products": "page"}[path]
	if next == "" {
		next = "cursor"
	}
	var all []map[string]any
	for place := ""; ; {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+a.api+path+"?"+url.Values{next: {place}}.Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if place == "" {
			req.URL.RawQuery = ""
		}
		req.Header.Set("Authorization", "Bearer secret")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v %s", path, resp.Status, err, body)
		}
		var page struct {
			Data             []map[string]any
			Cursor, NextPage string
		}
		parseJSON(t, body, &page)
		all = append(all, page.Data...)
		if place = page.Cursor + page.NextPage; place == "" {
			a.got[path] = all
			return all
		}
	}
}

func parseJSON(t *testing.T, text []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// sums adds up exact amounts by group.
type sums map[string]*big.Rat

func (s sums) add(t *testing.T, group string, amount any) {
	t.Helper()
	if s[group] == nil {
		s[group] = new(big.Rat)
	}
	if amount != nil {
		s[group].Add(s[group], number(t, amount))
	}
}

func number(t *testing.T, v any) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(fmt.Sprint(v))
	if !ok {
		t.Fatalf("no number: %v", v)
	}
	return r
}

// same compares a cell with what was added up for its group.
func (s sums) same(t *testing.T, group, what string, cell any) {
	t.Helper()
	want := s[group]
	if want == nil {
		want = new(big.Rat)
	}
	if number(t, cell).Cmp(want) != 0 {
		t.Errorf("%s: %s is %v, and the API says %s", group, what, cell, want.FloatString(4))
	}
}

func day(v any) string {
	if s, ok := v.(string); ok && len(s) >= len(time.DateOnly) {
		return s[:len(time.DateOnly)]
	}
	return ""
}

func word(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// queriedLately is how long ago a query was made at most, when its rows are held against the API.
const queriedLately = 15 * time.Minute

// check holds the rows of a query against the API. It reports whether there is something to hold them against.
func (a *answers) check(t *testing.T, sql string, rows []map[string]any) bool {
	t.Helper()
	for part, check := range map[string]func(*testing.T, []map[string]any){
		"\nFROM daily_cashback": a.dailyCashback, "\nFROM transactions_enriched": a.enriched, "\nFROM retailers": a.retailers,
		"retailer_name, count() AS sales, sum(cashback)": a.sales, "AS month, currency_code, count() AS sales": a.months,
		"AS this_month": a.thisMonth, "AS approval_rate": a.approval, "AS new_users": a.users, "AS ends_on": a.endingCoupons,
		"\nFROM transaction_decisions": a.decisions, "\nFROM deals_active(": a.dealsActive,
		"\nFROM product_price_changes": a.priceChanges, "\nFROM stream_freshness": a.freshness,
	} {
		if strings.Contains(sql, part) {
			check(t, rows)
			return true
		}
	}
	return false
}

const transactionsPath, offersPath, couponsPath, promotionsPath = "/v1/deals/transactions", "/v1/deals/cashback-offers", "/v1/deals/coupons", "/v1/deals/promotions"

func (a *answers) dailyCashback(t *testing.T, rows []map[string]any) {
	t.Helper()
	count, value, cashback := sums{}, sums{}, sums{}
	for _, x := range a.list(t, transactionsPath) {
		group := day(x["soldAt"]) + " " + word(x["currencyCode"]) + " " + word(x["status"])
		count.add(t, group, 1)
		value.add(t, group, x["orderValue"])
		cashback.add(t, group, x["cashback"])
	}
	for _, r := range rows {
		group := word(r["day"]) + " " + word(r["currency_code"]) + " " + word(r["status"])
		count.same(t, group, "transactions", r["transactions"])
		value.same(t, group, "order_value", r["order_value"])
		cashback.same(t, group, "cashback", r["cashback"])
	}
}

func (a *answers) enriched(t *testing.T, rows []map[string]any) {
	t.Helper()
	category := map[string]string{}
	for _, o := range a.list(t, offersPath) {
		category[strings.ToLower(word(o["id"]))] = word(o["category"])
	}
	// The query was made a while ago: it may have sales that are 30 days old by now.
	now := time.Now().AddDate(0, 0, -30)
	surely, maybe := sums{}, sums{}
	for _, x := range a.list(t, transactionsPath) {
		if c, listed := category[strings.ToLower(word(x["cashbackOfferId"]))]; listed && x["status"] != "DECLINED" {
			sold, err := time.Parse(time.RFC3339, word(x["soldAt"]))
			if err != nil {
				t.Fatal(err)
			}
			for limit, s := range map[time.Time]sums{now: surely, now.Add(-queriedLately): maybe} {
				if sold.After(limit) {
					s.add(t, word(x["currencyCode"])+" "+c+" transactions", 1)
					s.add(t, word(x["currencyCode"])+" "+c+" cashback", x["cashback"])
				}
			}
		}
	}
	listed := 0
	for _, r := range rows {
		if r["offer_listed"] != true {
			continue // what has left the list is not for the API to say
		}
		listed++
		for _, what := range []string{"transactions", "cashback"} {
			group := word(r["currency_code"]) + " " + word(r["offer_category"]) + " " + what
			if n := number(t, r[what]); maybe[group] == nil || n.Cmp(maybe[group]) > 0 || surely[group] != nil &&
				n.Cmp(surely[group]) < 0 {
				t.Errorf("%s is %v, and the API says %v to %v", group, r[what], surely[group], maybe[group])
			}
		}
	}
	if listed == 0 {
		t.Errorf("no listed offer: %v", rows)
	}
}

func (a *answers) retailers(t *testing.T, rows []map[string]any) {
	t.Helper()
	byID, last := map[string]int{}, map[string]string{}
	for _, x := range a.list(t, transactionsPath) {
		id := strings.ToLower(word(x["retailerId"]))
		byID[id]++
		last[id] = max(last[id], word(x["soldAt"]))
	}
	var counts []int
	for _, n := range byID {
		counts = append(counts, n)
	}
	slices.SortFunc(counts, func(a, b int) int { return b - a })
	for i, r := range rows {
		if want := fmt.Sprint(counts[i]); word(r["transactions"]) != want || word(r["name"]) == "" {
			t.Errorf("retailer %d: %v, and the API says %s transactions", i+1, r, want)
		}
		if word(r["last_sold_at"]) != last[word(r["retailer_id"])] {
			t.Errorf("%v: the last sale was %s", r, last[word(r["retailer_id"])])
		}
	}
}

// sales are those of each retailer that were not declined.
func (a *answers) sales(t *testing.T, rows []map[string]any) {
	t.Helper()
	count, cashback := sums{}, sums{}
	for _, x := range a.list(t, transactionsPath) {
		if word(x["status"]) == "DECLINED" {
			continue
		}
		group := word(x["currencyCode"]) + " " + word(x["retailerName"])
		count.add(t, group, 1)
		cashback.add(t, group, x["cashback"])
	}
	for _, r := range rows {
		group := word(r["currency_code"]) + " " + word(r["retailer_name"])
		count.same(t, group, "sales", r["sales"])
		cashback.same(t, group, "cashback", r["cashback"])
	}
}

// months are how the sales of each month stand.
func (a *answers) months(t *testing.T, rows []map[string]any) {
	t.Helper()
	counts := map[string]sums{"sales": {}, "PENDING": {}, "CONFIRMED": {}, "DECLINED": {}}
	for _, x := range a.list(t, transactionsPath) {
		month := day(x["soldAt"])
		group := month[:len("2006-01")] + "-01 " + word(x["currencyCode"])
		counts["sales"].add(t, group, 1)
		counts[word(x["status"])].add(t, group, 1)
	}
	for _, r := range rows {
		group := word(r["month"]) + " " + word(r["currency_code"])
		for name, c := range counts {
			c.same(t, group, name, r[strings.ToLower(name)])
		}
	}
}

// thisMonth compares the cashback of two months by retailer.
func (a *answers) thisMonth(t *testing.T, rows []map[string]any) {
	t.Helper()
	now := time.Now().UTC()
	this := now.Format("2006-01")
	last := now.AddDate(0, 0, -now.Day()).Format("2006-01")
	cashback := map[string]sums{this: {}, last: {}}
	for _, x := range a.list(t, transactionsPath) {
		if c, known := cashback[day(x["soldAt"])[:len("2006-01")]]; known && word(x["status"]) != "DECLINED" {
			c.add(t, word(x["currencyCode"])+" "+word(x["retailerName"]), x["cashback"])
		}
	}
	for _, r := range rows {
		group := word(r["currency_code"]) + " " + word(r["retailer_name"])
		cashback[this].same(t, group, "this month", r["this_month"])
		cashback[last].same(t, group, "last month", r["last_month"])
	}
}

// approval is the share of the decided sales of a retailer that were confirmed.
func (a *answers) approval(t *testing.T, rows []map[string]any) {
	t.Helper()
	counts := map[string]sums{"CONFIRMED": {}, "DECLINED": {}, "PENDING": {}}
	for _, x := range a.list(t, transactionsPath) {
		counts[word(x["status"])].add(t, word(x["currencyCode"])+" "+word(x["retailerName"]), 1)
	}
	for _, r := range rows {
		group := word(r["currency_code"]) + " " + word(r["retailer_name"])
		for status, c := range counts {
			c.same(t, group, status, r[strings.ToLower(status)])
		}
		confirmed, _ := counts["CONFIRMED"][group].Float64()
		declined, _ := counts["DECLINED"][group].Float64()
		if rate, _ := number(t, r["approval_rate"]).Float64(); math.Abs(rate-confirmed/(confirmed+declined)) > 1e-6 {
			t.Errorf("%s: approval rate %v of %v and %v", group, rate, confirmed, declined)
		}
	}
}

// users counts who bought for the first time in a month, and who had bought before.
func (a *answers) users(t *testing.T, rows []map[string]any) {
	t.Helper()
	first, months := map[string]string{}, map[string]map[string]bool{}
	for _, x := range a.list(t, transactionsPath) {
		user, month := word(x["passbackUid"]), day(x["soldAt"])
		if user == "" || month == "" || word(x["status"]) == "DECLINED" {
			continue
		}
		month = month[:len("2006-01")]
		if was, known := first[user]; !known || month < was {
			first[user] = month
		}
		if months[month] == nil {
			months[month] = map[string]bool{}
		}
		months[month][user] = true
	}
	for _, r := range rows {
		month := day(r["month"])[:len("2006-01")]
		fresh := 0
		for user := range months[month] {
			if first[user] == month {
				fresh++
			}
		}
		if got := word(r["new_users"]) + " " + word(r["returning_users"]); got != fmt.Sprintf("%d %d", fresh, len(months[month])-fresh) {
			t.Errorf("%s: %s users, and the API says %d of %d are new", month, got, fresh, len(months[month]))
		}
	}
}

// endingCoupons end within a week.
func (a *answers) endingCoupons(t *testing.T, rows []map[string]any) {
	t.Helper()
	ends := map[string]bool{}
	for _, x := range a.list(t, couponsPath) {
		ends[word(x["code"])+" "+day(x["endDate"])] = true
	}
	last := ""
	for _, r := range rows {
		on := day(r["ends_on"])
		if !ends[word(r["code"])+" "+on] || on < last || on > time.Now().AddDate(0, 0, 7).Format(time.DateOnly) {
			t.Errorf("no such coupon ends this week, in this order: %v", r)
		}
		last = on
	}
}

// decisions are of the days that passed between the two syncs of the README.
func (a *answers) decisions(t *testing.T, rows []map[string]any) {
	t.Helper()
	decided := 0
	for _, r := range rows {
		decided += int(number(t, r["confirmed"]).Num().Int64() + number(t, r["declined"]).Num().Int64())
		month, err := time.Parse(time.DateOnly, word(r["month"]))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"median_days_to_confirm", "median_days_to_decline"} {
			if r[name] == nil {
				continue
			}
			// Seen to change within those days: after a sale on any day of the month.
			days, _ := number(t, r[name]).Float64()
			first := month.Add(time.Duration(days * 24 * float64(time.Hour)))
			if first.After(time.Now().AddDate(0, 0, 3)) || first.AddDate(0, 0, 32).Before(time.Now()) {
				t.Errorf("%s does not lead from a sale in the month to the last days: %v", name, r)
			}
		}
	}
	if decided < 10 {
		t.Errorf("only %d decisions: %v", decided, rows)
	}
}

func (a *answers) dealsActive(t *testing.T, rows []map[string]any) {
	t.Helper()
	now := time.Now()
	live := func(d map[string]any, when time.Time) bool {
		for _, border := range []string{"startDate", "endDate"} {
			at, err := time.Parse(time.RFC3339, word(d[border]))
			if err == nil && at.After(when) == (border == "startDate") {
				return false
			}
		}
		return true
	}
	// The query was made a while ago: what began or ended since may be among them or not.
	since := now.Add(-queriedLately)
	surely, maybe := map[string]int{}, map[string]int{}
	for kind, path := range map[string]string{"promotion": promotionsPath, "coupon": couponsPath,
		"cashback_offer": offersPath} {
		for _, d := range a.list(t, path) {
			then, still := live(d, since), live(d, now)
			if then && still {
				surely[kind]++
			}
			if then || still {
				maybe[kind]++
			}
		}
	}
	for _, r := range rows {
		kind := word(r["kind"])
		n, err := strconv.Atoi(word(r["deals"]))
		if err != nil || n < surely[kind] || n > maybe[kind] {
			t.Errorf("%s: %v are active, and the API says %d to %d", kind, r["deals"], surely[kind], maybe[kind])
		}
		delete(surely, kind)
	}
	if len(surely) > 0 {
		t.Errorf("not among the active: %v", surely)
	}
}

func (a *answers) priceChanges(t *testing.T, rows []map[string]any) {
	t.Helper()
	prices := map[string]bool{}
	for _, p := range a.list(t, "/v2/products") {
		history, _ := p["history"].([]any)
		for _, h := range history {
			entry := h.(map[string]any)
			prices[word(p["name"])+" "+strings.ReplaceAll(word(entry["yearMonthDay"]), "-", "")+" "+
				number(t, entry["price"]).RatString()] = true
		}
	}
	for _, r := range rows {
		before, after := number(t, r["previous_price"]), number(t, r["price"])
		if before.Cmp(after) == 0 || (number(t, r["percent"]).Sign() > 0) != (after.Cmp(before) > 0) {
			t.Errorf("%v", r)
		}
		if key := word(r["name"]) + " " + strings.ReplaceAll(word(r["day"]), "-", "") + " " +
			after.RatString(); !prices[key] {
			t.Errorf("the API has no such price: %s", key)
		}
	}
}

func (a *answers) freshness(t *testing.T, rows []map[string]any) {
	t.Helper()
	if len(rows) != 6 {
		t.Errorf("%d streams: %v", len(rows), rows)
	}
	for _, r := range rows {
		if number(t, r["age_seconds"]).Sign() < 0 || word(r["last_success"]) == "" ||
			(r["complete_to"] != nil) != (r["stream"] == "transactions") {
			t.Errorf("%v", r)
		}
	}
}
