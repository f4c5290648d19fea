package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// exactRows are transactions with two amounts each that are easily loaded wrong.
const exactRows = 5000

// exactPrefix begins their ids.
const exactPrefix = "e0ac7000-"

const (
	key      = "bench-key"
	listPath = "/v1/deals/transactions"
)

// amounts are those of a transaction, as the API writes them.
type amounts struct{ orderValue, cashback string }

// world is a simulated API that serves transactions.
type world struct {
	cmd      *exec.Cmd
	url      string
	rows     int
	pageSize int
	file     string // its transactions, one a line, as it serves them
	bytes    int64  // of the file
	exact    map[string]amounts
}

func startWorld(ctx context.Context, o options, name string, rows int) (*world, error) {
	w := &world{rows: rows, pageSize: min(1000, rows/20), file: filepath.Join(o.work, name+".json"),
		exact: map[string]amounts{}}
	exact := min(exactRows, rows/2)
	w.cmd = command(ctx, o.dealsim, "--listen", "127.0.0.1:0", "--orgs", "acme:EUR", "--keys", "acme="+key,
		"--transactions", strconv.Itoa(rows-exact), "--products", "0", "--page-size", strconv.Itoa(w.pageSize))
	said, err := w.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(said)
	for w.url == "" && lines.Scan() {
		w.url, _ = strings.CutPrefix(lines.Text(), "export DEALS_BASE_URL=")
		if !strings.HasPrefix(w.url, "http") {
			w.url = ""
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	if w.url == "" {
		w.stop()
		return nil, fmt.Errorf("dealsim did not say where it serves: %w", lines.Err())
	}
	if err := w.addExact(ctx, exact); err != nil {
		w.stop()
		return nil, err
	}
	if err := w.save(ctx); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

func (w *world) stop() {
	_ = killGroup(w.cmd) // an error means that it has ended
	_ = w.cmd.Wait()
}

// addExact puts transactions with random amounts into the world: 4 decimals, and up to 14 digits before them, as many
// as a Decimal(18, 4) has. Half of the digits of the smaller ones are before the point.
func (w *world) addExact(ctx context.Context, n int) error {
	random := rand.New(rand.NewPCG(1, 2))
	amount := func() string {
		v := random.Int64N(1_000_000_000_000_000_000) // 18 digits
		if random.IntN(2) == 0 {
			v = random.Int64N(100_000_000_000)
		}
		return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%d.%04d", v/10_000, v%10_000), "0"), ".")
	}
	var records strings.Builder
	for i := range n {
		id := fmt.Sprintf("%s0000-4000-8000-%012d", exactPrefix, i)
		a := amounts{amount(), amount()}
		fmt.Fprintf(&records, `{"id":"%s","country":"DE","clickedAt":"2026-01-02T03:04:05.678Z","soldAt":"2026-01-02T04:05:06.789Z","updatedAt":"2026-02-03T04:05:06.789Z",`+
			`"currencyCode":"EUR","orderValue":%s,"cashback":%s,"status":"CONFIRMED","passbackUid":"u-%d","retailerName":"Exact","retailerLogo":"","passbackData":""}`+"\n", id, a.orderValue, a.cashback, i)
		w.exact[id] = a
	}
	return w.order(ctx, http.MethodPut, "/sim/records/transactions?org=acme", records.String(), nil)
}

// save writes what the API serves to a file.
func (w *world) save(ctx context.Context) error {
	f, err := os.Create(w.file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // closed below
	if err := w.order(ctx, http.MethodGet, "/sim/truth/transactions?org=acme", "", f); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w.bytes = info.Size()
	return f.Close()
}

// order asks the simulator for something other than its API.
func (w *world) order(ctx context.Context, method, path, body string, answer io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body)) //nolint:gosec // the simulator's
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req) //nolint:gosec,forbidigo // the simulator's
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if answer == nil {
		answer = io.Discard
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // what there is of it
		return fmt.Errorf("dealsim: %s %s: %s: %s", method, path, resp.Status, text)
	}
	_, err = io.Copy(answer, resp.Body)
	return err
}

// stall makes the API answer half of the pages of a list, and then nothing until resume.
func (w *world) stall(ctx context.Context) error {
	order := fmt.Sprintf(`{"kind":"hang","path":%q,"skip":%d}`, listPath, w.rows/w.pageSize/2)
	return w.order(ctx, http.MethodPost, "/sim/fault", order, nil)
}

func (w *world) resume(ctx context.Context) error {
	return w.order(ctx, http.MethodDelete, "/sim/fault", "", nil)
}

// served waits until the API has served so many rows more, or the load is over.
func (w *world) served(ctx context.Context, before, rows int64, over <-chan struct{}) error {
	for {
		now, err := w.rowsServed(ctx)
		if err != nil || now-before >= rows {
			return err
		}
		select {
		case <-over:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (w *world) rowsServed(ctx context.Context) (int64, error) {
	var text bytes.Buffer
	var status struct{ RowsServed int64 }
	if err := w.order(ctx, http.MethodGet, "/sim/status", "", &text); err != nil {
		return 0, err
	}
	err := json.Unmarshal(text.Bytes(), &status)
	return status.RowsServed, err
}
