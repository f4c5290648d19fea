package dealapi

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// refusal is what an answer other than 200 means.
type refusal struct {
	kind         Kind
	retry        bool   // another attempt can help
	what, advice string // in place of what the kind says; may be empty
}

// statusFault classifies an answer other than 200 (dealapi-9).
func (c *Client) statusFault(r request, resp *http.Response) *Error {
	var body []byte
	var err error
	if resp.StatusCode >= http.StatusOK { // what follows 101 is no body, and does not end
		// The beginning of the body is enough. If it cannot be read in full, that is no further error, but it may break
		// off in the middle of a key.
		defer hurry(resp, errorBodyTime)()
		resp.ContentLength = -1
		body, _, err = readBody(resp, errorBodyBytes, 0, &place{of: c.bodies})
	}
	means := classify(resp.StatusCode, resp.Header, body)
	var details []string
	if means.kind == KindMalformed {
		details = append(details, "the API promises 200")
	}
	if seen := c.scrub().excerpt(readable(body), err != nil); seen != "" {
		details = append(details, "the service says: "+seen)
	} else if encoding := resp.Header.Get("Content-Encoding"); err != nil && encoding != "" {
		details = append(details, "the service says something in an encoding that was not asked for: "+encoding)
	}
	for _, name := range []string{"WWW-Authenticate", "Allow", "Server"} {
		value := resp.Header.Get(name)
		if name == "Server" && means.kind != KindNetwork || value == "" {
			continue // it tells something only of what is between
		}
		details = append(details, name+": "+c.scrub().excerpt([]byte(value), false))
	}
	fault := c.fault(r, means.kind, resp.StatusCode, strings.Join(details, "; "), nil, means.retry)
	fault.what, fault.advice = means.what, means.advice
	if wait, ok := retryAfter(resp.Header, c.now()); ok && means.retry {
		fault.RetryAfter = wait
		fault.Detail = joinDetail(fault.Detail, fmt.Sprintf("the service asks to wait %s", wait.Round(time.Second)))
	}
	return fault
}

// malformed is the fault of a 200 without the promised body.
func (c *Client) malformed(r request, body []byte, err error) *Error {
	detail := err.Error()
	if seen := c.scrub().excerpt(readable(body), false); seen != "" {
		detail += "; it begins: " + seen
	}
	fault := c.fault(r, KindMalformed, http.StatusOK, detail, err, true)
	if !isMarkup(body) {
		fault.advice = "check base_url; if it is right, show this to the operators of the API"
	}
	return fault
}

const askOperators = "ask the operators of the API"

// classify returns what an answer other than 200 means.
func classify(status int, h http.Header, body []byte) refusal {
	switch {
	case status == http.StatusUnauthorized:
		if scheme, _, _ := strings.Cut(h.Get("WWW-Authenticate"), " "); scheme != "" && !strings.EqualFold(scheme, "Bearer") {
			return refusal{kind: KindAuth, what: "the API, or something in front of it, asks for another login than the key",
				advice: "check base_url and api_key"}
		}
		return refusal{kind: KindAuth}
	case status == http.StatusForbidden && isLimit(h):
		return refusal{kind: KindRateLimited, retry: true}
	case status == http.StatusForbidden && isMarkup(body):
		return refusal{kind: KindNetwork, what: "a firewall or a proxy in front of the API refused the request",
			advice: "the key may be right: " + askOperators + " to let this machine through, or check HTTPS_PROXY"}
	case status == http.StatusForbidden:
		return refusal{kind: KindAuth}
	case status == http.StatusProxyAuthRequired:
		what, advice := unreachable(&ProxyError{Status: status})
		return refusal{kind: KindNetwork, what: what, advice: advice}
	case status == http.StatusNetworkAuthenticationRequired:
		return refusal{kind: KindNetwork, retry: true, what: "the network of this machine asks for a login",
			advice: "log in to it, or use another one"}
	case (status == http.StatusNotFound || status == http.StatusGone) && isStale(h):
		return refusal{kind: KindServer, what: "a cache gave an old answer in place of the API"}
	case status == http.StatusNotFound, status == http.StatusGone:
		return refusal{kind: KindNotFound}
	case status == http.StatusTooManyRequests:
		return refusal{kind: KindRateLimited, retry: true}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= http.StatusInternalServerError:
		return refusal{kind: KindServer, retry: true}
	case status >= http.StatusBadRequest:
		return refusal{kind: KindBadRequest, advice: badRequestAdvice(status)}
	case status >= http.StatusMultipleChoices:
		return refusal{kind: KindRedirect, what: "the API answers neither with data nor with an address to go to",
			advice: "check base_url, and whether a cache or a proxy answers in place of the API"}
	}
	return refusal{kind: KindMalformed, retry: status >= http.StatusOK}
}

// badRequestAdvice is for statuses that are about more than parameters.
func badRequestAdvice(status int) string {
	switch status {
	case http.StatusPaymentRequired, http.StatusUnavailableForLegalReasons, http.StatusLocked:
		return askOperators + " what it wants from this account"
	case http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType,
		http.StatusMisdirectedRequest, http.StatusUpgradeRequired:
		return "check that base_url is the address of the API, with the right scheme, host and port"
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		return "it is too long for the service: shorten filters and names of parameters; if the cursor is too long, " + askOperators
	}
	return ""
}

// isLimit reports whether a 403 is about the number of requests: some services answer so in place of 429.
func isLimit(h http.Header) bool {
	if h.Get("Retry-After") != "" {
		return true
	}
	for _, name := range []string{"X-RateLimit-Remaining", "X-Rate-Limit-Remaining", "RateLimit-Remaining"} {
		if h.Get(name) == "0" {
			return true
		}
	}
	return false
}

var (
	markup  = regexp.MustCompile(`(?is)<(?:script|style)\b.*?</(?:script|style)\s*>|<!--.*?-->|<[^>]*>`)
	message = regexp.MustCompile(`(?i)"(?:message|msg|error|errors|error_?(?:description|message|code)|code|detail|details|title|reason|description|hint)"\s*:\s*"(?:[^"\\]|\\.)*"`)
)

// isMarkup reports a body of HTML or XML.
func isMarkup(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, "\xef\xbb\xbf \t\r\n"), []byte("<"))
}

// readable returns what a body says to a person: the text of a page, and of JSON that is too long for an excerpt the
// messages. It must be scrubbed after that.
func readable(body []byte) []byte {
	switch {
	case isMarkup(body):
		text := html.UnescapeString(markup.ReplaceAllString(string(body[:min(len(body), errorBodyBytes)]), " "))
		if strings.TrimSpace(text) != "" {
			return []byte(text)
		}
	case len(body) > excerptBytes && !bytes.Contains(body, []byte(`"data"`)):
		if said := message.FindAll(body[:min(len(body), errorBodyBytes)], -1); said != nil {
			return bytes.Join(said, []byte(", "))
		}
	}
	return body
}
