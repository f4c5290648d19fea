package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"dealhouse/internal/apisim"
)

const (
	tick     = time.Second     // of the world's clock when it runs by itself
	patience = 3 * time.Second // for requests under way when told to stop
)

// serve serves until ctx ends, then lets the requests under way finish.
func serve(ctx context.Context, sim *apisim.Sim, listen string, speed float64, stderr io.Writer) error {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{
		Handler:           newHandler(sim),
		ReadHeaderTimeout: 10 * time.Second,
	}
	greet(stderr, sim, "http://"+ln.Addr().String())

	group, running := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-running.Done()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err := server.Shutdown(end)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close() // what is left hangs on purpose
		}
		if err != nil {
			return fmt.Errorf("shut down: %w", err)
		}
		return nil
	})
	if speed > 0 {
		group.Go(func() error { runClock(running, sim, speed); return nil })
	}
	return group.Wait()
}

// runClock moves the world's clock with the real one.
func runClock(ctx context.Context, sim *apisim.Sim, speed float64) {
	t := time.NewTicker(tick)
	defer t.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			sim.Advance(time.Duration(float64(now.Sub(last)) * speed))
			last = now
		}
	}
}

// greet prints what a person needs to call the service, ready to be pasted.
func greet(w io.Writer, sim *apisim.Sim, base string) {
	var b strings.Builder
	fmt.Fprintf(&b, "dealsim: serving %s, the world's clock is %s\n", base, sim.Now().Format(time.RFC3339))
	fmt.Fprintf(&b, "export DEALS_BASE_URL=%s\n", base)
	for _, org := range sim.Orgs() {
		full, payouts := sim.Keys(org)
		name := variable(org)
		fmt.Fprintf(&b, "export %s_API_KEY=%s\n", name, shellQuote(full))
		fmt.Fprintf(&b, "export %s_PAYOUTS_KEY=%s\n", name, shellQuote(payouts))
	}
	if orgs := sim.Orgs(); len(orgs) > 0 {
		full, _ := sim.Keys(orgs[0])
		// The first load of README.md.
		fmt.Fprintf(&b, "export DEALS_API_KEY=%s\n", shellQuote(full))
		fmt.Fprintf(&b, "dealhouse init %s --key env:DEALS_API_KEY --account %s\n", base, orgs[0])
		fmt.Fprintf(&b, "DEALHOUSE_ACCOUNT=%s DEALHOUSE_BASE_URL=%s DEALHOUSE_API_KEY=%s dealhouse sync\n", orgs[0], base,
			shellQuote(full))
		fmt.Fprintf(&b, "curl -H %s %s/v1/deals/promotions\n", shellQuote("Authorization: Bearer "+full), base)
	}
	_, _ = io.WriteString(w, b.String())
}

// variable is a name as an environment variable holds it.
func variable(org string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, org)
}

func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
