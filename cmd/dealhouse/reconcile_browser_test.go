//go:build browser && !noengine

package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestReconcileInBrowser opens the HTML report in Chromium, on a screen and on paper. PAGE_SHOTS names a folder that
// keeps what it looked like.
func TestReconcileInBrowser(t *testing.T) {
	b := newBooks(t)
	b.play(t)
	defer hold(t, b.dir)()
	shots := os.Getenv("PAGE_SHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	for name, args := range map[string][]string{"reconcile": nil, "payout": {"--payout", "102"}} {
		got := b.call(t, append([]string{"reconcile", "-o", "html"}, args...)...)
		got.want(t, 0)
		path := filepath.Join(shots, name+".html")
		writeShot(t, path, []byte(got.out))
		openInBrowser(t, path, filepath.Join(shots, name))
	}
}

func writeShot(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func openInBrowser(t *testing.T, path, shot string) {
	t.Helper()
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.WSURLReadTimeout(10*time.Minute))
	for _, flag := range []string{"no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
		"disable-background-networking", "disable-component-update", "disable-sync"} {
		flags = append(flags, chromedp.Flag(flag, true))
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), flags...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	var mu sync.Mutex
	var trouble, requests []string
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			trouble = append(trouble, "console: "+string(e.Type))
		case *runtime.EventExceptionThrown:
			trouble = append(trouble, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			trouble = append(trouble, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			requests = append(requests, e.Request.URL)
		}
	}))
	_, err := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	check(err)
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	check(err)
	check(chromedp.Do(ctx, chromedp.EmulateViewport(1200, 900), chromedp.Navigate("file://"+path)))
	heading, err := chromedp.Run(ctx, chromedp.Text("h1"))
	check(err)
	summary, err := chromedp.Run(ctx, chromedp.Text(".summary"))
	check(err)
	bars, err := chromedp.Run(ctx, chromedp.Evaluate[int]("document.querySelectorAll('svg rect').length"))
	check(err)
	screen, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	check(err)
	paper, err := chromedp.Run(ctx, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
	check(err)
	check(chromedp.Do(ctx, chromedp.EmulateViewport(800, 900)))
	wide, err := chromedp.Run(ctx, chromedp.Evaluate[int]("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
	check(err)
	phone, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	check(err)
	writeShot(t, shot+".png", screen)
	writeShot(t, shot+"-narrow.png", phone)
	writeShot(t, shot+".pdf", paper)
	mu.Lock()
	defer mu.Unlock()
	for _, text := range trouble {
		t.Errorf("%s: the browser complains: %s", path, text)
	}
	for _, url := range requests {
		if url != "file://"+path && !strings.HasPrefix(url, "data:") {
			t.Errorf("%s: the page asked for %s", path, url)
		}
	}
	if len(requests) == 0 {
		t.Error("no request was seen, not even that for the page: nothing was watched")
	}
	if !strings.HasPrefix(heading, "Payout reconciliation") || !strings.Contains(summary, "changed after they were paid") {
		t.Errorf("%s: heading %q, summary %q", path, heading, summary)
	}
	if strings.HasSuffix(shot, "reconcile") &&
		bars != 7 { // of five verdicts and of one month; what is of two currencies is in no chart
		t.Errorf("%s: %d bars are drawn", path, bars)
	}
	if wide > 0 {
		t.Errorf("%s: the page is %d pixels wider than the window", path, wide)
	}
	if len(paper) < 10_000 || !strings.HasPrefix(string(paper), "%PDF-") {
		t.Errorf("%s: printed to %d bytes", path, len(paper))
	}
}
