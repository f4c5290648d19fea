package warehouse

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/google/uuid"
)

// owner names a process in leases: host/process/nonce. The nonce distinguishes two processes to which containers gave
// the same number. All owners of one process have the same nonce.
type owner struct {
	host  string
	pid   int
	nonce string
}

func newOwner() owner {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	// Containers may share a name without sharing processes, and so may machines that are copies of one.
	if space, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		host += "-" + strings.Trim(strings.TrimPrefix(space, "pid:"), "[]")
	}
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil && len(boot) >= 8 {
		host += "-" + string(boot[:8])
	}
	return owner{host: strings.ReplaceAll(host, "/", "-"), pid: os.Getpid(), nonce: processNonce()}
}

// processNonce is made once in the life of a process.
var processNonce = sync.OnceValue(func() string { return uuid.NewString()[:8] })

// String returns the owner as leases and messages show it.
func (o owner) String() string { return fmt.Sprintf("%s/%d/%s", o.host, o.pid, o.nonce) }

// isGone reports whether the process behind a lease cannot be alive, so that nobody waits for the lease to expire after
// a crash. Only one process at a time can have an embedded warehouse, with its guests. Of a process on this host, the
// system can say whether it exists.
func (w *Warehouse) isGone(name string) bool {
	if name == w.owner.String() {
		return false
	}
	if w.engine != nil && (w.host == nil || !w.host.Knows(name)) || w.guest != nil && w.guest.Own() && !w.guest.Knows(name) {
		var other owner
		return parseOwner(name, &other) && other.nonce != w.owner.nonce
	}
	var other owner
	return parseOwner(name, &other) && other.host == w.owner.host &&
		errors.Is(syscall.Kill(other.pid, 0), syscall.ESRCH)
}

func parseOwner(name string, o *owner) bool {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return false
	}
	o.host, o.nonce = parts[0], parts[2]
	_, err := fmt.Sscanf(parts[1], "%d", &o.pid)
	return err == nil
}
