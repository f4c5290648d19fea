package enginetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

const (
	roleVariable = "DEALHOUSE_TEST_ROLE"
	lifeVariable = "DEALHOUSE_TEST_LIFE" // the folder of the child's warehouse
)

// Role returns a command that starts this test binary again, to do what Options.Roles has under the name. env is
// added to the environment.
func Role(ctx context.Context, name string, env ...string) *exec.Cmd {
	return again(ctx, nil, append(env, roleVariable+"="+name)...)
}

// Life returns a command that starts this test binary again, to run one test on a warehouse of its own in the folder.
// In that process, DSN returns this warehouse. A life that ends in SIGKILL leaves the folder to the next one.
func Life(ctx context.Context, folder, test string, env ...string) *exec.Cmd {
	return again(ctx, []string{"-test.run=^" + test + "$"}, append(env, lifeVariable+"="+folder)...)
}

func again(ctx context.Context, args []string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...) //nolint:gosec // the test binary itself
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// Killed reports whether a child ended in SIGKILL. err is what Run or Wait returned.
func Killed(err error) bool {
	exit, ended := errors.AsType[*exec.ExitError](err)
	if !ended {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Die kills this process with SIGKILL.
func Die() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }
