package contract

import (
	"log/slog"
	"time"
)

// EnvLibrary is the environment variable that names a libchdb to use instead
// of the pinned one.
const EnvLibrary = "DEALHOUSE_CHDB_LIBRARY"

// Version is the release of the engine that Open downloads when it has none.
const Version = "26.7.3-stable.1"

// OwnCluster is the name of the cluster in which every shard is the engine itself (Options.Shards).
const OwnCluster = "itself"

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

	// Downloading, if set, is called when a library has to be downloaded, and while that goes on, with how much of it is
	// done, in percent from 0 to 100. Calls come one after another.
	Downloading func(percent int)

	// MaxConns bounds the queries and inserts that run at once; more wait
	// for their turn. Zero means max(8, 2*GOMAXPROCS). It counts for the first
	// Open of a directory; later ones share that engine. Read-only requests
	// through Handler or ReadOnlyOptions have as many connections of their own.
	MaxConns int

	// Shards is the number of shards of the cluster OwnCluster, all of which are this engine: for tests of tables over
	// several shards. None: there is no cluster.
	Shards int

	// FewRows makes statements over few rows cheap: for tests, whose few rows are read in less time than it takes to
	// compile an expression, or to wake a second thread.
	FewRows bool

	// Keeper is host:port of a ZooKeeper, for tests of replicated tables. Empty: there is none.
	Keeper string

	// Logger gets a line when the library is downloaded and when cleaning up
	// fails. Nil means no log.
	Logger *slog.Logger

	// Limits bound the queries of this engine. The first Open of a directory
	// decides; later ones share that engine.
	Limits Limits

	// Restoring says that the caller fills the directory, which nobody else may open until it is whole: see
	// RestoringFile.
	Restoring bool
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

	// MaxQueries bounds the queries and inserts that run at once, those included whose
	// client is slow to read the result or to send the data. Zero means as many as
	// the engine has connections.
	MaxQueries int

	// MaxWait is how long a request waits for its turn before it is refused with 503
	// and code 202. Zero means 5 seconds. Clients that make others wait by being
	// slow are cut off.
	MaxWait time.Duration

	// Grace is how long a client may be idle altogether while it sends a request or
	// reads a result, besides the time that MinRate allows. Zero means 30 seconds.
	Grace time.Duration

	// MinRate is how many bytes a second a client has to send or take. Zero means 16 KiB.
	MinRate int64

	// Logger gets a line for each request that fails on the server's side.
	// Nil means the engine's.
	Logger *slog.Logger
}
