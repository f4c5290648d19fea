package notify

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of one request (notify-5).
const (
	attemptTimeout = 10 * time.Second
	maxAnswer      = 4 << 10 // bytes that are read of an answer
	maxHeader      = 64 << 10
)

// newClient returns the client of all requests: it follows no redirect, keeps no connection, and limits what it reads.
// Each request has a time limit of its own.
func newClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: maxHeader, DisableKeepAlives: true,
			DisableCompression: true, ForceAttemptHTTP2: true,
		}
	}
	return &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// AttemptError says why a receiver did not take a message. It shows no secret (notify-6).
type AttemptError struct {
	What       string
	Refused    bool          // the receiver refuses this message, and would again
	RetryAfter time.Duration // as the receiver asks; 0: it does not
}

func (f *AttemptError) Error() string { return f.What }

// post sends a message to a webhook.
func (t *target) post(ctx context.Context, m Message, now time.Time) (problem, err error) {
	body, problem := t.payload(m)
	if body == nil {
		return nil, &AttemptError{What: problem.Error(), Refused: true}
	}
	header := http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Idempotency-Key": {m.ID}}
	return problem, t.request(ctx, t.url, header, body, now)
}

// request makes one attempt.
func (t *target) request(ctx context.Context, to *url.URL, header http.Header, body []byte, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return &AttemptError{What: "its URL is invalid"}
	}
	req.Header = header
	req.Header.Set("User-Agent", "dealhouse")
	if t.Token != "" {
		req.Header.Set("Authorization", "Bearer "+t.Token)
	}
	answer, err := t.http.Do(req)
	if err != nil {
		return t.fault(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // the status has said what counts
	return refusal(answer, now)
}

// refusal returns the error of an answer that is not 2xx.
func refusal(answer *http.Response, now time.Time) error {
	code := answer.StatusCode
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return &AttemptError{What: fmt.Sprintf("it answers %d, and redirects are not followed: configure the address that it redirects to", code)}
	}
	f := &AttemptError{What: strings.TrimSpace(fmt.Sprintf("it answers %d %s", code, http.StatusText(code)))}
	switch code {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		f.Refused = true
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		f.RetryAfter = retryAfter(answer.Header.Get("Retry-After"), now)
	}
	return f
}

// retryAfter reads the header of that name. More than an hour counts as an hour.
func retryAfter(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(0, wait), time.Hour)
}

// fault returns the error of an attempt that got no answer, without what must not be shown.
func (t *target) fault(err error) *AttemptError {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return &AttemptError{What: "it did not answer within " + t.patience.String()}
	}
	if cause, ok := errors.AsType[*url.Error](err); ok {
		err = cause.Err
	}
	return &AttemptError{What: line(t.unsecret.Replace(err.Error()))}
}

// unsecret returns what takes the secrets of a receiver out of a text (notify-6). The path and the parameters of a
// webhook are its password.
func unsecret(r Receiver, u *url.URL) *strings.Replacer {
	var hide []string
	add := func(secret string) {
		const tooShort = 4 // it would take letters out of words
		if len(secret) >= tooShort {
			hide = append(hide, secret, "***")
		}
	}
	if r.Password != "" {
		add(base64.StdEncoding.EncodeToString([]byte("\x00" + r.User + "\x00" + r.Password)))
		add(base64.StdEncoding.EncodeToString([]byte(r.Password)))
	}
	add(r.URL)
	add(r.Token)
	add(r.Password)
	if u != nil {
		add(u.RequestURI())
		add(u.EscapedPath())
		add(u.RawQuery)
		if password, ok := u.User.Password(); ok {
			add(password)
		}
	}
	return strings.NewReplacer(hide...)
}
