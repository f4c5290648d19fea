package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Warehouse is one database of one ClickHouse. It is safe for concurrent use.
//
// What only reads is done by its Reader, what makes and changes the schema by its migrator, and what is written for a
// run by a Writer, which knows the run. All of them send their statements over one pool.
type Warehouse struct {
	*pool
	migrator  migrator
	owner     owner
	sightings *sightings
	shards    *shards // nil if it is not divided
}

// shards are the warehouses of a cluster of several shards, in the order of the cluster. Each has whole accounts
// (warehouse-18).
type shards struct {
	all  []*Warehouse
	home map[string]int // of the accounts that have anything, the index of their shard
}

// migrator makes the schema and brings it up to date.
type migrator struct {
	pool   *pool
	told   *sync.Once                       // warns that the views are those of another version
	others []*Warehouse                     // the other shards of a cluster, which get what the first one gets
	wanted func(dialect) (migration, error) // instead of wantedStreams, in tests of two versions
	files  fs.FS                            // instead of schema.Files, in tests of two versions
}

// owner names a process in leases: host/process/nonce. The nonce distinguishes two processes to which containers gave
// the same number. All owners of one process have the same nonce.
type owner struct {
	host  string
	pid   int
	nonce string
}

// String returns the owner as leases and messages show it.
func (o owner) String() string { return fmt.Sprintf("%s/%d/%s", o.host, o.pid, o.nonce) }

// sightings are the leases of other processes, as this process has seen them. A lease is renewed four times in its
// time to live, each time with another version. So a lease that was not renewed for all of that time has ended,
// whatever its time of expiry and the clock of the warehouse say: the clock may have been wrong when it was written,
// or may be wrong now.
type sightings struct {
	now  func() time.Time // local; only its differences count
	mu   sync.Mutex
	seen map[StreamID]sighting
}

type sighting struct {
	version uint64
	first   time.Time // when this version was seen first
}

// left returns for how long a lease that is stored with this version still counts, if it is not renewed. byClock is the
// answer by the lease's own time of expiry and the warehouse's clock. If this process has seen the version for long,
// left returns less.
func (s *sightings) left(id StreamID, version uint64, byClock time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.now()
	last, known := s.seen[id]
	if !known || last.version != version {
		if s.seen == nil {
			s.seen = map[StreamID]sighting{}
		}
		last = sighting{version: version, first: at}
		s.seen[id] = last
	}
	return min(byClock, leaseTTL-at.Sub(last.first))
}

// Lease is the right to run one stream of one account, kept alive until Release. ClickHouse has no compare-and-swap. If
// two workers take the lease at once, the later write wins. The other one learns so at its next Check, at the latest
// before it publishes (warehouse-20).
type Lease struct {
	pool        *pool
	account     string
	stream      string
	value       leaseValue
	ttl         time.Duration
	begun       time.Time
	freeVersion uint64    // highest version of all states when the stream was found to be free
	taken       time.Time // local time at which the lease was certainly held
	orphan      bool
	untidy      bool       // something is left that the next holder has to clear away
	states      []stateRow // of the stream, as the holder found them, the oldest first; cleared ones are empty
	pending     []stateRow // stored together with the end of the lease
	certificate string     // of the last run that this holder has published; "": the one in states
	settled     time.Time  // local time when the lease was checked for the end of the last run; zero: it was not
	stop        context.CancelFunc
	done        sync.WaitGroup

	mu   sync.Mutex
	last leaseReading
	held time.Time // local time at which the stored lease was last found to be this one
	// onSharing is told how many processes load the account; nil: nobody asks.
	onSharing func(int)
}

// leaseTTL is how long a stream stays taken after its worker was last heard of. A worker that paused for longer may
// find its lease taken; it then stops before it publishes.
const leaseTTL = 60 * time.Second

// ErrLeaseLost says that another worker took the stream over. The run has changed nothing that readers see.
var ErrLeaseLost = errors.New("another worker has taken this stream over")

// HeldError says that another run of the same stream is under way.
type HeldError struct {
	Owner   string
	RunID   uuid.UUID
	Expires time.Time // by the clock of the warehouse
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("run %s of %s is under way; its lease ends at %s unless it is renewed", e.RunID, e.Owner,
		e.Expires.Format(time.RFC3339))
}

// Names of the state that a stream of an account has.
const (
	stateWatermark   = "watermark"
	stateCheckpoint  = "checkpoint"
	stateIntent      = "intent" // followed by the run's ID: two workers at once each have their own
	stateLease       = "lease"
	stateCertificate = "certificate" // of the last run
	stateLive        = "live"        // how many rows readers see, of a stream that is ordered by a time
	stateDerived     = "derived"     // the derived tables that are up to date with the last publication
)

// StateOrigin names the state that has the identity (dealapi.Client.Identity) of the service whose rows are loaded, for
// Intent.State.
const StateOrigin = "origin"

// StateFrom names the state that has the updatedAt from which on everything is loaded, for Intent.State. It is the zero
// time if that is all.
const StateFrom = "loaded_from"

// StateList names the state that has the last whole list of the stream (KnownList), for Intent.State.
const StateList = "list"

// StateScope names the state that has the scope (catalog.Scope.Encode) of the last complete list of the stream, for
// Intent.State.
const StateScope = "scope"

// StateClock names the state that has a ServiceClock as JSON, for Intent.State.
const StateClock = "clock"

// At returns the warehouse in which an account lives: one of several shards, or w itself if there is only one.
// Everything about a single account is done there. For an account that has nothing yet, the shard follows from its name
// (homeOf), so that all processes choose the same one.
func (w *Warehouse) At(account string) *Warehouse {
	if w.shards == nil {
		return w
	}
	home, known := w.shards.home[account]
	if !known {
		home = homeOf(account, len(w.shards.all))
	}
	return w.shards.all[home]
}

// Shards returns the number of shards: 1 if the warehouse is not divided.
func (w *Warehouse) Shards() int { return len(w.each()) }

type leaseValue struct {
	Owner   string    `json:"owner"`
	Attempt uuid.UUID `json:"attempt"`
	RunID   uuid.UUID `json:"run_id"`
	Expires int64     `json:"expires"` // microseconds since 1970, by the clock of the warehouse
}

// Writer writes for one run: it stages what the run reads, compares it with what is there, publishes the difference,
// and keeps the state of the stream. It is cheap to make.
type Writer struct {
	pool *pool
	Run
	script script
	filled []derived // the derived tables of which Prepare has made a delta
}

// Writer writes for a run of a stream whose lease the caller holds.
func (w *Warehouse) Writer(r Run) *Writer { return w.At(r.Account).writer(r) }

func (p *pool) writer(r Run) *Writer { return &Writer{pool: p, Run: r, script: p.dialect.script(r)} }
