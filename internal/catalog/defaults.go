package catalog

import "time"

// Defaults of settings that several packages need: the configuration writes them into its keys, and the syncer and the
// warehouse use them for a setting that is not given. The client of the API, which knows no stream, has its own, and a
// test that they are the same. A default that only the configuration needs is in its key.
const (
	DefaultDatabase          = "dealhouse"
	DefaultRequestsPerSecond = 10.0             // of an account, all its streams together
	DefaultTimeout           = 30 * time.Second // of one request with its body
	DefaultMaxBodyBytes      = 64 << 20         // of one response, after decompression
	DefaultMaxRetryElapsed   = 5 * time.Minute  // of one request with all its retries
	MaxAttempts              = 8                // of one request, the first included; no key sets it
	DefaultBatchRows         = 20_000           // of one insert into staging
	DefaultMaxStatementRetry = 2 * time.Minute  // of one statement of the warehouse with all its retries

	DefaultMaxDeleteRatio   = 0.2              // share of the live rows that a run may delete
	FewDeletes              = 5                // rows that it may delete whatever their share, if half of the rows stay
	DefaultMaxRejectedRatio = 0.05             // share of the records read that may be rejected
	DefaultRunTimeout       = 6 * time.Hour    // of one run that is not a backfill
	DefaultOverlap          = 10 * time.Minute // how far before the watermark an incremental run asks again
	MaxOverlap              = 31 * 24 * time.Hour
	MinOverlap              = 10 * time.Second // a service writes an updatedAt a little before others can read the row
	DefaultReferenceLimit   = 500              // how many records that another stream names are asked for after a run
	DefaultReferenceRetry   = 7 * 24 * time.Hour
	DefaultResumeWithin     = 24 * time.Hour // how old the checkpoint of a walk may be to be continued
	DefaultDeleteAfterLists = 2              // how many complete lists in a row must lack a row before it is deleted

	// DefaultOverdueAfter is the age from which a sale should be in a payout: the 90 days after which services pay, and
	// a month until the next payout.
	DefaultOverdueAfter = 121 * 24 * time.Hour
)

// EmbeddedScheme begins the DSN of the embedded engine: embedded:<dir>. The configuration needs it, too.
const EmbeddedScheme = "embedded:"

// FutureTolerance is how far an updatedAt may be after the service's own time before it is worth a warning: the clocks
// of one service differ.
const FutureTolerance = time.Hour

// Defaults of the names of query parameters that the documentation of the API leaves open.
const (
	DefaultUpdatedAfter  = "updatedAfter"
	DefaultUpdatedBefore = "updatedBefore"
	DefaultPage          = "page"
	DefaultCursor        = "cursor"
)
