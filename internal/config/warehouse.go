package config

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/churl"

	"dealhouse/internal/catalog"
)

// Warehouse says which ClickHouse the data goes to.
type Warehouse struct {
	// DSN is embedded:<dir>, or a URL in the form that clickhouse-go takes. It is a Secret because it may hold a
	// password.
	DSN Secret

	// Database is the ClickHouse database, an identifier. Default dealhouse.
	Database string

	// ViewsDatabase is a database for the views alone, an identifier. Empty means that there is none. Default empty.
	ViewsDatabase string

	// Cluster is the cluster of ON CLUSTER. It has letters, digits, _ and -, so it must be quoted. Empty means a single
	// server, or Cloud. Default empty.
	Cluster string

	// CAFile, CertFile and KeyFile are the files, in PEM, of connections with TLS: authorities that are trusted beside
	// those of the system, and the client's own certificate with its key. Default empty.
	CAFile, CertFile, KeyFile string

	// SigningKeyFile is the file with the key by which certificates of runs are signed. Default empty: they are not.
	SigningKeyFile string

	// MaxRetryElapsed bounds one statement with all its retries. Default 2m; 0 means one attempt and no retry.
	MaxRetryElapsed time.Duration
}

// EmbeddedDir is the folder of the embedded engine, when the warehouse is one.
func (w Warehouse) EmbeddedDir() (dir string, ok bool) {
	return strings.CutPrefix(w.DSN.Reveal(), catalog.EmbeddedScheme)
}

// RedactedDSN returns the DSN for people: scheme, user, hosts and database. Of the query it shows only that there is
// one, since any parameter may be a secret.
func (w Warehouse) RedactedDSN() string {
	dsn := w.DSN.Reveal()
	if _, ok := w.EmbeddedDir(); ok {
		return dsn
	}
	u, err := churl.Parse(dsn)
	if err != nil {
		return redacted
	}
	var b strings.Builder
	b.WriteString(u.Scheme + "://")
	if u.User != nil {
		// A user without a password may be a token.
		if _, has := u.User.Password(); has {
			b.WriteString(url.PathEscape(u.User.Username()) + ":")
		}
		b.WriteString(redacted + "@")
	}
	b.WriteString(u.Host + u.EscapedPath())
	if u.RawQuery != "" {
		b.WriteString("?...")
	}
	return b.String()
}

// Address is the host and the port of the first server that the DSN names; "" for an embedded warehouse.
func (w Warehouse) Address() (host, port string) {
	u, err := churl.Parse(w.DSN.Reveal())
	if _, embedded := w.EmbeddedDir(); embedded || err != nil {
		return "", ""
	}
	first, _, _ := strings.Cut(u.Host, ",")
	if host, port, err = net.SplitHostPort(first); err == nil {
		return host, port
	}
	port = map[string]string{"clickhouse": "9000", "clickhouses": "9440", "http": "8123", "https": "8443"}[u.Scheme]
	if u.Scheme == "clickhouse" && u.Query().Get("secure") == "true" {
		port = "9440"
	}
	return strings.Trim(first, "[]"), port
}

// dataSource is a DSN taken apart.
type dataSource struct {
	file     string // that has it; then the rest is empty
	text     string // as the driver takes it
	database string // the database it names, if any
	password bool   // whether it holds a password
}

var errDSN = errors.New(`must be "embedded:<folder>", "clickhouse://user:password@host:9000/database", ` +
	`"clickhouses://..." (TLS), "http://...", "https://..." or "file:<path>" of a file that has one of them; ` +
	`reserved characters in user and password are %-encoded`)

// referDSN does the same as parseDSN, for a DSN that may be in a file.
func referDSN(text string) (dataSource, error) {
	if path, ok := strings.CutPrefix(text, fromFile+":"); ok {
		if path == "" || strings.ContainsRune(path, 0) {
			return dataSource{}, errors.New("file: needs the path of a file, such as file:/run/secrets/warehouse")
		}
		return dataSource{file: path}, nil
	}
	return parseDSN(text)
}

// parseDSN never shows its input in an error (config-3).
func parseDSN(text string) (dataSource, error) {
	if dir, ok := strings.CutPrefix(text, catalog.EmbeddedScheme); ok {
		if strings.TrimSpace(dir) == "" || strings.HasPrefix(dir, "//") || strings.ContainsRune(dir, 0) {
			return dataSource{}, errors.New(`names no folder: write "embedded:./dealhouse-data"`)
		}
		return dataSource{text: text}, nil
	}
	u, err := churl.Parse(text)
	if err != nil || u.Host == "" || u.Fragment != "" || u.Opaque != "" {
		return dataSource{}, errDSN
	}
	// An @ after the host is a password with a / or ? that was not encoded. It would be taken for a database, and
	// shown.
	if strings.Contains(u.Path, "@") || strings.Contains(u.RawQuery, "@") {
		return dataSource{}, errDSN
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return dataSource{}, errDSN
	}
	switch u.Scheme {
	case "clickhouse", "http":
	case "clickhouses", "https":
		// The driver wants TLS spelled out, and knows no scheme clickhouses.
		if query.Has("secure") && query.Get("secure") != "true" {
			return dataSource{}, errors.New("asks for TLS by its scheme and against it by secure=: drop secure=")
		}
		text = withTLS(text, u.Scheme, u.RawQuery, query.Has("secure"))
	default:
		return dataSource{}, errDSN
	}
	source := dataSource{text: text, database: strings.Trim(u.Path, "/"), password: query.Has("password")}
	if query.Has("database") {
		source.database = query.Get("database")
	}
	if u.User != nil {
		_, has := u.User.Password()
		source.password = source.password || has
	}
	return source, nil
}

func withTLS(text, scheme, rawQuery string, has bool) string {
	if scheme == "clickhouses" {
		text = "clickhouse" + text[len(scheme):]
	}
	switch {
	case has:
		return text
	case rawQuery != "":
		return text + "&secure=true"
	default:
		return strings.TrimSuffix(text, "?") + "?secure=true"
	}
}
