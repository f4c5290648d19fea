package apisim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

// hostile returns records that a worker must survive.
func hostile() []string {
	return []string{
		`{"id":"` + uuidText(1) + `","updatedAt":"2026-03-01T00:00:00Z","orderValue":0.1,"cashback":1e2}`,
		`{"id":"` + uuidText(2) + `","updatedAt":"2026-03-01T00:00:00Z","orderValue":99999999999999.9999,"cashback":-0.0}`,
		`{"id":"` + uuidText(3) + `","retailerId":"not-a-uuid","novel":{"deep":[1,{"x":null}]},"orderValue":23.139999999999997}`,
		`{ "id" : "` + uuidText(4) + `" , "retailerName":"'; DROP TABLE t; --\u0000\ud800","passbackData":"\u202e` +
			strings.Repeat("x", 9000) + `"}`,
		`{"id":"no uuid at all","updatedAt":"never"}`,
		`{"id":null,"updatedAt":"2026-03-02T00:00:00.000Z"}`,
		`{"updatedAt":12}`, `null`, `42`, `"text"`, `[]`,
	}
}

func TestPutIsServedByteForByte(t *testing.T) {
	t.Parallel()
	o := small()
	o.Transactions = 60 // so that each list has one page
	for _, order := range orders() {
		s := start(t, o)
		must(t, s.SetOrder(order))
		var want []json.RawMessage
		want = append(want, s.truth(apisim.StreamTransactions, "acme")...)
		for _, record := range hostile() {
			must(t, s.Put(apisim.StreamTransactions, "acme", []byte(record)))
			want = append(want, json.RawMessage(record))
		}
		for _, size := range []int{1, 7, 1000} {
			must(t, s.SetPageSize(size))
			got, _ := s.walk(apisim.StreamTransactions, "acme", nil)
			sameSet(t, "transactions", got, want)
			same(t, "transactions", got, s.truth(apisim.StreamTransactions, "acme"))
		}
		if n := s.Count(apisim.StreamTransactions, "acme"); n != len(want) {
			t.Errorf("count is %d, want %d", n, len(want))
		}
		if s.Count(apisim.StreamTransactions, "globex") != o.Transactions {
			t.Error("globex has them too")
		}
	}
}

func TestPutDeleteRestore(t *testing.T) {
	t.Parallel()
	s := start(t, small())
	for _, stream := range apisim.Streams() {
		all := s.truth(stream, "acme")
		original := all[1]
		key := "id"
		if stream == apisim.StreamProducts {
			key = "url"
		}
		id := field(t, original, key)
		quoted := `"` + id + `"`
		if stream == apisim.StreamPayouts {
			quoted = id
		}
		replacement := fmt.Sprintf(`{%q:%s,"updatedAt":"2026-01-01T00:00:00Z","note":"mine"}`, key, quoted)
		must(t, s.Put(stream, "acme", []byte(replacement)))
		must(t, s.Put(stream, "acme", []byte(replacement))) // a second Put replaces the first
		want := append(slices.Delete(slices.Clone(all), 1, 2), json.RawMessage(replacement))
		got, _ := s.walk(stream, "acme", nil)
		sameSet(t, stream+" replaced", got, want)

		must(t, s.Append(stream, "acme", []byte(replacement)))
		got, _ = s.walk(stream, "acme", nil)
		sameSet(t, stream+" twice", got, append(want, json.RawMessage(replacement)))

		must(t, s.Delete(stream, "acme", id))
		got, _ = s.walk(stream, "acme", nil)
		sameSet(t, stream+" deleted", got, want[:len(want)-1])
		if err := s.Delete(stream, "acme", id); !errors.Is(err, apisim.ErrUnknown) {
			t.Errorf("%s: deleted twice: %v", stream, err)
		}
		must(t, s.Put(stream, "acme", original)) // the original is back
		got, _ = s.walk(stream, "acme", nil)
		sameSet(t, stream+" is back", got, all)

		must(t, s.Restore(stream, "acme", id))
		same(t, stream+" restored", s.truth(stream, "acme"), all)
		if err := s.Restore(stream, "acme", id); !errors.Is(err, apisim.ErrUnknown) {
			t.Errorf("%s: restored twice: %v", stream, err)
		}
	}
	for _, stream := range []string{"nonsense", apisim.StreamTransactions, apisim.StreamPayouts} {
		if err := s.Put(stream, "nobody", []byte(`{}`)); !errors.Is(err, apisim.ErrUnknown) {
			t.Errorf("put %s of nobody: %v", stream, err)
		}
	}
	if s.Put(apisim.StreamCoupons, "", []byte(`{"id":`)) == nil {
		t.Error("a record that is no JSON was taken")
	}
	if s.Count("nonsense", "") != 0 || len(s.truth("nonsense", "")) != 0 {
		t.Error("an unknown stream has records")
	}
}

func TestGetOfScriptedRecords(t *testing.T) {
	s := start(t, small())
	record := `{"id":"ABCDEF00-0000-4000-8000-000000000001","code":"x"}`
	must(t, s.Put(apisim.StreamCoupons, "", []byte(record)))
	id := field(t, json.RawMessage(record), "id")
	for _, spelled := range []string{id, strings.ToLower(id)} {
		if got := s.get("/v1/deals/coupons/"+spelled, s.key("acme"), http.StatusOK); string(got) != record {
			t.Errorf("got %s", got)
		}
	}
	must(t, s.Delete(apisim.StreamCoupons, "", id))
	s.get("/v1/deals/coupons/"+id, s.key("acme"), http.StatusNotFound)
}

// A scripted record does not change while the world's clock moves.
func TestScriptOutlivesTheClock(t *testing.T) {
	s := start(t, small())
	record := json.RawMessage(`{"id":"` + uuidText(9) + `","endDate":"2026-03-16T00:00:00.000Z"}`)
	must(t, s.Put(apisim.StreamPromotions, "", record))
	id := field(t, s.truth(apisim.StreamPromotions, "")[0], "id")
	if id == uuidText(9) {
		id = field(t, s.truth(apisim.StreamPromotions, "")[1], "id")
	}
	must(t, s.Delete(apisim.StreamPromotions, "", id))
	for range 10 {
		s.Advance(10 * day)
		found := false
		for _, r := range s.truth(apisim.StreamPromotions, "") {
			found = found || string(r) == string(record)
			if field(t, r, "id") == id {
				t.Fatal("a deleted record came back by itself")
			}
		}
		if !found {
			t.Fatal("a scripted record vanished")
		}
	}
}

func TestStylesOfRendering(t *testing.T) {
	t.Parallel()
	o := small()
	o.Transactions = 200
	s := start(t, o)
	var plain []time.Time
	for _, r := range s.truth(apisim.StreamTransactions, "acme") {
		plain = append(plain, clock(t, field(t, r, "updatedAt")))
	}
	for style, write := range map[apisim.TimestampStyle]func(time.Time) string{
		apisim.TimeZulu: func(at time.Time) string { return at.Format("2006-01-02T15:04:05.000Z") },
		apisim.TimeOffset: func(at time.Time) string {
			return at.Add(2*time.Hour).Format("2006-01-02T15:04:05.000") +
				"+02:00"
		},
		apisim.TimeNoZone: func(at time.Time) string {
			return strings.TrimSuffix(at.Format("2006-01-02T15:04:05.000"), ".000")
		},
	} {
		must(t, s.SetTimestamps(style))
		for i, r := range s.truth(apisim.StreamTransactions, "acme") {
			if got, want := field(t, r, "updatedAt"), write(plain[i]); got != want {
				t.Fatalf("%v: %s, want %s", style, got, want)
			}
		}
	}
	must(t, s.SetTimestamps(apisim.TimeZulu))
	s.SetExtraFields(true)
	for _, stream := range apisim.Streams() {
		for _, r := range s.truth(stream, "acme") {
			if field(t, r, "schemaRevision") != "7" {
				t.Fatalf("%s without extra fields: %s", stream, r)
			}
		}
		got, _ := s.walk(stream, "acme", nil)
		same(t, stream, got, s.truth(stream, "acme"))
	}
	must(t, s.Update(func(set *apisim.Settings) { set.CompactDays = true }))
	if page := s.get("/v2/products", s.key("acme"), http.StatusOK); !strings.Contains(string(page),
		`"yearMonthDay":"20260314"`) {
		t.Error("days are not compact")
	}
}
