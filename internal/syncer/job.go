package syncer

import (
	"net/url"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// Defaults of a Job's settings.
const (
	DefaultBatchRows        = 20_000
	DefaultBatchBytes       = 6 << 20
	DefaultOverlap          = 10 * time.Minute
	MinOverlap              = 10 * time.Second // a service writes an updatedAt a little before others can read the row
	DefaultMaxDeleteRatio   = 0.2
	DefaultMaxRejectedRatio = 0.05
	DefaultResumeWithin     = 24 * time.Hour
	DefaultDeleteAfterLists = 2
	DefaultReferenceLimit   = 500
	DefaultReferenceRetry   = 7 * 24 * time.Hour
	DefaultTimeout          = 6 * time.Hour
)

// Params are the names of query parameters that the interface leaves open; ” stands for the default.
type Params struct {
	UpdatedAfter  string // default updatedAfter
	UpdatedBefore string // default updatedBefore
	Page          string // default page
	Cursor        string // default cursor
}

// Job is one run to make: a stream of an account. Zero settings stand for the defaults above.
type Job struct {
	Account string
	Stream  *catalog.Stream
	Client  *dealapi.Client
	Params  Params

	BatchRows        int           // rows of a staged batch
	BatchBytes       int           // bytes of JSON of a staged batch, whichever is reached first
	Overlap          time.Duration // transactions: how far before the watermark a run begins; at least MinOverlap
	InitialFrom      time.Time     // transactions: the updatedAt from which the first run reads; zero: everything
	MaxDeleteRatio   float64       // share of the live rows that a run may delete; negative: none
	MaxRejectedRatio float64       // share of the records read that may be unloadable; negative: none
	ConfirmDeletes   bool          // deals: never delete a row that is there at its own address
	DeleteAfterLists int           // products: complete lists in a row that do not have a row, before it is deleted
	ResumeWithin     time.Duration // products: how old a checkpoint may be to go on from; negative: never
	ReferenceLimit   int           // transactions: how many deals that they name are asked for at a time; negative: none
	ReferenceRetry   time.Duration // transactions: after which time a deal that was not there is asked for again; negative: at once
	Timeout          time.Duration // how long the run may take once the stream is its own, but for a backfill; negative: no end

	Full            bool // read the whole stream, whatever its watermark or checkpoint says
	DryRun          bool // stop before publishing, and leave nothing behind
	AllowMassDelete bool // let this run delete more than MaxDeleteRatio
}

func (j *Job) setDefaults() {
	set(&j.BatchRows, DefaultBatchRows)
	set(&j.BatchBytes, DefaultBatchBytes)
	set(&j.Overlap, DefaultOverlap)
	set(&j.MaxDeleteRatio, DefaultMaxDeleteRatio)
	set(&j.MaxRejectedRatio, DefaultMaxRejectedRatio)
	set(&j.DeleteAfterLists, DefaultDeleteAfterLists)
	set(&j.ResumeWithin, DefaultResumeWithin)
	set(&j.ReferenceLimit, DefaultReferenceLimit)
	set(&j.ReferenceRetry, DefaultReferenceRetry)
	set(&j.Timeout, DefaultTimeout)
	set(&j.Params.UpdatedAfter, "updatedAfter")
	set(&j.Params.UpdatedBefore, "updatedBefore")
	set(&j.Params.Page, "page")
	set(&j.Params.Cursor, "cursor")
}

// overlap is how far before the watermark a run begins.
func (j *Job) overlap() time.Duration { return max(j.Overlap, MinOverlap) }

// overlapping is the time to ask after, so that all that changed since t is read: the overlap earlier, and one
// millisecond more, since the API leaves out what changed exactly then.
func (j *Job) overlapping(t time.Time) time.Time { return t.Add(-j.overlap() - time.Millisecond) }

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// timestampLayout is how filters have a time: in UTC, with all the digits of the service's own.
const timestampLayout = "2006-01-02T15:04:05.000Z"

// pagesAhead is how many pages are fetched while one is decoded and staged.
const pagesAhead = 2

// query is the list operation to read, after the given updatedAt (zero: all of it), from the given page on.
func (j *Job) query(after time.Time, start string) dealapi.Query {
	q := dealapi.Query{Path: j.Stream.Path, Start: start, Ahead: pagesAhead}
	switch j.Stream.Paging {
	case catalog.CursorPages:
		q.Paging, q.PageParam = dealapi.PagingCursor, j.Params.Cursor
	case catalog.NextPages:
		q.Paging, q.PageParam = dealapi.PagingNextPage, j.Params.Page
	case catalog.BareArray:
		q.Paging = dealapi.PagingNone
	}
	if !after.IsZero() {
		q.Params = url.Values{j.Params.UpdatedAfter: {after.UTC().Format(timestampLayout)}}
	}
	return q
}

// bound keeps a query to rows updated before a time, where that is not zero.
func (j *Job) bound(q *dealapi.Query, before time.Time) {
	if before.IsZero() {
		return
	}
	if q.Params == nil {
		q.Params = url.Values{}
	}
	q.Params.Set(j.Params.UpdatedBefore, before.UTC().Format(timestampLayout))
}

// mode names what the run reads, for sync_runs.
func (j *Job) mode(after time.Time) string {
	if j.Stream.Kind != catalog.Incremental {
		return j.Stream.Kind.String()
	}
	if after.IsZero() {
		return "full"
	}
	return catalog.Incremental.String()
}

// scope says what the absence of a row from the run means.
func (j *Job) scope(after time.Time) warehouse.Scope {
	if j.Stream.Kind == catalog.Incremental && (!after.IsZero() || !j.Full) {
		return warehouse.Part // a first read deletes nothing either: there is nothing to delete
	}
	return warehouse.Whole
}
