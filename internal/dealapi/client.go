package dealapi

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Client reads the API with one key. It is safe for concurrent use. Close it when done.
type Client struct {
	account   string
	base      *url.URL
	keys      *keyring
	userAgent string
	transport http.RoundTripper
	owned     *http.Transport // nil when Options.Transport was given
	limiter   *Limiter
	log       *slog.Logger
	onRequest func(RequestInfo)
	trace     func(context.Context, RequestInfo)
	metrics   *Metrics
	counters  counters
	echoed    sync.Once // the warning that answers have the key

	timeout  time.Duration
	maxBody  int64
	bodies   *Bodies
	budget   budget
	now      func() time.Time
	newTimer func() backoff.Timer // seam: a test's timer; nil results mean real ones
}

// New returns a client, or an Error of KindConfig.
func New(o Options) (*Client, error) {
	base, err := o.validate()
	if err != nil {
		return nil, &Error{Kind: KindConfig, Account: o.Account, Detail: err.Error(), Err: err}
	}
	o.setDefaults()
	c := &Client{
		account:   o.Account,
		base:      base,
		keys:      newKeyring(o.Key, o.KeyAgain),
		userAgent: o.UserAgent,
		limiter:   o.Limiter,
		log:       o.Logger.With("account", o.Account),
		onRequest: o.OnRequest,
		trace:     o.Trace,
		metrics:   o.Metrics,
		timeout:   o.Timeout,
		maxBody:   o.MaxBodyBytes,
		bodies:    o.Bodies,
		budget: budget{
			attempts: o.MaxAttempts, elapsed: o.MaxElapsed, retryAfter: o.MaxRetryAfter,
			first: o.Backoff, longest: o.MaxBackoff,
		},
		now:      o.Clock,
		newTimer: func() backoff.Timer { return nil },
	}
	c.transport = o.Transport
	if c.transport == nil {
		c.owned = NewTransport()
		c.transport = c.owned
	}
	c.metrics.pace(c.account, c.limiter.Rate())
	return c, nil
}

// maxHeaderBytes bounds the headers of an answer.
const maxHeaderBytes = 256 << 10

// NewTransport returns a transport like net/http's default, with enough connections for all streams of an account. The
// client itself requests and undoes compression, because it counts the bytes on the wire.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: askedProxy,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// Close ends idle connections of the client's own transport. The client may still be used.
func (c *Client) Close() {
	if c.owned != nil {
		c.owned.CloseIdleConnections()
	}
}

// Share gives this client's process its share of the ceiling of its limiter: see [Limiter.Share].
func (c *Client) Share(processes int) (changed bool) { return c.limiter.Share(processes) }

// Stats returns what was counted so far.
func (c *Client) Stats() Stats { return c.counters.stats() }

// Get reads one item by its address and returns its raw JSON object, validated (dealapi-14). The path is below the base
// URL and is not escaped. An unknown item is an Error of KindNotFound.
func (c *Client) Get(ctx context.Context, path string, params url.Values) ([]byte, error) {
	r := request{op: "get " + path}
	if err := validatePath(path); err != nil {
		return nil, c.configError(r.op, err)
	}
	r.url = c.url(path, params)
	var object []byte
	_, err := c.do(ctx, r, func(body []byte) (err error) {
		object, err = scanObject(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.hide(object), nil
}

// url returns the address of a path below the base URL.
func (c *Client) url(path string, params url.Values) *url.URL {
	u := *c.base
	u.Path += path
	u.RawQuery = params.Encode()
	return &u
}

func (c *Client) configError(op string, err error) *Error {
	return &Error{
		Kind: KindConfig, Account: c.account, Op: c.scrub().text(op),
		Detail: c.scrub().text(err.Error()), Err: c.scrub().err(err),
	}
}
