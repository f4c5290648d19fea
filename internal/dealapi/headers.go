package dealapi

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// serverTime returns the server's clock when a request arrived, from the Date of its answer and the time from sending
// the request to reading that header. The Date was written after the arrival and before it was read, and whole seconds
// are cut off it, so the result is never too late (dealapi-7). It is zero when there is no usable Date.
func serverTime(date string, elapsed time.Duration) time.Time {
	t, err := http.ParseTime(date)
	if err != nil {
		return time.Time{}
	}
	return t.Add(-max(elapsed, 0)).Truncate(time.Millisecond).UTC()
}

// maxAge is how old an answer may be that a cache has kept. Requests ask for none, but not every cache obeys.
const maxAge = 30 * time.Second

// age returns how old an answer is by its own word.
func age(h http.Header) time.Duration {
	seconds, _ := parseSeconds(strings.TrimSpace(h.Get("Age"))) // 0 if it is no number
	return time.Duration(seconds) * time.Second
}

// isStale reports that the service says of an answer that it is old: by its age, or by the warnings 110 to 112 of
// RFC 7234, which a cache adds that could not ask the service.
func isStale(h http.Header) bool {
	return age(h) > maxAge || slices.ContainsFunc(h.Values("Warning"), staleWarning.MatchString)
}

var staleWarning = regexp.MustCompile(`(^|,)\s*11[0-2]\s`)

// maxTag bounds the names of answers that are kept.
const maxTag = 200

// tag returns the ETag of an answer; "" if there is none that can be kept. A weak one will do: the service says by it
// that the earlier answer may be used in place of the new one.
func (c *Client) tag(h http.Header) string {
	tag := h.Get("ETag")
	if len(tag) > maxTag || !entityTag.MatchString(tag) || c.HasKey(tag) {
		return ""
	}
	return tag
}

var entityTag = regexp.MustCompile(`^(W/)?"[!#-~]+"$`)

// maxRetryAfterSeconds keeps a Retry-After within what a Duration can hold.
const maxRetryAfterSeconds = 1 << 31

// retryAfter reads Retry-After in both of its forms: seconds (a fraction is tolerated and rounded up), or a date. A
// date is compared with the Date of the same answer, so that the two clocks need not agree. It is compared with the
// local clock only if there is no Date. A date in the past means now.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, ok := parseSeconds(value); ok {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	// Sub saturates, and the largest Duration is still a wait.
	return max(at.Sub(now), 0), true
}

// parseSeconds reads digits, with a fraction that counts as one second more.
func parseSeconds(value string) (int64, bool) {
	whole, fraction, dotted := strings.Cut(value, ".")
	if !isDigits(whole) || dotted && !isDigits(fraction) {
		return 0, false
	}
	var n int64
	for _, d := range whole {
		n = min(n*10+int64(d-'0'), maxRetryAfterSeconds)
	}
	if strings.Trim(fraction, "0") != "" {
		n++
	}
	return n, true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
