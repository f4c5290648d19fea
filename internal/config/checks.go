package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/robfig/cron/v3"

	"dealhouse/internal/trust"
)

var (
	identifierPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	clusterPattern     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)
	accountNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	codePattern        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,39}$`)
	paramPattern       = regexp.MustCompile(`^[A-Za-z0-9_.\[\]-]{1,64}$`)
)

func checkIdentifier(s string) error {
	if !identifierPattern.MatchString(s) {
		return fmt.Errorf("must be a name of letters, digits and _ that begins with no digit; %s is not", quote(s))
	}
	return nil
}

// checkViewsDatabase accepts the name of a database that is not the server's own, and an empty one.
func checkViewsDatabase(s string) error {
	if slices.Contains([]string{"system", "information_schema"}, strings.ToLower(s)) {
		return fmt.Errorf("must be a database of your own; %s is the server's", quote(s))
	}
	if s == "" {
		return nil
	}
	return checkIdentifier(s)
}

func checkCluster(s string) error {
	if s != "" && !clusterPattern.MatchString(s) {
		return fmt.Errorf("must be a name of letters, digits, _ and - that begins with a letter; %s is not", quote(s))
	}
	return nil
}

func checkAccountName(s string) error {
	if !accountNamePattern.MatchString(s) {
		return fmt.Errorf("must be 1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit; %s is not", quote(s))
	}
	return nil
}

func checkParam(s string) error {
	if !paramPattern.MatchString(s) {
		return fmt.Errorf("must be the name of a query parameter; %s is not", quote(s))
	}
	return nil
}

// checkTable accepts the name of a table, with its database or without, and an empty one.
func checkTable(s string) error {
	names := strings.Split(s, ".")
	for _, name := range names {
		if s != "" && (len(names) > 2 || !identifierPattern.MatchString(name)) {
			return fmt.Errorf("must be the name of a table or view, such as receipts or bank.receipts; %s is not",
				quote(s))
		}
	}
	return nil
}

func checkCode(s string) error {
	if !codePattern.MatchString(s) {
		return fmt.Errorf("must be 1 to 40 of A-Z, a-z, 0-9 and . _ : / -, beginning with a letter or digit; %s is not",
			quote(s))
	}
	return nil
}

func checkListen(s string) error {
	host, port, err := net.SplitHostPort(s)
	_, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || strings.ContainsAny(host, " /@") {
		return fmt.Errorf("must be host:port, such as \"127.0.0.1:9464\" or \":9464\"; %s is not", quote(s))
	}
	return nil
}

func checkUser(s string) error {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' }) {
		return fmt.Errorf("must hold neither a space nor a colon, and only ASCII; %s does", quote(s))
	}
	return nil
}

func checkPath(s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) || strings.TrimSpace(s) != s {
		return fmt.Errorf("must be the path of a file; %s is not", quote(s))
	}
	return nil
}

func checkTimeZone(s string) error {
	if _, err := time.LoadLocation(s); err != nil || s == "" {
		return fmt.Errorf("%s is not a time zone that this machine knows: write one such as Europe/Paris, UTC or Local",
			quote(s))
	}
	return nil
}

// checkPublicURL does not show its input either.
func checkPublicURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return nil
	case err != nil, u.Hostname() == "", u.Scheme != "https" && u.Scheme != "http", u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return errors.New(`must be a URL such as "https://deals.example.com"`)
	case u.User != nil:
		return errors.New("must hold no user or password: every receiver of notifications would see them")
	}
	return nil
}

// parseBaseURL never shows its input: people put keys into URLs (config-3).
func parseBaseURL(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Hostname() == "", u.Scheme != "https" && u.Scheme != "http":
		return "", errors.New(`must be a URL such as "https://api.example.com"`)
	case u.User != nil:
		return "", errors.New("must hold no user or password: the key belongs in api_key")
	case u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return "", errors.New("must end before any ? or #: keys belong in api_key, parameter names in [account.params]")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	if _, last := path.Split(u.Path); last == "v1" || last == "v2" {
		return "", fmt.Errorf("must end before /%s, which dealhouse adds itself", last)
	}
	return u.String(), nil
}

// plaintext says whether a base URL would carry the key unencrypted over a network.
func plaintext(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme != "http" {
		return false
	}
	return !trust.LocalHost(u.Hostname())
}

// checkSchedule accepts what the daemon's scheduler accepts, except what can never fire or would fire without pause.
func checkSchedule(s string) error {
	if s == "" {
		return nil
	}
	hint := `: write five cron fields such as "30 4 * * *", or "@every 10m"; "" for never`
	if strings.HasPrefix(s, "TZ=") || strings.HasPrefix(s, "CRON_TZ=") {
		_, zoned, _ := strings.Cut(s, "=")
		zone, _, more := strings.Cut(zoned, " ")
		if !more { // cron/v3 would panic
			return fmt.Errorf("%s names a time zone and no schedule%s", quote(s), hint)
		}
		if _, err := time.LoadLocation(zone); err != nil {
			return fmt.Errorf("%s is not a time zone that this machine knows: write one such as Europe/Paris",
				quote(zone))
		}
	}
	parsed, err := cron.ParseStandard(s)
	if err != nil {
		return fmt.Errorf("%s is not a schedule%s", quote(s), hint)
	}
	_, rest, _ := strings.Cut(s, "@every ")
	if every, err := time.ParseDuration(rest); err == nil && every < time.Second {
		return fmt.Errorf("%s is below the shortest interval, 1s", quote(s))
	}
	// Any fixed day does: cron/v3 looks five years ahead.
	if parsed.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return fmt.Errorf("%s names a day that never comes", quote(s))
	}
	return nil
}
