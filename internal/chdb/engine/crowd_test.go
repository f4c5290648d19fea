package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/enginetest"
)

// TestLongQueriesLeaveRoom has all places of a door, and as many more, taken by long queries, and asks for little: it
// is answered soon, whether the long ones come from one address or from several, and whether it comes from another or
// not. For wide samples: TestLimitsHold has the bounds.
func TestLongQueriesLeaveRoom(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	out, err := child(t, "crowd", childDir+"="+t.TempDir()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// childCrowd is the server of that, and its clients.
func childCrowd() error {
	e, err := openHouse(context.Background(), contract.Options{
		Dir: os.Getenv(childDir), Library: os.Getenv(childLib),
		Limits: contract.Limits{QueryMemory: 64 << 20, Memory: 128 << 20, Time: 100 * time.Second, Threads: 1},
	})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	var wrong []error
	for writes, addresses := range map[bool]int{false: 16, true: 1} {
		if err := crowd(e, writes, addresses); err != nil {
			wrong = append(wrong, fmt.Errorf("writes %t, long queries from %d addresses: %w", writes, addresses, err))
		}
	}
	return errors.Join(wrong...)
}

// crowd is one door with 16 long queries, and small ones beside them.
func crowd(e *house, writes bool, addresses int) error {
	srv := httptest.NewServer(e.Handler(contract.HandlerOptions{AllowWrites: writes}))
	defer srv.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var long sync.WaitGroup
	defer long.Wait()
	defer cancel()
	for n := range 16 {
		long.Go(func() {
			sql := fmt.Sprintf("SELECT sum(sipHash64(number + %d)) FROM numbers(1000000000000)", n)
			if n%2 == 0 { // some give a result from the beginning
				sql = fmt.Sprintf("SELECT number + %d FROM numbers(1000000000000) WHERE sipHash64(number) %% 1000000 = 0", n)
			}
			_, _, _ = askFrom(ctx, srv.URL, n%addresses+2, sql)
		})
	}
	held := uint64(8)
	if writes {
		held = 4 // the others are the program's own
	}
	db, err := clickhouse.Open(e.ClickHouseOptions("default"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for running := uint64(0); running < held; {
		if err := db.QueryRow(ctx, "SELECT count() FROM system.processes WHERE query LIKE '%sipHash'||'64%'").Scan(&running); err != nil {
			return err
		}
	}
	var waits []time.Duration
	for n := range 10 {
		begin := time.Now()
		// Another's address, and one of those that ask for much.
		code, body, err := askFrom(ctx, srv.URL, 200-198*(n%2), fmt.Sprintf("SELECT count(), %d FROM numbers(10)", n))
		if err != nil || code != http.StatusOK || !strings.HasPrefix(body, "10\t") {
			return fmt.Errorf("small query %d after %s: %d %s %v", n, time.Since(begin), code, body, err) //nolint:errorlint // mostly nil
		}
		waits = append(waits, time.Since(begin))
	}
	slices.Sort(waits)
	fmt.Printf("writes %t, long queries from %d addresses: a small one took %s, and %s at most\n", writes, addresses,
		waits[len(waits)/2], waits[len(waits)-1])
	if median := waits[len(waits)/2]; median > time.Second {
		return fmt.Errorf("small queries took %s", median)
	}
	return nil
}

// askFrom asks on a connection of its own, from the address 127.0.0.n where the system has it.
func askFrom(ctx context.Context, address string, n int, sql string) (code int, body string, err error) {
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(n))}
			if c, err := (&net.Dialer{LocalAddr: from}).DialContext(ctx, network, to); err == nil {
				return c, nil
			}
			return new(net.Dialer).DialContext(ctx, network, to)
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/?"+url.Values{"max_threads": {"1"}}.Encode(),
		strings.NewReader(sql))
	if err != nil {
		return 0, "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}
