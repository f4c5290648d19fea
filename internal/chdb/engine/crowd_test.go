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

// TestLongQueriesLeaveRoom sends a door twice as many long queries as it has turns, and then small queries. These are
// answered soon, whether the long queries come from one address or from several, and whether the small ones come from
// the same address or not. "Soon" is relative to the time that this machine takes for the same query without a door.
// For wide samples: TestLimitsHold has the bounds.
func TestLongQueriesLeaveRoom(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	out, err := child(t, "crowd", childDir+"="+t.TempDir()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// childCrowd is the server of TestLongQueriesLeaveRoom, with its clients.
func childCrowd() error {
	e, err := openHouse(context.Background(), contract.Options{
		Dir: os.Getenv(childDir), Library: os.Getenv(childLib),
		Limits: contract.Limits{QueryMemory: 64 << 20, Memory: 128 << 20, Time: time.Hour, Threads: 1},
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

// crowd sends one door 16 long queries, and meanwhile small ones.
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
			sql := fmt.Sprintf("SELECT sum(sleepEachRow(0.00001)), %d AS long FROM numbers(1000000000000)", n)
			switch n % 4 {
			case 0: // some return rows from the beginning
				sql = fmt.Sprintf("SELECT sleepEachRow(0.00001), %d AS long FROM numbers(1000000000000)", n)
			case 1: // and some use most of the machine
				sql = fmt.Sprintf("SELECT sum(sipHash64(number)), %d AS long FROM numbers(1000000000000)", n)
			}
			_, _, _ = askFrom(ctx, srv.URL, n%addresses+2, sql)
		})
	}
	held := uint64(8)
	if writes {
		held = 4 // the other connections are for the program itself
	}
	db, err := clickhouse.Open(e.ClickHouseOptions("default"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for running := uint64(0); running < held; {
		if err := db.QueryRow(ctx, "SELECT count() FROM system.processes WHERE query LIKE '%AS '||'long%'").Scan(&running); err != nil {
			return err
		}
	}
	var waits, without []time.Duration
	for n := range 10 {
		begin := time.Now()
		if err := db.Exec(ctx, fmt.Sprintf("SELECT count(), %d FROM numbers(10)", n)); err != nil {
			return err
		}
		without, begin = append(without, time.Since(begin)), time.Now()
		if err := askLittle(ctx, srv.URL, n); err != nil {
			return fmt.Errorf("small query %d after %s: %w", n, time.Since(begin), err)
		}
		waits = append(waits, time.Since(begin))
	}
	slices.Sort(waits)
	slices.Sort(without)
	median, most := waits[len(waits)/2], time.Second+20*without[len(without)/2]
	fmt.Printf("writes %t, long queries from %d addresses: a small one took %s, and %s at most; without a door %s\n", writes,
		addresses, median, waits[len(waits)-1], without[len(without)/2])
	if median > most {
		return fmt.Errorf("small queries took %s, more than %s", median, most)
	}
	return nil
}

// askLittle sends a small query, from a new address or from one of those that send long queries. If the machine
// is too slow to answer it in a moment, it has to wait for a turn and may be refused. Then it is sent again, and
// the time counts as waiting.
func askLittle(ctx context.Context, address string, n int) error {
	for begin := time.Now(); ; {
		code, body, err := askFrom(ctx, address, 200-198*(n%2), fmt.Sprintf("SELECT count(), %d FROM numbers(10)", n))
		switch {
		case err != nil:
			return err
		case code == http.StatusServiceUnavailable && time.Since(begin) < patience:
			continue
		case code != http.StatusOK || !strings.HasPrefix(body, "10\t"):
			return fmt.Errorf("%d %s", code, body)
		}
		return nil
	}
}

// askFrom sends a query on a new connection, from the address 127.0.0.n if the system has it.
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
