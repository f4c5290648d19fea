//go:build !noengine

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/service"
	"dealhouse/internal/warehouse"
)

// gateway is a Pushgateway as far as a client can tell.
type gateway struct {
	*httptest.Server
	status int
	pushes []received
}

type received struct {
	method, path, user string
	families           map[string]*dto.MetricFamily
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{status: http.StatusOK}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		p := received{method: r.Method, path: r.URL.Path, user: user + ":" + password,
			families: map[string]*dto.MetricFamily{}}
		for d := expfmt.NewDecoder(r.Body, expfmt.ResponseFormat(r.Header)); ; {
			var f dto.MetricFamily
			err := d.Decode(&f)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Error(err)
				break
			}
			p.families[f.GetName()] = &f
		}
		g.pushes = append(g.pushes, p)
		w.WriteHeader(g.status)
	}))
	t.Cleanup(g.Close)
	return g
}

// series is the number of series of a metric in the last push.
func (g *gateway) series(name string) int {
	return len(g.pushes[len(g.pushes)-1].families["dealhouse_"+name].GetMetric())
}

// sum adds up the gauges of a metric in the last push.
func (g *gateway) sum(name string) (total float64) {
	for _, m := range g.pushes[len(g.pushes)-1].families["dealhouse_"+name].GetMetric() {
		total += m.GetGauge().GetValue()
	}
	return total
}

// A sync leaves its metrics with the gateway: in one group without the name of this host, and since they replace what
// is there, with where streams, checks and payouts stand that it was not about. For wide samples: TestMetricsTextfile
// has the same metrics in a file.
func TestPushGateway(t *testing.T) {
	enginetest.OnlyWide(t)
	engineHere(t)
	b := newBench(t)
	b.migrated(t)
	defer hold(t, b.dir)()
	g := newGateway(t)
	b.call(t, "sync", "payouts", "promotions", "--push-gateway",
		strings.Replace(g.URL, "http://", "http://ops:"+httpSecret+"@", 1)).want(t, 0)
	first := g.pushes[0]
	if first.method != http.MethodPost || first.path != "/metrics/job/dealhouse" || first.user != "ops:"+httpSecret {
		t.Errorf("%s %s by %s", first.method, first.path, first.user)
	}
	for name, want := range map[string]int{"last_success_timestamp_seconds": 12, "last_attempt_timestamp_seconds": 12,
		"live_rows": 12, "runs_total": 60,
		"look_age_seconds": 0, "next_run_timestamp_seconds": 0, "build_info": 1, "payouts": 10,
		"payout_overdue_transactions": 2} {
		if n := g.series(name); n != want {
			t.Errorf("%d series of %s, want %d", n, name, want)
		}
	}
	for _, f := range first.families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() == "instance" || l.GetName() == "job" {
					t.Errorf("%s has a label %s", f.GetName(), l.GetName())
				}
			}
		}
	}
	payouts, checks := g.sum("payouts"), g.series("quality_check_ok")
	b.call(t, "sync", "coupons", "--account", "acme", "--push-gateway", g.URL).want(t, 0)
	if n := g.sum("payouts"); n != payouts || n == 0 || g.series("payouts") != 10 {
		t.Errorf("%v payouts after a sync that was not about them, %v before", n, payouts)
	}
	if n := g.series("quality_check_ok"); n <= checks {
		t.Errorf("%d checks after another sync, %d before", n, checks)
	}
	success := g.sum("last_success_timestamp_seconds")
	wrong := *b
	wrong.env = []string{"ACME_KEY=" + wrongKey, "GLOBEX_KEY=" + wrongKey}
	wrong.call(t, "sync", "coupons", "--push-gateway", g.URL).want(t, 3)
	if n := g.sum("last_success_timestamp_seconds"); n != success || g.series("last_success_timestamp_seconds") != 12 {
		t.Error("the last success has moved, and nothing succeeded")
	}
	if n := g.series("last_failure_timestamp_seconds"); n != 12 {
		t.Errorf("%d series of the last failure", n)
	}
	g.status = http.StatusInternalServerError
	b.call(t, "sync", "coupons", "--push-gateway", g.URL).want(t, 0, "warning: the metrics could not be pushed")
	g.Close()
	gone := b.call(t, "sync", "coupons", "--push-gateway",
		strings.Replace(g.URL, "http://", "http://ops:"+httpSecret+"@", 1))
	gone.want(t, 0, "warning: the metrics could not be pushed", "connection refused")
	b.call(t, "sync", "--push-gateway", "pushgateway:9091").want(t, 2, "want a URL")
	b.call(t, "sync", "--push-gateway", g.URL, "--dry-run").want(t, 2, "a dry run has no metrics")
}

// lines are those of a text that begin with a word.
func lines(text, begin string) (found string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, begin) {
			found += line
		}
	}
	return found
}

// exec does to the warehouse what no command does.
func (b *bench) exec(t *testing.T, statement string) {
	t.Helper()
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: warehouse.EmbeddedScheme + b.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // the folder is held open by the test
	if err := w.Conn().Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// damage writes zeros over what a table has stored.
func (b *bench) damage(t *testing.T, table string) {
	t.Helper()
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: warehouse.EmbeddedScheme + b.dir})
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	err = w.Conn().QueryRow(t.Context(), "SELECT groupArray(path) FROM system.parts WHERE active AND database = currentDatabase() AND table = '"+table+"'").Scan(&parts)
	if err := errors.Join(err, w.Close()); err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	for _, part := range parts {
		files, err := filepath.Glob(filepath.Join(part, "*.bin"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, name := range files {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, make([]byte, info.Size()), info.Mode()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The text file is there at once or not at all, and the node exporter may read it.
func TestMetricsTextfile(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newSmallBench(t)
	b.migrated(t)
	defer hold(t, b.dir)()
	path := filepath.Join(t.TempDir(), "dealhouse.prom")
	if err := os.WriteFile(path, []byte("what was there before"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := b.call(t, "sync", "coupons", "--metrics-textfile", path, "--json")
	got.want(t, 0)
	if rows := parse[syncRow](t, got.out); len(rows) != len(b.sim.Orgs()) {
		t.Errorf("%d rows", len(rows))
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families["dealhouse_records_inserted_total"].GetMetric() {
		want := 0.0
		if m.Label[1].GetValue() == "coupons" {
			want = float64(b.sim.Count("coupons", ""))
		}
		if got := m.GetCounter().GetValue(); got != want {
			t.Errorf("%v: %v, want %v", m.Label, got, want)
		}
	}
	const ended = `dealhouse_last_run_info{account="acme",guard="",outcome="%s",stream="coupons"} 1`
	if !strings.Contains(string(text), fmt.Sprintf(ended, "success")) || lines(string(text), "dealhouse_job_finished_timestamp_seconds ") == "" {
		t.Errorf("nobody could be told how the last run ended:\n%s", lines(string(text), "dealhouse_last_run"))
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
	wrong := *b
	wrong.env = []string{"ACME_KEY=" + wrongKey, "GLOBEX_KEY=" + wrongKey}
	wrong.call(t, "sync", "coupons", "--metrics-textfile", path).want(t, 3)
	if failed, err := os.ReadFile(path); err != nil ||
		lines(string(text), "dealhouse_last_success") != lines(string(failed), "dealhouse_last_success") ||
		!strings.Contains(string(failed), fmt.Sprintf(ended, "failed")) {
		t.Errorf("%v: the last success is not what it was, and nothing succeeded:\n%s", err,
			lines(string(failed), "dealhouse_last_success"))
	}

	nowhere := filepath.Join(t.TempDir(), "not", "there.prom")
	b.call(t, "sync", "coupons", "--metrics-textfile", nowhere).want(t, 0, "warning: the metrics could not be written to")
	b.call(t, "sync", "--json", "--output", "csv").want(t, 2, "give one of them")
	if !enginetest.Wide() { // what cannot be told stops no sync, as above
		return
	}

	// What cannot be read in the warehouse is not told, and nothing else in its place.
	b.call(t, "sync", "payouts", "transactions").want(t, 0)
	b.damage(t, "payout_sums_latest")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t)
	b.call(t, "sync", "coupons", "--metrics-textfile", path, "--push-gateway", g.URL).want(t, 0,
		"warning: the metrics could not be read completely")
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("%v: the file was written without the payouts", err)
	}
	if g.series("payouts")+g.series("payout_overdue_transactions") > 0 ||
		g.series("last_success_timestamp_seconds") != 12 || g.series("quality_check_ok") == 0 {
		t.Errorf("%d series of payouts, %d of the last success", g.series("payouts"),
			g.series("last_success_timestamp_seconds"))
	}
}

// stopping is a writer that ends a program once it has written something so often.
type stopping struct {
	strings.Builder
	left int
	word string
	stop context.CancelCauseFunc
}

func (s *stopping) Write(p []byte) (int, error) {
	s.left -= strings.Count(string(p), s.word)
	if s.left <= 0 {
		s.stop(service.SignalError{Signal: syscall.SIGINT})
	}
	return s.Builder.Write(p)
}

// The status is shown again and again; where nothing can be redrawn, one after the other.
func TestStatusWatch(t *testing.T) {
	enginetest.Long(t)
	b := newBench(t)
	for format, word := range map[string]string{"table": "globex   products",
		"json": `"account": "globex", "stream": "products"`} {
		ctx, stop := context.WithCancelCause(t.Context())
		out := &stopping{left: 3, word: word, stop: stop}
		var errs strings.Builder
		code := command(ctx, strings.NewReader(""), out, &errs, b.env, "status", "--watch", "--interval", "100ms", "-o",
			format, "--config", b.config)
		if n := strings.Count(out.String(), word); code != 130 || n < 3 || n > 4 {
			t.Errorf("%s: exit code %d, shown %d times\n%s", format, code, n, errs.String())
		}
	}
	b.call(t, "status", "--interval", "1s").want(t, 2, "--interval is for --watch")
	b.call(t, "status", "--watch", "--interval", "1ms").want(t, 2, "at least 100ms")
}
