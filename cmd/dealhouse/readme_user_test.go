//go:build !noengine

package main

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// user is someone with a shell, a folder, an API at hand, and a document.
type user struct {
	dir     string
	env     map[string]string // what was exported
	bin     string            // where the programs are
	api     string
	door    string // where the port of serve-warehouse is
	daemon  string // where that of the daemon is
	replace *strings.Replacer
	truth   *answers

	said    *written // what the simulator printed when it came up
	looking func()   // ends the serve-warehouse that queries go through
	started []func()
}

// newUser is one in an empty folder. The program is this test binary; the simulator is the only thing that is compiled.
func newUser(t *testing.T) *user {
	t.Helper()
	bin := t.TempDir()
	wrapper := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", childVariable, os.Args[0])
	if err := os.WriteFile(filepath.Join(bin, "dealhouse"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", filepath.Join(bin, "dealsim"),
		"./cmd/dealsim")
	build.Dir = filepath.FromSlash(repository)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	u := &user{bin: bin, api: freeAddress(t), env: map[string]string{"DEALHOUSE_DEFAULTS_REQUESTS_PER_SECOND": "200"}}
	u.settle(t)
	u.copyIn(t, "config.example.toml")
	return u
}

// another is someone who has done what this one has, and has a copy of what came of it.
func (u *user) another(t *testing.T) *user {
	t.Helper()
	v := &user{bin: u.bin, api: u.api, env: maps.Clone(u.env)}
	v.settle(t)
	if err := os.CopyFS(v.dir, os.DirFS(u.dir)); err != nil {
		t.Fatal(err)
	}
	return v
}

// settle gives the user a folder and ports.
func (u *user) settle(t *testing.T) {
	t.Helper()
	u.dir, u.door, u.daemon = t.TempDir(), freeAddress(t), freeAddress(t)
	u.replace = strings.NewReplacer("127.0.0.1:8080", u.api, "127.0.0.1:8123", u.door, "127.0.0.1:9464", u.daemon,
		"-o dealhouse ", "-o "+filepath.Join(t.TempDir(), "static")+" ")
}

func (u *user) copyIn(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(u.dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was never used
	return l.Addr().String()
}

// line does what one line of a shell says.
func (u *user) line(t *testing.T, text string) {
	t.Helper()
	text = u.replace.Replace(text)
	command, rest, _ := strings.Cut(text, " ")
	switch {
	case command == "export":
		name, value, _ := strings.Cut(rest, "=")
		u.env[name] = value
		// The reader of the tutorial finds it in the other terminal too.
		if u.said != nil && !strings.Contains(u.said.String(), text+"\n") {
			t.Errorf("the simulator does not say %q:\n%s", text, u.said.String())
		}
	case command == "dealsim":
		address := regexp.MustCompile(`--listen (\S+)`).FindStringSubmatch(text)
		u.said = &written{}
		t.Cleanup(u.upWithStderr(t, text, "http://"+address[1]+"/sim/status", u.said)) // other readers need it too
	case strings.HasPrefix(text, "dealhouse serve-warehouse "):
		u.started = append(u.started, u.up(t, text, "http://"+u.door+"/ping"))
	case text == "dealhouse run":
		u.started = append(u.started, u.up(t, text, "http://"+u.daemon+"/readyz"))
	case command == "curl":
		u.curl(t, text)
	case strings.HasPrefix(text, "DEALHOUSE_BASE_URL="): // in a new shell, and a folder without a configuration
		stranger := &user{bin: u.bin, daemon: u.daemon}
		stranger.run(t, t.TempDir(), text)
	default:
		u.run(t, u.dir, text)
	}
}

// curl does what curl would: not every machine that runs tests has it.
func (u *user) curl(t *testing.T, text string) {
	t.Helper()
	m := regexp.MustCompile(`^curl (-X POST )?'?(http[^' ]+)'?(?: -d '([^']+)')?$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("a curl command of another form: %s", text)
	}
	method := http.MethodGet
	if m[1] != "" || m[3] != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, m[2], strings.NewReader(m[3]))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 {
		t.Errorf("%s: %s %s %v", text, resp.Status, body, err)
	}
}

func (u *user) run(t *testing.T, dir, text string) string {
	t.Helper()
	return u.runWith(t, dir, "", text)
}

func (u *user) runWith(t *testing.T, dir, stdin, text string) string {
	t.Helper()
	cmd := u.command(t, dir, text)
	var errs strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v\n%s%s", text, err, out, errs.String())
	}
	return string(out)
}

func (u *user) command(t *testing.T, dir, text string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", text)
	cmd.Dir = dir
	cmd.Env = append(ambient(), "PATH="+u.bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GOBIN="+filepath.Join(u.bin, "installed"), "GOFLAGS=-buildvcs=false",
		"DEALHOUSE_DAEMON_LISTEN="+u.daemon)
	for _, name := range slices.Sorted(maps.Keys(u.env)) {
		cmd.Env = append(cmd.Env, name+"="+u.env[name])
	}
	return cmd
}

// up starts a command that stays up, and waits until it answers well.
func (u *user) up(t *testing.T, text, ready string) (stop func()) {
	t.Helper()
	return u.upWithStderr(t, text, ready, &written{})
}

// written takes what a process prints while others read it.
type written struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *written) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *written) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (u *user) upWithStderr(t *testing.T, text, ready string, errs *written) (stop func()) {
	t.Helper()
	cmd := u.command(t, u.dir, "exec "+text)
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it was told to end, and says so
		close(ended)
	}()
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := http.Get(ready)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return stop
			}
		}
		select {
		case <-tick.C:
		case <-ended:
			t.Fatalf("%s ended at once:\n%s", text, errs.String())
		case <-t.Context().Done():
			stop()
			t.Fatalf("%s did not come up: %v\n%s", text, err, errs.String())
		}
	}
}

// lookedEnough closes the engine that queries were asked of: one process at a time has it.
func (u *user) lookedEnough(t *testing.T) {
	t.Helper()
	if u.looking != nil {
		u.looking()
		u.looking = nil
	}
}

// leave ends what the user has left running.
func (u *user) leave(t *testing.T) {
	t.Helper()
	u.lookedEnough(t)
	for _, stop := range u.started {
		stop()
	}
	u.started = nil
}
