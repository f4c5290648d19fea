package dealapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	maxRedirects = 5
	// errorBodyBytes is how much is read of the body of a failure: enough for the excerpt, and usually enough to
	// keep the connection alive.
	errorBodyBytes = 64 << 10
	// errorBodyTime is how long the body of a failure may take, and discardTime that of a redirect.
	errorBodyTime = 2 * time.Second
	discardTime   = 100 * time.Millisecond
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
	case info.Kind == KindRateLimited:
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
	info *RequestInfo) (answer *reply, fault *Error) {
	ctx, watch, stop := startStopwatch(parent, c.timeout)
	defer stop()
	var begun atomic.Bool // the answer has
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotFirstResponseByte: func() { begun.Store(true) }, Got1xxResponse: limitHints(),
	})
	defer func() {
		if fault != nil && fault.Kind == KindTimeout && begun.Load() && parent.Err() == nil {
			fault.endless(c.timeout)
		}
	}()
	resp, fault := c.roundTrip(ctx, parent, r)
	if fault != nil {
		info.Status = fault.Status // a refused redirect is an answer
		return nil, fault
	}
	defer resp.Body.Close()
	info.Status = resp.StatusCode
	serverTime := serverTime(resp.Header.Get("Date"), c.now().Sub(info.SentAt))
	switch {
	case resp.StatusCode == http.StatusNotModified && r.unless != "":
		return &reply{header: resp.Header, sentAt: info.SentAt, serverTime: serverTime}, nil
	case resp.StatusCode != http.StatusOK:
		fault := c.statusFault(r, resp)
		fault.ServerTime = serverTime
		return nil, fault
	}

	room := place{of: c.bodies, wait: watch.hold}
	defer room.leave()
	body, wire, err := readBody(resp, c.maxBody, r.sizeHint, &room)
	info.WireBytes, info.Bytes = wire, int64(len(body))
	if err != nil {
		room.refuse(body)
		return nil, c.bodyFault(ctx, parent, r, err)
	}
	if body, err = parseOrMend(body, parse); err != nil {
		return nil, c.malformed(r, body, err)
	}
	return &reply{body: body, header: resp.Header, sentAt: info.SentAt, serverTime: serverTime}, nil
}

// roundTrip sends the request and follows redirects within the origin (dealapi-1). A redirect needs no further
// permission from the limiter.
func (c *Client) roundTrip(ctx, parent context.Context, r request) (*http.Response, *Error) {
	target := r.url
	for hop := 0; ; hop++ {
		resp, err := c.send(ctx, target, r.unless)
		if err != nil {
			return nil, c.networkFault(ctx, parent, r, err)
		}
		location := resp.Header.Get("Location")
		if !isRedirect(resp.StatusCode) || location == "" {
			return resp, nil
		}
		discard(resp)
		next, err := target.Parse(location)
		switch {
		case err != nil:
			return nil, c.fault(r, KindRedirect, resp.StatusCode, "the redirect's address cannot be read", nil, false)
		case !sameOrigin(next, c.base):
			fault := c.fault(r, KindRedirect, resp.StatusCode, "redirected to "+origin(next), nil, false)
			fault.advice = "if it is the API, set base_url to it; the key is only sent to the origin of base_url"
			return nil, fault
		case hop == maxRedirects:
			fault := c.fault(r, KindRedirect, resp.StatusCode,
				fmt.Sprintf("more than %d redirects, the last to %s", maxRedirects, c.scrub().url(next)), nil, false)
			fault.advice = "check base_url, and whether something in front of the API asks for a login"
			return nil, fault
		}
		target = next
	}
}

// send makes one round trip, without http.Client: its redirects, its cookies and its user names from
// URLs are not wanted here.
func (c *Client) send(ctx context.Context, target *url.URL, unless string) (*http.Response, error) {
	req := (&http.Request{
		Method: http.MethodGet,
		URL:    target,
		Host:   target.Host,
		Header: http.Header{
			"Accept":          {"application/json"},
			"Accept-Encoding": {"gzip"},
			"Cache-Control":   {"no-cache"},
			"Pragma":          {"no-cache"}, // the same for a cache of HTTP/1.0
			"User-Agent":      {c.userAgent},
		},
	}).WithContext(ctx)
	if unless != "" {
		req.Header.Set("If-None-Match", unless)
	}
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
func discard(resp *http.Response) {
	defer hurry(resp, discardTime)()
	// A failure here costs only the connection.
	_, _ = io.CopyN(io.Discard, resp.Body, errorBodyBytes)
	_ = resp.Body.Close()
}

// hurry ends a body that nobody waits for, unless done is called before: it may never end by itself.
func hurry(resp *http.Response, limit time.Duration) (done func()) {
	timer := time.AfterFunc(limit, func() { _ = resp.Body.Close() })
	return func() { timer.Stop() }
}

// maxHints bounds the answers that announce another one (1xx).
const maxHints = 10

var errHints = fmt.Errorf("more than %d answers that only announce another one (HTTP 1xx)", maxHints)

func limitHints() func(int, textproto.MIMEHeader) error {
	hints := 0
	return func(int, textproto.MIMEHeader) error {
		if hints++; hints > maxHints {
			return errHints
		}
		return nil
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
	fault := c.fault(r, KindNetwork, 0, oneLine(c.scrub().text(err.Error())), err, passes(err))
	fault.unending = errors.Is(err, errHints)
	return fault
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
