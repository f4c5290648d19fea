package dealapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

func TestLimiterSpacesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(10)
		start := time.Now()
		for range 21 {
			if _, err := l.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("21 requests at 10/s left within %s", got)
		}
	})
}

func TestLimiterNeverWaitsPastTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(0.5)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, first := l.wait(ctx)
		_, second := l.wait(ctx)
		if first != nil || !errors.Is(second, context.DeadlineExceeded) || time.Since(start) != 0 {
			t.Errorf("%v, %v after %s", first, second, time.Since(start))
		}
		// Another request can take the slot that was given back.
		if g, err := l.wait(t.Context()); err != nil || g.waited > 2*time.Second {
			t.Errorf("waited %s: %v", g.waited, err)
		}
	})
}

func TestLimiterHoldsAllForALongRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(100)
		g, err := l.wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.refused(g, 30*time.Second)
		start := time.Now()
		if _, err := l.wait(t.Context()); err != nil || time.Since(start) != 30*time.Second {
			t.Errorf("held %s: %v", time.Since(start), err)
		}
	})
}

func TestLimiterHoldsWhoHasASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(1)
		g, err := l.wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				g, err := l.wait(t.Context())
				if err != nil || g.at.Sub(start) < 30*time.Second || g.waited != g.at.Sub(start) {
					t.Errorf("it left after %s, of which %s waiting: %v", g.at.Sub(start), g.waited, err)
				}
			})
		}
		synctest.Wait()
		l.refused(g, 30*time.Second)
		waiting.Wait()
	})
}

func TestLimiterStaysWithinItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(5)
		for range 100 {
			time.Sleep(time.Second)
			l.refused(grant{at: time.Now()}, 0)
		}
		if l.Rate() != floorRate {
			t.Errorf("rate %g after refusals only", l.Rate())
		}
		for range 10000 {
			time.Sleep(time.Second)
			l.served(grant{at: time.Now(), waited: 1})
		}
		if l.Rate() != 5 {
			t.Errorf("rate %g, want its ceiling again", l.Rate())
		}
	})
	var none *Limiter
	none.served(grant{})
	none.refused(grant{}, 0)
	if !math.IsInf(none.Rate(), 1) {
		t.Error("nil limits")
	}
}

// limited is a service that refuses what is over its limit, in memory and so in a test's own time. It counts with a
// token bucket, or in windows of one second.
type limited struct {
	limit   int
	windows bool

	mu      sync.Mutex
	bucket  *rate.Limiter
	window  int64
	inIt    int
	served  int
	refused int
}

func (s *limited) allow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ok bool
	if s.windows {
		if now := time.Now().Unix(); now != s.window {
			s.window, s.inIt = now, 0
		}
		s.inIt++
		ok = s.inIt <= s.limit
	} else {
		ok = s.bucket.Allow()
	}
	if ok {
		s.served++
	} else {
		s.refused++
	}
	return ok
}

func (s *limited) drain() (served, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	served, refused, s.served, s.refused = s.served, s.refused, 0, 0
	return served, refused
}

func (s *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(30 * time.Millisecond)
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req, ContentLength: -1}
	body := fmt.Sprintf(`{"data":[1],"cursor":"%d"}`, time.Now().UnixNano())
	if !s.allow() {
		resp.StatusCode, body = 429, ""
		resp.Header.Set("Retry-After", "1")
	}
	resp.Body = io.NopCloser(strings.NewReader(body))
	return resp, nil
}

// TestLimiterSettles: the limiter finds an unknown limit within 20 %, and under 5 % of the requests are
// refused once it has settled.
func TestLimiterSettles(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	for _, limit := range []int{5, 20, 100} {
		for _, windows := range []bool{false, true} {
			for _, start := range []float64{0, 1000} {
				t.Run(fmt.Sprintf("limit=%d windows=%t start=%g", limit, windows, start), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						service := &limited{limit: limit, windows: windows, bucket: rate.NewLimiter(rate.Limit(limit), 5)}
						c, err := New(Options{
							Account: "acme", BaseURL: "https://api.example.com", Key: testKey, Transport: service,
							Limiter: NewLimiter(start), MaxAttempts: 100,
						})
						if err != nil {
							t.Fatal(err)
						}
						ctx, cancel := context.WithCancel(t.Context())
						var streams sync.WaitGroup
						for range 8 {
							streams.Go(func() {
								for _, err := range c.Pages(ctx, Query{Path: couponsPath, Ahead: -1}) {
									if err != nil && ctx.Err() == nil {
										t.Error(err)
									}
								}
							})
						}
						time.Sleep(time.Minute)
						service.drain()
						const span = 120
						time.Sleep(span * time.Second)
						served, refused := service.drain()
						cancel()
						streams.Wait()
						share := float64(refused) / float64(served+refused)
						throughput := float64(served) / span
						t.Logf("%.1f requests/s, %.1f %% refused", throughput, 100*share)
						if throughput < 0.8*float64(limit) || throughput > 1.2*float64(limit) {
							t.Errorf("settled at %.1f requests/s", throughput)
						}
						if share >= 0.05 {
							t.Errorf("%.1f %% refused", 100*share)
						}
					})
				})
			}
		}
	}
}

// TestShare gives a process its share of the ceiling while others load the account too.
func TestShare(t *testing.T) {
	l := NewLimiter(12)
	for _, c := range []struct {
		processes int
		changed   bool
		want      float64
	}{{1, false, 12}, {3, true, 4}, {3, false, 4}, {2, true, 6}, {0, true, 12}} {
		if changed := l.Share(c.processes); changed != c.changed || l.Rate() != c.want {
			t.Errorf("%d processes: %v a second (changed: %t), want %v", c.processes, l.Rate(), changed, c.want)
		}
	}
	l.refused(grant{at: time.Now()}, 0) // it goes on from the rate that the service takes
	cut := l.Rate()
	if l.Share(2); l.Rate() > 6 || l.Rate() > cut {
		t.Errorf("after a refusal: %v", l.Rate())
	}
	if l.Share(1); l.Rate() > cut {
		t.Errorf("the others are gone: %v, and the service refused more than %v", l.Rate(), cut)
	}
	unlimited := NewLimiter(0)
	if unlimited.Share(2) || unlimited.Rate() != startRate {
		t.Errorf("without a ceiling: %v", unlimited.Rate())
	}
	if (*Limiter)(nil).Share(2) {
		t.Error("there is no limiter")
	}
}
