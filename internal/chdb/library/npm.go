package library

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
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
		return "", fmt.Errorf("npm pack %s@%s: %w: %s", pkg, contract.Version, err, reason(out.String()))
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

// longestReason is how many bytes of the output of npm an error repeats at most.
const longestReason = 300

// reason returns what matters of the output of an npm that failed: the path that it could not use, and the line in
// which it explains itself. The rest is its own stack, and advice about its own settings. The last line is the reason
// of one that says nothing in this form.
func reason(output string) string {
	var path, why, last string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		text, isError := strings.CutPrefix(line, "npm error ")
		if !isError {
			text, isError = strings.CutPrefix(line, "npm ERR! ") // npm 9 and before
		}
		key, value, _ := strings.Cut(strings.TrimSpace(text), " ")
		switch {
		case !isError:
			last = cmp.Or(line, last)
		case key == "path":
			path = cmp.Or(path, value+": ")
		case key == "", key == "code", key == "errno", key == "syscall", key == "dest":
		default:
			why = cmp.Or(why, strings.TrimSpace(text))
		}
	}
	text := path + cmp.Or(why, last)
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + "..."
	}
	return text
}
