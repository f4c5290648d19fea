package web

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// TestAtOnce compares crowding with a count of the runs, second by second.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(1, 2))
	d := daySpan{noon.Add(-24 * time.Hour), noon}
	for range 4 {
		var runs []warehouse.RunSpan
		for range 1 + chance.IntN(40) {
			from := d.from.Add(time.Duration(chance.IntN(25*3600)-1800) * time.Second)
			r := warehouse.RunSpan{From: from, To: from.Add(time.Duration(1+chance.IntN(7200)) * time.Second)}
			if chance.IntN(8) == 0 {
				r.To = time.Time{}
			}
			runs = append(runs, r)
		}
		want := make([]int, laneWidth/slotMinutes)
		for second := range 24 * 3600 {
			at, n := d.from.Add(time.Duration(second)*time.Second), 0
			for _, r := range runs {
				if end := r.To; !r.From.After(at) && (end.IsZero() || at.Before(end)) {
					n++
				}
			}
			i := second / 60 / slotMinutes
			want[i] = max(want[i], n)
		}
		got := crowding(d, noon, runs)
		for i := range want {
			// A run just after the day touches the last slot, and a run just before the day the first one.
			if got[i] != want[i] && i > 0 && i < len(want)-1 {
				t.Fatalf("slot %d: %d at once, want %d, of %v", i, got[i], want[i], runs)
			}
		}
	}
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	id := func(stream string) warehouse.StreamID { return warehouse.StreamID{Account: "acme", Stream: stream} }
	o := &overview{now: noon}
	for _, name := range []string{"coupons", "payouts", "products"} {
		o.streams = append(o.streams, streamState{id: id(name)})
	}
	d := daySpan{noon.Add(-24 * time.Hour), noon}
	b := newTimeline(d, noon, o, spans{runs: []warehouse.RunSpan{
		{StreamID: id("coupons"), Outcome: "success", From: noon.Add(-25 * time.Hour), To: noon.Add(-23 * time.Hour)},
		{StreamID: id("products"), Outcome: "failed", From: noon.Add(-23*time.Hour - 30*time.Minute),
			To: noon.Add(-22 * time.Hour)},
		{StreamID: id("coupons"), Outcome: "running", From: noon.Add(-time.Minute)},
	}}, "")
	if len(b.Lanes) != 2 || b.Rest != "Not shown: 1 stream without a run." || b.Running != 1 ||
		b.Lanes[0].Name != "Coupons" {
		t.Fatalf("%+v", b)
	}
	coupons, products := b.Lanes[0], b.Lanes[1]
	if coupons.Runs != 2 || coupons.Bad != 0 || coupons.Longest != "2 h 0 min" || coupons.Busy != "1 h 1 min" ||
		coupons.Beside != "1" || products.Bad != 1 {
		t.Errorf("%+v\n%+v", coupons, products)
	}
	want := []mark{{"good", "M0 4h60V12h-60z"}, {"running", "M1439 4h2V12h-2z"}}
	if len(coupons.Marks) != 2 || coupons.Marks[0] != want[0] || coupons.Marks[1] != want[1] ||
		products.Marks[0].Path != "M30 0h90V12h-90z" {
		t.Errorf("%+v\n%+v", coupons.Marks, products.Marks)
	}
	if !strings.HasPrefix(b.Crowd.Text, "Runs under way at once: at most 2, at ") ||
		b.Crowd.Busiest[0].Streams != "coupons, products" {
		t.Errorf("%+v", b.Crowd)
	}
}

// TestTimelineOfMany: of 300 streams, some are drawn, those with trouble first, and the page says what it leaves out.
func TestTimelineOfMany(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := crowd(t, 50)
	x := b.serve(t, nil)
	page := func(path string, status int) string {
		t.Helper()
		answer, body := x.get(t, path)
		if answer.StatusCode != status {
			t.Fatalf("%s: %s", path, answer.Status)
		}
		return body
	}
	began := time.Now()
	body := page("/timeline", http.StatusOK)
	t.Logf("the timeline of 300 streams, 9000 runs: %d bytes in %s", len(body), time.Since(began))
	if n := strings.Count(body, `<li><a href="/streams/`); n != mostLanes {
		t.Errorf("%d streams are drawn, want %d", n, mostLanes)
	}
	wantText(t, body, fmt.Sprintf("Not shown: %d streams that ran without trouble and shorter", 300-mostLanes),
		`href="/streams/account-31/coupons"`, `href="/streams/account-07/payouts"`,
		"1 not successful", "Timeline as a table", "at most ", `href="/timeline?account=account-40"`, `rel="prev"`,
		`aria-current="page">Timeline`)
	if len(body) > 150_000 {
		t.Errorf("the page has %d bytes", len(body))
	}
	one := page("/timeline?account=account-40", http.StatusOK)
	if n := strings.Count(one, `<li><a href="/streams/account-40/`); n != 6 {
		t.Errorf("account-40 has %d lanes", n)
	}
	if m := regexp.MustCompile(`<path class="good" d="([^"]*)"`).FindStringSubmatch(one); m == nil ||
		strings.Count(m[1], "M") != 30 {
		t.Errorf("the first lane has the marks %v", m)
	}
	before := page("/timeline?day=2020-02-29&account=account-40", http.StatusOK)
	wantText(t, before, "29 Feb 2020", "Nothing ran in this time.",
		`href="/timeline?account=account-40&amp;day=2020-02-28"`, `href="/timeline?account=account-40&amp;day=2020-03-01"`)
	for _, bad := range []string{"/timeline?day=2020-02-30", "/timeline?day=%3Cscript%3E", "/timeline?when=now",
		"/timeline?day=9999-01-01"} {
		if body := page(bad, http.StatusBadRequest); strings.Contains(body, "<script>") {
			t.Errorf("%s: %s", bad, body)
		}
	}
	page("/timeline?account=nobody", http.StatusNotFound)
}
