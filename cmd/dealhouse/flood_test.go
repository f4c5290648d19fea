//go:build !noengine && linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
)

// floodRequests is how many requests the flood has; CLI_TEST_FLOOD asks for another number.
func floodRequests(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CLI_TEST_FLOOD")
	if text == "" {
		return 400
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// attacks are requests that are slow, broken or huge. Each is given a connection; it returns when it is done with it.
var attacks = []func(ctx context.Context, c net.Conn){
	// Opens a connection and says nothing, or half a header.
	func(ctx context.Context, _ net.Conn) { <-ctx.Done() },
	func(ctx context.Context, c net.Conn) { send(ctx, c, "POST / HTTP/1.1\r\nHost: loc") },
	// Headers and addresses without end.
	func(ctx context.Context, c net.Conn) {
		send(ctx, c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 1<<20))
	},
	func(ctx context.Context, c net.Conn) {
		send(ctx, c, "GET /?query="+strings.Repeat("x", 1<<20)+" HTTP/1.1\r\n")
	},
	// A query, and data, of which two bytes come.
	func(ctx context.Context, c net.Conn) { send(ctx, c, head("", 1000)+"SE") },
	func(ctx context.Context, c net.Conn) {
		send(ctx, c, head("query=INSERT+INTO+flood+FORMAT+CSV&", 1000)+"1\n")
	},
	// Data that begins well, and stops.
	func(ctx context.Context, c net.Conn) {
		send(ctx, c, head("query=INSERT+INTO+flood+FORMAT+CSV&", 1<<30)+strings.Repeat("1\n", 200_000))
	},
	// A query without end, and a body that is too long for one.
	func(ctx context.Context, c net.Conn) {
		send(ctx, c, head("", 1<<30)+strings.Repeat("SELECT 1 + ", 500_000))
	},
	// Results that nobody reads.
	func(ctx context.Context, c net.Conn) {
		post(ctx, c, "SELECT number, 'unread' FROM numbers(100000000)")
	},
	func(ctx context.Context, c net.Conn) {
		post(ctx, c, "SELECT number, 'unread' FROM numbers(10000000) FORMAT JSON")
	},
	// Memory.
	func(ctx context.Context, c net.Conn) {
		post(ctx, c, "SELECT groupArray(number) FROM numbers(1000000000)")
	},
	// Broken off.
	func(_ context.Context, c net.Conn) { fmt.Fprint(c, head("", 10)+"SELECT 1") },
	func(_ context.Context, c net.Conn) { fmt.Fprint(c, "\x00\xff\xfe garbage\r\n\r\n") },
	func(ctx context.Context, c net.Conn) {
		send(ctx, c, "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n")
	},
}

// head begins a request whose body has so many bytes, as it says.
func head(parameters string, length int) string {
	return fmt.Sprintf("POST /?%sdatabase=dealhouse HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", parameters,
		length)
}

// send sends a text and keeps the connection open until the other side closes it, reading nothing of worth.
func send(ctx context.Context, c net.Conn, text string) {
	if _, err := io.WriteString(c, text); err != nil {
		return
	}
	<-ctx.Done()
}

// post sends a whole query and does not read the answer.
func post(ctx context.Context, c net.Conn, sql string) { send(ctx, c, head("", len(sql))+sql) }

// Slow, broken and huge requests by the thousand neither take the memory of the machine nor keep a normal query
// waiting. For wide samples: a step of .ci/run has it.
func TestFlood(t *testing.T) {
	enginetest.OnlyWide(t)
	total := floodRequests(t)
	b := newBench(t)
	b.migrated(t)
	server := start(t, b.env, "serve-warehouse", "--allow-writes", "--listen", "127.0.0.1:0", "--config", b.config,
		"--max-memory", "192", "--max-query-memory", "96", "--max-time", "120", "--max-buffered", "8")
	address := server.find(t, `on (http://\S+) `)[1]
	if status, body := ask(t, address+"/?database=dealhouse", "",
		"CREATE TABLE flood (n UInt64) ENGINE = MergeTree ORDER BY n"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	const normal, queries = "SELECT count() FROM transactions", 5
	quiet := time.Now()
	for range queries {
		if status, body := ask(t, address+"/?database=dealhouse", "", normal); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
	}
	alone := time.Since(quiet) / queries // what a normal query takes on this machine
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var flood sync.WaitGroup
	next := make(chan int)
	for range 200 {
		flood.Go(func() {
			for n := range next {
				attack(ctx, strings.TrimPrefix(address, "http://"), n)
			}
		})
	}
	var waits []time.Duration
	turnedAway := map[string]int{} // by what it was told
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for n := range total {
			next <- n
		}
		close(next)
	}()
	client := &http.Client{Timeout: comesWithin}
	for done := false; !done; {
		select {
		case <-asked:
			done = true
		default:
		}
		begin := time.Now()
		resp, err := client.Post(address+"/?database=dealhouse", "text/plain", strings.NewReader(normal))
		if err != nil {
			t.Errorf("a normal query: %v", err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		switch {
		case err != nil:
			t.Errorf("a normal query: %v", err)
		case resp.StatusCode == http.StatusServiceUnavailable, strings.HasPrefix(string(body), "Code: 241."):
			// It was told to try again, or that there is no memory.
			turnedAway[regexp.MustCompile(`\d[\d.]*( [KMG]iB)?`).ReplaceAllString(string(body), "N")]++
		case resp.StatusCode != http.StatusOK:
			t.Errorf("a normal query: %d %s", resp.StatusCode, body)
		}
		waits = append(waits, time.Since(begin))
	}
	cancel()
	flood.Wait()
	slices.Sort(waits)
	peak := residentPeak(t, server.Process.Pid) + residentPeak(t, server.engine(t))
	median, worst := waits[len(waits)/2], waits[len(waits)-1]
	t.Logf("%d hostile requests; %d normal queries, of which were turned away: %v; median %s, 95 %% %s, worst %s, alone %s; at most %d MiB of memory", total, len(waits), turnedAway, median, waits[len(waits)*95/100], worst, alone, peak>>20)
	if median > 5*time.Second+20*alone { // it waits for a turn for 5 s at most
		t.Errorf("a normal query took %s, and %s alone", median, alone)
	}
	if peak > 1<<30 {
		t.Errorf("the server took %d MiB", peak>>20)
	}
	server.signal(t, syscall.SIGTERM)
	server.finish(t)
}

// attack makes one hostile request, which has a second.
func attack(ctx context.Context, address string, n int) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	_ = c.(*net.TCPConn).SetReadBuffer(4096)
	attacks[n%len(attacks)](ctx, c)
}

// residentPeak is the most memory that a process had, in bytes.
func residentPeak(t *testing.T, pid int) int64 {
	t.Helper()
	for sc := bufio.NewScanner(strings.NewReader(procFile(t, pid, "status"))); sc.Scan(); {
		if m := regexp.MustCompile(`^VmHWM:\s+(\d+) kB`).FindStringSubmatch(sc.Text()); m != nil {
			n, err := strconv.ParseInt(m[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the kernel does not say how much memory the process had")
	return 0
}
