package dealapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dealhouse/internal/trust"
)

// Defaults of Options. Those that the configuration also has are in package catalog, too.
const (
	defaultUserAgent     = "dealhouse"
	defaultTimeout       = 30 * time.Second
	defaultMaxBodyBytes  = 64 << 20
	defaultMaxAttempts   = 8
	defaultMaxElapsed    = 5 * time.Minute
	defaultMaxRetryAfter = 2 * time.Minute
	defaultBackoff       = 500 * time.Millisecond
	defaultMaxBackoff    = 30 * time.Second
)

// Options configure a Client. Account, BaseURL and Key are required; the zero value of every other field means its
// default. Negative numbers and durations are refused.
type Options struct {
	// Account names the account in errors and log lines.
	Account string

	// BaseURL is the service's address: https, usually without a path; a path prefix is put before the path of every
	// query. http is accepted for loopback addresses, or with AllowInsecure.
	BaseURL string

	// Key is the API key, sent as a bearer credential (dealapi-10). It is kept out of everything that is printed.
	Key string

	// KeyAgain reads the key again from its source. It is called when the service refuses the key. If it
	// returns another key, that is used at once, and from then on. Its error must not show a key. nil means
	// that the key never changes.
	KeyAgain func() (string, error)

	// UserAgent is sent with every request. Default: "dealhouse".
	UserAgent string

	// Timeout bounds one attempt, from the request's first byte to the last byte of the body. Waiting for the limiter
	// does not count. Default: 30s.
	Timeout time.Duration

	// MaxBodyBytes bounds a body after decompression. Default: 64 MiB.
	MaxBodyBytes int64

	// Bodies bounds the memory of all bodies that are read at the same time; share one among all clients of a process.
	// nil means that the client has its own. Waiting for room does not count against Timeout.
	Bodies *Bodies

	// MaxAttempts bounds the attempts for one request, the first included. Default: 8, which with the default backoff
	// is about a minute of waiting.
	MaxAttempts int

	// NoRetry says that each request is attempted once, whatever MaxAttempts and MaxElapsed are.
	NoRetry bool

	// MaxElapsed bounds the time from the first attempt for one request to the start of the last. Default: 5m.
	MaxElapsed time.Duration

	// MaxRetryAfter is the longest Retry-After that is waited for in full. If a service asks for more, the next
	// attempt is made after MaxRetryAfter; if even that is past MaxElapsed or the context's deadline, the request
	// fails at once. Default: 2m.
	MaxRetryAfter time.Duration

	// Backoff is the wait after the first failed attempt. It doubles with each attempt, up to MaxBackoff. Each wait
	// varies at random by half of it. Defaults: 500ms and 30s.
	Backoff    time.Duration
	MaxBackoff time.Duration

	// Limiter paces the requests; share one among all clients of an account. nil means unlimited.
	Limiter *Limiter

	// AllowInsecure accepts http for any host.
	AllowInsecure bool

	// Transport makes the round trips; a seam for fault injection. nil means that the client has its own transport
	// (keep-alive, HTTP/2, proxy from the environment), whose idle connections Client.Close ends.
	Transport http.RoundTripper

	// Logger gets a line for each retry. nil means none.
	Logger *slog.Logger

	// Metrics count what the client does. nil means nothing is counted.
	Metrics *Metrics

	// Trace is called like OnRequest, with the context that the request was made in. May be nil.
	Trace func(context.Context, RequestInfo)

	// Clock is the local clock. nil means time.Now.
	Clock func() time.Time

	// OnRequest is called after every attempt, from the goroutine that made it; it must be quick and safe for
	// concurrent use. May be nil.
	OnRequest func(RequestInfo)
}

// setDefaults fills in what was left at its zero value.
func (o *Options) setDefaults() {
	setDefault(&o.UserAgent, defaultUserAgent)
	if o.NoRetry {
		o.MaxAttempts = 1
	}
	setDefault(&o.Timeout, defaultTimeout)
	setDefault(&o.MaxBodyBytes, defaultMaxBodyBytes)
	setDefault(&o.MaxAttempts, defaultMaxAttempts)
	setDefault(&o.MaxElapsed, defaultMaxElapsed)
	setDefault(&o.MaxRetryAfter, defaultMaxRetryAfter)
	setDefault(&o.Backoff, defaultBackoff)
	setDefault(&o.MaxBackoff, max(defaultMaxBackoff, o.Backoff))
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Bodies == nil {
		o.Bodies = NewBodies()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate returns the parsed base URL. Its error quotes neither the key nor the URL, which may
// contain a password (dealapi-2).
func (o *Options) validate() (*url.URL, error) {
	if o.Timeout < 0 || o.MaxElapsed < 0 || o.MaxRetryAfter < 0 || o.Backoff < 0 || o.MaxBackoff < 0 ||
		o.MaxAttempts < 0 || o.MaxBodyBytes < 0 {
		return nil, fmt.Errorf("limits and durations must not be negative")
	}
	if err := validateKey(o.Key); err != nil {
		return nil, err
	}
	if strings.ContainsFunc(o.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, fmt.Errorf("the user agent may hold printable ASCII only")
	}
	base, err := url.Parse(o.BaseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("base_url is not a URL")
	case base.Hostname() == "" || (base.Scheme != "https" && base.Scheme != "http"):
		return nil, fmt.Errorf("base_url must be of the form https://host")
	case base.User != nil:
		return nil, fmt.Errorf("base_url must not hold a user name or password")
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, fmt.Errorf("base_url must not hold a query or a fragment")
	case base.Scheme == "http" && !o.AllowInsecure && !trust.LocalHost(base.Hostname()):
		return nil, fmt.Errorf("base_url must be https: with http the key would cross the network in the clear " +
			"(allow_insecure permits it)")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = ""
	return base, nil
}

// validateKey finds mistakes that happen when a key is copied.
func validateKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("api_key is empty")
	case strings.TrimSpace(key) != key:
		return fmt.Errorf("api_key begins or ends with white space or a line break")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("api_key holds a character that no HTTP header may carry")
	}
	return nil
}
