//go:build prometheus && !noengine

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dealhouse/internal/catalog"
)

// TestPrometheus lets a real Prometheus scrape the running daemon and asks it for the lag and for counts of records.
func TestPrometheus(t *testing.T) {
	b := newBench(t)
	d := b.daemon(t, b.hurried(t, "user = \"prometheus\"\npassword = \"env:GLOBEX_KEY\""))
	// What an operator would type into promtool.
	check := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	check.Stdin = strings.NewReader(d.text(t))
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	p := scrape(t, d)
	d.succeeds(t, b, 2)
	for _, account := range b.sim.Orgs() {
		for _, stream := range catalog.Names() {
			of := fmt.Sprintf(`{account=%q, stream=%q}`, account, stream)
			want := float64(b.sim.Count(stream, account))
			p.until(t, "dealhouse_live_rows"+of, func(v float64) bool { return v == want })
			p.until(t, "dealhouse_records_inserted_total"+of, func(v float64) bool { return v == want })
			p.until(t, "dealhouse_records_read_total"+of, func(v float64) bool { return v > want })
			p.until(t, "time() - dealhouse_last_success_timestamp_seconds"+of, func(v float64) bool { return v >= 0 && v < 300 })
			p.until(t, "dealhouse_look_age_seconds"+of, func(v float64) bool { return v >= 0 && v < 300 })
		}
		of := fmt.Sprintf(`{account=%q, stream="transactions"}`, account)
		// The world stands still, but the API's clock and ours need not agree: the lag is by the API's.
		p.until(t, "dealhouse_watermark_lag_seconds"+of, func(v float64) bool { return v >= 0 && v < 400*24*3600 })
	}
	p.until(t, `sum(rate(dealhouse_http_requests_total{status="2xx"}[1m]))`, func(v float64) bool { return v > 0 })
	p.until(t, `count(dealhouse_runs_total{outcome="failed"} == 0)`, func(v float64) bool { return v == 12 })
	d.ends(t, syscall.SIGTERM)
	p.until(t, `up{job="dealhouse"}`, func(v float64) bool { return v == 0 })
}

// scraper is a Prometheus that scrapes a daemon.
type scraper struct{ url string }

// scrape starts one.
func scrape(t *testing.T, d *running) *scraper {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf(`
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: dealhouse
    basic_auth: {username: prometheus, password: %s}
    static_configs: [{targets: [%q]}]
`, globexKey, strings.TrimPrefix(d.url, "http://"))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	var log strings.Builder
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file", filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", address)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return &scraper{"http://" + address}
}

// until asks until the answer is as it must be: scrapes come when they come.
func (p *scraper) until(t *testing.T, query string, good func(float64) bool) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	answer := "none"
	for deadline := time.Now().Add(comesWithin); ; <-tick.C {
		if value, ok := p.ask(t, query, &answer); ok && good(value) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: the last answer is %s", query, answer)
			return
		}
	}
}

func (p *scraper) ask(t *testing.T, query string, answer *string) (float64, bool) {
	t.Helper()
	resp, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return 0, false // it is starting
	}
	*answer = readAll(t, resp)
	var got struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(*answer), &got); err != nil || len(got.Data.Result) != 1 {
		return 0, false
	}
	value, err := strconv.ParseFloat(got.Data.Result[0].Value[1].(string), 64)
	return value, err == nil
}
