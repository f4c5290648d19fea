//go:build !noengine

package main

import (
	"net"
	"slices"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// An address that another program has stays taken until somebody changes something: the message says what, and a retry
// is of no use.
func TestAddressTaken(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() }) // it was never used
	address := taken.Addr().String()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.migrated(t)
	env := slices.Concat(b.env, []string{"DEALHOUSE_DAEMON_LISTEN=" + address})
	start(t, env, "run", "--config", b.config).finish(t).want(t, 2, "address already in use",
		"set daemon.listen to another address, or stop the other daemon")
	start(t, b.env, "serve-warehouse", "--listen", address, "--config", b.config).finish(t).want(t, 2,
		"address already in use", "choose another address with --listen")
}
