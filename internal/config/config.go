package config

import (
	"time"

	"dealhouse/internal/catalog"
)

// Config is a validated configuration. Only Load makes one. It shares nothing with another Config, and is read-only
// (config-1).
type Config struct {
	// File is the path of the file that was read; empty when the configuration came from defaults and environment
	// variables alone.
	File string

	// Warehouse says where the data goes.
	Warehouse Warehouse

	// Partial says that something is wrong, and that the tables of Source.Only are all that was read.
	Partial bool
	// Daemon holds the settings of `dealhouse run`.
	Daemon Daemon

	// Door says where it serves an embedded warehouse to readers.
	Door Door

	// Lineage says where runs are reported.
	Lineage Lineage

	// Finance holds the settings of the reconciliation of payouts.
	Finance Finance

	// Retention says how long the program keeps its own records.
	Retention Retention

	// Accounts are in the order of the file. It holds at least one account when Source.NeedAccounts was set; otherwise
	// it may be empty.
	Accounts []Account

	// Receivers are the receivers of notifications, in the order of the file.
	Receivers []Receiver
}

// Receiver is a receiver of notifications. An empty list means all.
type Receiver struct {
	// Name is 1 to 63 of a-z, 0-9, _ and -.
	Name string

	// Form is json, slack, teams, mail or ping.
	Form string

	// URL is for all forms except mail, and Token goes with it. They and Password are resolved if Source.NeedAccounts
	// or Source.NeedReceivers was set.
	URL, Token, Password Secret

	// Server is the host:port of a mail server, and TLS starttls, tls or none.
	Server, TLS string

	// User is the user name on the mail server; empty: the server asks for none.
	User string

	// From and To are mail addresses; To has several with commas.
	From, To string

	// Events, Accounts and Streams are what it gets messages about.
	Events, Accounts, Streams []string

	// After is how many runs of a stream must fail in a row before that is reported.
	After int

	// Template is a text/template; empty: the built-in message.
	Template string

	// AllowInsecure permits unencrypted messages to other machines.
	AllowInsecure bool
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

// Daemon holds the settings of the long-running worker. The defaults of all settings are in their keys (keys.go).
type Daemon struct {
	// Listen is the host:port of metrics, health checks and the status page.
	Listen string

	// User and Password guard the port by basic authentication; both or neither is set. Password is resolved when
	// Source.NeedDaemon was set.
	User     string
	Password Secret

	// PublicURL is where people open the status page, without a slash at its end; "": not known.
	PublicURL string

	// TLSCert and TLSKey are PEM files; both or neither is set.
	TLSCert, TLSKey string

	// Pprof serves profiles to this machine.
	Pprof bool

	// TimeZone is that of schedules which name none; time.LoadLocation knows it.
	TimeZone string

	// Jitter is the longest delay of a run after its scheduled time.
	Jitter time.Duration

	// MaxRuns is the most runs at once, of the daemon and of a sync.
	MaxRuns int

	// Grace is how long runs under way may continue after the daemon was asked to stop.
	Grace time.Duration

	// Retry are the pauses before a stream whose run failed is tried again: after the first failure in a row, the
	// second, and so on; none: it waits for its next scheduled time.
	Retry []time.Duration
}

// Finance holds the settings of the reconciliation of payouts.
type Finance struct {
	// OverdueAfter is how long after its sale a transaction should be in a payout.
	OverdueAfter time.Duration
	// Tolerances are by how much a payout and its transactions may differ before somebody must look: by currency, in
	// its smallest unit.
	Tolerances map[string]int64

	// Settlements is the table or view of what reached the bank, "table" or "database.table"; empty: there is none.
	Settlements string

	// BankCSV is how the CSV of the bank is read: the name of a part (bankParts), and what it is. Empty: it has none.
	BankCSV map[string]string

	// Journal are the codes of the accounts of journal lines.
	Journal Journal
}

// Journal are the codes of the accounts of journal lines, in the user's chart of accounts.
type Journal struct{ Pending, Confirmed, AfterPayment, Payouts, Revenue, Bank, Fees, Conversion, Rounding string }

// Account is one API key and so one organization of the upstream service, with every setting filled in from
// [[account]], [defaults] or the built-in default.
type Account struct {
	// Name is the first key column of every table: 1 to 63 of a-z, 0-9, _ and -.
	Name string

	// BaseURL is the origin of the API, with an optional path prefix and never a trailing slash. It is https, unless
	// the host is this machine or AllowInsecure is set.
	BaseURL string

	// Key is the account's API key. A stream may have another: use Stream.Key.
	Key Secret

	// Params are the names of the query parameters that the interface leaves open.
	Params Params

	// RequestsPerSecond is the highest rate of all streams of the account together. It is above 0.
	RequestsPerSecond float64

	// Timeout bounds one HTTP request including its body.
	Timeout time.Duration

	// MaxBodyBytes is the largest response body accepted, in bytes after decompression.
	MaxBodyBytes int64

	// MaxRetryElapsed bounds one request with all its retries; 0 means one attempt and no retry.
	MaxRetryElapsed time.Duration

	// BatchRows is the number of rows of one insert into staging.
	BatchRows int

	// Passback is what becomes of passbackUid and passbackData of transactions: PassbackKeep, PassbackHash or
	// PassbackDrop.
	Passback string

	// PassbackKey is the key of the hash. It is resolved when Source.NeedAccounts was set.
	PassbackKey Secret

	// BankSenders are words by which a bank statement shows the payouts of the account. Default none.
	BankSenders []string

	// AllowInsecure permits http:// to other machines.
	AllowInsecure bool

	// Streams holds all streams, disabled ones too, in the order of the catalog.
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

// Params are query parameter names; see config.example.toml for the names that a known live service uses.
type Params struct {
	UpdatedAfter  string            // lower limit of the filter by updatedAt
	UpdatedBefore string            // upper limit of it
	Page          string            // takes nextPage
	Cursor        string            // takes the cursor
	Filters       map[string]string // take the values of a scope, by the name of the filter
}

// What becomes of passbackUid and passbackData.
const (
	PassbackKeep = "keep"
	PassbackHash = "hash"
	PassbackDrop = "drop"
)

// Stream is one stream of one account, with every setting filled in. A setting that the stream does not have is zero;
// the catalog says which ones it has.
type Stream struct {
	// Name is that of the catalog.
	Name string

	// Enabled is false when the stream is not to be loaded.
	Enabled bool

	// Schedule is when the daemon runs the stream: five cron fields or a descriptor such as "@every 10m". Empty: only
	// when it is asked to.
	Schedule string

	// Key is the API key for this stream: its own, or else that of the account. It is resolved when Source.NeedAccounts
	// was set, except that a disabled stream's own key may be unresolved.
	Key Secret

	// Scope is the part of the stream that is loaded; nil: all of it (streams with filters).
	Scope catalog.Scope

	// ConfirmDeletes asks for a record by its own address before it is deleted (streams with ByID).
	ConfirmDeletes bool

	// DeleteAfterLists is how many complete lists in a row must lack a record before it is deleted (walks).
	DeleteAfterLists int

	// MaxDeleteRatio is the share of live rows, 0 to 1, that a run may delete.
	MaxDeleteRatio float64

	// MaxRejectedRatio is the share of records read, 0 to 1, that a run may reject.
	MaxRejectedRatio float64

	// RunTimeout limits one run that is not a backfill; 0 means no limit.
	RunTimeout time.Duration

	// Overlap is how far before the watermark a run asks again (incremental streams).
	Overlap time.Duration

	// Resync is the schedule of the full re-read, in the form of Schedule (incremental streams).
	Resync string

	// InitialFrom is the updatedAt from which the first run reads, in UTC (incremental streams). The zero
	// time: everything.
	InitialFrom time.Time

	// ReferenceLimit is how many records that this stream names, and that no list had, are asked for after a run;
	// 0 means none.
	ReferenceLimit int

	// ReferenceRetry is the time after which a record that was not found is asked for again.
	ReferenceRetry time.Duration

	// ResumeWithin is how old the checkpoint of a killed walk may be to be continued (walks); 0 means that every walk
	// starts over.
	ResumeWithin time.Duration
}
