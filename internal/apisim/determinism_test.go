package apisim_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

func newSim(t testing.TB, o apisim.Options) *apisim.Sim {
	t.Helper()
	sim, err := apisim.New(o)
	must(t, err)
	return sim
}

// digest returns a hash of everything that a world lists.
func digest(s *apisim.Sim) string { return digestOf(s, apisim.Streams()) }

func digestOf(s *apisim.Sim, streams []string) string {
	h := sha256.New()
	for _, stream := range streams {
		for _, org := range s.Orgs() {
			for record := range s.Truth(stream, org) {
				h.Write(record)
				h.Write([]byte{'\n'})
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Every machine must give the digests below. They differ if the generator has changed, or if a
// machine computes differently.
func TestWorldIsTheSameEverywhere(t *testing.T) {
	s := newSim(t, small())
	full, payouts := s.Keys("acme")
	if full != "acme-key-568806cd5a755df9" || payouts != "acme-payouts-key-22f772ef806bdca9" {
		t.Errorf("keys %s %s", full, payouts)
	}
	if got, want := digestOf(s, documented()), "b45a38232ae780e1e74e30a07d1005e69f8bf9e4f5390bf1a4b778419cb3139c"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	s.Advance(100 * 24 * time.Hour)
	if got, want := digestOf(s, documented()), "d06e18e92aa544dcb9c0c398fc3aba8a9380bb2228dded4788d985dfd073d222"; got != want {
		t.Errorf("digest after 100 days %s, want %s", got, want)
	}
}

func TestSeedsMakeWorlds(t *testing.T) {
	a, b := small(), small()
	b.Seed++
	if digest(newSim(t, a)) == digest(newSim(t, b)) {
		t.Error("two seeds, one world")
	}
}

// Steps of any size lead to the same world (apisim-3).
func TestStepsOfAnySize(t *testing.T) {
	t.Parallel()
	once, often := newSim(t, small()), newSim(t, small())
	once.Advance(50 * 24 * time.Hour)
	for range 50 * 4 {
		often.Advance(6 * time.Hour)
	}
	once.Advance(-time.Hour) // does nothing
	if digest(once) != digest(often) {
		t.Error("one step of 50 days is not 200 of 6 hours")
	}
	if once.Now() != time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC) {
		t.Errorf("the clock is %v", once.Now())
	}
}

// No record is dated later than the moment it is read (apisim-5).
func TestNothingIsDatedLaterThanNow(t *testing.T) {
	t.Parallel()
	s := newSim(t, small())
	for range 60 {
		s.Advance(29 * time.Hour)
		now := s.Now().Format("2006-01-02T15:04:05.000Z")
		for _, stream := range cursorStreams() {
			for r := range s.Truth(stream, "acme") {
				_, at, _ := bytes.Cut(r, []byte(`"updatedAt":"`))
				if at := string(at[:len(now)]); at > now || at < "2024" {
					t.Fatalf("%s: updated %s, now %s: %s", stream, at, now, r)
				}
			}
		}
	}
}

// All of a Truth comes from one moment (apisim-4).
func TestTruthIsOneMoment(t *testing.T) {
	s := newSim(t, small())
	before := bytes.Join(collect(s, apisim.StreamTransactions), nil)
	var during [][]byte
	for r := range s.Truth(apisim.StreamTransactions, "acme") {
		s.Advance(time.Hour)
		s.TouchTransactions("acme", 0.5)
		if len(during) == 100 {
			must(t, s.Put(apisim.StreamTransactions, "acme", []byte(`{"id":"x"}`)))
		}
		during = append(during, r)
	}
	if !bytes.Equal(before, bytes.Join(during, nil)) {
		t.Error("changes showed in a Truth under way")
	}
	if after := collect(s, apisim.StreamTransactions); bytes.Equal(before, bytes.Join(after, nil)) {
		t.Error("changes do not show afterwards")
	}
}

func collect(s *apisim.Sim, stream string) (out [][]byte) {
	for r := range s.Truth(stream, "acme") {
		out = append(out, r)
	}
	return out
}

func TestOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*apisim.Options){
		"page size":  func(o *apisim.Options) { o.Settings.PageSize = 10_001 },
		"year":       func(o *apisim.Options) { o.Now = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC) },
		"twice":      func(o *apisim.Options) { o.Orgs = []apisim.Org{{Name: "a"}, {Name: "a"}} },
		"key":        func(o *apisim.Options) { o.Orgs = []apisim.Org{{Name: "a", Key: "k"}, {Name: "b", Key: "k"}} },
		"currency":   func(o *apisim.Options) { o.Orgs = []apisim.Org{{Name: "a", Currency: "EURO"}} },
		"retailers":  func(o *apisim.Options) { o.Retailers = -1 },
		"many":       func(o *apisim.Options) { o.Transactions = 1 << 40 },
		"rate":       func(o *apisim.Options) { o.Rates.DealEdits = 1000 },
		"order":      func(o *apisim.Options) { o.Settings.Order = 9 },
		"params":     func(o *apisim.Options) { o.Settings.Params.UpdatedBefore = "updatedAfter" },
		"mixed":      func(o *apisim.Options) { o.MixedCurrencies = 1.5 },
		"rate limit": func(o *apisim.Options) { o.Settings.RateLimit.PerSecond = -1 },
	} {
		o := small()
		change(&o)
		if _, err := apisim.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s := newSim(t, small())
	if s.SetPageSize(0) == nil || s.SetPageSize(10_001) == nil || s.Settings().PageSize != 100 {
		t.Error("a wrong page size was taken")
	}
}
