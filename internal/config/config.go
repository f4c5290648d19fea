package config

import "time"

// Config is a validated configuration. It is made by Load only, shares nothing
// with another Config, and is read-only from then on (invariant 1).
type Config struct {
	// File is the path of the file that was read; empty when the configuration
	// came from defaults and environment variables alone.
	File string

	// Warehouse says where the data goes.
	Warehouse Warehouse

	// Daemon holds the settings of `dealhouse run`.
	Daemon Daemon

	// Finance holds the settings of the reconciliation of payouts.
	Finance Finance

	// Accounts are in the order of the file. It holds at least one account when
	// Source.NeedAccounts was set; otherwise it may be empty.
	Accounts []Account
}

// Account finds an account by its name.
func (c *Config) Account(name string) (Account, bool) {
	for _, a := range c.Accounts {
		if a.Name == name {
			return a, true
		}
	}
	return Account{}, false
}

// Daemon holds the settings of the long-running worker.
type Daemon struct {
	// Listen is the host:port of metrics, health and the status page. Default
	// 127.0.0.1:9464.
	Listen string

	// User and Password guard the port by basic authentication; both or neither
	// is set. Password is resolved when Source.NeedDaemon was set.
	User     string
	Password Secret

	// TLSCert and TLSKey are PEM files; both or neither is set.
	TLSCert, TLSKey string

	// Pprof serves profiles to this machine. Default false.
	Pprof bool

	// TimeZone is that of schedules which name none; time.LoadLocation knows it.
	// Default UTC.
	TimeZone string

	// Jitter is the longest delay of a run after its scheduled time. Default 10s.
	Jitter time.Duration

	// Grace is how long runs may go on after the daemon was told to end. Default
	// 10s.
	Grace time.Duration
}

// Finance holds the settings of the reconciliation of payouts.
type Finance struct {
	// OverdueAfter is how long after its sale a transaction should be in a
	// payout. Default 121 days.
	OverdueAfter time.Duration
}

// Account is one API key and so one organization of the upstream service, with
// every setting filled in from [[account]], [defaults] or the built-in default.
type Account struct {
	// Name is the first key column of every table: 1 to 63 of a-z, 0-9, _ and -.
	Name string

	// BaseURL is the origin of the API, with an optional path prefix and never a
	// trailing slash. It is https, unless loopback or AllowInsecure.
	BaseURL string

	// Key is the account's API key. A stream may have another: use Stream.Key.
	Key Secret

	// Params are the names of the query parameters that the interface leaves open.
	Params Params

	// RequestsPerSecond is the ceiling of the rate over all streams of the
	// account, above 0. Default 10.
	RequestsPerSecond float64

	// Timeout bounds one HTTP request including its body. Default 30s.
	Timeout time.Duration

	// MaxBodyBytes is the largest response body accepted, in bytes after
	// decompression. Default 256 MiB.
	MaxBodyBytes int64

	// MaxRetryElapsed bounds one request with all its retries. Default 5m; 0
	// means one attempt and no retry.
	MaxRetryElapsed time.Duration

	// BatchRows is the number of rows of one insert into staging. Default 20000.
	BatchRows int

	// AllowInsecure permits http:// to a host that is not loopback. Default false.
	AllowInsecure bool

	// Streams holds all six streams, disabled ones too, in the order of
	// StreamNames.
	Streams []Stream
}

// Stream finds a stream of the account by its name.
func (a Account) Stream(name string) (Stream, bool) {
	for _, s := range a.Streams {
		if s.Name == name {
			return s, true
		}
	}
	return Stream{}, false
}

// Params are query parameter names; see config.example.toml for the names that
// a known live service uses.
type Params struct {
	UpdatedAfter  string // lower border of the transactions filter; default updatedAfter
	UpdatedBefore string // upper border of the transactions filter; default updatedBefore
	Page          string // takes nextPage of the products walk; default page
	Cursor        string // takes nextCursor of the cursor-paged lists; default cursor
}

// Stream is one of the six streams of one account, with every setting filled in.
// A field that has no meaning for a stream holds its zero value.
type Stream struct {
	// Name is one of StreamNames.
	Name string

	// Enabled is false when the stream is not to be synced. Default true.
	Enabled bool

	// Schedule is when the daemon runs the stream: five cron fields or a
	// descriptor such as "@every 10m". Empty: never by itself. The default
	// differs by stream.
	Schedule string

	// Key is the API key for this stream: its own, or else that of the account.
	// It is resolved when Source.NeedAccounts was set, except that a disabled
	// stream's own key may be unresolved.
	Key Secret

	// ConfirmDeletes asks for a deal by its own address before it is deleted.
	// Default false; promotions, coupons and cashback offers only.
	ConfirmDeletes bool
	// DeleteAfterLists is how many complete lists in a row must not have a
	// product before it is deleted. Default 2.
	DeleteAfterLists int
	// MaxDeleteRatio is the share of live rows, 0 to 1, that a run may delete.
	// Default 0.2.
	MaxDeleteRatio float64

	// MaxRejectedRatio is the share of records read, 0 to 1, that a run may
	// reject. Default 0.05.
	MaxRejectedRatio float64

	// RunTimeout bounds one run that is no backfill. Default 6h; 0 means no end.
	RunTimeout time.Duration

	// Overlap is how far before the watermark an incremental run asks again
	// (transactions). Default 10m.
	Overlap time.Duration

	// Resync is the schedule of the full re-read, in the form of Schedule
	// (transactions). Default Sundays at 04:00; empty: never.
	Resync string

	// InitialFrom is where the first sync of the account begins
	// (transactions), in UTC. The zero time: everything there is. Default zero.
	InitialFrom time.Time

	// ReferenceLimit is how many deals that transactions name and no list had
	// are asked for after a run (transactions). Default 500; 0 means none.
	ReferenceLimit int

	// ReferenceRetry is after which time a deal that was not found is asked for
	// again (transactions). Default 168h.
	ReferenceRetry time.Duration

	// ResumeWithin is how old the checkpoint of a killed walk may be to be
	// continued (products). Default 24h; 0 means never continue.
	ResumeWithin time.Duration
}
