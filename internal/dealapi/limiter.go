package dealapi

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The limiter's constants. A refusal after the rate had settled cuts it gently, and the rate takes climbSeconds to
// climb back. Its mean is then above 90 % of what the service accepts. Some per cent of the requests are refused at
// five requests a second, and far fewer at a hundred. Refusals soon after a cut mean that the rate is far too high:
// they halve it, and the limit is unknown then.
const (
	startRate    = 10.0 // requests/s, if there is no ceiling to start from
	floorRate    = 0.1
	gentleCut    = 0.85
	hardCut      = 0.5
	climbSeconds = 10.0
	settled      = 10 // requests accepted since the last cut
	probeGrowth  = 0.10
	startGrowth  = 0.50
	// afterCut is how long after a cut refusals are blamed on the rate before it: a service that counts in windows
	// refuses until its window ends.
	afterCut = time.Second
	// roundedPause is the longest Retry-After that may be only a fraction of a second, rounded up. The cut is enough
	// for these. Longer ones hold every request of the account.
	roundedPause = time.Second
)

// Limiter paces the requests of one account. It is shared by all the account's clients and safe for concurrent use. It
// learns: each 429 lowers the rate by a factor, success under load raises it by steps, up to its ceiling (AIMD). A nil
// Limiter does not limit.
type Limiter struct {
	most    float64 // of all processes together
	ceiling float64 // of this one
	pace    *rate.Limiter

	mu        sync.Mutex
	rate      float64   // now
	mark      float64   // the rate that was refused when settled, 0 if unknown
	met       bool      // a refusal was met
	accepted  int       // since the last cut
	ignore    time.Time // refusals of requests that were granted before this say nothing new
	raised    time.Time // when the rate last went up
	holdUntil time.Time // no request before
	lastSlot  time.Time // the latest slot given out, at whatever rate
}

// NewLimiter returns a limiter that starts at this number of requests per second, evenly spaced, and never exceeds it.
// Zero, negative and infinite rates mean that no ceiling is known: it starts at 10 requests per second and goes up
// until the service refuses.
func NewLimiter(requestsPerSecond float64) *Limiter {
	l := &Limiter{ceiling: requestsPerSecond, rate: requestsPerSecond}
	if !(requestsPerSecond > 0) || math.IsInf(requestsPerSecond, 1) {
		l.ceiling, l.rate = math.Inf(1), startRate
	}
	l.most = l.ceiling
	l.pace = rate.NewLimiter(rate.Limit(l.rate), 1)
	return l
}

// Share makes the ceiling the share of one of several processes that have the same one, and reports whether it was
// another share before.
func (l *Limiter) Share(processes int) (changed bool) {
	if l == nil || math.IsInf(l.most, 1) { // the service's refusals make the processes share
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.ceiling
	l.ceiling = l.most / float64(max(1, processes))
	if l.rate > l.ceiling || !l.met { // what a refusal has lowered goes up by itself
		l.set(l.ceiling)
	}
	return l.ceiling != before
}

// Rate returns the present rate in requests per second, infinite for nil.
func (l *Limiter) Rate() float64 {
	if l == nil {
		return math.Inf(1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rate
}

// grant is the permission to send one request.
type grant struct {
	at     time.Time
	waited time.Duration // 0 if the request could leave at once
}

// wait blocks until a request may leave. If that would be after the context's deadline, it returns an
// error at once (dealapi-5).
func (l *Limiter) wait(ctx context.Context) (grant, error) {
	start := time.Now()
	if l == nil {
		return grant{at: start}, ctx.Err()
	}
	for delayed := false; ; {
		if hold := time.Until(l.held()); hold > 0 {
			delayed = true
			if err := sleep(ctx, hold); err != nil {
				return grant{waited: time.Since(start)}, err
			}
			continue
		}
		slot, delay := l.reserve()
		if err := sleep(ctx, delay); err != nil {
			slot.Cancel()
			return grant{waited: time.Since(start)}, err
		}
		if delay <= 0 && !delayed {
			return grant{at: start}, nil
		}
		delayed = true
		// A Retry-After that came meanwhile also holds requests that have a slot.
		if now := time.Now(); !now.Before(l.held()) {
			return grant{at: now, waited: now.Sub(start)}, nil
		}
	}
}

// reserve takes the next slot and returns the time until it comes.
func (l *Limiter) reserve() (*rate.Reservation, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	slot := l.pace.ReserveN(now, 1)
	delay := slot.DelayFrom(now)
	l.lastSlot = now.Add(delay)
	return slot, delay
}

func (l *Limiter) held() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holdUntil
}

// served records that the service took a request. Only requests that had to wait raise the rate: if the demand is below
// the rate, success proves nothing.
func (l *Limiter) served(g grant) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.accepted++
	elapsed := min(now.Sub(l.raised).Seconds(), 1)
	l.raised = now
	if g.waited <= 0 || l.rate >= l.ceiling {
		return
	}
	var perSecond float64
	switch {
	case !l.met:
		perSecond = startGrowth * l.rate
	case l.rate < l.mark*1.05:
		perSecond = (1 - gentleCut) * l.mark / climbSeconds
	default:
		// The limit is not known, or has changed.
		perSecond = probeGrowth * l.rate
	}
	l.set(l.rate + perSecond*elapsed)
}

// refused records a 429, with what its Retry-After asked for (0 for none).
func (l *Limiter) refused(g grant, retryAfter time.Duration) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if until := now.Add(retryAfter); retryAfter > roundedPause && until.After(l.holdUntil) {
		l.holdUntil = until
	}
	if g.at.Before(l.ignore) {
		return
	}
	l.met = true
	l.raised = now
	// Requests that wait already have a slot at the old pace.
	l.ignore = now.Add(afterCut)
	if l.lastSlot.After(l.ignore) {
		l.ignore = l.lastSlot
	}
	if l.accepted >= settled {
		l.mark = l.rate
		l.set(l.rate * gentleCut)
	} else {
		l.mark = 0
		l.set(l.rate * hardCut)
	}
	l.accepted = 0
}

// set changes the rate; l.mu must be held.
func (l *Limiter) set(r float64) {
	l.rate = min(max(r, min(floorRate, l.ceiling)), l.ceiling)
	l.pace.SetLimit(rate.Limit(l.rate))
}

// sleep waits, but not past the context's deadline: then it fails at once.
func sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
