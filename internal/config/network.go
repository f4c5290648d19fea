package config

import (
	"cmp"
	"crypto/x509"
	"errors"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

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
