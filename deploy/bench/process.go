package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticks is how many there are in a second of the CPU times in /proc.
const ticks = 100

// cost is what a load needed, with all of its processes.
type cost struct {
	Wall, CPU time.Duration
	Peak      int64 // bytes in memory; of several processes that run side by side, the sum of their peaks
}

// command is a process in a group of its own, so that all of it can be killed.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // what the command line names
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
	return cmd
}

func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// timed runs a command to its end.
func timed(cmd *exec.Cmd) (cost, error) {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	start := time.Now()
	err := cmd.Run()
	c := cost{Wall: time.Since(start)}
	if err != nil {
		return c, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, tail(said.String()))
	}
	c.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.Peak = u.Maxrss << 10
	}
	return c, nil
}

func tail(s string) string {
	const most = 2000
	if len(s) > most {
		s = "..." + s[len(s)-most:]
	}
	return strings.TrimSpace(s)
}

// ofGroup is what the processes of a group have needed so far.
func ofGroup(group int) (cpu time.Duration, peak int64, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, 0, err
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(text, []byte(") ")) // the name may have spaces
		fields := strings.Fields(string(rest))
		if len(fields) < 15 || fields[2] != strconv.Itoa(group) {
			continue
		}
		for _, field := range fields[11:15] { // user and system, its own and those of children that have ended
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("%s: %w", path, err)
			}
			cpu += time.Duration(n) * time.Second / ticks
		}
		peak += highWater(filepath.Join(filepath.Dir(path), "status"))
	}
	return cpu, peak, nil
}

// highWater is the most that a process ever had in memory.
func highWater(status string) int64 {
	text, err := os.ReadFile(status)
	if err != nil {
		return 0
	}
	_, rest, found := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
