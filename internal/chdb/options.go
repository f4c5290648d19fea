package chdb

import "log/slog"

// EnvLibrary is the environment variable that names a libchdb to use instead
// of the pinned one.
const EnvLibrary = "DEALHOUSE_CHDB_LIBRARY"

// Version is the release of the engine that Open downloads when it has none.
const Version = "26.7.3-stable.1"

// Options says how to open the engine. Only Dir has to be set.
type Options struct {
	// Dir holds the data. It is made absolute and created (mode 0700) if absent.
	Dir string

	// Library is the path of an existing libchdb. Empty means: the file that
	// DEALHOUSE_CHDB_LIBRARY names, else the cached one, else a download.
	Library string

	// CacheDir is where a downloaded library is kept. Empty means
	// dealhouse/chdb below the user's cache directory.
	CacheDir string

	// MaxConns bounds the queries and inserts that run at once; more wait
	// for their turn. Zero means max(8, 2*GOMAXPROCS). It counts for the first
	// Open of a directory; later ones share that engine. Read-only requests
	// through Handler or ReadOnlyOptions have as many connections of their own.
	MaxConns int

	// Logger gets a line when the library is downloaded and when cleaning up
	// fails. Nil means no log.
	Logger *slog.Logger

	// unguarded gives every connection all rights that the engine knows, readers
	// included. It is for tests of what stands outside of the engine.
	unguarded bool
}

// Place is where an engine works: all of the host's files that it needs besides those of the system.
type Place struct {
	Dir     string // the data; absolute
	Library string // libchdb; absolute
}

// HandlerOptions says what the HTTP door lets through. The zero value is
// read-only, without authentication, for local clients.
type HandlerOptions struct {
	// AllowWrites lets any statement through that does not reach the host's files
	// or network, nor could make a text do so: the data of an INSERT has no
	// expressions, and format() is for SELECTs. GET requests stay read-only, as
	// in ClickHouse.
	AllowWrites bool

	// User and Password, if either is set, are asked of every request but
	// /ping: basic auth, X-ClickHouse-User and X-ClickHouse-Key headers, or
	// user and password in the URL. An empty User means "default".
	User, Password string

	// AllowedHosts are names under which the server may be addressed, besides
	// localhost and loopback addresses. Without authentication any other Host header is
	// refused, because a web page could otherwise reach the server by DNS rebinding.
	// "*" allows every name.
	AllowedHosts []string

	// MaxQueryBytes bounds the text of a query; data that an INSERT brings
	// along is not counted. Zero means 4 MiB.
	MaxQueryBytes int64

	// MaxBufferedBytes bounds a result whose format cannot be streamed (JSON,
	// Parquet, Pretty and the like). Zero means 256 MiB.
	MaxBufferedBytes int64

	// Logger gets a line for each request that fails on the server's side.
	// Nil means the engine's.
	Logger *slog.Logger
}
