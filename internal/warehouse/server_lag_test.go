package warehouse

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
)

// TestLagThatDoesNotPass ends the run, within its time, with an error that names the lag, and changes nothing. A lag
// that passes is waited for.
func TestLagThatDoesNotPass(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "coupons", Whole, "["+coupon(idA, "a1", day1)+"]")
	far, g := through(t, w, Options{})
	far.dialect, far.lagTurn = cloudDialect(far.dialect), time.Second
	r := begin(t, far, "coupons")
	stage(t, far, r, "["+coupon(idB, "b1", day2)+"]")
	late, turns := lagTurns, 0
	g.breaks(func(w http.ResponseWriter, statement string, _ func(http.ResponseWriter)) bool {
		if !strings.HasPrefix(statement, "SYSTEM SYNC REPLICA ") {
			return false
		}
		if strings.Contains(statement, "coupons_latest") && turns < late {
			turns++
			refuse(w, codeTimeout, "SYNC REPLICA dealhouse.coupons_latest: command timed out. See the 'receive_timeout' setting")
		}
		return true
	})
	_, err := far.Writer(r).Plan(t.Context(), Whole, staged(t, far, r))
	lag, ok := errors.AsType[*LagError](err)
	if !ok || lag.Table != "coupons_latest" || lag.Waited != lagTurns*time.Second ||
		!strings.Contains(err.Error(), "lags behind the other replicas") {
		t.Errorf("%+v, %v", lag, err)
	}
	wantRows(t, w, "SELECT code FROM coupons", "a1")
	late, turns = 2, 0
	publish(t, far, r, Whole)
	if turns != late {
		t.Errorf("waited %d times", turns)
	}
	wantRows(t, w, "SELECT code FROM coupons", "b1")
}

// TestLagOnKeeper has a second replica of a table, to which another worker publishes while the queue of the first
// replica is stopped. The run on the first one fails, says why, and changes nothing. When the lag is gone, a run
// sees what was published. The second replica is in the same engine: it has the rows that the queue asks for, so
// nothing is fetched.
func TestLagOnKeeper(t *testing.T) {
	if enginetest.Cluster() == "" {
		t.Skip("needs replicated tables: TEST_KEEPER names a ZooKeeper in the step of .ci/run that runs this test")
	}
	t.Parallel()
	w := open(t)
	w.lagTurn = time.Second
	other := w.database + "_other"
	definition := text(t, w, "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = 'coupons_latest'")[0]
	must(t, w.exec(t.Context(), "CREATE DATABASE "+other),
		w.exec(t.Context(), strings.NewReplacer(w.database+".coupons_latest ", other+".coupons_latest ", "'{replica}'",
			"'two'").Replace(definition)),
		w.exec(t.Context(), "SYSTEM STOP FETCHES "+other+".coupons_latest"))
	t.Cleanup(func() {
		must(t, w.exec(context.Background(), "SYSTEM START REPLICATION QUEUES coupons_latest"),
			w.exec(context.Background(), "DROP DATABASE "+other+" SYNC"))
	})
	must(t, w.exec(t.Context(), "SYSTEM STOP REPLICATION QUEUES coupons_latest"))
	elsewhere := begin(t, w, "coupons")
	stage(t, w, elsewhere, "["+coupon(idA, "a1", day1)+"]")
	x := w.Writer(elsewhere)
	c, err := x.Plan(t.Context(), Whole, staged(t, w, elsewhere))
	must(t, err)
	_, err = x.Prepare(t.Context(), c, elsewhere.StartedAt)
	must(t, err, w.exec(t.Context(), "ALTER TABLE "+other+".coupons_latest ATTACH PARTITION tuple() FROM "+
		w.dialect.ofRun(elsewhere.delta())))

	r := begin(t, w, "coupons")
	stage(t, w, r, "["+coupon(idB, "b1", day2)+"]")
	begun := time.Now()
	_, err = w.Writer(r).Plan(t.Context(), Whole, staged(t, w, r))
	if lag, ok := errors.AsType[*LagError](err); !ok || lag.Table != "coupons_latest" {
		t.Fatalf("%v", err)
	}
	t.Logf("after %s: %v", time.Since(begun).Round(time.Millisecond), err)
	wantRows(t, w, "SELECT count() FROM coupons_latest", "0")

	must(t, w.exec(t.Context(), "SYSTEM START REPLICATION QUEUES coupons_latest"))
	w.lagTurn = lagTurn // the queue takes what it takes
	again := begin(t, w, "coupons")
	stage(t, w, again, "["+coupon(idB, "b1", day2)+"]")
	c, err = w.Writer(again).Plan(t.Context(), Whole, staged(t, w, again))
	must(t, err)
	if c.Inserted != 1 || c.Deleted != 1 {
		t.Errorf("what the other worker had published was not seen: %+v", c)
	}
	must(t, x.Discard(t.Context()), w.Writer(r).Discard(t.Context()), w.Writer(again).Discard(t.Context()))
}
