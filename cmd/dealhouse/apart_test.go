//go:build !noengine && linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"dealhouse/internal/enginetest"
)

// engine returns the process that has the engine, which p keeps.
func (p *process) engine(t *testing.T) int {
	t.Helper()
	var all []int
	d := &running{process: p}
	d.until(t, "it keeps a process", func() bool {
		all = nil
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", p.Process.Pid, task.Name()))
			for _, field := range strings.Fields(string(text)) {
				pid, err := strconv.Atoi(field)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, pid)
			}
		}
		return len(all) > 0
	})
	if len(all) > 1 {
		t.Fatalf("it keeps several processes: %v", all)
	}
	return all[0]
}

// works waits until a process has worked for a second more: what it was asked to do is under way.
func (p *process) works(t *testing.T, pid int) {
	t.Helper()
	ticks := func() int { // of 1/100 s
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		user, err := strconv.Atoi(fields[11])
		if err != nil {
			t.Fatal(err)
		}
		return user
	}
	before := ticks()
	(&running{process: p}).until(t, "the engine works", func() bool { return ticks() > before+100 })
}

// crash ends the engine of p, which has no time to say anything, and waits until another one has taken its place.
func (p *process) crash(t *testing.T) {
	t.Helper()
	pid := p.engine(t)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	(&running{process: p}).until(t, "another process has the engine", func() bool { return p.engine(t) != pid })
}

// serveApart starts the door of a warehouse.
func (b *bench) serveApart(t *testing.T, flags ...string) (server *process, url string) {
	t.Helper()
	server = start(t, b.env, append([]string{"serve-warehouse", "--listen", "127.0.0.1:0", "--config", b.config}, flags...)...)
	return server, server.find(t, `on (http://\S+) \(`)[1] + "/?database=dealhouse"
}

// TestEngineCrashes ends the engine of a door in the middle of a read: who asked is told, who asks next is answered,
// and the log says once what happened.
func TestEngineCrashes(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.migrated(t)
	server, url := b.serveApart(t)
	times := enginetest.Sample(1, 3)
	for n := range times {
		var asking sync.WaitGroup
		id := fmt.Sprintf("long-%d", n)
		asking.Go(func() {
			status, body := ask(t, url+"&query_id="+id, "", "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)")
			if status != http.StatusServiceUnavailable || !strings.Contains(body, "Code: 210") || !strings.Contains(body, "started anew") {
				t.Errorf("the read under way: %d %s", status, body)
			}
		})
		server.works(t, server.engine(t))
		server.crash(t)
		asking.Wait()
		if status, body := ask(t, url, "", "SELECT count() FROM coupons"); status != http.StatusOK || body != "0" {
			t.Errorf("after it: %d %s", status, body)
		}
		if n := strings.Count(server.stderr.String(), id); n != 1 {
			t.Errorf("the log names the read %d times:\n%s", n, server.stderr.String())
		}
	}
	if n := strings.Count(server.stderr.String(), "the engine ended by itself and is started anew"); n != times {
		t.Errorf("%d lines for %d ends:\n%s", n, times, server.stderr.String())
	}
	server.signal(t, syscall.SIGTERM)
	server.finish(t).want(t, 143, "stopped by a signal")
}

// TestEngineHangs stops the engine of a door as a debugger does: it is noticed, and another one answers. For wide
// samples: TestEngineCrashes ends it.
func TestEngineHangs(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBench(t)
	b.migrated(t)
	server, url := b.serveApart(t)
	pid := server.engine(t)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// What it has not begun to read is answered by the next one.
	if status, body := ask(t, url, "", "SELECT 1"); status != http.StatusOK && !strings.Contains(body, "did not answer any more") {
		t.Errorf("of an engine that stands still: %d %s", status, body)
	}
	if status, body := ask(t, url, "", "SELECT 1"); status != http.StatusOK || body != "1" {
		t.Errorf("after it: %d %s", status, body)
	}
	if said := server.stderr.String(); strings.Count(said, "did not answer any more") == 0 {
		t.Errorf("the log does not say what happened:\n%s", said)
	}
	if now := server.engine(t); now == pid {
		t.Error("it is the same process")
	}
	server.signal(t, syscall.SIGTERM)
	server.finish(t).want(t, 143)
}

// TestStatementsThatDoNotEnd sends statements that the engine cannot interrupt, more than it has turns. Others are
// answered beside them, and the engine is started anew when their time is over. The door ends when it is told to.
func TestStatementsThatDoNotEnd(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBench(t)
	b.migrated(t)
	server, url := b.serveApart(t, "--max-time", "2")
	const endless = "SELECT arrayLevenshteinDistance(range(3000000), range(3000000))"
	var asking sync.WaitGroup
	for range 12 {
		asking.Go(func() {
			if status, body := ask(t, url, "", endless); status == http.StatusOK {
				t.Errorf("it was answered: %s", body)
			}
		})
	}
	d := &running{process: server}
	d.until(t, "the engine was started anew", func() bool {
		status, body := ask(t, url, "", "SELECT 1")
		if status != http.StatusOK && !strings.Contains(body, "started anew") { // the engine ended under this very one
			t.Errorf("beside them: %d %s", status, body)
		}
		return strings.Contains(server.stderr.String(), "the engine ended by itself")
	})
	asking.Wait()
	if status, body := ask(t, url, "", "SELECT count() FROM coupons"); status != http.StatusOK {
		t.Errorf("after them: %d %s", status, body)
	}
	asking.Go(func() { // its connection breaks when the door ends
		if resp, err := http.Post(url, "text/plain", strings.NewReader(endless)); err == nil {
			_ = resp.Body.Close()
		}
	})
	server.works(t, server.engine(t))
	server.signal(t, syscall.SIGTERM)
	server.finish(t).want(t, 143)
	asking.Wait()
}

// TestDaemonWithoutItsEngine ends the engine of a daemon while it loads: the run goes on with the next engine, and what
// is loaded is what the API has.
func TestDaemonWithoutItsEngine(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newSmallBench(t)
	b.migrated(t)
	streams := []string{"coupons", "transactions"}
	reached, goOn := make(chan struct{}, 100), make(chan struct{})
	b.sim.SetBefore(func(r *http.Request) {
		if r.URL.Query().Has("cursor") {
			reached <- struct{}{}
			select {
			case <-goOn:
			case <-r.Context().Done():
			}
		}
	})
	d := b.daemon(t, b.hurried(t, "", streams...))
	<-reached
	d.crash(t)
	b.sim.SetBefore(nil)
	close(goOn)
	d.succeeds(t, b, 1, streams...)
	if n := d.sum(t, "dealhouse_engine_restarts_total"); n != 1 {
		t.Errorf("%v restarts are counted", n)
	}
	d.ends(t, syscall.SIGTERM)
	said := d.stderr.String()
	if n := strings.Count(said, "the engine ended by itself and is started anew"); n != 1 {
		t.Errorf("%d lines of it:\n%s", n, said)
	}
	engineTurn(t)
	rows, _ := b.sync(t, 0, slices.Clone(streams)...)
	for _, s := range streams {
		if r := rows["acme "+s]; r.Inserted+r.Updated+r.Deleted != 0 {
			t.Errorf("the sync after it: %+v", r)
		}
	}
}

// A sync whose engine is killed goes on with the next one, and loads all there is.
func TestSyncWithoutItsEngine(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newSmallBench(t)
	reached, on := make(chan struct{}, 100), make(chan struct{})
	b.sim.SetBefore(func(r *http.Request) {
		if r.URL.Query().Has("cursor") {
			reached <- struct{}{}
			<-on
		}
	})
	p := start(t, b.env, "sync", "transactions", "--account", "acme", "--config", b.config)
	p.reaches(t, reached)
	if err := syscall.Kill(p.engine(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.sim.SetBefore(nil)
	close(on)
	p.finish(t).want(t, 0, "the engine ended by itself and is started anew")
	engineTurn(t)
	b.call(t, "query", "SELECT count() FROM transactions WHERE account = 'acme'", "-o", "csv").shows(t,
		fmt.Sprint(b.sim.Count("transactions", "acme")))
}
