package syncer

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// TestMain lets the binary be a worker that is killed, too.
func TestMain(m *testing.M) {
	enginetest.Main(m, enginetest.Options{
		Roles:  map[string]func(context.Context) error{workerRole: child},
		Shards: warehousetest.Shards, // only TestShards uses them
	})
}

// patience replaces time limits of the product in tests that are not about these limits: for what a stopped run has in
// hand, for an answer of a service, for the attempts of a statement. A machine may be very slow.
const patience = 10 * time.Minute

// open gives the test a migrated database of its own.
func open(t testing.TB) *warehouse.Warehouse {
	t.Helper()
	return warehousetest.Open(t)
}

// world is a simulator behind a real HTTP server.
type world struct {
	*apisim.Sim
	url string
}

// smallWorld is large enough to page and to have every kind of row.
func smallWorld() apisim.Options {
	return apisim.Options{Seed: 7, Retailers: 60, Promotions: 120, Coupons: 150, CashbackOffers: 130, Transactions: 900,
		Products: 110, HistoryDays: 9}
}

func serve(t testing.TB, o apisim.Options) *world {
	t.Helper()
	sim, url := enginetest.Serve(t, o)
	return &world{Sim: sim, url: url}
}

// failAfter answers the path with 503 after this number of requests.
func (x *world) failAfter(path string, requests int) {
	x.ResetLog()
	x.SetFault(func(*http.Request) apisim.Fault {
		if x.Requests(path) > requests {
			return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusServiceUnavailable}
		}
		return apisim.Fault{}
	})
}

// client makes a client with the account's key.
func (x *world) client(t testing.TB, account string) *dealapi.Client {
	t.Helper()
	key, _ := x.Keys(account)
	return newClient(t, account, x.url, key)
}

func newClient(t testing.TB, account, url, key string) *dealapi.Client {
	t.Helper()
	return newClientOver(t, account, url, key, nil)
}

func newClientOver(t testing.TB, account, url, key string, transport http.RoundTripper) *dealapi.Client {
	t.Helper()
	c, err := dealapi.New(dealapi.Options{Account: account, BaseURL: url, Key: key, Backoff: time.Millisecond,
		MaxBackoff: 10 * time.Millisecond, MaxAttempts: 4, Timeout: patience, MaxElapsed: patience, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// counter counts the requests of a client.
type counter struct{ n atomic.Uint64 }

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

// counted gives a job a client of its own, whose requests are counted. The simulator cannot count them after a run that
// was stopped: a request that this run gave up may still arrive.
func (x *world) counted(t testing.TB, job *Job) *counter {
	t.Helper()
	c := &counter{}
	key, _ := x.Keys(job.Account)
	job.Client = newClientOver(t, job.Account, x.url, key, c)
	return c
}

// jobs returns a job for each stream of the account, or for each of those named.
func (x *world) jobs(t testing.TB, account string, streams ...string) []Job {
	t.Helper()
	if len(streams) == 0 {
		streams = catalog.Names()
	}
	return jobsOf(t, x.client(t, account), account, streams...)
}

func jobsOf(t testing.TB, c *dealapi.Client, account string, streams ...string) []Job {
	t.Helper()
	var jobs []Job
	for _, name := range streams {
		s, err := catalog.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		// What the service no longer lists must be gone after one run, because the tests compare
		// with the truth after each.
		job := NewJob(account, s, c)
		job.DeleteAfterLists = 1
		jobs = append(jobs, job)
	}
	return jobs
}

// beside lets subtests that share a warehouse run beside each other in a wide sample. The few of the narrow one take
// turns: parallel ones would wait until every other test has begun, and each of their parents would keep a database of
// its own meanwhile, which takes hundreds of statements to make.
func beside(t *testing.T) {
	t.Helper()
	if enginetest.Wide() {
		t.Parallel()
	}
}

// some returns the given streams, or all streams in a wide sample.
func some(streams ...string) []string {
	if enginetest.Wide() {
		return catalog.Names()
	}
	return streams
}

// syncAll runs the jobs and wants them all to succeed.
func syncAll(t testing.TB, w *warehouse.Warehouse, jobs []Job) map[string]warehouse.RunRecord {
	t.Helper()
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	records := map[string]warehouse.RunRecord{}
	for _, r := range s.All(t.Context(), jobs) {
		if r.Err != nil {
			t.Fatalf("%s of %s: %v", r.Job.Stream.Name, r.Job.Account, r.Err)
		}
		records[r.Job.Account+"/"+r.Job.Stream.Name] = r.Record
	}
	return records
}
