package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/enginetest"
)

// TestMemoryOfAllQueries: many results during a long query use up no memory, and many large queries at once get no more
// than the bound for all of them. For wide samples: TestLimitsHold bounds one query.
func TestMemoryOfAllQueries(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	out, err := child(t, "memory", childDir+"="+t.TempDir()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

// childMemory is the server of TestMemoryOfAllQueries, with its clients.
func childMemory() error {
	e, err := openHouse(context.Background(), contract.Options{
		Dir: os.Getenv(childDir), Library: os.Getenv(childLib), MaxConns: 24,
		Limits: contract.Limits{QueryMemory: 100 << 20, Memory: 64 << 20, Time: time.Hour, Threads: 1},
	})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	srv := httptest.NewServer(e.Handler(contract.HandlerOptions{MaxWait: patience}))
	defer srv.Close()
	return errors.Join(givenBack(srv.URL), together(srv.URL))
}

// givenBack asks for buffered results while another query runs.
func givenBack(address string) error {
	ctx, cancel := context.WithCancel(context.Background())
	var long sync.WaitGroup
	defer long.Wait()
	defer cancel()
	long.Go(func() {
		_, _, _ = askFrom(ctx, address, 2, "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)")
	})
	for n := range 150 {
		code, body, err := askFrom(ctx, address, 3, fmt.Sprintf("SELECT number FROM numbers(%d, 50000) FORMAT JSON", n))
		if err != nil || code != http.StatusOK {
			return fmt.Errorf("result %d: %d %.300s %v", n, code, body, err) //nolint:errorlint // mostly nil
		}
	}
	return nil
}

// together sends 24 queries at once that need 50 MB each.
func together(address string) error {
	var refused atomic.Int32
	var group sync.WaitGroup
	for n := range 24 {
		group.Go(func() {
			_, body, _ := askFrom(context.Background(), address, n+2,
				fmt.Sprintf("SELECT length(groupArray(number)), %d, sleep(0.5) FROM numbers(3000000)", n))
			if strings.HasPrefix(body, "Code: 241.") {
				refused.Add(1)
			}
		})
	}
	group.Wait()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil //nolint:nilerr // no Linux
	}
	peak, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(status)[1]))
	fmt.Printf("%d of 24 queries were refused; at most %d MiB of memory\n", refused.Load(), peak>>10)
	if err == nil && peak>>10 > 700 {
		err = fmt.Errorf("the process took %d MiB", peak>>10)
	}
	return err
}
