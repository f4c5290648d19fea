//go:build linux

package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dealhouse/internal/sandbox/sandboxtest"
)

// stage names the variable that makes the test binary a program that enters the sandbox, or one that is in it.
const stage = "SANDBOX_TEST_STAGE"

// canary names a variable of the environment that must not reach the sandbox.
const canary = "SANDBOX_TEST_CANARY"

// stayed says whether the main goroutine was on the main thread before the tests began.
var stayed bool

func TestMain(m *testing.M) {
	switch os.Getenv(stage) {
	case "enter":
		fmt.Println("error:", enter())
		os.Exit(1)
	case "inside":
		if err := inside(); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	stayed = mainThread()
	os.Exit(m.Run())
}

// enter makes a listener and a policy, and enters the sandbox. Its arguments say what to do there.
func enter() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	p := Policy{
		Read: append(SystemFiles(), "/does/not/exist"), Write: []string{os.Getenv("WRITABLE")}, Files: []*os.File{file},
		Env: append(Keep(os.Environ(), "WRITABLE", "FORBIDDEN", "PEER"), stage+"=inside"),
	}
	return p.Become(append([]string{"inside"}, os.Args[1:]...))
}

// inside tries everything, and prints the results, one in each line.
func inside() error {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		return serveInside()
	}
	if err := Seal(); err != nil {
		return err
	}
	report := func(what string, err error) {
		verdict := "allowed"
		switch {
		case errors.Is(err, fs.ErrPermission):
			verdict = "refused"
		case err != nil:
			verdict = "failed: " + err.Error()
		}
		fmt.Printf("%s: %s\n", what, verdict)
	}
	forbidden, writable, peer := os.Getenv("FORBIDDEN"), os.Getenv("WRITABLE"), os.Getenv("PEER")
	_, err := os.ReadFile(forbidden)
	report("read", err)
	report("write", os.WriteFile(forbidden, nil, 0o600))
	report("create", os.WriteFile(forbidden+"2", nil, 0o600))
	report("remove", os.Remove(forbidden))
	report("rename", os.Rename(forbidden, filepath.Join(writable, "x")))
	_, err = os.ReadDir("/")
	report("list", err)
	_, err = os.ReadFile("/proc/self/environ")
	report("environ", err)
	_, err = os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
	report("proc", err)
	report("symlink", func() error {
		link := filepath.Join(writable, "link")
		if err := os.Symlink(forbidden, link); err != nil {
			return err
		}
		_, err := os.ReadFile(link)
		return err
	}())
	report("own", func() error {
		path := filepath.Join(writable, "own")
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			return err
		}
		if err := os.Rename(path, path+"2"); err != nil {
			return err
		}
		return os.Remove(path + "2")
	}())
	_, err = os.ReadFile("/proc/meminfo")
	report("meminfo", err)
	_, err = os.ReadDir("/usr/lib")
	report("libraries", err)
	report("execute", exec.Command("/bin/true").Run())
	report("execute by loader", exec.Command("/lib64/ld-linux-x86-64.so.2", "/bin/true").Run())
	report("execute itself", func() error {
		_, err := os.StartProcess("/proc/self/exe", []string{"x"},
			&os.ProcAttr{})
		return err
	}())
	report("become another", syscall.Exec("/lib64/ld-linux-x86-64.so.2", []string{"x", "/bin/true"}, nil))
	report("fork", func() error {
		pid, _, errno := syscall.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
		if errno == 0 && pid == 0 {
			_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0) // it does not return
		}
		if errno != 0 {
			return errno
		}
		return nil
	}())
	report("connect", dial("tcp", peer))
	report("udp", dial("udp", peer))
	_, err = net.Listen("tcp", "127.0.0.1:0")
	report("listen", err)
	for name, s := range map[string][3]int{
		"unix socket": {unix.AF_UNIX, unix.SOCK_STREAM, 0}, "mptcp": {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		"netlink": {unix.AF_NETLINK, unix.SOCK_RAW, 0}, "raw": {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
		"packet": {unix.AF_PACKET, unix.SOCK_RAW, 0},
	} {
		fd, err := unix.Socket(s[0], s[1], s[2])
		if err == nil {
			_ = unix.Close(fd)
		}
		report(name, err)
	}
	report("signal", unix.Kill(os.Getppid(), 0))
	report("trace", unix.PtraceAttach(os.Getppid()))
	report("verify", Verify())
	return reportPossessions()
}

// reportPossessions prints what was inherited through exec.
func reportPossessions() error {
	names := []string{}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Println("environment:", strings.Join(names, " "))
	fmt.Println("id:", os.Getpid())
	var open []string
	for fd := range 50 {
		var st unix.Stat_t
		// What Go has opened for itself is closed on exec; what was inherited is not.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 &&
			unix.Fstat(fd, &st) == nil {
			open = append(open, fmt.Sprint(fd))
		}
	}
	fmt.Println("open:", strings.Join(open, " "))
	return nil
}

func dial(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	return c.Close()
}

// serveInside serves the inherited listener, until it is told to end.
func serveInside() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		fmt.Fprintln(w, "from inside")
	})}
	go func() { _ = server.Serve(l) }()
	<-ctx.Done()
	_ = server.Close()
	os.Exit(7) //nolint:gocritic // nothing is left to end
	return nil
}

// needWhole skips the test if the kernel cannot enforce everything.
func needWhole(t *testing.T) {
	t.Helper()
	sandboxtest.Need(t, Missing())
}

func entering(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("CANARY"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), stage+"=enter", canary+"=x", "FORBIDDEN="+outside, "WRITABLE="+t.TempDir())
	// A file that this process would leak to the next program.
	leak, err := os.Open(outside)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leak.Close() })
	cmd.ExtraFiles = []*os.File{leak, leak, leak}
	return cmd
}

func TestInside(t *testing.T) {
	t.Parallel()
	needWhole(t)
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()
	cmd := entering(t)
	cmd.Env = append(cmd.Env, "PEER="+peer.Addr().String())
	compare(t, cmd, map[string]string{
		"own": "allowed", "meminfo": "allowed", "libraries": "allowed", "verify": "allowed",
		"environment": "FORBIDDEN PEER SANDBOX_TEST_STAGE WRITABLE", "open": "0 1 2 3",
	})
}

// compare runs the trials and compares their outcomes: whatever want does not name must be refused.
func compare(t *testing.T, cmd *exec.Cmd, want map[string]string) {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want["id"] = fmt.Sprint(cmd.Process.Pid)
	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		what, verdict, _ := strings.Cut(strings.TrimSpace(line), ": ")
		got[what] = verdict
	}
	for what := range got {
		if want[what] == "" {
			want[what] = "refused"
		}
	}
	if len(got) < 30 {
		t.Errorf("only %d trials: %s", len(got), out)
	}
	for what, verdict := range want {
		if got[what] != verdict {
			t.Errorf("%s: %s, want %s", what, got[what], verdict)
		}
	}
}

// A server enters with its listener and its process id, and receives signals there.
func TestServeInside(t *testing.T) {
	t.Parallel()
	cmd := entering(t, "serve")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 5 * time.Minute} // it may be a slow machine
	resp, err := client.Get("http://" + strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "from inside\n" {
		t.Errorf("%s", body)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("%v", err)
	}
}

// Outside the sandbox, Verify fails.
func TestVerifyOutside(t *testing.T) {
	t.Parallel()
	needWhole(t)
	if err := Verify(); !errors.Is(err, ErrNotEnforced) {
		t.Errorf("got %v", err)
	}
}

// A policy that cannot be enforced fails before anything is executed.
func TestBecomeFails(t *testing.T) {
	t.Parallel()
	needWhole(t)
	err := Policy{Write: []string{"/does/not/exist"}}.Become([]string{"x"})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
