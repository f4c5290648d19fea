package service

import (
	"context"
	"path"
	"strings"
	"sync"
	"time"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/tracing"
)

// Clients are API clients: one for each account and key, all those of an account under one limiter (service-1). They
// are safe for concurrent use, and to be closed after the last run that has one.
type Clients struct {
	service *Service
	tune    func(*dealapi.Options) // may be nil

	mu       sync.Mutex // what follows runs of the daemon asks from several goroutines
	clients  map[clientKey]*dealapi.Client
	limiters map[string]*dealapi.Limiter // by account
	pulses   map[string]pulse            // by account
}

type clientKey struct{ account, key, from string } // of two keys that are alike, one may be changed

// Clients makes API clients; tune may change what they are made of, and be nil.
func (s *Service) Clients(tune func(*dealapi.Options)) *Clients {
	return &Clients{service: s, tune: tune, clients: map[clientKey]*dealapi.Client{},
		limiters: map[string]*dealapi.Limiter{}, pulses: map[string]pulse{}}
}

// measured are clients whose requests are counted by the metrics.
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
	if c.limiters[id.account] == nil { // service-1
		c.limiters[id.account] = dealapi.NewLimiter(t.Account.RequestsPerSecond)
	}
	o := dealapi.Options{
		Account: id.account, BaseURL: t.Account.BaseURL, Key: id.key, UserAgent: c.service.userAgent,
		Timeout: t.Account.Timeout, MaxBodyBytes: t.Account.MaxBodyBytes, Bodies: c.service.bodies,
		MaxElapsed: t.Account.MaxRetryElapsed,
		Limiter:    c.limiters[id.account], AllowInsecure: t.Account.AllowInsecure, Logger: c.service.log,
		Trace: traceRequest,
	}
	if id.from != "" {
		o.KeyAgain = func() (string, error) {
			key, err := t.Setting.Key.Again()
			return key.Reveal(), err
		}
	}
	if o.MaxElapsed == 0 { // configured so: no second attempt
		o.MaxAttempts = 1
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
	if verb == "get" { // of a single record, whose key makes each address another
		name = verb + " " + path.Dir(address) + "/{id}"
	}
	made := tracing.Request{Name: name, Path: address, SentAt: r.SentAt, Duration: r.Duration, Attempt: r.Attempt,
		Status: r.Status, Bytes: r.Bytes}
	if r.Kind != 0 {
		made.Failed = r.Kind.String()
	}
	tracing.AddRequest(ctx, made)
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
	// pulseAfter is over how long the requests of an account are counted before they are compared with its limit.
	pulseAfter = 2 * time.Second
	// nearlyAll is the share of the requests which a limit allows that it takes to be what holds the others up.
	nearlyAll = 0.85
)

// pulse is how many requests an account had made at a time, and what followed from the ones before.
type pulse struct {
	at        time.Time
	requests  uint64
	waited    time.Duration // for the limiter, all requests together
	limitedTo float64
}

// LimitedTo is the rate, in requests a second, that holds the requests of an account up: they leave as fast as it
// allows, and wait for it. It is 0 when something else takes the time, such as the service itself. It is to be asked
// now and then, and knows nothing before some seconds have passed.
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

// next is what follows from the present pulse under a limit, in requests a second. It is the one before while there is
// too little to judge by.
func (p pulse) next(now pulse, rate float64) pulse {
	elapsed := now.at.Sub(p.at)
	allowed := rate * elapsed.Seconds()
	made := float64(now.requests - p.requests)
	if elapsed < pulseAfter || made == 0 && allowed < 2 { // a slow limit lets none pass for long
		return p
	}
	if now.waited > p.waited && made >= nearlyAll*allowed {
		now.limitedTo = rate
	}
	return now
}

// attempts are all requests that a client has made, with those made again.
func attempts(s dealapi.Stats) uint64 {
	return s.Succeeded + s.Malformed + s.ClientErrors + s.RateLimited + s.ServerErrors + s.NetworkFails + s.Timeouts + s.Canceled + s.Others
}
