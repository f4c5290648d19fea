package dealapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// request is one request, which may take several attempts.
type request struct {
	op       string
	url      *url.URL
	page     int  // 0 outside of a chain
	cursor   bool // the URL carries a cursor or nextPage
	sizeHint int  // expected bytes of the decompressed body, 0 if unknown
	unless   string
}

// reply is the attempt that succeeded.
type reply struct {
	body       []byte // nil: what has the tag request.unless has not changed
	header     http.Header
	sentAt     time.Time
	serverTime time.Time
	retries    int
	waited     time.Duration
}

// budget bounds the attempts of one request.
type budget struct {
	attempts       int
	elapsed        time.Duration
	retryAfter     time.Duration
	first, longest time.Duration // waits
}

// unendingAttempts bounds the attempts that end in an answer which does not end: each takes Options.Timeout.
const unendingAttempts = 3

// schedule decides, for one request, how long to wait for the next attempt and whether there is one. It is a
// backoff.BackOffContext.
type schedule struct {
	budget
	ctx     context.Context //nolint:containedctx // backoff.BackOffContext is asked for its context by a method
	now     func() time.Time
	exp     *backoff.ExponentialBackOff
	started time.Time // when the limiter let the first attempt go
	made    int
	last    *Error // the fault of the latest attempt
	why     string // the schedule ended, in words; may be empty
}

func (c *Client) newSchedule(ctx context.Context) *schedule {
	exp := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(c.budget.first),
		backoff.WithMaxInterval(c.budget.longest),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(0.5),
		backoff.WithMaxElapsedTime(0), // NextBackOff below keeps count
	)
	return &schedule{budget: c.budget, ctx: ctx, now: c.now, exp: exp}
}

// Context lets the wait end with the context.
func (s *schedule) Context() context.Context { return s.ctx }

// Reset starts the waits anew. The package backoff calls it once, before the first attempt.
func (s *schedule) Reset() { s.exp.Reset() }

// NextBackOff returns the wait before the next attempt, or backoff.Stop.
func (s *schedule) NextBackOff() time.Duration {
	if s.made >= s.attempts {
		return backoff.Stop
	}
	if s.last.unending && s.made >= unendingAttempts {
		s.why = fmt.Sprintf("such an answer is asked for %d times at most", unendingAttempts)
		return backoff.Stop
	}
	wait := max(s.exp.NextBackOff(), min(s.last.RetryAfter, s.retryAfter))
	now := s.now()
	if now.Add(wait).Sub(s.started) > s.elapsed {
		s.why = fmt.Sprintf("the next attempt would be later than %s after the first", s.elapsed)
		return backoff.Stop
	}
	if deadline, ok := s.ctx.Deadline(); ok && !now.Add(wait).Before(deadline) {
		s.why = "the deadline comes before the next attempt" // dealapi-5
		return backoff.Stop
	}
	return wait
}

// do makes attempts until one succeeds, until no further one can help, or until the budget is spent. parse validates
// the body; its errors are faults like any other (dealapi-3). The error is always an *Error.
func (c *Client) do(ctx context.Context, r request, parse func([]byte) error) (*reply, error) {
	s := c.newSchedule(ctx)
	var waited time.Duration
	renewed := false // once, so that a service which refuses every key is not asked without end
	var again func() (*reply, error)
	attempt := func() (*reply, error) {
		g, err := c.limiter.wait(ctx)
		waited += g.waited
		c.counters.limiterWait.Add(uint64(g.waited))
		c.metrics.waited(c.account, g.waited)
		if err != nil {
			return nil, backoff.Permanent(c.ended(ctx, r, err))
		}
		if s.made++; s.made == 1 {
			s.started = c.now()
		}
		number := c.keys.number()
		answer, fault := c.attempt(ctx, r, parse, s.made, g)
		if fault == nil {
			return answer, nil
		}
		if fault.Kind == KindAuth && !renewed && c.RenewKey(number) {
			renewed = true
			return again()
		}
		s.last = fault
		if !fault.retry {
			return nil, backoff.Permanent(fault)
		}
		return nil, fault
	}
	again = attempt
	notify := func(_ error, wait time.Duration) {
		c.log.Warn("request failed, will be repeated", "op", r.op, "page", r.page, "kind", s.last.Kind.String(),
			"status", s.last.Status, "attempt", s.made, "wait", wait, "detail", s.last.Detail)
	}
	answer, err := backoff.RetryNotifyWithTimerAndData(attempt, s, notify, c.newTimer())
	if err != nil {
		return nil, c.giveUp(ctx, r, s, err)
	}
	answer.retries = s.made - 1
	answer.waited = waited
	return answer, nil
}

// giveUp turns the end of a schedule into the caller's error.
func (c *Client) giveUp(ctx context.Context, r request, s *schedule, err error) *Error {
	var final *Error
	if !errors.As(err, &final) {
		final = c.ended(ctx, r, err) // the context ended during a wait
	}
	if final != s.last && s.last != nil {
		final.Detail = joinDetail(final.Detail, "the attempt before: "+s.last.Kind.String()+": "+s.last.Detail)
	}
	final.Attempts = s.made
	final.Detail = joinDetail(final.Detail, s.why)
	return final
}

// ended returns the error of a request whose context has ended, or will end before the limiter lets the request go.
func (c *Client) ended(ctx context.Context, r request, err error) *Error {
	kind, detail := KindTimeout, "the deadline passed"
	switch {
	case errors.Is(err, context.Canceled):
		kind, detail = KindCanceled, ""
	case ctx.Err() == nil:
		detail = "the rate limit would delay the request past the deadline"
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, err) {
		detail = joinDetail(detail, cause.Error())
		err = errors.Join(err, cause)
	}
	return c.fault(r, kind, 0, detail, err, false)
}

// fault makes an Error of which no part shows the key (dealapi-2).
func (c *Client) fault(r request, kind Kind, status int, detail string, err error, retry bool) *Error {
	return &Error{
		Kind: kind, Account: c.account, Op: c.scrub().text(r.op), URL: c.scrub().url(r.url),
		Status: status, Page: r.page, Cursor: r.cursor,
		Detail: c.scrub().text(detail), Err: c.scrub().err(err), retry: retry,
	}
}

func joinDetail(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
