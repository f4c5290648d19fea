package apisim_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dealhouse/internal/apisim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The world moves in every way while pages are read. Every page must be complete, and every method safe.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	s := newSim(t, small())
	must(t, s.SetPageSize(50))
	var readers, writers sync.WaitGroup
	write := func(f func(i int)) {
		writers.Go(func() {
			for i := range 300 {
				f(i)
			}
		})
	}
	write(func(int) { s.Advance(7 * time.Hour) })
	write(func(int) { s.TouchTransactions("acme", 0.05) })
	write(func(i int) {
		record := []byte(`{"id":"` + uuidText(i%50) + `","updatedAt":"2026-03-01T00:00:00Z"}`)
		if s.Put(apisim.StreamTransactions, "acme", record) != nil {
			t.Error("put failed")
		}
		// The record exists, or the other half of the ring has removed it.
		_ = s.Delete(apisim.StreamTransactions, "acme", uuidText((i+25)%50))
	})
	write(func(i int) {
		if s.SetOrder(orders()[i%3]) != nil {
			t.Error("order refused")
		}
		s.SetExtraFields(i%2 == 0)
		s.SetGzip(i%3 == 0)
	})
	for _, path := range paths() {
		readers.Go(func() {
			for range 40 {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				full, _ := s.Keys("acme")
				r.Header.Set("Authorization", "Bearer "+full)
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
					return
				}
				parse[any](t, w.Body.Bytes())
			}
		})
	}
	readers.Go(func() {
		for range 10 {
			for _, stream := range apisim.Streams() {
				for r := range s.Truth(stream, "acme") {
					_ = r
				}
				s.Count(stream, "acme")
			}
			s.Now()
			s.Log()
			s.Requests("")
		}
	})
	readers.Wait()
	writers.Wait()
}
