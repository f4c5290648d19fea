package daemon

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor speaks systemd's protocol sd_notify to the program that has started the daemon. The zero
// supervisor sends nothing.
type supervisor struct {
	socket   string
	watchdog time.Duration // how often it expects a ping; 0: never
	log      *slog.Logger
}

// newSupervisor finds the supervisor in the environment.
func newSupervisor(env []string, log *slog.Logger) *supervisor {
	s := &supervisor{log: log}
	values := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	s.socket = values["NOTIFY_SOCKET"]
	if s.socket == "" {
		return s
	}
	if strings.HasPrefix(s.socket, "@") {
		s.socket = "\x00" + s.socket[1:] // an abstract socket
	}
	usec, err := strconv.ParseInt(values["WATCHDOG_USEC"], 10, 64)
	if pid := values["WATCHDOG_PID"]; err == nil && usec > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		s.watchdog = time.Duration(usec) * time.Microsecond / 2
	}
	return s
}

// notify sends one message. A supervisor that does not listen is no reason to stop working.
func (s *supervisor) notify(lines ...string) {
	if s.socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(strings.Join(lines, "\n")))
		_ = conn.Close() // closing cannot lose a datagram that was sent
	}
	if err != nil {
		s.log.Warn("could not notify the supervisor", "error", err)
	}
}

// reloading tells the supervisor that a reload has begun, with its time by the monotonic clock, as
// Type=notify-reload requires.
func (s *supervisor) reloading() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		s.notify("RELOADING=1")
		return
	}
	s.notify("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000))
}
