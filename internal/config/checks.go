package config

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/robfig/cron/v3"
	"golang.org/x/text/encoding/htmlindex"

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

// orEmpty accepts what a check accepts, and an empty text.
func orEmpty(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		return check(s)
	}
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

func checkPassback(s string) error {
	switch s {
	case PassbackKeep, PassbackHash, PassbackDrop:
		return nil
	}
	return fmt.Errorf(`must be "keep", "hash" or "drop"; %s is not`, quote(s))
}

func checkSenderWords(s string) error {
	const fewest = 3 // letters: fewer are in half of all texts
	if len([]rune(strings.TrimSpace(s))) < fewest || strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("must have at least %d letters; %s has not", fewest, quote(s))
	}
	return nil
}

func checkLine(s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("must be text of one line; %s is not", quote(s))
	}
	return nil
}

// bankParts are what can be said of the CSV of a bank.
func bankParts() []string {
	return []string{"delimiter", "decimal", "date", "encoding", "skip", "received_on", "amount", "credit", "debit", "side", "currency", "text", "reference"}
}

// bankCSV reads lines such as "amount = Betrag".
func bankCSV(lines []string) (map[string]string, error) {
	form := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		_, twice := form[name]
		switch {
		case !ok || value == "":
			return nil, fmt.Errorf(`must have lines such as "amount = Betrag"; %s is none`, quote(line))
		case !slices.Contains(bankParts(), name):
			return nil, fmt.Errorf("%s is none of %s", quote(name), either(bankParts()))
		case twice:
			return nil, fmt.Errorf("has %s twice", name)
		}
		form[name] = value
	}
	has := func(name string) bool { return form[name] != "" }
	skip, err := strconv.Atoi(cmp.Or(form["skip"], "0"))
	_, encodingErr := htmlindex.Get(cmp.Or(form["encoding"], "utf-8"))
	date := cmp.Or(form["date"], "YYYY-MM-DD")
	switch {
	case !has("received_on") || !has("currency") || !has("text"):
		return nil, errors.New("needs received_on, currency and text")
	case has("amount") == (has("credit") && has("debit")) || has("credit") != has("debit"):
		return nil, errors.New("needs either amount, or credit and debit")
	case has("side") && (!has("amount") || !strings.Contains(form["side"], "=")):
		return nil, errors.New(`side goes with amount, and says which word of which column is of money that leaves: "side = Kind = D"`)
	case len([]rune(strings.ReplaceAll(form["delimiter"], `\t`, "\t"))) > 1:
		return nil, fmt.Errorf("delimiter must be one character; %s is not", quote(form["delimiter"]))
	case has("decimal") && form["decimal"] != "," && form["decimal"] != ".":
		return nil, fmt.Errorf("decimal must be a comma or a point; %s is neither", quote(form["decimal"]))
	case err != nil || skip < 0:
		return nil, fmt.Errorf("skip must be a number of lines; %s is not", quote(form["skip"]))
	case encodingErr != nil:
		return nil, fmt.Errorf("encoding %s is not known: write one such as utf-8 or windows-1252", quote(form["encoding"]))
	case !strings.Contains(date, "DD") || !strings.Contains(date, "MM") || !strings.Contains(date, "YY"):
		return nil, fmt.Errorf("date must have DD, MM and YYYY (or YY); %s has not", quote(date))
	}
	return form, nil
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

// network checks the variables that Go's own packages read: they ignore a value that they cannot read. The key would
// then go past the proxy, or to a server that other authorities vouch for.
func (l *reader) network() {
	raw := func(names ...string) (name, value string) {
		for _, name = range names {
			for _, entry := range l.src.Env {
				if value, is := strings.CutPrefix(entry, name+"="); is && value != "" {
					return name, value
				}
			}
		}
		return "", ""
	}
	proxied := false
	for _, names := range [][]string{{"HTTPS_PROXY", "https_proxy"}, {"HTTP_PROXY", "http_proxy"}} {
		name, value := raw(names...)
		proxied = proxied || name != ""
		if name != "" && !isProxy(value) {
			l.problem(position{env: name}, "must be the address of a proxy, such as http://USER:PASSWORD@HOST:3128, without spaces, quotes and line breaks, and in the password %%25 for %%, %%40 for @ and so on")
		}
	}
	if name, _ := raw("ALL_PROXY", "all_proxy"); name != "" && !proxied {
		l.warn(position{env: name}, "is not used: set HTTPS_PROXY if the API is to be asked through a proxy")
	}
	name, value := raw("NO_PROXY", "no_proxy")
	for entry := range strings.SplitSeq(value, ",") {
		if entry = strings.TrimSpace(entry); entry != "" && !isExempt(entry) {
			l.problem(position{env: name}, "must list hosts, domains and networks with commas between them, such as .svc,.internal,10.0.0.0/8; %s is none", quote(entry))
		}
	}
	l.authorities(raw)
}

// authorities checks what names the certificates to trust.
func (l *reader) authorities(raw func(...string) (name, value string)) {
	file, path := raw("SSL_CERT_FILE")
	folder, list := raw("SSL_CERT_DIR")
	found, err := hasCertificate(path)
	if path != "" && err != nil {
		l.problem(position{env: file}, "names a file that cannot be read: %s", reason(err))
		return
	}
	for dir := range strings.SplitSeq(list, ":") {
		entries, err := os.ReadDir(dir)                    // of "", there is none
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // lists for several systems name folders that this one lacks
			l.problem(position{env: folder}, "names the folder %s, which cannot be read: %s", quote(dir), reason(err))
			return
		}
		found = found || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			has, err := hasCertificate(filepath.Join(dir, e.Name()))
			return has && err == nil // Go's packages skip what they cannot read here
		})
	}
	if name := cmp.Or(file, folder); name != "" && !found {
		l.problem(position{env: name}, "names no certificate in PEM: the authorities of the system would be trusted instead")
	}
}

// isProxy reports whether Go's packages find a proxy in a variable. They take one without a scheme for http.
func isProxy(value string) bool {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) || u.Hostname() == "" ||
		strings.ContainsAny(u.Host, `"'<>${}`) || strings.HasSuffix(u.Host, ":") {
		return false
	}
	_, err = strconv.ParseUint(u.Port(), 10, 16)
	return err == nil || u.Port() == ""
}

// isExempt reports whether an entry of NO_PROXY can match a host.
func isExempt(entry string) bool {
	if strings.Contains(entry, "/") {
		_, err := netip.ParsePrefix(entry)
		return err == nil
	}
	return entry == "*" || !strings.ContainsFunc(entry, unicode.IsSpace) &&
		!strings.ContainsAny(strings.TrimPrefix(entry, "*."), `*;|"'<>${}@`)
}

// hasCertificate reports whether a file has a certificate in PEM.
func hasCertificate(path string) (bool, error) {
	if path == "" {
		return false, nil
	}
	data, err := os.ReadFile(path)
	return x509.NewCertPool().AppendCertsFromPEM(data), err
}
