//go:build browser

package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"

	"dealhouse/internal/warehouse"
)

// These tests open the pages in a real Chromium while real runs read from the simulator. AXE_PATH names axe.min.js of
// the npm package axe-core; PAGE_SHOTS a folder for screenshots. If one is not set, its part is left out.

// tab is a browser with one page, and what it requested and complained about.
type tab struct {
	ctx context.Context

	mu         sync.Mutex
	requests   []string
	complaints []string
}

func newTab(t *testing.T) *tab {
	t.Helper()
	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath("/usr/bin/chromium"), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(patience), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	})
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	x := &tab{ctx: ctx}
	if err := chromedp.Listen(ctx, x.hear); err != nil {
		t.Fatal(err)
	}
	x.mustCall(t, func() error { _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); return err })
	return x
}

func (x *tab) hear(event any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		x.requests = append(x.requests, e.Request.URL)
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			x.complaints = append(x.complaints, e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		x.complaints = append(x.complaints, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		x.complaints = append(x.complaints, string(e.Type))
	}
}

// check wants no complaint, and no request to anyone but the origin.
func (x *tab) check(t *testing.T, base string) {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.complaints) > 0 {
		t.Errorf("the console has %q", x.complaints)
	}
	if len(x.requests) < 4 {
		t.Errorf("only these requests were seen: %q", x.requests)
	}
	for _, u := range x.requests {
		if !strings.HasPrefix(u, base+"/") {
			t.Errorf("a request left the origin: %s", u)
		}
	}
}

func (x *tab) mustCall(t *testing.T, f func() error) {
	t.Helper()
	if err := f(); err != nil {
		t.Fatal(err)
	}
}

func (x *tab) act(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	x.mustCall(t, func() error { return chromedp.Do(x.ctx, steps...) })
}

// open opens a page and waits until all of it is loaded.
func (x *tab) open(t *testing.T, address string) {
	t.Helper()
	x.act(t, chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS("footer")))
}

// value returns the value of an expression on the page.
func value[T any](t *testing.T, x *tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(x.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait waits until the value of an expression is true, and returns it.
func wait[T any](t *testing.T, x *tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(x.ctx, chromedp.Poll[T](expression, chromedp.WithPollingInterval(50*time.Millisecond),
		chromedp.WithPollingTimeout(patience)))
	if err != nil {
		t.Fatalf("waiting for %s: %v; the page says %s", expression, err,
			value[string](t, x, "document.querySelector('main').innerText"))
	}
	return v
}

// part returns an expression for a live part of a page.
func part(name string) string { return fmt.Sprintf("document.querySelector('[data-live=%q]')", name) }

// troubled makes a world with streams in every state, and rejects with hostile text.
func troubled(t *testing.T) *bench {
	t.Helper()
	b := newBenchAt(t, time.Now().Add(-4*time.Hour))
	b.goOn()
	poison(t, b)
	for i := range 8 {
		b.mustSync(t, "acme")
		b.Advance(30 * time.Minute)
		b.TouchTransactions("acme", 0.02)
		if i%3 == 2 {
			b.fail(t, "acme", "coupons")
		}
	}
	b.change("acme", "products", func(s *Stream) { s.Schedule, s.StaleAfter = "30 2 * * *", 30*time.Hour })
	b.change("globex", "cashback_offers", func(s *Stream) { s.Enabled, s.Next, s.Schedule = false, time.Time{}, "" })
	b.books(t)
	b.doubt(t, "acme", "promotions")
	b.mustSync(t, "globex", "transactions", "coupons", "payouts", "promotions")
	return b
}

func TestBrowser(t *testing.T) {
	b := troubled(t)
	b.queueRefused(t)
	x := b.serve(t, func(o *Options) {
		o.Receivers = func() (names, forms []string) {
			return []string{"office", "on-call", "switch"}, []string{"mail", "slack", "ping"}
		}
	})
	v := newTab(t)
	t.Run("receivers", func(t *testing.T) { testReceivers(t, x, v) })
	t.Run("hostile text is text", func(t *testing.T) {
		b.fail(t, "acme", "coupons")
		v.open(t, x.base+"/streams/acme/coupons")
		v.act(t, chromedp.Click(chromedp.CSS(".rejects summary")))
		text := value[string](t, v, "document.querySelector('main').textContent")
		if n := strings.Count(text, hostile); n < 2 {
			t.Errorf("it is on the page %d times: %s", n, text)
		}
		if n := value[int](t, v, "document.scripts.length"); n != 1 {
			t.Errorf("the page has %d scripts", n)
		}
		v.check(t, x.base)
	})
	t.Run("progress moves", func(t *testing.T) { testProgress(t, b, x, v) })
	t.Run("a failure shows", func(t *testing.T) {
		b.mustSync(t, "acme", "coupons")
		b.fresh()
		v.open(t, x.base+"/")
		wait[bool](t, v, part("acme/coupons/state")+".innerText === 'Up to date'")
		b.fail(t, "acme", "coupons")
		wait[bool](t, v, part("acme/coupons/state")+".innerText === 'Failing'")
		wait[bool](t, v, part("verdict")+".innerText.startsWith('The coupons of acme have been failing since')")
		wait[bool](t, v, part("acme/coupons/now")+".innerText.includes('503')")
		if n := value[int](t, v, part("acme/coupons/chart")+".querySelectorAll('.bad .mark').length"); n < 2 {
			t.Errorf("the chart marks %d failed runs", n)
		}
		v.check(t, x.base)
	})
	t.Run("keyboard", func(t *testing.T) { testKeyboard(t, b, x, v) })
	for name, path := range map[string]string{"status": "/", "stream": "/streams/acme/coupons",
		"days": "/streams/acme/transactions", "empty": "/streams/globex/products", "payouts": "/payouts",
		"checks": "/streams/acme/promotions", "actions": "/actions", "account": "/?account=acme", "timeline": "/timeline"} {
		t.Run("accessible and shown: "+name, func(t *testing.T) { testLooks(t, x, v, name, path) })
	}
	t.Run("payouts are live", func(t *testing.T) { testPayouts(t, b, x, v) })
	t.Run("the daemon goes away", func(t *testing.T) {
		v.open(t, x.base+"/")
		x.vanish()
		wait[bool](t, v, "!document.getElementById('offline').hidden")
	})
}

// testProgress lets a run read page by page, and wants the browser to show that by itself.
func testProgress(t *testing.T, b *bench, x *site, v *tab) {
	t.Helper()
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	b.SetBefore(func(r *http.Request) {
		if r.URL.Path == "/v2/products" {
			<-gate
		}
	})
	defer b.SetBefore(nil)
	v.open(t, x.base+"/")
	done := make(chan map[string]error, 1)
	go func() { done <- b.sync(context.Background(), t, "globex", "products") }()
	now := part("globex/products/now")
	rows := "+(/([0-9,]+) rows/.exec(" + now + ".innerText)||[0,0])[1]"
	wait[bool](t, v, now+".querySelector('progress') !== null")
	gate <- struct{}{}
	first := wait[float64](t, v, rows)
	gate <- struct{}{}
	second := wait[float64](t, v, fmt.Sprintf("(n => n > %v && n)(%s)", first, rows))
	if first <= 0 || second <= first {
		t.Errorf("first %v rows, then %v", first, second)
	}
	shoot(t, v, "running")
	open()
	if errs := <-done; len(errs) > 0 {
		t.Fatal(errs)
	}
	wait[bool](t, v, now+".innerText === '' && "+part("globex/products/state")+".innerText === 'Up to date'")
	v.check(t, x.base)
}

// queueRefused has a message wait for a receiver that refuses it with hostile text.
func (b *bench) queueRefused(t *testing.T) {
	t.Helper()
	m := warehouse.Notification{Receiver: "on-call", ID: uuid.New(), At: time.Now().Add(-time.Hour), Event: "failing",
		Title: "Failing", State: warehouse.NotificationWaiting, Attempts: 3, Error: hostile}
	if err := b.w.QueueNotifications(t.Context(), []warehouse.Notification{m}); err != nil {
		t.Fatal(err)
	}
}

// testReceivers wants each receiver to be listed, and the problem of one of them to be marked and shown as text.
func testReceivers(t *testing.T, x *site, v *tab) {
	t.Helper()
	v.open(t, x.base+"/")
	if n := value[int](t, v, "document.querySelectorAll('.receivers li').length"); n != 3 {
		t.Errorf("%d receivers are listed", n)
	}
	wait[bool](t, v, part("receiver/on-call")+".className === 'why' && "+part("receiver/on-call")+
		".textContent.includes('1 message waiting')")
	if text := value[string](t, v, part("receiver/on-call")+".textContent"); !strings.Contains(text, hostile) {
		t.Errorf("the error is not there as text: %s", text)
	}
	v.check(t, x.base)
}

// testPayouts wants the page of payouts to show what a sync has loaded.
func testPayouts(t *testing.T, b *bench, x *site, v *tab) {
	t.Helper()
	x.soon(t, "Compared ")
	v.open(t, x.base+"/payouts")
	if n := value[int](t, v, "document.querySelector('main').textContent.split('"+hostile+"').length"); n < 2 {
		t.Error("the hostile currency is not on the page as text")
	}
	b.sell(t, 10*(firstPayout+6), "DECLINED", "6.5", "GBP", firstPayout+6)
	b.mustSync(t, "acme", "transactions")
	b.pass(payoutsFor)
	wait[bool](t, v, part("acme/9006")+".innerText.includes('Expect GBP 6.50 back')")
	v.check(t, x.base)
}

// testKeyboard moves with the tab key, and wants the element that has the focus to keep it while the page is refreshed.
func testKeyboard(t *testing.T, b *bench, x *site, v *tab) {
	t.Helper()
	v.open(t, x.base+"/")
	const focused = "document.activeElement.innerText.trim()"
	var order []string
	for range 20 {
		v.act(t, chromedp.KeyEvent(kb.Tab))
		order = append(order, value[string](t, v, focused))
		if s := value[string](t, v, "getComputedStyle(document.activeElement).outlineStyle"); s != "solid" {
			t.Errorf("the focus on %q does not show: outline %s", order[len(order)-1], s)
		}
		if order[len(order)-1] == "Coupons" { // the stream that fails comes first
			break
		}
	}
	headline := value[string](t, v, "document.querySelector('h1').innerText.trim()")
	if want := []string{"Skip to the content", "dealhouse", "Status", "Timeline", "Payouts", "Actions", headline,
		"All accounts"}; !slices.Equal(order[:min(len(order), len(want))], want) || order[len(order)-1] != "Coupons" {
		t.Errorf("the tabulator key goes to %q, not %q and on to the coupons", order, want)
	}
	before := value[string](t, v, part("asof")+".innerText")
	b.pass(2 * time.Second)
	wait[bool](t, v, fmt.Sprintf("%s.innerText !== %q", part("asof"), before))
	if at := value[string](t, v, "document.activeElement.innerText"); at != "Coupons" {
		t.Errorf("after a refresh the focus is on %q", at)
	}
	v.act(t, chromedp.KeyEvent(kb.Enter))
	v.act(t, chromedp.WaitReady(chromedp.CSS(".crumbs")))
	if at := value[string](t, v, "location.pathname"); at != "/streams/acme/coupons" {
		t.Errorf("the enter key on coupons leads to %s", at)
	}

	v.open(t, x.base+"/")
	v.act(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	if at := value[string](t, v, "document.activeElement.innerText"); at != headline {
		t.Errorf("after the link to the content the focus goes to %q", at)
	}
}

// testLooks wants axe to find nothing serious in the light and dark style and on a phone, and no page to
// be wider than its window.
func testLooks(t *testing.T, x *site, v *tab, name, path string) {
	t.Helper()
	for _, look := range []struct {
		name, scheme  string
		width, height int64
	}{{"light", "light", 1280, 900}, {"dark", "dark", 1280, 900}, {"phone", "light", 390, 844}} {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme",
			Value: look.scheme}}}
		v.mustCall(t, func() error { _, err := chromedp.Call(v.ctx, emulation.SetEmulatedMedia, media); return err })
		v.act(t, chromedp.EmulateViewport(look.width, look.height))
		v.open(t, x.base+path)
		if wide := value[float64](t, v, "document.documentElement.scrollWidth"); wide > float64(look.width) {
			t.Errorf("%s: the page is %v wide in a window of %d", look.name, wide, look.width)
		}
		shoot(t, v, name+"-"+look.name)
		v.act(t, chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('details').forEach(d => d.open = true)"))
		checkAxe(t, v, look.name)
	}
	v.act(t, chromedp.ResetViewport())
}

func checkAxe(t *testing.T, v *tab, look string) {
	t.Helper()
	path := os.Getenv("AXE_PATH")
	if path == "" {
		t.Log("AXE_PATH is not set: accessibility is not checked")
		return
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v.act(t, chromedp.Evaluate[chromedp.Void](string(axe)))
	const run = `axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify({passes: r.passes.length,
		found: r.violations.map(v => v.impact + ": " + v.id + ": " + v.help + ": " + v.nodes.map(n => n.html.slice(0, 200)).join(" | "))}))`
	text, err := chromedp.Run(v.ctx, chromedp.Evaluate[string](run, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Passes int
		Found  []string
	}
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		t.Fatal(err)
	}
	if result.Passes < 10 {
		t.Errorf("%s: axe passed %d rules only: it has not looked", look, result.Passes)
	}
	for _, f := range result.Found {
		t.Errorf("%s: %s", look, f)
	}
}

func shoot(t *testing.T, v *tab, name string) {
	t.Helper()
	dir := os.Getenv("PAGE_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(v.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, url.PathEscape(name)+".png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBrowserActs lets a person with the keyboard alone agree to a deletion, and pause a stream, in a real browser.
func TestBrowserActs(t *testing.T) {
	b := crowd(t, 50)
	b.goOn()
	x, d := b.serveDesk(t, nil)
	v := newTab(t)
	v.asUser(t)
	for name, path := range map[string]string{"many": "/", "many-one": "/?account=account-07",
		"guarded": "/streams/account-31/coupons", "acted": "/actions"} {
		t.Run("accessible and shown: "+name, func(t *testing.T) { testLooks(t, x, v, name, path) })
	}
	v.open(t, x.base+"/")
	v.act(t, chromedp.Click(chromedp.CSS("h1 a")))
	v.act(t, chromedp.WaitReady(chromedp.CSS(".consent")))
	v.act(t, chromedp.Evaluate[chromedp.Void]("document.querySelector('.consent button').focus()"),
		chromedp.KeyEvent(kb.Enter))
	v.act(t, chromedp.WaitReady(chromedp.CSS(".said")))
	if said := value[string](t, v, "document.querySelector('.said').innerText"); said != "Done as <b>asked</b>." {
		t.Errorf("the page says %q", said)
	}
	v.act(t, chromedp.Evaluate[chromedp.Void]("document.body.dataset.asked = 1; document.querySelector('input[name=reason]').focus()"),
		chromedp.KeyEvent("half empty"), chromedp.KeyEvent(kb.Enter))
	// The page that answers has come: to open another one before would break it off.
	v.act(t, chromedp.WaitReady(chromedp.CSS("body:not([data-asked]) footer")))
	got := d.drain()
	testUnfolded(t, x, v)
	if len(got) != 2 || got[0].Action != "consent" || got[1].Action != "pause" || got[1].Reason != "half empty" ||
		got[1].Stream != "coupons" {
		t.Errorf("%+v", got)
	}
	v.check(t, x.base)
}

// testUnfolded looks at a page in the middle of writing the reason of a pause: neither the form nor the text goes when
// the page is refreshed, and the rest of the page goes on.
func testUnfolded(t *testing.T, x *site, v *tab) {
	t.Helper()
	v.open(t, x.base+"/?account=account-07")
	v.act(t, chromedp.Evaluate[chromedp.Void]("document.querySelector('details.act').open = true"),
		chromedp.Evaluate[chromedp.Void]("document.querySelector('details.act input[name=reason]').focus()"),
		chromedp.KeyEvent("half wri"), chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
	asOf := value[string](t, v, part("asof")+".textContent")
	wait[bool](t, v, "performance.getEntriesByType('resource').filter(e => e.initiatorType === 'fetch').length >= 2")
	wait[bool](t, v, fmt.Sprintf("%s.textContent !== %q", part("asof"), asOf))
	if reason := value[string](t, v, "document.querySelector('details.act[open] input[name=reason]')?.value ?? 'closed'"); reason != "half wri" {
		t.Errorf("after two refreshes the form has %q", reason)
	}
}

// TestBrowserPassword opens the page as a bookmark with a password does: its script may not fetch such an address.
func TestBrowserPassword(t *testing.T) {
	b := crowd(t, 2)
	x, _ := b.serveDesk(t, nil)
	v := newTab(t)
	v.open(t, strings.Replace(x.base, "http://", "http://ops:"+opsPassword+"@", 1)+"/")
	wait[bool](t, v, "performance.getEntriesByType('resource').filter(e => e.initiatorType === 'fetch').length >= 1")
	if !value[bool](t, v, "document.getElementById('offline').hidden") {
		t.Error("the page says that the daemon does not answer")
	}
}

// asUser adds the credentials of the user to each request.
func (x *tab) asUser(t *testing.T) {
	t.Helper()
	credentials := "Basic " + base64.StdEncoding.EncodeToString([]byte("ops:"+opsPassword))
	x.mustCall(t, func() error {
		_, err := chromedp.Call(x.ctx, network.SetExtraHTTPHeaders,
			network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": credentials}})
		return err
	})
}

// offScreen finds the amounts of a page that begin or end outside the window.
const offScreen = `[...document.querySelectorAll('.amounts dd, .amount, td.n')].filter(e => e.getClientRects().length &&
	(e.getBoundingClientRect().left < 0 || e.getBoundingClientRect().right > innerWidth)).map(e => e.innerText)`

// TestBrowserPayouts looks at the pages of accounting, and lets a person with the keyboard alone acknowledge a payout
// and close a month.
func TestBrowserPayouts(t *testing.T) {
	b := newBench(t)
	b.goOn()
	b.books(t)
	x, _ := b.serveDesk(t, nil)
	v := newTab(t)
	v.asUser(t)
	v.open(t, x.base+"/payouts")
	wait[bool](t, v, "document.querySelectorAll('.ledger li').length > 6")
	for name, path := range map[string]string{"payout-list": "/payouts", "payout": "/payouts/acme/9001",
		"payout-mixed": "/payouts/acme/9004", "statement": "/statements/acme/2026-03",
		"statement-open": "/statements/acme/2026-02",
		"figure":         "/statements/acme/2026-03/figure?currency=EUR&of=closing"} {
		t.Run("accessible and shown: "+name, func(t *testing.T) {
			testLooks(t, x, v, name, path)
			v.act(t, chromedp.EmulateViewport(390, 844))
			v.open(t, x.base+path)
			if off := value[[]string](t, v, offScreen); len(off) > 0 {
				t.Errorf("amounts are off the screen of a phone: %q", off)
			}
			if n := value[int](t, v, "document.querySelectorAll('.amounts dd, td.n').length"); n < 3 {
				t.Errorf("there are %d amounts", n)
			}
			v.act(t, chromedp.ResetViewport())
		})
	}
	v.open(t, x.base+"/payouts")
	v.act(t, chromedp.Evaluate[chromedp.Void]("document.querySelector('a[href=\"/payouts/acme/9001\"]').focus()"),
		chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS(".settle")))
	v.act(t, chromedp.Evaluate[chromedp.Void]("document.querySelector('.settle select').focus()"),
		chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("ticket 7"))
	v.act(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady(chromedp.CSS(".said")))
	if said := value[string](t, v, "document.querySelector('.said').innerText"); !strings.HasPrefix(said,
		"Payout 9001 is acknowledged as expected: expected clawback of EUR 1,500.00.") {
		t.Errorf("the page says %q", said)
	}
	shoot(t, v, "payout-acknowledged")
	v.open(t, x.base+"/statements/acme/2026-02")
	v.act(t, chromedp.Evaluate[chromedp.Void]("document.querySelector('.settle button').focus()"),
		chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS(".said")))
	if said := value[string](t, v, "document.querySelector('.said').innerText"); !strings.HasPrefix(said,
		"2026-02 of acme is closed") {
		t.Errorf("the page says %q", said)
	}
	shoot(t, v, "statement-closed")
	v.check(t, x.base)
}

// goOn lets the clock run: for browsers, which load a page again from time to time.
func (b *bench) goOn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stands = time.Time{}
}
