package dealapi

import (
	"net"
	"net/url"
	"strings"
)

// sameOrigin reports whether two URLs have the same scheme, host and port. A missing port is the default port. A URL
// with a user name never has our origin.
func sameOrigin(a, b *url.URL) bool {
	return a.User == nil && b.User == nil &&
		strings.EqualFold(a.Scheme, b.Scheme) &&
		strings.EqualFold(a.Hostname(), b.Hostname()) &&
		port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}

// origin shows where a URL leads without its path and query, which may hold secrets of another service.
func origin(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// Origin names the service that the client reads: scheme, host, port and the path of the base URL. Two base URLs of one
// service have the same.
func (c *Client) Origin() string {
	u := url.URL{Scheme: strings.ToLower(c.base.Scheme),
		Host: net.JoinHostPort(strings.ToLower(c.base.Hostname()), port(c.base)), Path: c.base.Path}
	return c.scrub().text(u.String())
}

// Identity names who is asked and as whom: the origin, a space, and a mark of the key. Another key has another mark,
// but for one in 16 million. The mark does not tell the key: there are far too many keys that have it.
func (c *Client) Identity() string {
	return c.Origin() + " " + c.keys.use.Load().mark(c.Origin())
}
