package contract

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// EnvLibrary is the environment variable that names a libchdb to use instead
// of the pinned one.
const EnvLibrary = "DEALHOUSE_CHDB_LIBRARY"

// Version is the release of the engine that Open downloads when it has none.
const Version = "26.7.3-stable.1"

// DownloadSize is how much is downloaded then, for people.
const DownloadSize = "178 MB"

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

	// Downloading, if set, is called when the download of a library begins, and again and again while it runs. percent
	// says how much is done, from 0 to 100. There is never more than one call at a time.
	Downloading func(percent int)

	// MaxConns bounds the queries and inserts that run at once. Others wait for their turn. Zero means max(8,
	// 2*GOMAXPROCS). The first Open of a directory decides; later ones share that engine. Read-only requests through
	// Handler or ReadOnlyOptions have as many connections of their own.
	MaxConns int

	// Shards is the number of shards of the cluster OwnCluster, all of which are this engine: for tests of tables over
	// several shards. Zero means that there is no cluster.
	Shards int

	// FewRows makes statements over few rows cheap: for tests, whose few rows are read in less time than it takes to
	// compile an expression, or to wake a second thread.
	FewRows bool

	// Keeper is host:port of a ZooKeeper, for tests of replicated tables. Empty means that there is none.
	Keeper string

	// Logger gets a line when the library is downloaded and when cleaning up
	// fails. Nil means no log.
	Logger *slog.Logger

	// Limits bound the queries of this engine. The first Open of a directory
	// decides; later ones share that engine.
	Limits Limits

	// LimitReaders says that the limits are for read-only queries alone: those of strangers must be read-only. What these
	// take together is then not bounded: it is what each may take, as often as they run at once.
	LimitReaders bool

	// Claimed says that the process which started this one has claimed the directory for it.
	Claimed bool

	// Stuck, if set, is called once, when a statement does not end although it has to: its time is over, or nobody
	// waits for it. Only the end of this process ends it.
	Stuck func(Stuck)

	// Restoring says that the caller is going to fill the directory. Nobody else may open it before it is
	// complete: see RestoringFile.
	Restoring bool
}

// Stuck is a statement that does not end.
type Stuck struct {
	Statement string        // its beginning
	Over      time.Duration // since it had to end
}

// Kept is the engine in a process of its own, as the process sees it that starts it anew when it ends.
type Kept interface {
	// Up waits until the process answers. Its error says why it does not.
	Up(ctx context.Context) error
	// Ended waits a moment for the news that the process has ended, and says why, for people.
	Ended(ctx context.Context) error
}

// Place is where an engine works: all files of the host that it needs, except those of the operating system.
type Place struct {
	Dir     string // the data; absolute
	Library string // libchdb; absolute
}

// HandlerOptions says which requests the HTTP door accepts. The zero value is read-only, without
// authentication, for local clients.
type HandlerOptions struct {
	// AllowWrites allows any statement that does not reach the host's files or network, and cannot make the engine run
	// a text that does: in data that an INSERT sends, expressions are off, and the table function format() is refused.
	// GET requests stay read-only, as in ClickHouse.
	AllowWrites bool

	// User and Password, if either is set, are required for every request but /ping: basic auth, X-ClickHouse-User and
	// X-ClickHouse-Key headers, or user and password in the URL. An empty User means "default".
	User, Password string

	// Database is that of requests which name none. Empty means "default".
	Database string

	// AllowedHosts are names by which clients may address the server, in addition to localhost and addresses written as
	// numbers. Without authentication, any other Host header is refused, because a web page could otherwise reach the
	// server by DNS rebinding. "*" allows every name.
	AllowedHosts []string

	// MaxQueryBytes bounds the text of a query. The data that an INSERT sends do not count. Zero means 4 MiB.
	MaxQueryBytes int64

	// MaxBufferedBytes bounds a result whose format cannot be streamed (Parquet, Pretty and the like). Zero means 256 MiB.
	MaxBufferedBytes int64

	// MaxQueries bounds the queries and inserts that run at once. Those whose client is slow to read the result or to
	// send the data count too. Zero means as many as the engine has connections.
	MaxQueries int

	// MaxWait is how long a request waits for its turn before it is refused with 503
	// and code 202. Zero means 5 seconds. Clients that make others wait by being
	// slow are cut off.
	MaxWait time.Duration

	// Grace is how long a client may be idle in total while it sends a request or reads a result, in addition to the
	// time that MinRate allows. Zero means 30 seconds.
	Grace time.Duration

	// MinRate is how many bytes a second a client has to send or read. Zero means 16 KiB.
	MinRate int64

	// Agent answers requests to /mcp, of clients that may read. Only a front asks it. Nil: there is none.
	Agent http.Handler

	// Behind says that all requests come from a front, which says for whom it asks.
	Behind bool

	// Logger gets a line for each request that fails on the server's side.
	// Nil means the engine's.
	Logger *slog.Logger
}
