package syncer

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// tagging is a service of coupons that names its answers, and sends those again only that have changed.
type tagging struct {
	mu      sync.Mutex
	codes   []string // of the coupons with the ids 1, 2, ...; "" is not in the list
	perPage int
	weak    bool
	lies    bool     // the first tag holds for every answer
	broken  bool     // a record has no id
	date    string   // of its answers; "" is the present
	asked   []string // If-None-Match of each request of the list
	sent    []int    // the status of each answer
}

func (s *tagging) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func couponID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

func (s *tagging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.date != "" {
		w.Header().Set("Date", s.date)
	}
	if r.URL.Path != "/v1/deals/coupons" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var records []string
	next := ""
	begun := r.URL.Query().Get("cursor") == ""
	for i, code := range s.codes {
		begun = begun || r.URL.Query().Get("cursor") == couponID(i+1)
		switch {
		case code == "" || !begun || next != "":
		case s.perPage > 0 && len(records) == s.perPage:
			next = fmt.Sprintf(`,"cursor":%q`, couponID(i+1))
		default:
			records = append(records, fmt.Sprintf(`{"id":%q,"code":%q}`, couponID(i+1), code))
		}
	}
	if s.broken {
		records = append(records, `{"code":"broken"}`)
	}
	body := `{"data":[` + strings.Join(records, ",") + `]` + next + `}`
	sum := fnv.New64a()
	sum.Write([]byte(body))
	if s.lies {
		sum = fnv.New64a()
	}
	tag := fmt.Sprintf(`"%x"`, sum.Sum64())
	if s.weak {
		tag = "W/" + tag
	}
	w.Header().Set("ETag", tag)
	s.asked = append(s.asked, r.Header.Get("If-None-Match"))
	if r.Header.Get("If-None-Match") == tag {
		s.sent = append(s.sent, http.StatusNotModified)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.sent = append(s.sent, http.StatusOK)
	fmt.Fprint(w, body)
}

// TestUnchangedList lets a service say that a list is still the one that is loaded. It is believed only while it is.
func TestUnchangedList(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	service := &tagging{codes: []string{"a", "b", "c", "d"}}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	w := open(t)
	coupons, err := catalog.Find("coupons")
	if err != nil {
		t.Fatal(err)
	}
	job := NewJob("acme", coupons, newClient(t, "acme", server.URL, "key"))
	job.AllowMassDelete = true
	// run runs the job, and wants an answer of that status for each of the list's requests, and the rows of the service.
	run := func(t *testing.T, job Job, want ...int) warehouse.RunRecord {
		t.Helper()
		service.set(func() { service.asked, service.sent = nil, nil })
		r := syncAll(t, w, []Job{job})["acme/coupons"]
		if fmt.Sprint(service.sent) != fmt.Sprint(want) {
			t.Errorf("answers %v to the conditions %q, want %v", service.sent, service.asked, want)
		}
		var codes []string
		for _, code := range service.codes {
			if code != "" {
				codes = append(codes, code)
			}
		}
		if got := one(t, w, "SELECT arrayStringConcat(arraySort(groupArray(code)), ' ') FROM coupons"); got != strings.Join(codes, " ") {
			t.Errorf("the view has %q, the service %q", got, codes)
		}
		checkCertified(t, w, "acme", "coupons")
		if r.Outcome == warehouse.OutcomeSuccess {
			checks, err := w.CheckQuality(t.Context(), r)
			if err != nil || len(checks) == 0 {
				t.Errorf("%d quality checks: %v", len(checks), err)
			}
			for _, c := range checks {
				if !c.OK {
					t.Errorf("after %v: %s: %s", want, c.Name, c.Detail)
				}
			}
		}
		return r
	}
	const sent, unchanged = http.StatusOK, http.StatusNotModified
	run(t, job, sent)
	for range 2 {
		if r := run(t, job, unchanged); r.Outcome != warehouse.OutcomeSuccess || r.Totals.Pages != 1 || r.Totals.Read != 0 || r.Changes.Any() || r.Totals.Bytes != 0 {
			t.Errorf("%+v", r)
		}
	}

	t.Run("changes", func(t *testing.T) {
		service.set(func() { service.codes[1] = "b2" })
		run(t, job, sent)
		run(t, job, unchanged)
		service.set(func() { service.codes[2] = "" })
		run(t, job, sent)
		run(t, job, unchanged)
		service.set(func() { service.codes[2], service.codes[1] = "c", "b" }) // as at the beginning, by the same tag
		run(t, job, sent)
		service.set(func() { service.weak = true })
		run(t, job, sent)
		run(t, job, unchanged)
	})
	t.Run("another job", func(t *testing.T) {
		full, dry := job, job
		full.Full, dry.DryRun = true, true
		run(t, full, sent)
		run(t, dry, sent)
		scoped := job
		scoped.Scope = catalog.NewScope(coupons, map[string][]string{"hostname": {"x"}})
		service.set(func() { service.asked = nil })
		if err := tryJob(t, w, scoped); err != nil {
			t.Fatal(err)
		}
		run(t, job, sent) // reads all again
		run(t, job, unchanged)
		other := job
		other.Client = newClient(t, "acme", server.URL, "other")
		run(t, other, sent)
		run(t, other, unchanged)
		run(t, job, sent)
		run(t, job, unchanged)
	})
	t.Run("something else wrote", func(t *testing.T) {
		for _, statement := range []string{
			"INSERT INTO coupons_latest SELECT * REPLACE (1 AS _deleted, _version + 1 AS _version) FROM coupons_latest FINAL LIMIT 1",
			"TRUNCATE TABLE coupons_latest",
		} {
			if err := w.Conn().Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
			service.set(func() { service.asked, service.sent = nil, nil })
			syncAll(t, w, []Job{job})
			if fmt.Sprint(service.sent) != fmt.Sprint([]int{sent}) {
				t.Errorf("%s: answers %v", statement, service.sent)
			}
			run(t, job, unchanged)
		}
	})
	t.Run("several pages", func(t *testing.T) {
		service.set(func() { service.perPage = 2 })
		run(t, job, sent, sent)
		run(t, job, sent, sent)
		service.set(func() { service.perPage = 0 })
		run(t, job, unchanged) // all of it is on the page of before again
	})
	t.Run("a record that cannot be loaded", func(t *testing.T) {
		tolerant := job
		tolerant.MaxRejectedRatio = 1
		service.set(func() { service.broken = true })
		for range 2 {
			if r := run(t, tolerant, sent); r.Totals.Rejected != 1 {
				t.Errorf("%d rejected", r.Totals.Rejected)
			}
		}
		service.set(func() { service.broken = false })
		run(t, job, unchanged)
	})
	t.Run("an old answer", func(t *testing.T) {
		service.set(func() { service.date = time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat) })
		if err := tryJob(t, w, job); err == nil {
			t.Error("an answer of before the last one was believed")
		}
		service.set(func() { service.date = "" })
		run(t, job, unchanged)
	})
	t.Run("a service that lies", func(t *testing.T) {
		service.set(func() { service.lies = true })
		run(t, job, sent)
		service.set(func() { service.codes[0] = "a9" })
		syncAll(t, w, []Job{job}) // nobody can know
		ageList(t, w, believedFor-time.Hour)
		service.set(func() { service.sent = nil })
		syncAll(t, w, []Job{job})
		ageList(t, w, believedFor+time.Hour)
		run(t, job, sent)
	})
}

// tryJob runs a job, which may fail.
func tryJob(t *testing.T, w *warehouse.Warehouse, job Job) error {
	t.Helper()
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(t.Context(), job)
	return err
}

// ageList makes the state say that the list was read so long ago.
func ageList(t *testing.T, w *warehouse.Warehouse, by time.Duration) {
	t.Helper()
	var known warehouse.KnownList
	if err := json.Unmarshal([]byte(one(t, w, "SELECT value FROM sync_state WHERE name = 'list' AND value != ''")), &known); err != nil {
		t.Fatal(err)
	}
	known.ReadAt = time.Now().Add(-by)
	text, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Conn().Exec(context.WithoutCancel(t.Context()), "INSERT INTO sync_state_log SELECT * REPLACE ({text:String} AS value, version + 1 AS version) FROM sync_state_log FINAL WHERE name = 'list'",
		named("text", string(text))); err != nil {
		t.Fatal(err)
	}
}
