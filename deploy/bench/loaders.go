package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// loader is one of those that are compared.
type loader struct {
	name, memory string
	// start is a load of a world into a folder. A server beside it, if there is one, is that of door.
	start    func(ctx context.Context, w *world, dir, door string) *exec.Cmd
	door     bool   // the engine is a process of its own, behind a door for HTTP
	missing  string // why it cannot run here, or nothing
	question question
	pages    bool // it reads the API page by page
	foreign  bool // another's program, which may have changed: where it fails, its line says so
	exact    bool // only what it makes of amounts is of interest
}

const engineIncluded, besideEngine = "with the engine", "script and engine, added up"

func loaders(o options) []loader {
	plainQuestion := question{table: "transactions", orderValue: "orderValue"}
	python := func(floats string) func(context.Context, *world, string, string) *exec.Cmd {
		return func(ctx context.Context, w *world, _, door string) *exec.Cmd {
			cmd := command(ctx, "python3", o.python, w.url, key, door, strconv.Itoa(w.batch()))
			cmd.Env = append(os.Environ(), "BENCH_FLOATS="+floats)
			return cmd
		}
	}
	loop := func(batch func(*world) int) func(context.Context, *world, string, string) *exec.Cmd {
		return func(ctx context.Context, w *world, dir, _ string) *exec.Cmd {
			return command(ctx, o.self, "plain", "--url", w.url, "--dir", dir, "--batch", strconv.Itoa(batch(w)))
		}
	}
	return []loader{
		{name: "dealhouse", memory: engineIncluded, pages: true,
			question: question{table: "dealhouse.transactions", orderValue: "order_value"}, start: o.sync},
		{name: "plain Go loop", memory: engineIncluded, pages: true, question: plainQuestion, start: loop((*world).batch)},
		{name: "the same, an insert a page", memory: engineIncluded, pages: true, question: plainQuestion,
			start: loop(func(w *world) int { return w.pageSize })},
		{name: "plain Python loop", memory: besideEngine, pages: true, door: true, question: plainQuestion,
			missing: absent("python3"), start: python("")},
		{name: "the same, amounts as floats", memory: besideEngine, pages: true, door: true, question: plainQuestion,
			missing: absent("python3"), exact: true, start: python("1")},
		{name: "the engine's own reading", memory: engineIncluded, question: plainQuestion,
			start: func(ctx context.Context, w *world, dir, _ string) *exec.Cmd {
				return command(ctx, o.self, "file", "--file", w.file, "--dir", dir)
			}},
		{name: "ingestr", memory: "worker alone", door: true, foreign: true,
			question: question{table: "transactions", orderValue: "orderValue"}, missing: absent("ingestr"), start: ingestr},
	}
}

// batch is how many rows go into an insert: 100,000 of a million, and fewer where there are fewer.
func (w *world) batch() int { return min(100_000, max(w.rows/10, 100)) }

func absent(program string) string {
	if _, err := exec.LookPath(program); err != nil {
		return program + " is not on this machine"
	}
	return ""
}

// sync is the whole program, as a person runs it. What it is told besides where things are is that the API has no
// limit.
func (o options) sync(ctx context.Context, w *world, dir, _ string) *exec.Cmd {
	cmd := command(ctx, o.dealhouse, "sync", "transactions")
	cmd.Env = append(os.Environ(), "DEALHOUSE_WAREHOUSE_DSN=embedded:"+dir, "DEALHOUSE_ACCOUNT=acme",
		"DEALHOUSE_BASE_URL="+w.url, "DEALHOUSE_API_KEY="+key,
		"DEALHOUSE_DEFAULTS_REQUESTS_PER_SECOND=1000")
	return cmd
}

// ingestr reads the same list from one file over HTTP, and merges by id.
func ingestr(ctx context.Context, w *world, _, door string) *exec.Cmd {
	server, _ := strings.CutPrefix(door, "http://")
	_, port, _ := strings.Cut(server, ":")
	return command(ctx, "ingestr", "ingest", "--yes", "--progress", "log", "--source-uri", "jsonl://"+w.file,
		"--source-table", "transactions",
		"--dest-uri", "clickhouse://default:@"+server+"?secure=0&http_port="+port, "--dest-table", "default.transactions",
		"--incremental-strategy", "merge", "--primary-key", "id", "--columns", "orderValue:decimal,cashback:decimal")
}

// server is the engine behind a door for HTTP, for loaders that have no engine of their own.
type server struct {
	cmd *exec.Cmd
	url string
}

func (o options) serve(ctx context.Context, dir string) (*server, error) {
	s := &server{cmd: command(ctx, o.dealhouse, "serve-warehouse", "--allow-writes", "--without-sandbox", "--listen",
		"127.0.0.1:0")}
	s.cmd.Env = append(os.Environ(), "DEALHOUSE_WAREHOUSE_DSN=embedded:"+dir)
	var said bytes.Buffer
	s.cmd.Stderr = &said
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(out); s.url == "" && lines.Scan(); {
		for _, word := range strings.Fields(lines.Text()) {
			if strings.HasPrefix(word, "http://") {
				s.url = word
			}
		}
	}
	if s.url == "" {
		_ = s.cmd.Wait() // it has closed its output, so it ends
		return nil, fmt.Errorf("the engine's door did not open: %s", tail(said.String()))
	}
	return s, nil
}

// stop ends the engine as a person would.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	_ = s.cmd.Wait() // how it ended after a signal is of no interest
	return nil
}

// measureLoad loads into a folder, and measures it.
func (o options) measureLoad(ctx context.Context, l loader, w *world, dir string) (c cost, err error) {
	if !l.door {
		return timed(l.start(ctx, w, dir, ""))
	}
	s, err := o.serve(ctx, dir)
	if err != nil {
		return c, err
	}
	before, _, err := ofGroup(s.cmd.Process.Pid)
	if err == nil {
		c, err = timed(l.start(ctx, w, dir, s.url))
	}
	if err != nil {
		return c, errors.Join(err, s.stop())
	}
	after, peak, err := ofGroup(s.cmd.Process.Pid)
	c.CPU += after - before
	if l.memory == besideEngine {
		c.Peak += peak
	}
	return c, errors.Join(err, s.stop())
}

// kill begins a load, kills it in the middle with SIGKILL, and tells what readers see then and after it has run again.
func (o options) kill(ctx context.Context, l loader, w *world, dir string) (after, again found, err error) {
	var s *server
	door := ""
	if l.door {
		if s, err = o.serve(ctx, dir); err != nil {
			return after, again, err
		}
		door = s.url
	}
	err = o.killed(ctx, l, w, dir, door)
	if s != nil {
		err = errors.Join(err, s.stop())
	}
	q := l.question
	q.dir = dir
	if err == nil {
		after, err = askAlone(ctx, o, q)
	}
	if err == nil {
		_, err = o.measureLoad(ctx, l, w, dir)
	}
	if err == nil {
		again, err = askAlone(ctx, o, q)
	}
	return after, again, err
}

// killed kills a load when it has got half of what there is, and gets no more.
func (o options) killed(ctx context.Context, l loader, w *world, dir, door string) error {
	over := make(chan struct{})
	if !l.pages {
		half := &halfFile{path: w.file, size: w.bytes / 2, killed: make(chan struct{}), reached: make(chan struct{})}
		cmd := l.start(ctx, &world{file: "/dev/stdin"}, dir, door)
		cmd.Stdin = half
		return killAt(cmd, over, func() error {
			select {
			case <-half.reached:
			case <-over:
			}
			return nil
		}, half.killed)
	}
	before, err := w.rowsServed(ctx)
	if err == nil {
		err = w.stall(ctx)
	}
	if err != nil {
		return err
	}
	err = killAt(l.start(ctx, w, dir, door), over, func() error {
		return w.served(ctx, before, int64(w.rows/w.pageSize/2*w.pageSize), over)
	}, make(chan struct{}))
	return errors.Join(err, w.resume(ctx))
}

// killAt starts a load and kills it when wait returns. It closes killed then, and over when the load has ended.
func killAt(cmd *exec.Cmd, over chan struct{}, wait func() error, killed chan struct{}) error {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait(); close(over) }() // how it ended is looked at below
	err := wait()
	_ = killGroup(cmd) // an error means that it was faster
	close(killed)
	<-over
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil &&
		(!ok || status.Signal() != syscall.SIGKILL) {
		err = fmt.Errorf("it ended before it could be killed: %s: %s", cmd.ProcessState, tail(said.String()))
	}
	return err
}

// halfFile gives half of a file, and then nothing until the load is killed.
type halfFile struct {
	path            string
	size            int64
	killed, reached chan struct{}
	data            io.Reader
}

func (h *halfFile) Read(p []byte) (int, error) {
	if h.data == nil {
		f, err := os.Open(h.path)
		if err != nil {
			return 0, err
		}
		h.data = io.LimitReader(f, h.size) // the file is closed when the program ends
	}
	n, err := h.data.Read(p)
	if errors.Is(err, io.EOF) {
		close(h.reached)
		<-h.killed
	}
	return n, err
}

// measure loads with one of them: for its speed, then for what a kill leaves.
func measure(ctx context.Context, o options, l loader, w, small *world) (result, error) {
	r := result{Name: l.name, Memory: l.memory, Skipped: l.missing}
	if l.missing != "" {
		return r, nil
	}
	err := o.measure(ctx, l, w, small, &r)
	if err != nil && l.foreign && ctx.Err() == nil {
		return result{Name: l.name, Memory: l.memory,
			Skipped: "it failed: " + strings.ReplaceAll(err.Error(), "\n", " ")}, nil
	}
	return r, err
}

// measure keeps what it loads until the end. ext4 takes many times longer to make a file for some minutes after files
// were deleted, and whoever comes next would pay for that.
func (o options) measure(ctx context.Context, l loader, w, small *world, r *result) error {
	fresh := func() (string, error) { return os.MkdirTemp(o.work, "data-") }
	if l.exact {
		w = small
	}
	for i := range max(o.repeat, 1) {
		dir, err := fresh()
		if err != nil {
			return err
		}
		c, err := o.measureLoad(ctx, l, w, dir)
		if err != nil {
			return err
		}
		if i == 0 || c.Wall < r.Wall {
			r.cost = c
		}
		q := l.question
		q.dir = dir
		f, err := askAlone(ctx, o, q)
		if err != nil {
			return err
		}
		if f.Distinct != int64(w.rows) {
			return fmt.Errorf("%d of %d transactions were loaded", f.Distinct, w.rows)
		}
		r.Wrong = w.wrong(f)
	}
	if l.exact {
		r.ExactOnly = true
		return nil
	}
	dir, err := fresh()
	if err != nil {
		return err
	}
	after, again, err := o.kill(ctx, l, small, dir)
	if err != nil {
		return fmt.Errorf("after a kill: %w", err)
	}
	r.rate(w.rows)
	r.SeenAfterKill, r.Missing = after.Rows, int64(small.rows)-again.Distinct
	r.Twice, r.TwiceMerged = again.Rows-again.Distinct, again.Merged-again.Distinct
	return nil
}

// wrong counts the amounts that are not what the API served.
func (w *world) wrong(f found) (n int) {
	for id, want := range w.exact {
		got := f.Exact[id]
		for i, text := range []string{want.orderValue, want.cashback} {
			if plainNumber(got[i]) != text {
				n++
			}
		}
	}
	return n
}

// plainNumber is a number without zeros at its end.
func plainNumber(s string) string {
	if strings.Contains(s, ".") && !strings.ContainsAny(s, "eE") {
		return strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
