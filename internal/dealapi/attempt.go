package dealapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	maxRedirects = 5
	// errorBodyBytes is how much is read of the body of a failure: enough for the excerpt, and usually enough to
	// keep the connection alive.
	errorBodyBytes = 64 << 10
)

// attempt makes one request and reads its body, and tells limiter, counters and observer about it.
func (c *Client) attempt(ctx context.Context, r request, parse func([]byte) error, number int,
	g grant) (*reply, *Error) {
	info := RequestInfo{Account: c.account, Op: r.op, Attempt: number, SentAt: c.now(), Waited: g.waited}
	answer, fault := c.exchange(ctx, r, parse, &info)
	info.Duration = c.now().Sub(info.SentAt)
	if fault != nil {
		info.Kind = fault.Kind
	}
	switch {
	case info.Status == http.StatusTooManyRequests:
		c.limiter.refused(g, min(fault.RetryAfter, c.budget.retryAfter))
	case info.Status != 0 && info.Status < http.StatusInternalServerError:
		c.limiter.served(g)
	}
	c.counters.add(info)
	c.metrics.attempt(info)
	c.metrics.pace(c.account, c.limiter.Rate())
	if c.onRequest != nil {
		c.onRequest(info)
	}
	if c.trace != nil {
		c.trace(ctx, info)
	}
	return answer, fault
}

// exchange makes the attempt itself, under its own time limit.
func (c *Client) exchange(parent context.Context, r request, parse func([]byte) error,
	info *RequestInfo) (*reply, *Error) {
	ctx, watch, stop := startStopwatch(parent, c.timeout)
	defer stop()
	resp, fault := c.roundTrip(ctx, parent, r)
	if fault != nil {
		info.Status = fault.Status // a refused redirect is an answer
		return nil, fault
	}
	defer resp.Body.Close()
	info.Status = resp.StatusCode
	if resp.StatusCode != http.StatusOK {
		return nil, c.statusFault(r, resp)
	}
	serverTime := serverTime(resp.Header.Get("Date"), c.now().Sub(info.SentAt))

	room := place{of: c.bodies, wait: watch.hold}
	defer room.leave()
	body, wire, err := readBody(resp, c.maxBody, r.sizeHint, &room)
	info.WireBytes, info.Bytes = wire, int64(len(body))
	if err != nil {
		room.refuse(body)
		return nil, c.bodyFault(ctx, parent, r, err)
	}
	if err := parse(body); err != nil {
		detail := err.Error()
		if seen := c.scrub().excerpt(body, false); seen != "" {
			detail += "; it begins: " + seen
		}
		return nil, c.fault(r, KindMalformed, resp.StatusCode, detail, err, true)
	}
	return &reply{body: body, sentAt: info.SentAt, serverTime: serverTime}, nil
}

// roundTrip sends the request and follows redirects within the origin (dealapi-1). A redirect needs no further
// permission from the limiter.
func (c *Client) roundTrip(ctx, parent context.Context, r request) (*http.Response, *Error) {
	target := r.url
	for hop := 0; ; hop++ {
		resp, err := c.send(ctx, target)
		if err != nil {
			return nil, c.networkFault(ctx, parent, r, err)
		}
		location := resp.Header.Get("Location")
		if !isRedirect(resp.StatusCode) || location == "" {
			return resp, nil
		}
		discard(resp.Body)
		next, err := target.Parse(location)
		switch {
		case err != nil:
			return nil, c.fault(r, KindRedirect, resp.StatusCode, "the redirect's address cannot be read", nil, false)
		case !sameOrigin(next, c.base):
			return nil, c.fault(r, KindRedirect, resp.StatusCode, "redirected to "+origin(next), nil, false)
		case hop == maxRedirects:
			return nil, c.fault(r, KindRedirect, resp.StatusCode,
				fmt.Sprintf("more than %d redirects", maxRedirects), nil, false)
		}
		target = next
	}
}

// send makes one round trip, without http.Client: its redirects, its cookies and its user names from
// URLs are not wanted here.
func (c *Client) send(ctx context.Context, target *url.URL) (*http.Response, error) {
	req := (&http.Request{
		Method: http.MethodGet,
		URL:    target,
		Host:   target.Host,
		Header: http.Header{
			"Accept":          {"application/json"},
			"Accept-Encoding": {"gzip"},
			"User-Agent":      {c.userAgent},
		},
	}).WithContext(ctx)
	c.keys.authorize(req.Header)
	return c.transport.RoundTrip(req)
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
}

// discard reads the little that is left of a body, so that its connection can be used again.
func discard(body io.ReadCloser) {
	// A failure here costs only the connection.
	_, _ = io.CopyN(io.Discard, body, errorBodyBytes)
	_ = body.Close()
}

// statusFault classifies an answer other than 200 (dealapi-9).
func (c *Client) statusFault(r request, resp *http.Response) *Error {
	status := resp.StatusCode
	kind, retry := classify(status)
	detail := ""
	if kind == KindMalformed {
		detail = "the API promises 200"
	}
	// The beginning of the body is enough. If it cannot be read in full, that is no further error, but it may break
	// off in the middle of a key.
	resp.ContentLength = -1
	body, _, err := readBody(resp, errorBodyBytes, 0, &place{of: c.bodies})
	if seen := c.scrub().excerpt(body, err != nil); seen != "" {
		detail = joinDetail(detail, "the service says: "+seen)
	}
	fault := c.fault(r, kind, status, detail, nil, retry)
	if wait, ok := retryAfter(resp.Header, c.now()); ok && retry {
		fault.RetryAfter = wait
		fault.Detail = joinDetail(fault.Detail, fmt.Sprintf("the service asks to wait %s", wait.Round(time.Second)))
	}
	return fault
}

// classify returns what an HTTP status other than 200 means, and whether another attempt can help.
func classify(status int) (kind Kind, retry bool) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return KindAuth, false
	case status == http.StatusNotFound, status == http.StatusGone:
		return KindNotFound, false
	case status == http.StatusTooManyRequests:
		return KindRateLimited, true
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		return KindServer, true
	case status >= 400:
		return KindBadRequest, false
	case status >= 300:
		return KindRedirect, false
	default:
		return KindMalformed, true
	}
}

// networkFault classifies the failure of a round trip.
func (c *Client) networkFault(ctx, parent context.Context, r request, err error) *Error {
	if err := parent.Err(); err != nil {
		return c.ended(parent, r, err)
	}
	if ctx.Err() != nil || isTimeout(err) {
		return c.fault(r, KindTimeout, 0, c.timedOut(), err, true)
	}
	return c.fault(r, KindNetwork, 0, oneLine(c.scrub().text(err.Error())), err, passes(err))
}

// bodyFault classifies the failure to read the body of a 200.
func (c *Client) bodyFault(ctx, parent context.Context, r request, err error) *Error {
	var tooLarge *tooLargeError
	var encoding *encodingError
	switch {
	case parent.Err() != nil:
		return c.ended(parent, r, parent.Err())
	case errors.As(err, &tooLarge):
		return c.fault(r, KindTooLarge, http.StatusOK, err.Error(), nil, false)
	case ctx.Err() != nil || isTimeout(err):
		return c.fault(r, KindTimeout, http.StatusOK, c.timedOut(), err, true)
	case errors.As(err, &encoding):
		return c.fault(r, KindMalformed, http.StatusOK, err.Error(), err, true)
	default:
		return c.fault(r, KindNetwork, http.StatusOK,
			"the body broke off: "+oneLine(c.scrub().text(err.Error())), err, true)
	}
}

func (c *Client) timedOut() string {
	return fmt.Sprintf("the limit for one attempt is %s", c.timeout)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
