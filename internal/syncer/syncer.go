package syncer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// Options of a Syncer.
type Options struct {
	Warehouse *warehouse.Warehouse
	Logger    *slog.Logger   // default: none
	Metrics   *Metrics       // default: none
	Progress  func(Progress) // called often, from many goroutines; default: none
	Observer  *Observer      // default: none
	// Grace is how long a run may continue after it was told to stop: to stage what was read, and to publish what was
	// read to its end. Default DefaultGrace.
	Grace time.Duration
	// Clock is the local clock. Only differences of its times are used: if two hosts must agree on a time, it is the
	// warehouse's. Default: time.Now.
	Clock func() time.Time
}

// Syncer runs jobs. It is safe for concurrent use.
type Syncer struct{ tools }

// tools is what a Syncer works with. Each of its sessions has the same.
type tools struct {
	warehouse      *warehouse.Warehouse
	log            *slog.Logger
	metrics        *Metrics
	progress       func(Progress)
	observer       *Observer
	local          func() time.Time
	grace          time.Duration
	cleanupTimeout time.Duration // how long cleaning up may take after the grace: twice, for the run and for its lease
	leaseWait      time.Duration // how long a run waits for another one of the same stream to end
	said           *sync.Map     // what was logged once, and need not be logged again
}

// DefaultGrace leaves time to clear up within the half minute that Kubernetes gives by default.
const DefaultGrace = 20 * time.Second

const defaultLeaseWait = 15 * time.Minute

// Result is how a job ended.
type Result struct {
	Job    Job
	Record warehouse.RunRecord
	Err    error
}

// Progress is how far a run is.
type Progress struct {
	Account, Stream string
	Phase           Phase
	Totals          warehouse.Totals
	Windows         Windows // of a backfill; zero for other runs
}

// Phase is what a run is doing.
type Phase string

// The phases of a run, in their order.
const (
	PhaseWaiting   Phase = "waiting" // for another run of the same stream
	PhaseReading   Phase = "reading"
	PhaseComparing Phase = "comparing"
	PhaseMerging   Phase = "merging"
	PhaseDone      Phase = "done"
	PhaseFailed    Phase = "failed"
)

// Windows is how far a backfill is.
type Windows struct {
	Total   int // all windows of the range
	Done    int // windows that need not be read again: they are staged, or readers see them
	Earlier int // how many of these were done when this run began
}

// Observer is called for each run when it begins to read and when it has ended. It is called from many goroutines, and
// must not hold them up. The record of a backfill sums up its runs, and has its own id. It is not called for dry runs,
// nor for runs that could not take their stream.
type Observer struct {
	Began func(Job, warehouse.RunRecord)
	Ended func(Job, warehouse.RunRecord)
}

// session is this worker's time with one stream of one account: it takes the lease, works under it, and gives it back.
type session struct {
	tools
	job     Job
	lease   *warehouse.Lease
	takenAt time.Time // when the lease was taken, by the warehouse's clock
	clock   time.Time // local time then, to carry the warehouse's clock forward
	run     *run      // the run that the caller gets the record of
	meter   *meter    // of the windows, where the stream is read in windows
	known   warehouse.ServiceClock
	shown   time.Time // up to which the service's clock is known to have been; zero: nothing is known
	// identity is that of the service (dealapi.Client.Identity), once it is known to be the one whose rows are loaded.
	identity string
	lost     bool // the lease was lost before: a walk has left its rows to the worker that has it now
	unclean  bool // something is left to clean up, from this session or one before it
}

// run is one row of sync_runs, and the rows that are staged under its id. They are published all at once, or not at
// all. A session has one run, and makes more if it reads in windows.
type run struct {
	warehouse.Run
	session *session
	record  warehouse.RunRecord
	report  func(Phase)

	beside     bool                  // it does not read the stream's list: the checkpoint of a walk is another run's
	checkpoint *warehouse.Checkpoint // of a walk: where the next run can continue
	surplus    warehouse.Set         // rows that were staged after the checkpoint, and are read again
	resumed    bool                  // it continues a walk: its pages may be hours apart
	batches    int                   // staged so far, over all attempts (syncer-5)
	refused    refused               // not yet in the record
	unused     bool                  // nothing that it read was loaded
	gap        string                // why rows may have been missed; "" when none were
	held       *GuardError           // why deletions wait for consent; nil: none do
	publishing bool                  // the intent may be durable: from here on the run is finished, never discarded
	unstage    unstage               // what becomes of the staged rows if the run fails
}

// list is the source that reads what a stream's list operation returns: everything, or what changed after a time.
type list struct {
	session   *session
	run       *run
	reader    *pageReader
	after     time.Time             // updatedAt after which rows are requested; zero: all
	watermark time.Time             // as it is stored
	corrected bool                  // the watermark was never true
	state     map[string]string     // to store when what is read is published
	place     *warehouse.Checkpoint // up to which a walk is staged, if that is not saved yet
	placedAt  time.Time             // when a place was last saved
	placed    uint64                // rows that were staged then
	loaded    uint64                // rows that readers see, where the list may turn out to be unchanged
}

// backfill is the source that reads a range of updatedAt in windows. The record of its session sums up the bundles.
type backfill struct {
	session   *session
	name      string
	windows   []window
	parallel  int
	join      bool          // tasks are several windows, as it fits
	earlier   int           // windows that were already read when it began
	watermark time.Time     // of the stream, when it began
	state     progressState // as it is stored; while the publisher runs, it alone uses this
	publisher *publisher
	meter     meter // of the progress

	mu   sync.Mutex
	gaps []string // why windows must be read again, one reason for each
}

// publisher stages and publishes the bundles of a backfill one after the other, because a stream has only one intent.
type publisher struct {
	backfill *backfill
	pending  *bundle   // staged, to be published with more
	lastTime time.Time // local time of the last publication
	seen     *seen     // adds up what was seen of all that was published
	failed   error     // the first error, which may have left an intent behind: after it, the publisher only clears away
}

// progressState is the state of a backfill that has not ended, as sync_state stores it.
type progressState struct {
	BegunAt     time.Time `json:"begun_at"`         // by the clock of the warehouse
	ServerStart time.Time `json:"server_start"`     // the server's time when it began; the first sync's only
	Origin      string    `json:"origin,omitempty"` // identity of the service that is read
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	Window      string    `json:"window"`
	Newest      int64     `json:"newest"` // newest updatedAt in windows done or staged, in milliseconds since 1970
	Done        spans     `json:"done"`   // numbers of windows, from 0, that readers see
	// The load that is staged but not published. The warehouse looks for the name run_id in sync_state, so it does not
	// take these rows for those of a dead run.
	RunID  string           `json:"run_id,omitempty"`
	Staged spans            `json:"staged,omitempty"`
	Totals warehouse.Totals `json:"totals"`
}

// bundle is what a backfill publishes at once: a run, and the windows that are complete when it is published.
type bundle struct {
	run     *run
	windows []int // their numbers
	tasks   int   // in which they were read
	seen    *seen
	kept    []*decode.Batch // of small windows that are complete, not staged yet
	begun   bool            // it has a row in sync_runs
	done    chan struct{}   // closed when it is published or given up
}

// window is a part of a range: rows updated at from or later and before to. If to is zero, it has no end.
type window struct{ from, to time.Time }

// pageReader reads pages of a stream's list, counts them in a run, and stages what it read.
type pageReader struct {
	session    *session
	run        *run
	before     time.Time // read only rows updated before this; zero: no such border
	unless     string    // the tag of the list whose rows are loaded; "": it is read in any case
	strict     bool      // end with errUnfiltered if most rows are outside the requested range
	batchBytes int       // bytes of JSON that make a batch full
	// insert writes a batch. The one before it may not be written yet. If insert is nil, stage does everything.
	insert func(context.Context, filled) ([]decode.Reject, error)
	stage  func(context.Context, filled) error // in the order of the batches, each after its insert
	report func()                              // called after each page
}

// pager decodes pages into batches, and hands these to the code that stages them.
type pager struct {
	reader *pageReader
	//nolint:containedctx // a pager lives for one call
	staging context.Context // ends when no more batches are taken
	//nolint:containedctx // the same
	fetching context.Context // ends when no more requests may be made
	seen     *seen
	after    time.Time // updatedAt after which rows are requested; zero: all
	full     chan<- filled
	empty    <-chan *decode.Batch
	decoder  *decode.Decoder
	filters  []scopeFilter     // of the scope
	filter   map[string]string // of the list that is read, value by the name of the filter
	batch    *decode.Batch     // in hand; nil: none
	fetched  int64             // when the last page was read, in microseconds since 1970
	next     string            // page after the batch in hand
}

// chain reads one list to its end.
type chain struct {
	pager   *pager
	stream  *catalog.Stream
	log     *slog.Logger
	kind    cursorKind
	order   order
	trail   []link         // of the pages that were followed, in the order of the list
	pruned  []int64        // the rank of the most doubtful link that was dropped from the trail; empty if none was
	missed  map[string]int // how often each cursor was refused, or led to a page that does not begin with its item
	refusal *dealapi.Error // the last refusal of a cursor
	refused int            // cursors that were refused since one was not
	loops   int            // how often a cursor came back since something changed
	looped  int64          // the value of newest when loops began to count
	twice   bool           // the list read the same twice
	swept   bool           // it was read in ranges of time
	repairs int
	back    int // pages to go back at the next repair
	pages   int
	reread  int   // pages that were read to mend the chain
	newest  int64 // newest updatedAt that is not in the future, in milliseconds
	dated   bool  // rows carry an updatedAt
	hold    bool  // links go to held, because their place in the trail is not known yet
	held    []link
	latest  *dealapi.Page
	digest  sequence
	listed  uint64 // records on the pages, since the beginning of the list was last read
	total   int64  // records that the list has by its own count, the smallest that it gave; -1: it gave none
	gap     string // why the chain is not whole; "" while it is
}

// refused counts what the warehouse did not take. The goroutine that stages counts, while the record belongs to the one
// that reads.
type refused struct {
	records warehouse.Set
	all     uint64
}

// filled is a batch that is ready to be staged. next and totals are valid once this batch and
// those before it are staged.
type filled struct {
	batch   *decode.Batch
	next    string // page after the batch
	last    bool   // no batch follows
	totals  warehouse.Totals
	number  int             // its batch number, if it is inserted beside others
	refused []decode.Reject // by the warehouse, in that insert
}

// seen is what a run learned from the pages, apart from their rows.
type seen struct {
	serverStart time.Time // the server's time when the run began
	begun       time.Time // local time then
	took        time.Duration
	noDate      bool
	early       time.Duration // by how much the answers are dated before what the service's clock has shown
	behind      time.Duration // by how much the answers may be older than the service's present
	stale       string        // why the answers are older than what is known; "" if they are not
	shown       time.Time     // up to which the service's clock is known to have been
	reached     time.Time     // the latest that it showed in this run
	foretold    int           // rows that an early answer of a copy that is behind could not have
	newest      int64         // newest updatedAt that the clock has reached, in milliseconds
	ahead       bool          // a row is dated later
	fresh       int64         // newest updatedAt that is not in the future, in milliseconds
	pages       int
	tag         string // of the last page
	unchanged   bool   // the list is the one whose rows are loaded, and was not sent again
	reread      int    // pages of them that were read to mend the chain
	gap         string // why rows may have been missed; "" when none were (syncer-11)
	still       bool   // what is not on the pages was not in the list: one moment, or the order of ids
	ordered     bool   // the cursors are the ids of the next items
	rising      bool   // what changes moves to where it is read later: the oldest changes come first
	doubt       string // what the service sent that says that a list is not whole; "" if nothing did
	notice      string // what it said about itself, which may or may not concern a list
	short       string // by its own count, a list that was asked for by time has more rows than were read; "" if not
	shortOf     uint64 // that count
	unsure      bool   // what is not on the pages may still be in the list
	rows        int    // rows with an updatedAt
	outside     int    // rows of them that the date filter should have left out
	future      int    // rows dated after serverStart by more than catalog.FutureTolerance
	unknown     map[string]int
	members     map[string]bool // of envelopes, that are not understood
	carried     carried
	chains      int                        // lists that were read
	chained     int                        // pages of these lists
	leftOut     int                        // rows from outside of the scope
	strangers   map[string]map[string]bool // values of these rows, by the name of the filter
}

// carried counts in how many records each field has a value.
type carried struct {
	records, counted uint64
	fields           []uint64 // of the stream, and then of its child
}

// rejects is the source that reads rejected records again, from the warehouse.
type rejects struct {
	session *session
	run     *run
	filter  warehouse.RejectFilter
	filters []scopeFilter // the scope of the last complete list
	decoder *decode.Decoder
	scratch *decode.Batch // to decode and look at a single record
	batch   *decode.Batch
	group   []warehouse.Candidate // of one record
	tried   []attempt             // those that are staged
	settled []warehouse.Settled

	loaded, rejected, superseded int
}

// attempt is a candidate whose record is staged under key. If it is still rejected, it is kept once more, among the
// rejects of the retry, because its record has another version now.
type attempt struct {
	warehouse.Candidate
	key      string
	rejected bool
}

// publication makes the staged rows of a run visible: it compares them with the warehouse, checks the difference, and
// publishes all at once (syncer-1). Every source ends in a publication.
type publication struct {
	run       *run
	scope     warehouse.Scope   // what it means if a row is not staged
	checks    []check           // in the order in which they run
	watermark time.Time         // to store; of a stream that has one
	corrected bool              // the stored watermark was never true
	state     map[string]string // stored with the publication (warehouse.Intent)
	last      bool              // the last publication of the session
}

const (
	// clockStep is how far the clocks of the machines of one service may differ.
	clockStep = 30 * time.Second
	// clockError is how far two times may differ because of how they are measured.
	clockError = 5 * time.Second
	// backRuns is how many runs in a row must get an early Date before the service's clock counts as put right.
	backRuns = 3
)

// timeRange is a range of updatedAt, both ends exclusive; zero: no end.
type timeRange struct {
	after, before time.Time
	known         bool // a row was seen in it
}

// meter adds up the progress of windows that are read side by side.
type meter struct {
	mu      sync.Mutex
	ended   warehouse.Totals // of windows that were read
	live    map[*run]warehouse.Totals
	windows Windows
}

// insertion is a batch whose insert is under way.
type insertion struct {
	filled
	err  error         // of the insert, once it is done
	done chan struct{} // closed then
}
