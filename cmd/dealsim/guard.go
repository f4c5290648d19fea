package main

import (
	"net/http"
	"net/url"

	"dealhouse/internal/trust"
)

// fromHere reports that the request does not come from a foreign web page in a browser on this machine. The author of
// such a page can let a name of their own point to 127.0.0.1, so the name must be one of this machine. Any page may
// send a POST anywhere, so a browser must say that the page is ours. Programs other than browsers do not say where a
// request comes from.
func fromHere(r *http.Request) bool {
	if !trust.LocalRequest(r.Host) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none": // none: a person has typed the address
	default:
		return false
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host || u.Scheme != "http" && u.Scheme != "https" {
			return false
		}
	}
	return true
}
