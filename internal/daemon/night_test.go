//go:build browser && !noengine

package daemon

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"dealhouse/internal/apisim"
	"dealhouse/internal/daemon/web"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/notify"
	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// nightPassword is the password of the page.
const nightPassword = "night-secret-51aa"

// night is a daemon with everything that an operator sees of it, and a clock that the test moves.
type night struct {
	*bed
	sim      *apisim.Sim
	store    *warehouse.Warehouse
	notifier *notify.Notifier
	base     string // address of the page
	full     atomic.Bool
	timeline strings.Builder

	mu   sync.Mutex
	down bool // the receiver
	told []string
}

// TestNightInBrowser plays a night in which much goes wrong: the key is refused, the API is down for an hour, a guard
// stops a run, a receiver of notifications is down, the disk fills up. A golden file has what page, API, notifications
// and metrics said at each moment. Everything recovers without a restart. The only thing that an operator does, in a
// real browser, is to agree to a deletion.
func TestNightInBrowser(t *testing.T) {
	n := newNight(t)
	n.pass(20 * time.Minute)
	n.note("the evening: all is well")

	n.sim.SetFault(status(http.StatusUnauthorized))
	n.pass(35 * time.Minute)
	n.note("the key broke")
	n.sim.SetFault(nil)
	n.pass(35 * time.Minute)
	n.note("the key was put right where it is issued")

	n.receiver(true)
	n.sim.SetFault(status(http.StatusServiceUnavailable))
	n.pass(time.Hour)
	n.note("the API is down for an hour, and so is the receiver")
	n.sim.SetFault(nil)
	n.pass(35 * time.Minute)
	n.note("the API is back, and the receiver is not")
	n.receiver(false)
	n.pass(35 * time.Minute)
	n.note("the receiver is back")

	n.halve()
	n.pass(time.Hour)
	n.note("half of the coupons are gone from their list: a guard trips")
	n.pass(2 * time.Hour)
	n.note("two hours later nobody was told again")
	n.consent()
	n.pass(time.Minute)
	n.note("an operator agrees, on the page")

	n.full.Store(true)
	n.pass(62 * time.Minute) // just after an attempt, since the warehouse's real clock dates the last success
	n.note("the disk is full")
	n.full.Store(false)
	n.pass(35 * time.Minute)
	n.note("there is room again")
	n.compare()
}

func status(code int) func(*http.Request) apisim.Fault {
	return func(*http.Request) apisim.Fault { return apisim.Fault{Kind: apisim.FaultStatus, Status: code} }
}

func newNight(t *testing.T) *night {
	t.Helper()
	n := &night{}
	var address string
	n.sim, address = enginetest.Serve(t, apisim.Options{
		Seed: 11, Orgs: []apisim.Org{{Name: "acme", Key: "k"}}, Retailers: 20, Promotions: 20, Coupons: 60,
		CashbackOffers: 20, Transactions: 100, Products: 20, HistoryDays: 3,
	})
	n.store = warehousetest.Again(t, warehousetest.Open(t), warehouse.Options{Wrap: n.disk, NoRetry: true})
	client, err := dealapi.New(dealapi.Options{Account: "acme", BaseURL: address, Key: "k", MaxAttempts: 1,
		Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	plan := hourly(t, "coupons", "transactions")
	for i := range plan.Streams {
		plan.Streams[i].Job.Client = client
	}
	var metrics *Metrics
	n.bed = start(t, plan, func(b *bed, o *Options) {
		b.now = at(t, "2026-07-01T21:50:00Z")
		o.Warehouse, o.run, metrics = n.store, nil, o.Metrics
	})
	hook := httptest.NewServer(http.HandlerFunc(n.receive))
	t.Cleanup(hook.Close)
	receivers, err := notify.Compile([]notify.Receiver{{Name: "ops", Form: receiver.JSON, URL: hook.URL}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n.notifier, err = notify.New(notify.Options{Warehouse: n.store, Metrics: metrics.Notify, Clock: n.clock,
		Streams: func() (all []notify.Stream) {
			for _, s := range n.Streams() {
				all = append(all, notify.Stream{Account: s.Account, Stream: s.Stream, Enabled: s.Enabled, Paused: s.Paused != nil,
					StaleAfter: s.StaleAfter, Failed: s.LastError != ""})
			}
			return all
		}})
	if err != nil {
		t.Fatal(err)
	}
	n.notifier.Adopt(receivers)
	server, err := web.New(web.Options{
		Listen: "127.0.0.1:0", User: "ops", Password: nightPassword, Warehouse: n.store,
		Metrics: promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{}),
		Waits:   web.Waits{Read: patience, Act: patience, Answer: 2 * patience},
		Ready:   n.Ready, Streams: n.Streams, Act: n.Act, Receivers: n.notifier.Receivers, Clock: n.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	n.base = "http://" + server.Addr()
	return n
}

// disk wraps a connection so that what writes fails while the disk is full.
func (n *night) disk(c driver.Conn) driver.Conn { return &fullDisk{c, &n.full} }

// receive takes one notification, as the receiver.
func (n *night) receive(w http.ResponseWriter, r *http.Request) {
	var m struct{ Title string }
	err := json.NewDecoder(r.Body).Decode(&m)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.down:
		http.Error(w, "down", http.StatusBadGateway)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		n.told = append(n.told, n.clock().Format("15:04")+" "+m.Title)
	}
}

func (n *night) receiver(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

// pass lets time pass, minute by minute: the daemon does what is due, and sends its notifications.
func (n *night) pass(d time.Duration) {
	n.t.Helper()
	for end := n.clock().Add(d); n.clock().Before(end); {
		n.advance(time.Minute)
		n.until("all runs have ended", n.allIdle)
		_ = n.notifier.Turn(n.t.Context()) // a failure to send is shown on the page
	}
}

// byWarehouse matches times by the clock of the warehouse, which is the real clock.
var byWarehouse = regexp.MustCompile(`\d\d:\d\d UTC`)

// note writes down what can be seen at this moment.
func (n *night) note(what string) {
	n.t.Helper()
	n.advance(time.Second)
	var status struct {
		State, Summary string
		Streams        []struct {
			Stream, State string
			Failed        int `json:"failed_runs"`
		}
	}
	n.get("/api/v1/status", &status)
	var receivers struct {
		Receivers []struct {
			Waiting   int
			LastError string `json:"last_error"`
		}
	}
	n.get("/api/v1/receivers", &receivers)
	page := n.fetch("/")
	headline := regexp.MustCompile(`(?s)<h1[^>]*>(?:<a[^>]*>)?(.*?)<`).FindStringSubmatch(page)
	fmt.Fprintf(&n.timeline, "%s  %s\n", n.clock().Format("15:04"), strings.ToUpper(what))
	fmt.Fprintf(&n.timeline, "    page           %s\n",
		byWarehouse.ReplaceAllString(headline[1], "(by the clock of the warehouse)"))
	fmt.Fprintf(&n.timeline, "    API            %s", status.State)
	for _, s := range status.Streams {
		fmt.Fprintf(&n.timeline, "; %s %s, %d failed", s.Stream, s.State, s.Failed)
	}
	n.mu.Lock()
	told := n.told
	n.told = nil
	n.mu.Unlock()
	fmt.Fprintf(&n.timeline, "\n    notifications  %d waiting %s\n", receivers.Receivers[0].Waiting,
		receivers.Receivers[0].LastError)
	for _, title := range told {
		fmt.Fprintf(&n.timeline, "                   %s\n", title)
	}
	fmt.Fprint(&n.timeline, "    metrics       ")
	for _, s := range []string{"coupons", "transactions"} {
		fmt.Fprintf(&n.timeline, " failed_runs_in_a_row{%s} %v", s, n.value("dealhouse_failed_runs_in_a_row", "stream="+s))
	}
	fmt.Fprintf(&n.timeline, " notifications_waiting %v\n\n", n.value("dealhouse_notifications_waiting"))
}

func (n *night) fetch(path string) string {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, n.base+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	req.SetBasicAuth("ops", nightPassword)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		n.t.Fatalf("%s: %d %s %v", path, answer.StatusCode, body, err)
	}
	return string(body)
}

func (n *night) get(path string, into any) {
	n.t.Helper()
	if err := json.Unmarshal([]byte(n.fetch(path)), into); err != nil {
		n.t.Fatal(err)
	}
}

// halve lets the API list half of the coupons.
func (n *night) halve() {
	n.t.Helper()
	var ids []string
	for record := range n.sim.Truth(apisim.StreamCoupons, "acme") {
		var c struct{ ID string }
		if err := json.Unmarshal(record, &c); err != nil {
			n.t.Fatal(err)
		}
		ids = append(ids, c.ID)
	}
	for _, id := range ids[:len(ids)/2] {
		if err := n.sim.Delete(apisim.StreamCoupons, "acme", id); err != nil {
			n.t.Fatal(err)
		}
	}
}

// consent does what the operator does: it goes from the headline to the button.
func (n *night) consent() {
	n.t.Helper()
	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath("/usr/bin/chromium"), chromedp.UserDataDir(n.t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(patience),
	})
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, end := chromedp.NewContext(ctx)
	defer end()
	credentials := "Basic " + base64.StdEncoding.EncodeToString([]byte("ops:"+nightPassword))
	_, err := chromedp.Call(ctx, network.SetExtraHTTPHeaders,
		network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": credentials}})
	if err == nil {
		err = chromedp.Do(ctx, chromedp.Navigate(n.base+"/"), chromedp.WaitReady(chromedp.CSS("footer")),
			chromedp.Click(chromedp.CSS("h1 a")), chromedp.WaitReady(chromedp.CSS(".consent")),
			chromedp.Click(chromedp.CSS(".consent button")), chromedp.WaitReady(chromedp.CSS(".said")))
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// compare compares the timeline with the golden file, or writes it.
func (n *night) compare() {
	n.t.Helper()
	file := filepath.Join("testdata", "night.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			n.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(n.timeline.String()), 0o644); err != nil {
			n.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		n.t.Fatal(err)
	}
	if d := cmp.Diff(string(want), n.timeline.String()); d != "" {
		n.t.Errorf("the night went otherwise than %s says: -update writes it anew\n%s", file, d)
	}
	for _, never := range []string{nightPassword, "restart"} {
		if strings.Contains(n.timeline.String(), never) {
			n.t.Errorf("the timeline has %q", never)
		}
	}
}
