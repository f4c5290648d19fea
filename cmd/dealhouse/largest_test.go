//go:build !noengine && linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
)

// largest are the largest arguments that a reader can make, of each kind that functions take: as many as there are
// places, and with others before and after them.
var largest = []string{
	"range(3000000)", "range(3000000), range(3000000)", "range(2000000), range(2000000), range(2000000)",
	"arrayMap(x -> toString(x), range(1000000))", "arrayMap(x -> toString(x), range(500000)), arrayMap(x -> toString(x + 1), range(500000))",
	"repeat('ab', 5000000)", "repeat('ab', 2000000), repeat('ba', 2000000)", "repeat('a', 1000000), repeat('(a*)*', 1000)",
	"repeat('a', 1000000), repeat('a?', 1000), repeat('b', 1000)", "repeat('ab', 2000000), 'b'", "repeat('ab', 2000000), 1000000",
	"repeat('ab', 2000000), 1000000, 1000000", "range(3000000), 1000000", "1000000, range(3000000)", "1000000, repeat('ab', 2000000)",
	"x -> sipHash64(x), range(3000000)", "(x, y) -> x + y, range(3000000), range(3000000)", "range(3000000), 1, 3000000",
	"arrayMap(x -> range(1000), range(3000))", "repeat('{\"a\":[', 200000), 'a'", "materialize(range(3000000)), materialize(range(3000000))",
	"mapFromArrays(range(500000), range(500000))", "18446744073709551615", "18446744073709551615, 18446744073709551615",
}

// cutOff stands for an answer that had begun when the engine ended.
const cutOff = 0

// askOrCut is ask for a door whose engine may end at any time.
func askOrCut(url, sql string) (status int, body string) {
	resp, err := http.Post(url, "text/plain", strings.NewReader(sql))
	if err != nil {
		return cutOff, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return cutOff, err.Error()
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// TestEveryFunctionAtItsLargest calls each function that readers may call with every fourth of the largest arguments.
// Whatever the engine makes of it, others are answered beside it, an engine that does not come back is started anew,
// and the door ends when it is told to. For wide samples: TestStatementsThatDoNotEnd has one such function.
func TestEveryFunctionAtItsLargest(t *testing.T) {
	enginetest.OnlyWideWithoutRace(t)
	t.Parallel()
	text, err := os.ReadFile("../../internal/chdb/allow/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var statements []string
	named := 0
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || strings.HasPrefix(name, "#") || strings.HasPrefix(name, "-") || name == "sleep" {
			continue
		}
		named++
		for i, arguments := range largest {
			if (i+named)%4 != 0 { // all of them take eight minutes
				continue
			}
			statements = append(statements, fmt.Sprintf("SELECT ignore(%s(%s))", strings.TrimPrefix(name, "+"), arguments))
		}
	}
	b := newBench(t)
	b.migrated(t)
	server, url := b.serveApart(t, "--max-time", "2")
	next := make(chan string)
	var asking, watching sync.WaitGroup
	var mu sync.Mutex
	answered := map[int]int{}
	for range 4 {
		asking.Go(func() {
			for statement := range next {
				status, body := askOrCut(url, statement)
				mu.Lock()
				answered[status]++
				mu.Unlock()
				if status != http.StatusOK && status != cutOff && !strings.Contains(body, "Code: ") {
					t.Errorf("%s: %d %s", statement, status, body)
				}
			}
		})
	}
	done := make(chan struct{})
	var asked, late, anew int
	var longest time.Duration
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			begin := time.Now()
			status, body := askOrCut(url, "SELECT 1")
			took := time.Since(begin)
			if asked++; took > time.Second {
				late++
			}
			longest = max(longest, took)
			switch {
			case status == http.StatusOK && body == "1":
			case status == cutOff, strings.Contains(body, "started anew"): // the engine ended under this very one
				anew++
			default:
				t.Errorf("beside them: %d %s", status, body)
			}
		}
	})
	for _, s := range statements {
		next <- s
	}
	close(next)
	asking.Wait()
	close(done)
	watching.Wait()
	t.Logf("%d statements, answered with %v; %d ends of the engine; beside them %d reads, %d over a second, the longest %s, %d with an engine that ended",
		len(statements), answered, strings.Count(server.stderr.String(), "the engine ended by itself"), asked, late, longest, anew)
	if answered[http.StatusOK] < 250 || late > asked/10 {
		t.Errorf("%d of %d statements did anything; %d of %d reads beside them took over a second", answered[http.StatusOK], len(statements), late, asked)
	}
	server.signal(t, syscall.SIGTERM)
	server.finish(t).want(t, 143)
}
