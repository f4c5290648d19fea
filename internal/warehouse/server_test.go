package warehouse

import (
	"bytes"
	"dealhouse/internal/enginetest"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"
)

// fake pretends to be a server of another kind in front of the embedded engine, which does the work. What a statement
// would find on that server is written into the statement.
type fake struct {
	http.Handler
	mu     sync.Mutex
	change func(statement string) string // returns what is executed in its place
	seen   []string
}

// is returns a change that replaces parts of statements.
func is(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("query") != "" { // an insert: the body has its rows
		f.Handler.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f.mu.Lock()
	f.seen = append(f.seen, string(body))
	changed := string(body)
	if !strings.HasPrefix(changed, "SELECT displayName()") { // the first query of the driver
		changed = f.change(changed)
	}
	f.mu.Unlock()
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
	f.Handler.ServeHTTP(w, r)
}

// does changes how the server behaves from now on.
func (f *fake) does(change func(string) string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.change = change
}

// sent counts the statements with the given beginning.
func (f *fake) sent(begin string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if strings.HasPrefix(s, begin) {
			n++
		}
	}
	return n
}

// serve opens the database of w as that of a server that differs from the embedded engine.
func serve(t *testing.T, w *Warehouse, o Options, change func(string) string) (*Warehouse, *fake) {
	t.Helper()
	f := &fake{Handler: door(w), change: change}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	o.DSN, o.Database = server.URL, w.database
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	far, err := Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, far.Close()) })
	return far, f
}

// TestUnfitServers checks that unfit servers are refused, each with what to do.
func TestUnfitServers(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	var turn atomic.Int32
	engine := "(SELECT any(engine) FROM system.databases WHERE name = {database:String})"
	for _, tt := range []struct {
		name   string
		o      Options
		change func(string) string
		want   []string // parts of the error
	}{
		{"too old", Options{}, is("version()", "'24.8.14.39'"), []string{"24.8.14.39", "25.12 or later"}},
		{"too old to understand the question", Options{},
			is("timezone()", "timezoneOfThisServer()", "version()", "'22.3.1.1'"), []string{"22.3.1.1", "25.12 or later"}},
		{"a load balancer over two", Options{}, func(s string) string {
			if s == selectServerID {
				return fmt.Sprintf("SELECT '%d'", turn.Add(1)%2)
			}
			return s
		}, []string{"several servers", "load balancer", "separated by commas"}},
		{"a replicated database", Options{}, is(engine, "'Replicated'"), []string{"engine Replicated", "warehouse.cluster"}},
		{"a database of another server", Options{}, is(engine, "'PostgreSQL'"),
			[]string{"engine PostgreSQL", "another name"}},
		{"a cluster that is not there", Options{Cluster: "gone"},
			is("(SELECT uniqExact(shard_num) FROM system.clusters WHERE cluster = {cluster:String})", "toUInt64(0)",
				"(SELECT arraySort(groupUniqArray(cluster)) FROM system.clusters)", "['default', 'main']",
				"(SELECT groupArray(macro) FROM system.macros)", "['shard']", replicasOfShard, "toUInt64(2)",
				"AND NOT startsWith(engine, 'Replicated')", "AND 0"), []string{"no cluster gone", "default, main"}},
		{"a server without macros", Options{Cluster: "main"},
			is("(SELECT uniqExact(shard_num) FROM system.clusters WHERE cluster = {cluster:String})", "toUInt64(1)",
				"(SELECT arraySort(groupUniqArray(cluster)) FROM system.clusters)", "['main']",
				"(SELECT groupArray(macro) FROM system.macros)", "['shard']", replicasOfShard, "toUInt64(2)",
				"AND NOT startsWith(engine, 'Replicated')", "AND 0"),
			[]string{"macro {replica}", "another {replica} on each server"}},
		{"tables that were made without the cluster", Options{Cluster: "main"}, is(),
			[]string{"are not replicated", "dealhouse copy"}},
		{"tables that were made with a cluster", Options{}, is("AND startsWith(engine, 'Replicated')", "AND 1"),
			[]string{"are replicated", "set warehouse.cluster"}},
		{"a cluster in Cloud", Options{Cluster: "main"}, inCloud, []string{"Cloud", "leave warehouse.cluster empty"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			far, _ := serve(t, w, tt.o, tt.change)
			_, err := far.Identify(t.Context())
			if _, unfit := errors.AsType[*ServerError](err); !unfit {
				t.Fatalf("no ServerError: %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

const isCloud = "toBool((SELECT count() FROM system.settings WHERE name = 'cloud_mode' AND value = '1'))"

// inCloud returns what statements find in Cloud. The embedded engine refuses to wait for replicas that it
// does not have.
func inCloud(s string) string {
	if strings.HasPrefix(s, "SYSTEM SYNC REPLICA") {
		return "SELECT 1"
	}
	return strings.ReplaceAll(s, isCloud, "true")
}

// TestFitServers checks that fit servers are accepted: one like the embedded engine, and Cloud, in which a
// stream is loaded.
func TestFitServers(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	far, f := serve(t, w, Options{}, is())
	s, err := far.Identify(t.Context())
	must(t, err)
	if s.Cloud || s.Version != w.Engine().ServerVersion() || far.dialect != (dialect{}) {
		t.Errorf("%+v, %+v", s, far.dialect)
	}
	if n := f.sent("SELECT version(), "); n != 1 {
		t.Errorf("asked %d times what it is", n)
	}

	f.does(inCloud)
	s, err = far.Identify(t.Context())
	must(t, err)
	if !s.Cloud || !far.dialect.cloud {
		t.Errorf("not taken for Cloud: %+v", s)
	}
	load(t, far, "coupons", Whole, "["+coupon(idA, "a1", day1)+"]")
	if d := cmp.Diff([]string{"a1"}, text(t, w, "SELECT code FROM coupons")); d != "" {
		t.Error(d)
	}
	if f.sent("SYSTEM SYNC REPLICA") == 0 {
		t.Error("no replica was waited for")
	}
}

// TestLaggingReplica stages on one server and compares on another, which has none of the rows yet: nothing is deleted.
func TestLaggingReplica(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	far, f := serve(t, w, Options{}, is())
	load(t, far, "coupons", Whole, "["+coupon(idA, "a1", day1)+","+coupon(idB, "b1", day1)+"]")
	r := begin(t, far, "coupons")
	stage(t, far, r, "["+coupon(idA, "a2", day2)+"]")
	sent := staged(t, far, r)
	f.does(is("FROM coupons_staging", "FROM (SELECT *, _version FROM coupons_staging LIMIT 0)"))
	_, err := far.Writer(r).Plan(t.Context(), Whole, sent)
	if lag, ok := errors.AsType[*StagedError](err); !ok || *lag != (StagedError{Want: sent}) {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff([]string{"a1", "b1"}, text(t, w, "SELECT code FROM coupons ORDER BY code")); d != "" {
		t.Error(d)
	}
}

// TestMissingGrants checks that the rights that a user lacks are named, as statements.
func TestMissingGrants(t *testing.T) {
	t.Parallel()
	w := open(t)
	far, f := serve(t, w, Options{}, is())
	f.does(is("CHECK GRANT ", "SELECT toUInt8(1) -- "))
	for _, role := range []Role{Loader, Migrator, Visitor} {
		if missing, err := far.MissingGrants(t.Context(), role); err != nil || len(missing) > 0 {
			t.Errorf("%s: %v, %v", role, missing, err)
		}
	}
	f.does(func(s string) string {
		if strings.HasPrefix(s, "CHECK GRANT ALTER DELETE") || strings.HasPrefix(s, "CHECK GRANT OPTIMIZE") ||
			strings.HasPrefix(s, "CHECK GRANT DROP TABLE") {
			return "SELECT toUInt8(0)"
		}
		return strings.ReplaceAll(s, "CHECK GRANT ", "SELECT toUInt8(1) -- ")
	})
	missing, err := far.MissingGrants(t.Context(), Loader)
	must(t, err)
	on := " ON `" + w.database + "`.* TO CURRENT_USER"
	if d := cmp.Diff([]string{"GRANT ALTER DELETE" + on, "GRANT DROP TABLE, OPTIMIZE" + on}, missing); d != "" {
		t.Error(d)
	}
	must(t, far.TrySettings(t.Context()))
}

// TestRefusedSettings checks the error about settings that the profile of the user fixes.
func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, code := range []int32{164, 452} {
		refuse := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bytes.HasPrefix(body, []byte("SELECT displayName()")) {
				r.Body = io.NopCloser(bytes.NewReader(body))
				door(w).ServeHTTP(rw, r)
				return
			}
			rw.Header().Set("X-ClickHouse-Exception-Code", fmt.Sprint(code))
			rw.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(rw, "Code: %d. DB::Exception: Setting join_use_nulls should not be changed. (SETTING_CONSTRAINT_VIOLATION)", code)
		})
		server := httptest.NewServer(refuse)
		t.Cleanup(server.Close)
		far := remote(t, w, server.Listener.Addr().String())
		if err := far.TrySettings(t.Context()); !IsSettingRefused(err) {
			t.Errorf("%v", err)
		}
		_, err := far.Identify(t.Context())
		if unfit, ok := errors.AsType[*ServerError](err); !ok || !strings.Contains(unfit.Error(), "constraint") {
			t.Errorf("%v", err)
		}
	}
}

// TestFailureInAHeader has a statement that fails after the server has sent its progress, and with it the status 200.
func TestFailureInAHeader(t *testing.T) {
	t.Parallel()
	w := open(t)
	handler := door(w)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.HasPrefix(body, []byte("ALTER TABLE")) {
			handler.ServeHTTP(rw, r)
			return
		}
		if r.URL.Query().Get("send_progress_in_http_headers") != "1" {
			t.Error("no progress is asked for")
		}
		rw.Header().Add("X-ClickHouse-Progress", `{"read_rows":"1"}`)
		rw.Header().Set("X-ClickHouse-Exception-Code", "243")
		fmt.Fprint(rw, "Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)")
	}))
	t.Cleanup(server.Close)
	far := remote(t, w, server.Listener.Addr().String())
	err := far.conn.Exec(t.Context(), "ALTER TABLE coupons_latest ATTACH PARTITION tuple() FROM coupons_delta")
	if e, ok := errors.AsType[*clickhouse.Exception](err); !ok || e.Code != 243 {
		t.Errorf("%v", err)
	}
}

// TestFailover moves to the next server of the DSN, but not during a run.
func TestFailover(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	server := httptest.NewServer(&fake{Handler: door(w),
		change: inCloud})
	t.Cleanup(server.Close)
	first, second := newLine(t, server.Listener.Addr().String()), newLine(t, server.Listener.Addr().String())
	one, two := first.listener.Addr().String(), second.listener.Addr().String()
	far, err := Open(t.Context(), Options{DSN: "http://" + one + "," + two, Database: w.database, NoRetry: true})
	must(t, err)
	t.Cleanup(func() { must(t, far.Close()) })
	_, err = far.Identify(t.Context())
	must(t, err)
	if far.address() != one {
		t.Errorf("works with %s", far.address())
	}
	load(t, far, "coupons", Whole, "["+coupon(idA, "a1", day1)+"]")

	r := begin(t, far, "coupons")
	l, err := far.Acquire(t.Context(), r)
	must(t, err)
	first.close(t)
	if _, err := far.Acquire(t.Context(), begin(t, w, "promotions")); !isConnection(err) || far.address() != one {
		t.Errorf("a run is under way: %v at %s", err, far.address())
	}
	if err := l.Release(t.Context()); !isConnection(err) {
		t.Errorf("%v", err)
	}

	must(t, w.exec(t.Context(), "TRUNCATE TABLE sync_state_log")) // as if the lease of the dead run had run out
	now := begin(t, w, "coupons")
	l, err = far.Acquire(t.Context(), now)
	must(t, err)
	if far.address() != two {
		t.Errorf("works with %s", far.address())
	}
	must(t, l.Release(t.Context()))
	load(t, far, "coupons", Whole, "["+coupon(idA, "a2", day2)+"]")
	if d := cmp.Diff([]string{"a2"}, text(t, w, "SELECT code FROM coupons")); d != "" {
		t.Error(d)
	}
}
