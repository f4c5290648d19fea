package syncer

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// Params are the names of query parameters that the documentation of the API leaves open.
type Params struct {
	UpdatedAfter  string
	UpdatedBefore string
	Page          string
	Cursor        string
	Filters       map[string]string // by the name of the filter; default: that name
}

// filter returns the name of the parameter of a filter.
func (p Params) filter(name string) string { return cmp.Or(p.Filters[name], name) }

// Job is one run to make: a stream of an account. Its settings are taken literally: 0 means 0. NewJob fills in the
// defaults.
type Job struct {
	Account string
	Stream  *catalog.Stream
	Client  *dealapi.Client
	Params  Params
	Scope   catalog.Scope // the part of the stream that is loaded; nil: all of it

	// Fields that may name a person (catalog.Field.Private) are stored as a hash with this key, or not at all.
	HashPrivate []byte
	DropPrivate bool

	BatchRows        int           // rows of a staged batch, at least 1
	Overlap          time.Duration // transactions: how far before the watermark a run reads; catalog.MinOverlap at least
	InitialFrom      time.Time     // transactions: the updatedAt from which the first run reads; zero: everything
	MaxDeleteRatio   float64       // share of the live rows that a run may delete, 0 to 1
	MaxRejectedRatio float64       // share of the records read that may be unloadable, 0 to 1
	ConfirmDeletes   bool          // deals: never delete a row that is there at its own address
	DeleteAfterLists int           // products: complete lists in a row that lack a row, before it is deleted; at least 1
	ResumeWithin     time.Duration // products: how old a checkpoint may be for a run to continue from it; 0: never
	ReferenceLimit   int           // transactions: how many deals that they name are requested at a time; 0: none
	ReferenceRetry   time.Duration // transactions: how long until a deal that was not found is requested again
	Timeout          time.Duration // how long the run may take once it has the lease, except for a backfill; 0: no limit

	Due             time.Time // when the run should have begun, by its schedule; zero: no schedule
	Full            bool      // read the whole stream, whatever its watermark or checkpoint says
	DryRun          bool      // stop before publishing, and leave nothing behind
	Differences     int       // how many of the rows that a dry run would change it names (RunRecord.Differences)
	NewService      bool      // whatever answers is the service of the account from now on: read everything and keep no other row
	AllowMassDelete bool      // let this run delete more than MaxDeleteRatio
}

// NewJob makes a job with the default settings of the configuration. A retry needs no client.
func NewJob(account string, s *catalog.Stream, c *dealapi.Client) Job {
	return Job{
		Account: account, Stream: s, Client: c,
		Params: Params{
			UpdatedAfter: catalog.DefaultUpdatedAfter, UpdatedBefore: catalog.DefaultUpdatedBefore,
			Page: catalog.DefaultPage, Cursor: catalog.DefaultCursor,
		},
		BatchRows:        catalog.DefaultBatchRows,
		Overlap:          catalog.DefaultOverlap,
		MaxDeleteRatio:   catalog.DefaultMaxDeleteRatio,
		MaxRejectedRatio: catalog.DefaultMaxRejectedRatio,
		DeleteAfterLists: catalog.DefaultDeleteAfterLists,
		ResumeWithin:     catalog.DefaultResumeWithin,
		ReferenceLimit:   catalog.DefaultReferenceLimit,
		ReferenceRetry:   catalog.DefaultReferenceRetry,
		Timeout:          catalog.DefaultRunTimeout,
	}
}

// batchBytes is how much JSON makes a batch full, whatever Job.BatchRows says.
const batchBytes = 6 << 20

// overlap returns how far before the watermark a run begins.
func (j *Job) overlap() time.Duration { return max(j.Overlap, catalog.MinOverlap) }

// overlapping returns the time to pass to the filter so that everything that changed since t is read. It is earlier by
// the overlap and one more millisecond, because the API leaves out rows of exactly that time.
func (j *Job) overlapping(t time.Time) time.Time { return t.Add(-j.overlap() - time.Millisecond) }

// resumes reports whether a walk continues from a checkpoint of that age.
func (j *Job) resumes(age time.Duration) bool {
	return !j.Full && j.ResumeWithin > 0 && age < j.ResumeWithin
}

// pagesAhead is how many pages are fetched while one is decoded and staged.
const pagesAhead = 2

// query returns the query that lists the rows after the given updatedAt (zero, or a service without such a filter: all
// rows), from the given page on.
func (j *Job) query(after time.Time, start string) dealapi.Query {
	q := dealapi.Query{Path: j.Stream.Path, Start: start, Ahead: pagesAhead, Settings: map[string]string{
		j.Params.UpdatedAfter: "account.params.updated_after", j.Params.UpdatedBefore: "account.params.updated_before",
	}}
	switch j.Stream.Paging {
	case catalog.CursorPages:
		q.Paging, q.PageParam, q.Settings[j.Params.Cursor] = dealapi.PagingCursor, j.Params.Cursor, "account.params.cursor"
	case catalog.NextPages:
		q.Paging, q.PageParam, q.Settings[j.Params.Page] = dealapi.PagingNextPage, j.Params.Page, "account.params.page"
	case catalog.BareArray:
		q.Paging = dealapi.PagingNone
	}
	if j.Stream.OwnKey {
		q.OwnKey = "api_key in [account.streams." + j.Stream.Name + "]"
	}
	if !after.IsZero() && j.Params.UpdatedAfter != "" {
		q.Params = url.Values{j.Params.UpdatedAfter: {after.UTC().Format(dealapi.TimeLayout)}}
	}
	return q
}

// bound limits a query to rows updated before a time, unless that is zero or the service has no such filter.
func (j *Job) bound(q *dealapi.Query, before time.Time) {
	if before.IsZero() || j.Params.UpdatedBefore == "" {
		return
	}
	if q.Params == nil {
		q.Params = url.Values{}
	}
	q.Params.Set(j.Params.UpdatedBefore, before.UTC().Format(dealapi.TimeLayout))
}

// narrow limits a query to one list of the scope.
func (j *Job) narrow(q *dealapi.Query, filter map[string]string) {
	for name, value := range filter {
		if q.Params == nil {
			q.Params = url.Values{}
		}
		q.Params.Set(j.Params.filter(name), value)
		q.Settings[j.Params.filter(name)] = "account.params." + name
	}
}

// FirstPages returns the queries for the first pages of each list of the scope, and a name for each that says what the
// list contains. Each page is fetched only when it is asked for.
func (j *Job) FirstPages() (names []string, queries []dealapi.Query) {
	for _, filter := range j.Scope.Lists() {
		q := j.query(time.Time{}, "")
		q.Ahead = -1
		j.narrow(&q, filter)
		names, queries = append(names, nameList(filter)), append(queries, q)
	}
	return names, queries
}

// Probe asks whether a service knows a date filter.
type Probe struct {
	Param, Setting string        // the filter, and the setting of its name
	Far            dealapi.Query // a service that knows it answers with no rows
	Near           dealapi.Query // the same with a date that no service refuses
}

// Probes returns the probes of the date filters that a run may need.
func (j *Job) Probes(now time.Time) []Probe {
	if j.Stream.Kind != catalog.Incremental {
		return nil
	}
	ask := func(param string, at time.Time) dealapi.Query {
		q := j.query(time.Time{}, "")
		q.Ahead, q.Params = -1, url.Values{param: {at.UTC().Format(dealapi.TimeLayout)}}
		return q
	}
	var all []Probe
	for param, far := range map[string]time.Time{
		j.Params.UpdatedAfter: now.AddDate(10, 0, 0), j.Params.UpdatedBefore: now.AddDate(-50, 0, 0),
	} {
		if param == "" {
			continue
		}
		q := ask(param, far)
		all = append(all, Probe{Param: param, Setting: q.Settings[param], Far: q, Near: ask(param, now.Add(-time.Hour))})
	}
	return all
}

// mode names what the run reads, for sync_runs.
func (j *Job) mode(after time.Time) string {
	if j.Stream.Kind != catalog.Incremental {
		return j.Stream.Kind.String()
	}
	if after.IsZero() {
		return warehouse.ModeFull
	}
	return catalog.Incremental.String()
}

// scope says what it means if a row is absent from the run.
func (j *Job) scope(after time.Time) warehouse.Scope {
	if j.Stream.Kind == catalog.Incremental && (!after.IsZero() || !j.Full) {
		return warehouse.Part // a first read deletes nothing either: there is nothing to delete
	}
	return warehouse.Whole
}

// nameList returns the filters of a list as text for people.
func nameList(filter map[string]string) string {
	var parts []string
	for _, f := range catalog.Filters() {
		if v, ok := filter[f.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s %q", f.Name, v))
		}
	}
	return strings.Join(parts, " and ")
}
