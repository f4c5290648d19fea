package syncer

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// A complete run says in how many records each field has a value; a run that reads a part does not. If no record has a
// field any more, that is noticed after the run.
func TestCarried(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	x := serve(t, tinyWorld(15, "acme"))
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	jobs := x.jobs(t, "acme", "transactions", "coupons")
	run := func(job Job) (vanished []string, carried uint64, complete bool) {
		t.Helper()
		record, err := s.Run(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		checks, err := w.CheckQuality(t.Context(), record)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if !c.OK {
				vanished = append(vanished, c.Name)
			}
		}
		if record.Carried == nil {
			return vanished, 0, false
		}
		if c := record.Carried; c.Records != record.Totals.Read || c.Fields["updatedAt"] != c.Records ||
			slices.Contains(slices.Collect(maps.Keys(c.Fields)), "id") {
			t.Errorf("%+v of %d records", c, record.Totals.Read)
		}
		return vanished, record.Carried.Fields["updatedAt"], true
	}
	full := jobs[0]
	full.Full = true
	if _, n, complete := run(full); n == 0 || !complete {
		t.Errorf("a full run of transactions: %d, %t", n, complete)
	}
	if _, _, complete := run(jobs[0]); complete {
		t.Error("a run that reads what has changed says what all records have")
	}
	if vanished, n, _ := run(jobs[1]); n < 10 || vanished != nil {
		t.Errorf("the first run of coupons: %d, %q", n, vanished)
	}
	for record := range x.Truth(apisim.StreamCoupons, "acme") {
		var fields map[string]any
		if err := json.Unmarshal(record, &fields); err != nil {
			t.Fatal(err)
		}
		delete(fields, "url")
		without, err := json.Marshal(fields)
		if err == nil {
			err = x.Put(apisim.StreamCoupons, "acme", without)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if vanished, _, _ := run(jobs[1]); !slices.Equal(vanished, []string{"fields_kept"}) {
		t.Errorf("a run that finds the url of no coupon: %q", vanished)
	}
}

// In a large run, only fields that none of the first records had are looked for in the others.
func TestCarriedOfMany(t *testing.T) {
	t.Parallel()
	stream, err := catalog.Find("products")
	if err != nil {
		t.Fatal(err)
	}
	d, b := decode.New(stream), decode.NewBatch(stream)
	page := func(record string, n int) {
		t.Helper()
		if err := d.Page(b, []byte("["+strings.Repeat(record+",", n-1)+record+"]"), 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	var c carried
	for range countedRecords / 1000 {
		b.Reset()
		page(`{"url":"https://shop.example/1","name":"x","price":0}`, 1000)
		c.add(b)
	}
	b.Reset()
	page(`{"url":"https://shop.example/1","brandName":"y","price":1,"history":[{"yearMonthDay":"2026-01-01","price":1}]}`,
		3)
	c.add(b)
	got := c.named(stream)
	for name, want := range map[string]uint64{"url": countedRecords, "name": countedRecords, "price": countedRecords,
		"brandName": 1, "history": 1, "gtin": 0} {
		if n, named := got.Fields[name]; n != want || !named {
			t.Errorf("%s: %d, want %d", name, n, want)
		}
	}
	if got.Records != countedRecords+3 || got.Counted != countedRecords {
		t.Errorf("%d records, %d counted", got.Records, got.Counted)
	}
}
