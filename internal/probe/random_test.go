package probe

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// drawn is a service whose behaviour was drawn at random, with what is true of it.
type drawn struct {
	settings apisim.Settings
	options  apisim.Options
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func draw(seed uint64) drawn {
	r := rand.New(rand.NewPCG(seed, 2))
	d := drawn{settings: apisim.RandomSettings(seed)}
	d.options = apisim.Options{
		Seed: seed, Now: time.Now().UTC(), Orgs: []apisim.Org{{Name: "acme", Key: "the-full-key", PayoutsKey: "the-payouts-key"}},
		Retailers: 20, Promotions: pick(r, -1, 5, 300), Coupons: 10, CashbackOffers: 10, Transactions: pick(r, -1, 3, 60, 300, 900, 900),
		Products: pick(r, -1, 4, 250), HistoryDays: 2, Settings: d.settings,
	}
	return d
}

// findable reports a service that has rows, stands still and answers, with filters by updatedAt whose names are tried.
func (d drawn) findable() bool {
	s := &d.settings
	return slices.Contains(afterNames, s.Params.UpdatedAfter) && slices.Contains(beforeNames, s.Params.UpdatedBefore) &&
		!s.IgnoreDateFilters && !s.Dates.BySale && !s.Dates.EpochOnly && d.options.Transactions > 50 &&
		s.Movement == apisim.Movement{} && s.RateLimit == apisim.RateLimit{}
}

// worlds is how many services are drawn.
func worlds() int {
	if n, err := strconv.Atoi(os.Getenv("PROBE_WORLDS")); err == nil {
		return n
	}
	if testing.Short() {
		return 20
	}
	return enginetest.Worlds(60, 500)
}

// TestNeverWrong asks services that were drawn at random: each answer is right, or unknown.
func TestNeverWrong(t *testing.T) {
	t.Parallel()
	unknown, asked := map[string]int{}, map[string]int{}
	findable, found := 0, 0
	begin := uint64(1)
	if os.Getenv("PROBE_WORLDS") != "" { // a search, with seeds that nobody has tried
		begin = uint64(time.Now().UnixNano())
	}
	if text := os.Getenv("PROBE_SEED"); text != "" {
		begin, _ = strconv.ParseUint(text, 10, 64)
	}
	for i := range uint64(worlds()) {
		seed := begin + i
		d := draw(seed)
		sim, err := apisim.New(d.options)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		server := httptest.NewServer(sim)
		report, err := Run(t.Context(), Options{BaseURL: server.URL + pick(rand.New(rand.NewPCG(seed, 3)),
			"", "/", "/v1", "/v1/deals/coupons"), Key: "the-full-key", PayoutsKey: "the-payouts-key", PerSecond: 1e6})
		server.Close()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if report.Requests > DefaultMaxRequests {
			t.Errorf("seed %d: %d requests", seed, report.Requests)
		}
		for _, f := range report.Findings {
			if asked[f.Question]++; f.Confidence == Unknown {
				unknown[f.Question]++
			}
			if f.Confidence == Unknown && f.Answer != "unknown" || f.Evidence == "" {
				t.Errorf("seed %d: %+v", seed, f)
			}
		}
		if d.findable() {
			findable++
			found += boolean(report.Settings.UpdatedAfter != "" && report.Settings.UpdatedBefore != "")
		}
		for _, wrong := range d.judge(server.URL, report) {
			t.Errorf("seed %d: %s\n%+v", seed, wrong, d.settings)
		}
	}
	t.Logf("both filters were found in %d of the %d services where they could be", found, findable)
	if found*10 < findable*9 {
		t.Error("too much is unknown")
	}
	for question, n := range asked {
		t.Logf("%5.1f %% unknown: %s", 100*float64(unknown[question])/float64(n), question)
	}
}

// clockIs compares an answer about the clock with the truth. The clock of the simulator stands still.
func (d drawn) clockIs(answer string) bool {
	if answer == "yes" {
		return d.settings.DateSkew == 0
	}
	text := strings.TrimPrefix(answer, "it differs from the clock here by ")
	skew, err := time.ParseDuration(text[:strings.IndexByte(text, ',')])
	return err == nil && (skew-d.settings.DateSkew).Abs() < 20*time.Second
}

// judge compares a report with the truth.
func (d drawn) judge(url string, r *Report) (wrong []string) {
	s := &d.settings
	is := func(question string, right ...string) {
		for _, f := range r.Findings {
			if f.Question == question && f.Confidence != Unknown && !slices.Contains(right, f.Answer) {
				wrong = append(wrong, fmt.Sprintf("%s: %q (%s), and right is %q", question, f.Answer, f.Evidence, right))
			}
		}
	}
	yes := func(question string, b bool) { is(question, yesNo(b)) }
	filters := !s.IgnoreDateFilters && !s.Dates.BySale && !s.Dates.EpochOnly
	if r.BaseURL != url+s.BasePath && r.Err == nil {
		wrong = append(wrong, "base_url is "+r.BaseURL)
	}
	after, before := s.Params.UpdatedAfter, s.Params.UpdatedBefore
	if !filters {
		after, before = "", ""
	}
	if got := r.Settings; got.UpdatedAfter != "" && got.UpdatedAfter != after || got.UpdatedBefore != "" && got.UpdatedBefore != before {
		wrong = append(wrong, fmt.Sprintf("filters %q and %q", got.UpdatedAfter, got.UpdatedBefore))
	}
	is(askAfter, after)
	is(askBefore, before)
	is(askStrict, map[bool]string{true: "it is refused", false: "it is ignored"}[s.RejectUnknownParams])
	meaning := map[bool]string{false: "updatedAt", true: "soldAt"}[s.Dates.BySale]
	if s.Dates.WholeSeconds && !s.Dates.BySale {
		// Where both borders are inclusive, a window of milliseconds has the row too.
		is(askMeaning, meaning+", in whole seconds", meaning)
	} else {
		is(askMeaning, meaning)
	}
	yes(askFrom, s.Dates.AfterInclusive)
	yes(askTo, s.Dates.BeforeInclusive)
	is(askForms, "UTC with Z; an offset; no zone, as UTC")
	yes(askSurvival, !s.Dates.NotAfterCursor)
	is("which parameter takes the cursor", "cursor")
	is("how a list says that it goes on", "cursor, beside data")
	page := s.Params.Page
	if s.NextPage == apisim.NextURL {
		page = "none: it is an address"
	}
	is("which parameter takes nextPage", page)
	is("which parameter sets the size of a page", s.PageSizeParam)
	all := d.options.Transactions
	limits := []string{strconv.Itoa(s.PageSizeMost)}
	for n := all - 200; n <= all+200; n++ { // some are deleted, or not there yet
		limits = append(limits, fmt.Sprintf("%d or more", n))
	}
	is("how large a page can be", limits...)
	for _, list := range []string{"promotions", "coupons", "cashback_offers", "transactions"} {
		is("how "+list+" are ordered", map[apisim.Order]string{
			apisim.ByID: "by id", apisim.ByUpdatedAsc: "by updatedAt, the oldest first",
			apisim.ByUpdatedDesc: "by updatedAt, the newest first",
		}[s.Order], map[bool]string{true: "neither by id nor by updatedAt"}[s.Order == apisim.Shuffled || s.Order == apisim.Drifting])
	}
	yes("can a cursor be used again", true)
	yes("do payouts need a key of their own", s.PayoutsKeyRequired)
	zone := "all have one"
	if s.Timestamps == apisim.TimeNoZone {
		zone = "UTC"
	}
	is("in which zone are times without one", zone)
	yes("does it compress", s.Gzip)
	yes("does it answer conditional requests", s.ETags)
	for _, f := range r.Findings {
		switch {
		case f.Question == "is its clock right" && f.Confidence != Unknown && !d.clockIs(f.Answer):
			wrong = append(wrong, "the clock: "+f.Answer)
		case f.Question == askFields && strings.Contains(f.Answer, "x_labels") != s.ExtraFields &&
			f.Answer != "none":
			wrong = append(wrong, "fields: "+f.Answer)
		case f.Question == askWritten && strings.Contains(f.Answer, "without a zone") != (s.Timestamps == apisim.TimeNoZone) &&
			f.Answer != "none":
			wrong = append(wrong, "forms: "+f.Answer)
		case strings.Contains(f.Answer+f.Evidence, "the-full-key"), strings.Contains(f.Answer+f.Evidence, "the-payouts-key"):
			wrong = append(wrong, "the key is shown")
		}
	}
	return wrong
}
