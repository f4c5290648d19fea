package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"dealhouse/internal/chdb/contract"
)

// waitDelay is how long we wait for the output of npm after it has ended or was told to end.
const waitDelay = 5 * time.Second

// npmPack downloads a package's tarball with the user's npm, that is from the
// registry and with the credentials that npm is configured for. Nothing is
// installed and no script of the package runs.
func npmPack(ctx context.Context, dir, pkg string, came func(bytes int64)) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%w in PATH", contract.ErrNoNPM)
	}
	cmd := exec.CommandContext(ctx, npm, "pack", "--loglevel=error", "--ignore-scripts", pkg+"@"+contract.Version) //nolint:gosec // G204: no shell; pkg is from the table of releases, and npm from PATH
	// The directory belongs to no project of npm, so that npm reads no project's configuration.
	cmd.Dir = dir
	cmd.WaitDelay = waitDelay
	defer watchCache(ctx, npm, dir, came)()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("npm pack %s@%s: %w: %s", pkg, contract.Version, err, tail(out.Bytes(), 600))
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", errors.New("npm pack left no tarball")
	}
	return found[0], nil
}

// watchCache reports how many bytes npm has downloaded, until stop is called.
func watchCache(ctx context.Context, npm, dir string, came func(bytes int64)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	since := time.Now().Add(-time.Second) // a file system's clock may be a little behind
	var group sync.WaitGroup
	group.Go(func() {
		cmd := exec.CommandContext(ctx, npm, "config", "get", "cache")
		cmd.Dir, cmd.WaitDelay = dir, waitDelay
		cache, err := cmd.Output()
		if folder := string(bytes.TrimSpace(cache)); err == nil && filepath.IsAbs(folder) {
			watch(ctx, filepath.Join(folder, "_cacache", "tmp"), since, came)
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}

// tail returns the last n bytes of what a command printed, where the reason of a failure is.
func tail(b []byte, n int) []byte {
	b = bytes.TrimSpace(b)
	if len(b) > n {
		b = b[len(b)-n:]
	}
	return b
}
