package warehouse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// TestHomes checks that names are spread over shards, and that with one more shard a name either stays where it was or
// moves to the new one.
func TestHomes(t *testing.T) {
	t.Parallel()
	const names = 3000
	for shards := 1; shards < 6; shards++ {
		counts := make([]int, shards)
		for i := range names {
			name := fmt.Sprintf("account-%d", i)
			home := homeOf(name, shards)
			counts[home]++
			if next := homeOf(name, shards+1); next != home && next != shards {
				t.Fatalf("%s moves from %d to %d of %d", name, home, next, shards+1)
			}
		}
		if fair := names / shards; slices.Min(counts) < fair*9/10 || slices.Max(counts) > fair*11/10 {
			t.Errorf("%d shards: %v", shards, counts)
		}
	}
}

// ofCluster returns what statements find on a server of a cluster of two shards, in one of them.
func ofCluster(shard int) func(string) string {
	return is("(SELECT uniqExact(shard_num) FROM system.clusters WHERE cluster = {cluster:String})", "toUInt64(2)",
		"(SELECT arraySort(groupUniqArray(cluster)) FROM system.clusters)", "['wide']",
		"(SELECT groupArray(macro) FROM system.macros)", "['shard', 'replica']", replicasOfShard, "toUInt64(2)",
		"AND NOT startsWith(engine, 'Replicated')", "AND 0", selectShard, fmt.Sprintf("SELECT toUInt64(%d)", shard),
		"CHECK GRANT ", "SELECT toUInt8(0) -- ")
}

// openCluster opens a database of w on servers of a cluster. Each of them changes statements by its function.
func openCluster(t *testing.T, w *Warehouse, database string, servers ...func(string) string) (*Warehouse, []string) {
	t.Helper()
	var addresses []string
	for _, change := range servers {
		if change == nil { // this one is down
			gone := newLine(t, "127.0.0.1:0")
			addresses = append(addresses, gone.listener.Addr().String())
			gone.close(t)
			continue
		}
		server := httptest.NewServer(&fake{Handler: aCluster(door(w)), change: change})
		t.Cleanup(server.Close)
		addresses = append(addresses, server.Listener.Addr().String())
	}
	far, err := Open(t.Context(), Options{DSN: "http://" + strings.Join(addresses, ","), Database: database,
		Cluster: "wide", Backoff: time.Millisecond, MaxRetryElapsed: -1})
	must(t, err)
	t.Cleanup(func() { must(t, far.Close()) })
	return far, addresses
}

// aCluster removes the settings that the door of an embedded engine does not know, as they are about other servers.
func aCluster(door http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		for name := range (dialect{divided: true}).dividedSettings() {
			query.Del(name)
		}
		r.URL.RawQuery = query.Encode()
		door.ServeHTTP(rw, r)
	})
}

// TestClusterOfShards finds out which server is in which shard, and works with each shard through its own servers.
func TestClusterOfShards(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	far, addresses := openCluster(t, w, "wide_"+w.database, ofCluster(2), ofCluster(1), ofCluster(2), nil)
	for range 2 { // a daemon asks repeatedly
		_, err := far.Identify(t.Context())
		must(t, err)
	}
	if text := far.Server().String(); !strings.Contains(text, "2 shards") {
		t.Errorf("%q does not say that it is divided", text)
	}
	if far.Shards() != 2 {
		t.Fatalf("%d shards", far.Shards())
	}
	var got [][]string
	for _, s := range far.each() {
		got = append(got, s.replicas.addresses)
	}
	if d := cmp.Diff([][]string{{addresses[1]}, {addresses[0], addresses[2]}}, got); d != "" {
		t.Error(d)
	}
	far.server.door = false // in truth it is embedded, and embedded engines have no grants
	missing, err := far.MissingGrants(t.Context(), Visitor)
	must(t, err)
	if d := cmp.Diff([]string{"GRANT SELECT ON `wide_" + w.database + "`.* TO CURRENT_USER",
		"GRANT SELECT ON `wide_" + w.database + "_shard`.* TO CURRENT_USER"}, missing); d != "" {
		t.Error(d)
	}
	missing, err = far.MissingGrants(t.Context(), Migrator)
	must(t, err)
	for _, part := range []string{"_shard`.*", "_shard_runs`.*", "REMOTE ON *.*", "CLUSTER ON *.*"} {
		if !slices.ContainsFunc(missing, func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("nothing on %s: %q", part, missing)
		}
	}
}

// TestUnfitShards checks that unfit shards are refused, each with what to do. For wide samples: TestUnfitServers
// refuses servers.
func TestUnfitShards(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	both := open(t)
	must(t, both.exec(t.Context(), "CREATE DATABASE both_"+both.database+"_shard"))
	t.Cleanup(func() { must(t, both.exec(context.Background(), "DROP DATABASE both_"+both.database+"_shard SYNC")) })
	must(t, both.exec(t.Context(), "CREATE TABLE both_"+both.database+
		"_shard.sync_state_log (account String) ENGINE = MergeTree ORDER BY account"))
	must(t, both.exec(t.Context(), "INSERT INTO both_"+both.database+"_shard.sync_state_log VALUES ('acme')"))
	single := func(s string) string {
		return strings.ReplaceAll(ofCluster(1)(s), "AND startsWith(engine, 'Replicated')", "AND 1")
	}
	for _, tt := range []struct {
		name, database string
		servers        []func(string) string
		want           []string
	}{
		{"no server of a shard", "wide_" + w.database, []func(string) string{ofCluster(1), ofCluster(1)},
			[]string{"no server of shard 2", "at least one server of each shard"}},
		{"a server that is in no shard", "wide_" + w.database, []func(string) string{ofCluster(1), ofCluster(0)},
			[]string{"does not find itself", "remote_servers"}},
		{"tables of a single shard", w.database, []func(string) string{single, ofCluster(2)},
			[]string{"of a single shard", "another name"}},
		{"a shard that is down", "wide_" + w.database, []func(string) string{ofCluster(1), nil},
			[]string{"no server of shard 2", "try again"}},
		{"an account on both shards", "both_" + both.database, []func(string) string{ofCluster(1), ofCluster(2)},
			[]string{"account acme is on shard 1 and on shard 2", "stop them"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			far, _ := openCluster(t, w, tt.database, tt.servers...)
			_, err := far.Identify(t.Context())
			if _, unfit := errors.AsType[*ServerError](err); unfit == errors.Is(err, errShardUnreachable) { // it may return
				t.Fatalf("of another kind: %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}
