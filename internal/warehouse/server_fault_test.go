package warehouse

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dealhouse/internal/enginetest"
)

// refuse answers as ClickHouse does if a statement fails.
func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("X-ClickHouse-Exception-Code", fmt.Sprint(code))
	w.WriteHeader(http.StatusInternalServerError)
	fmt.Fprintf(w, "Code: %d. DB::Exception: %s", code, text)
}

// TestServerFaults fails each statement of a publication that writes, for each reason that a server, or a proxy before
// it, may have. The run ends with an error that says what to do, never with a success. When the reason is gone, the
// next run finishes the work, or reads again: no row is lost.
func TestServerFaults(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	far, g := through(t, w, Options{MaxRetryElapsed: 1}) // a second attempt is too late
	steps := []string{"INSERT INTO sync_state_log", "ALTER TABLE coupons_versions ATTACH",
		"ALTER TABLE coupons_latest ATTACH", "INSERT INTO sync_runs_log"}
	faults := []struct {
		name string
		do   func(w http.ResponseWriter, done func(http.ResponseWriter))
		want string // part of the error
	}{
		{"table in readonly mode", refusal(242, "Table is in readonly mode since table metadata was not found in zookeeper"),
			"replica that has lost its Keeper"},
		{"disk full", refusal(243, "Cannot reserve 1.00 MiB, not enough space"), "disk of the warehouse is full"},
		{"session of Keeper lost", refusal(999, "Coordination::Exception: Session expired"),
			"Keeper or a replica does not answer"},
		{"no quorum", refusal(285, "Number of alive replicas is less than requested quorum"),
			"Keeper or a replica does not answer"},
		{"quota used up", refusal(201, "Quota for user `loader` for 3600s has been exceeded: queries = 101/100"),
			"quota of the server's user"},
		{"restarting", refusal(236, "Query was cancelled: the server is being stopped"), "stopped or restarted"},
		{"restarted after it was done", cut(true), "check that the server runs"},
		{"cut before it was done", cut(false), "check that the server runs"},
		{"a proxy that waited for 60 s", func(w http.ResponseWriter, done func(http.ResponseWriter)) {
			done(httptest.NewRecorder())
			w.WriteHeader(http.StatusGatewayTimeout)
			fmt.Fprint(w, "<html>504 Gateway Time-out</html>")
		}, "check that the server runs"},
		{"settings fixed by a profile", refusal(452, "Setting async_insert should not be changed"), "should not be changed"},
	}
	load(t, w, "coupons", Whole, "["+coupon(idA, "a0", day1)+"]")
	code := 0
	for at, fault := range enginetest.Spread(faults, 2) {
		for i, step := range steps {
			if !enginetest.Wide() && i != at%len(steps) {
				continue
			}
			code++
			next := fmt.Sprintf("c%d", code)
			r := begin(t, far, "coupons")
			stage(t, far, r, "["+coupon(idA, next, fmt.Sprintf("2026-01-02T%02d:%02d:00Z", code/60, code%60))+"]")
			l, err := far.Acquire(t.Context(), r)
			must(t, err)
			x := far.Writer(r)
			c, err := x.Plan(t.Context(), Whole, staged(t, w, r))
			must(t, err)
			p, err := x.Prepare(t.Context(), c, l.Begun())
			must(t, err)
			g.breaks(func(w http.ResponseWriter, statement string, done func(http.ResponseWriter)) bool {
				if strings.HasPrefix(statement, step) {
					fault.do(w, done)
					return true
				}
				return false
			})
			err = x.Publish(t.Context(), l, Intent{RunID: r.ID, MergedAt: l.Begun(), Prepared: p,
				Record: RunRecord{Account: r.Account, Stream: "coupons", RunID: r.ID, StartedAt: r.StartedAt, FinishedAt: l.Begun(),
					Outcome: OutcomeSuccess, Changes: c}})
			g.breaks(nil)
			if err == nil || !strings.Contains(err.Error(), fault.want) || errors.Is(err, ErrLeaseLost) {
				t.Errorf("%s at %s: %v", fault.name, step, err)
			}
			must(t, l.Expire(t.Context()))
			takeOver(t, far, begin(t, far, "coupons"))
			load(t, far, "coupons", Whole, "["+coupon(idA, next, fmt.Sprintf("2026-01-02T%02d:%02d:00Z", code/60, code%60))+"]")
			wantRows(t, w, "SELECT code FROM coupons", next)
			wantRows(t, w, "SELECT code FROM coupons_history WHERE valid_to IS NULL", next)
			wantRows(t, w, "SELECT count() FROM coupons_history", fmt.Sprint(code+1))
		}
	}
}

func refusal(code int, text string) func(http.ResponseWriter, func(http.ResponseWriter)) {
	return func(w http.ResponseWriter, _ func(http.ResponseWriter)) { refuse(w, code, text) }
}

// cut closes the connection, after the statement was executed or before.
func cut(after bool) func(http.ResponseWriter, func(http.ResponseWriter)) {
	return func(_ http.ResponseWriter, done func(http.ResponseWriter)) {
		if after {
			done(httptest.NewRecorder())
		}
		panic(http.ErrAbortHandler)
	}
}

// TestAnswersThatBreakOff checks that incomplete answers are never used as complete ones: when the server fails, it has
// already sent the status 200 and some of the rows.
func TestAnswersThatBreakOff(t *testing.T) {
	t.Parallel()
	w := open(t)
	far, g := through(t, w, Options{NoRetry: true})
	const query = "SELECT number FROM numbers(300000)"
	for name, end := range map[string]func(w http.ResponseWriter, body []byte){
		"cut": func(w http.ResponseWriter, body []byte) {
			_, _ = w.Write(body[:len(body)/2])
			panic(http.ErrAbortHandler)
		},
		"an exception in the middle": func(w http.ResponseWriter, body []byte) {
			_, _ = w.Write(body[:len(body)/2])
			fmt.Fprint(w, "\r\n__exception__\r\nabcdefghijklmnop\r\nCode: 241. DB::Exception: Memory limit exceeded\n52 abcdefghijklmnop\r\n__exception__\r\n")
		},
		"an exception at the end": func(w http.ResponseWriter, body []byte) {
			_, _ = w.Write(body)
			fmt.Fprint(w, "\r\n__exception__\r\nabcdefghijklmnop\r\nCode: 241. DB::Exception: Memory limit exceeded\n52 abcdefghijklmnop\r\n__exception__\r\n")
		},
		"the text of an exception, as servers before 25.11 send it": func(w http.ResponseWriter, body []byte) {
			_, _ = w.Write(body)
			fmt.Fprint(w, "Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g.breaks(func(w http.ResponseWriter, statement string, done func(http.ResponseWriter)) bool {
				if statement != query {
					return false
				}
				ready := httptest.NewRecorder()
				done(ready)
				for name, values := range ready.Header() {
					if name != "Content-Length" {
						w.Header()[name] = values
					}
				}
				end(w, ready.Body.Bytes())
				return true
			})
			rows, err := far.conn.Query(t.Context(), query)
			all, err := scanned(rows, err, only[uint64])
			if err == nil {
				t.Errorf("%d of 300000 rows, and no error", len(all))
			}
		})
	}
}
