package apisim

import (
	"math"
	"net/http"
	"strings"
	"sync"
	"time"
)

// account is the owner of an API key, and what the key may read.
type account struct {
	org         int
	name        string
	payoutsOnly bool
}

// authenticate returns the account of a request, or the answer that refuses it: 401 without a bearer key, 403
// for a key of no account.
func (s *Sim) authenticate(r *http.Request) (account, string, *answer) {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	key = strings.TrimSpace(key)
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		refusal := problem(http.StatusUnauthorized, "Authorization",
			"an API key is required: Authorization: Bearer <API_KEY>")
		refusal.header.Set("WWW-Authenticate", "Bearer")
		return account{}, "", refusal
	}
	acct, ok := s.keys[key]
	if !ok {
		return account{}, "", problem(http.StatusForbidden, "Authorization", "the API key is not allowed")
	}
	return acct, key, nil
}

// allowed tells whether the account may read payouts, or, if payouts is false, everything else.
func (a account) allowed(payouts bool, set *Settings) bool {
	if payouts {
		return a.payoutsOnly || !set.PayoutsKeyRequired
	}
	return !a.payoutsOnly
}

// limiter holds a token bucket for each key.
type limiter struct {
	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

// spend uses one token of a key. If there is none, it returns how long to wait for one.
func (l *limiter) spend(key string, limit RateLimit, now time.Time) (wait time.Duration, ok bool) {
	if limit.PerSecond <= 0 {
		return 0, true
	}
	burst := float64(limit.Burst)
	if burst == 0 {
		burst = math.Max(1, math.Ceil(limit.PerSecond))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		if l.buckets == nil {
			l.buckets = map[string]*bucket{}
		}
		b = &bucket{tokens: burst, at: now}
		l.buckets[key] = b
	}
	if d := now.Sub(b.at); d > 0 {
		b.tokens = math.Min(burst, b.tokens+d.Seconds()*limit.PerSecond)
		b.at = now
	}
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) / limit.PerSecond * float64(time.Second)), false
	}
	b.tokens--
	return 0, true
}

// reset fills every bucket.
func (l *limiter) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.buckets)
}
