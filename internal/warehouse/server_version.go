package warehouse

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// MinimumVersion is the oldest ClickHouse that understands every statement, and whose readers see one state of a table
// by default (warehouse-12).
const MinimumVersion = "25.12"

// isOlder compares the first two numbers of versions.
func isOlder(version, minimum string) bool {
	var v, m [2]int
	if _, err := fmt.Sscanf(version, "%d.%d", &v[0], &v[1]); err != nil {
		return false
	}
	if _, err := fmt.Sscanf(minimum, "%d.%d", &m[0], &m[1]); err != nil {
		return false
	}
	return slices.Compare(v[:], m[:]) < 0
}

func tooOld(version string) error {
	return &ServerError{Problem: "the server is ClickHouse " + version,
		Advice: "this program needs " + MinimumVersion + " or later: upgrade the server"}
}

// longestVersion is more bytes than any version has.
const longestVersion = 100

// bareVersion asks for the version in a way that the oldest servers understand: with no setting, and without what the
// driver asks first over HTTP.
func (p *pool) bareVersion(ctx context.Context) (version string, known bool) {
	opts, err := p.options("default", false)
	if err != nil {
		return "", false
	}
	if opts.Protocol != clickhouse.HTTP {
		v, err := p.admin.ServerVersion() // of the greeting
		if err != nil {
			return "", false
		}
		return fmt.Sprintf("%d.%d.%d", v.Version.Major, v.Version.Minor, v.Version.Patch), true
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	to := url.URL{Scheme: language{http: true, tls: opts.TLS != nil}.scheme(), Host: p.address(),
		Path: "/" + strings.TrimPrefix(opts.HttpUrlPath, "/")}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(selectVersion))
	if err != nil {
		return "", false
	}
	req.Header.Set("X-ClickHouse-User", opts.Auth.Username)
	req.Header.Set("X-ClickHouse-Key", opts.Auth.Password)
	answer, err := (&http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: opts.TLS,
		DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return "", false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, longestVersion))
	return strings.TrimSpace(string(text)), err == nil && answer.StatusCode == http.StatusOK
}
