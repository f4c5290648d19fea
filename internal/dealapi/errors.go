package dealapi

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Kind says what went wrong, and so who has to act.
type Kind uint8

// The kinds of Error.
const (
	// KindAuth: the key was refused (401, and 403 unless it says something else).
	KindAuth Kind = iota + 1
	// KindBadRequest: the request was refused (400 and other 4xx).
	KindBadRequest
	// KindNotFound: nothing is there (404, 410).
	KindNotFound
	// KindRateLimited: 429, or a 403 that says the same, on every attempt.
	KindRateLimited
	// KindServer: 5xx, 408 or 425 on every attempt.
	KindServer
	// KindNetwork: no answer, or one that broke off or came from something between here and the service.
	KindNetwork
	// KindTimeout: no answer in time, or the context's deadline passed.
	KindTimeout
	// KindMalformed: a success whose body is not what the API promises.
	KindMalformed
	// KindLoop: a cursor came back a second time in one chain.
	KindLoop
	// KindTooLarge: the body is over Options.MaxBodyBytes.
	KindTooLarge
	// KindRedirect: a redirect or a nextPage led to another origin, or there were too many redirects.
	KindRedirect
	// KindConfig: options or a query that cannot work; nothing was sent.
	KindConfig
	// KindCanceled: the context was cancelled.
	KindCanceled
)

// String names the kind in snake case, for metric labels and log lines.
func (k Kind) String() string {
	switch k {
	case KindAuth:
		return "auth"
	case KindBadRequest:
		return "bad_request"
	case KindNotFound:
		return "not_found"
	case KindRateLimited:
		return "rate_limited"
	case KindServer:
		return "server"
	case KindNetwork:
		return "network"
	case KindTimeout:
		return "timeout"
	case KindMalformed:
		return "malformed"
	case KindLoop:
		return "loop"
	case KindTooLarge:
		return "too_large"
	case KindRedirect:
		return "redirect"
	case KindConfig:
		return "config"
	case KindCanceled:
		return "canceled"
	default:
		return "none"
	}
}

// Error is every error of this package. Its text and its fields are free of the key (dealapi-2), and so is what it
// wraps.
type Error struct {
	Kind    Kind
	Account string
	// Op is what was done: "list /v1/deals/coupons", "get /v1/...".
	Op string
	// URL was asked for; values of parameters that may be secret are masked.
	URL string
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Attempts made, the first included; 0 when nothing was sent.
	Attempts int
	// Page is the 1-based number of the page in its chain, 0 outside of one.
	Page int
	// Cursor reports that the request carried a cursor or nextPage.
	Cursor bool
	// RetryAfter is what the service asked for, without any upper limit.
	RetryAfter time.Duration
	// ServerTime is as that of a Page; zero when there was no answer other than 200.
	ServerTime time.Time
	// Detail says what was seen; it may quote up to about 200 bytes of a body.
	Detail string
	// Err is the cause; may be nil.
	Err error

	retry bool // another attempt can heal it (dealapi-9)
	// unending: the answer began, and did not end in time. More attempts would take long, and end like this one.
	unending     bool
	what, advice string // in place of what Kind says; empty: nothing more is known
	ownKey       string // the setting of a key that this request may need in place of the account's
}

// endless changes a timeout to that of an answer that began.
func (e *Error) endless(limit time.Duration) {
	e.unending = true
	e.what = "the answer began, but did not end in time"
	e.Detail = fmt.Sprintf("it was given %s", limit)
}

// Error names the account, what failed, and what to do about it.
func (e *Error) Error() string {
	if e.Op != "" {
		return "account " + e.Account + ": " + e.Op + ": " + e.Found()
	}
	return "account " + e.Account + ": " + e.Found()
}

// Found returns Error for a caller that has named the account and what was done.
func (e *Error) Found() string {
	var b strings.Builder
	what, advice := e.explain()
	b.WriteString(what)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	if advice != "" {
		b.WriteString(": " + advice)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.URL != "" {
		b.WriteString(" [GET " + e.URL + "]")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reason returns Error without what differs between the requests of an account: what was done, its URL and the page.
func (e *Error) Reason() string {
	bare := *e
	bare.Op, bare.URL, bare.ownKey, bare.Page = "", "", "", max(bare.Page, 1)
	return bare.Found()
}

// CursorRefused reports that starting the chain over may help. Either a request in the middle of a chain was refused as
// a vanished or expired cursor would be, or the chain should have continued from a nextPage of another origin, which
// can come from an earlier base_url.
func (e *Error) CursorRefused() bool {
	return e.Cursor && (e.Kind == KindBadRequest || e.Kind == KindNotFound || e.Kind == KindRedirect && e.Page == 0)
}

// explain returns what happened, and what to do.
func (e *Error) explain() (what, advice string) {
	what, advice = e.general()
	if e.ownKey != "" && e.Kind == KindAuth {
		advice += "; if the key works elsewhere, this list needs one of its own: set " + e.ownKey
	}
	return cmp.Or(e.what, what), cmp.Or(e.advice, advice)
}

// general is what a kind says alone.
func (e *Error) general() (what, advice string) {
	switch e.Kind {
	case KindAuth:
		return "the API refused the key", "check api_key and the rights of the key"
	case KindBadRequest:
		if e.Cursor {
			return "the API refused the request for a following page", "its cursor may have expired"
		}
		return "the API refused the request", "check the parameter names and filters"
	case KindNotFound:
		switch {
		case e.Cursor:
			return "the API does not know the following page", "its cursor may have expired"
		case e.Page == 0:
			return "the API does not know the item", "it may have been removed"
		case strings.Contains(e.URL, "/v1/v1/"):
			return "the API does not know this address", "remove /v1 from base_url: dealhouse adds it"
		}
		return "the API does not know this address", "check base_url"
	case KindRateLimited:
		return "the API's rate limit was exceeded", "lower requests_per_second"
	case KindServer:
		return "the service failed", "try again later; if it continues, ask the operators of the service"
	case KindNetwork:
		if what, advice = unreachable(e.Err); what != "" {
			return what, advice
		}
		return "the service could not be reached, or the connection broke", "check base_url and the network of this machine"
	case KindTimeout:
		return "no answer in time", "raise timeout if the service is slow"
	case KindMalformed:
		return "the answer is not what the API promises", "check that base_url is the API and not a page in front of it"
	case KindLoop:
		return "the paging loops: a cursor came back a second time", "report it to the operators of the API"
	case KindTooLarge:
		return "the answer is too large", "raise max_body_size if the answer is right"
	case KindRedirect:
		return "refused to follow the API to another address", "the key is only sent to the origin of base_url"
	case KindConfig:
		return "the configuration cannot work", ""
	case KindCanceled:
		return "stopped", ""
	default:
		return "failed", ""
	}
}
