package service

import (
	"context"
	"path"
	"strings"
	"sync"
	"time"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/telemetry"
)

// Clients are API clients, one for each account and key. All clients of an account share one limiter (one limit for an
// account). Clients are safe for concurrent use, and must be closed after the last run that uses one.
type Clients struct {
	service *Service
	tune    func(*dealapi.Options) // may be nil

	mu       sync.Mutex // the work after the daemon's runs calls Get from several goroutines
	clients  map[clientKey]*dealapi.Client
	limiters map[string]*dealapi.Limiter // by account
	pulses   map[string]pulse            // by account
}

type clientKey struct{ account, key, from string } // one of two equal keys may be changed later

// Clients makes API clients; tune may change what they are made of, and be nil.
func (s *Service) Clients(tune func(*dealapi.Options)) *Clients {
	return &Clients{service: s, tune: tune, clients: map[clientKey]*dealapi.Client{},
		limiters: map[string]*dealapi.Limiter{}, pulses: map[string]pulse{}}
}

// measured makes clients whose requests the metrics count.
func (s *Service) measured() *Clients {
	return s.Clients(func(o *dealapi.Options) { o.Metrics = s.metrics.API })
}

// Get returns the client that reads a target.
func (c *Clients) Get(t Target) (*dealapi.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := clientKey{t.Account.Name, t.Setting.Key.Reveal(), t.Setting.Key.From()}
	if client := c.clients[id]; client != nil {
		return client, nil
	}
	if c.limiters[id.account] == nil { // one limit for an account
		c.limiters[id.account] = dealapi.NewLimiter(t.Account.RequestsPerSecond)
	}
	o := dealapi.Options{
		Account: id.account, BaseURL: t.Account.BaseURL, Key: id.key, UserAgent: c.service.userAgent,
		Timeout: t.Account.Timeout, MaxBodyBytes: t.Account.MaxBodyBytes, Bodies: c.service.bodies,
		MaxElapsed: t.Account.MaxRetryElapsed, NoRetry: t.Account.MaxRetryElapsed == 0,
		Limiter: c.limiters[id.account], AllowInsecure: t.Account.AllowInsecure, Logger: c.service.log,
		Trace: traceRequest,
	}
	if id.from != "" {
		o.KeyAgain = func() (string, error) {
			key, err := t.Setting.Key.Again()
			return key.Reveal(), err
		}
	}
	if c.tune != nil {
		c.tune(&o)
	}
	client, err := dealapi.New(o)
	if err != nil {
		return nil, err
	}
	c.clients[id] = client
	return client, nil
}

// traceRequest records a request as a part of what it was made for.
func traceRequest(ctx context.Context, r dealapi.RequestInfo) {
	verb, address, _ := strings.Cut(r.Op, " ")
	name := r.Op
	if verb == "get" { // the address of a single record contains its key, so each is different
		name = verb + " " + path.Dir(address) + "/{id}"
	}
	made := telemetry.Request{Name: name, Path: address, SentAt: r.SentAt, Duration: r.Duration, Attempt: r.Attempt,
		Status: r.Status, Bytes: r.Bytes}
	if r.Kind != 0 {
		made.Failed = r.Kind.String()
	}
	telemetry.AddRequest(ctx, made)
}

// Close closes all clients.
func (c *Clients) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, client := range c.clients {
		client.Close()
	}
}

const (
	// pulseAfter is how long the requests of an account are counted before they are compared with its limit.
	pulseAfter = 2 * time.Second
	// nearlyAll is the share of the allowed requests from which on the limit counts as what slows an account down.
	nearlyAll = 0.85
)

// pulse is the number of requests that an account had made at a time, and what the previous pulse showed.
type pulse struct {
	at        time.Time
	requests  uint64
	waited    time.Duration // for the limiter, all requests together
	limitedTo float64
}

// LimitedTo returns the rate limit, in requests a second, if that is what slows an account down. It returns 0 if
// something else does, such as the service itself. It measures between calls, so it must be called now and then, and
// returns 0 for the first seconds.
func (c *Clients) LimitedTo(account string) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	limiter := c.limiters[account]
	if limiter == nil {
		return 0
	}
	now := pulse{at: c.service.now()}
	for id, client := range c.clients {
		if id.account == account {
			stats := client.Stats()
			now.requests += attempts(stats)
			now.waited += stats.LimiterWait
		}
	}
	last, known := c.pulses[account]
	if known {
		now = last.next(now, limiter.Rate())
	}
	c.pulses[account] = now
	return now.limitedTo
}

// next completes the present pulse: limitedTo becomes rate, in requests a second, if that limit slowed the account
// down. While there is too little to judge by, it returns the previous pulse.
func (p pulse) next(now pulse, rate float64) pulse {
	elapsed := now.at.Sub(p.at)
	allowed := rate * elapsed.Seconds()
	made := float64(now.requests - p.requests)
	if elapsed < pulseAfter || made == 0 && allowed < 2 { // under a slow limit, no request may pass for a long time
		return p
	}
	if now.waited > p.waited && made >= nearlyAll*allowed {
		now.limitedTo = rate
	}
	return now
}

// attempts counts all requests that a client has made, including retries.
func attempts(s dealapi.Stats) uint64 {
	return s.Succeeded + s.Malformed + s.ClientErrors + s.RateLimited + s.ServerErrors + s.NetworkFails + s.Timeouts + s.Canceled + s.Others
}
