package engine_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/enginetest"
)

// The test binary also runs as its own child processes.
const (
	childRole = "CHDB_TEST_CHILD"
	childDir  = "CHDB_TEST_DIR"
	childLib  = "CHDB_TEST_LIB"
	// childInside says that the process should be in the sandbox.
	childInside = "CHDB_TEST_INSIDE"
)

// batchRows is what the writing child puts into each batch.
const batchRows = 5000

func runChild(role string) int {
	var err error
	switch role {
	case "open":
		err = childOpen()
	case "write":
		err = childWrite()
	case "count":
		err = childCount()
	case "close":
		err = childClose()
	case "confined":
		err = childConfined()
	case "unguarded":
		err = childUnguarded()
	case "limits":
		err = childLimits()
	case "memory":
		err = childMemory()
	case "crowd":
		err = childCrowd()
	case "answers":
		err = childAnswers()
	default:
		err = errors.New("no such role")
	}
	if err != nil {
		fmt.Println("error:", err)
		if errors.Is(err, contract.ErrLocked) {
			return 3
		}
		return 1
	}
	return 0
}

func child(t *testing.T, role string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, childRole+"="+role, childLib+"="+engine.LibraryPath())...)
	return cmd
}

func openChild() (*house, error) {
	return openHouse(context.Background(), contract.Options{Dir: os.Getenv(childDir), Library: os.Getenv(childLib)})
}

func childOpen() error {
	e, err := openChild()
	if err != nil {
		return err
	}
	return e.Close()
}

// childWrite inserts batches without end and prints which of them are acknowledged.
func childWrite() error {
	e, err := openChild()
	if err != nil {
		return err
	}
	db, err := clickhouse.Open(e.ClickHouseOptions(""))
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := db.Exec(ctx, "CREATE TABLE IF NOT EXISTS w (batch UInt64, i UInt64) ENGINE = MergeTree ORDER BY (batch, i)"); err != nil {
		return err
	}
	for n := uint64(0); ; n++ {
		b, err := db.PrepareBatch(ctx, "INSERT INTO w (batch, i)")
		if err != nil {
			return err
		}
		for i := range uint64(batchRows) {
			if err := b.Append(n, i); err != nil {
				return err
			}
		}
		if err := b.Send(); err != nil {
			return err
		}
		fmt.Println("acked", n)
	}
}

// childCount prints the batches that are in the table, and whether any is partial.
func childCount() error {
	e, err := openChild()
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	db, err := clickhouse.Open(e.ClickHouseOptions(""))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query(context.Background(), "SELECT batch, count() FROM w GROUP BY batch ORDER BY batch")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var batch, n uint64
		if err := rows.Scan(&batch, &n); err != nil {
			return err
		}
		fmt.Println("batch", batch, n)
	}
	return rows.Err()
}

// childClose closes an engine that is busy: a result that nobody reads any further, a running query and an insert that
// waits for its data all end.
func childClose() error {
	e, err := openChild()
	if err != nil {
		return err
	}
	send := func(sql string, body io.Reader) (*http.Response, error) {
		req, err := http.NewRequest(http.MethodPost, "http://embedded/?query="+url.QueryEscape(sql), body)
		if err != nil {
			return nil, err
		}
		return e.RoundTrip(req)
	}
	if _, err := send("CREATE TABLE c (a String) ENGINE = Memory", nil); err != nil {
		return err
	}
	resp, err := send("SELECT number FROM system.numbers", nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() {
		_, err := send("SELECT sum(sipHash64(number)) FROM numbers(1000000000000)", nil)
		ended <- err
	}()
	pr, pw := io.Pipe()
	go func() {
		_, err := send("INSERT INTO c FORMAT TSV", pr)
		ended <- err
	}()
	if _, err := pw.Write([]byte("x\n")); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	for range cap(ended) {
		if err := <-ended; !errors.Is(err, contract.ErrClosed) {
			return fmt.Errorf("a request ended with %w", err)
		}
	}
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		return errors.New("the result looks complete")
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	// The directory is free again, for the same process too.
	again, err := openChild()
	if err != nil {
		return err
	}
	return again.Close()
}

func TestCloseEndsEverything(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	if out, err := child(t, "close", childDir+"="+t.TempDir()).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestLockedByAnotherProcess(t *testing.T) {
	t.Parallel()
	out, err := child(t, "open", childDir+"="+shared.Dir()).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("got %v: %s", err, out)
	}
	if !strings.Contains(string(out), "stop the other dealhouse") {
		t.Errorf("the message does not say what to do: %s", out)
	}
}

// A process that comes while another one starts leaves the configuration alone, which is the other's: otherwise that
// engine would have the limits of this one.
func TestLockedBeforeItStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := os.Create(filepath.Join(dir, "dealhouse.lock"))
	must(t, err)
	defer func() { _ = lock.Close() }()
	must(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	out, err := child(t, "limits", childDir+"="+dir).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "engine")); err == nil {
		t.Errorf("it has written %v", left)
	}
}

func TestSIGKILLWhileInserting(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	dir := t.TempDir()
	cmd := child(t, "write", childDir+"="+dir)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	acked := -1
	// The kill comes right after an acknowledgement, in the middle of the next batch. Everything that can still be
	// read from the pipe counts.
	for sc := bufio.NewScanner(stdout); sc.Scan(); {
		n, ok := strings.CutPrefix(sc.Text(), "acked ")
		if !ok {
			t.Errorf("the child says: %s", sc.Text())
			continue
		}
		acked, err = strconv.Atoi(n)
		must(t, err)
		if acked == 20 {
			must(t, cmd.Process.Kill())
		}
	}
	_ = cmd.Wait()
	if acked < 20 {
		t.Fatalf("only %d batches were acknowledged", acked+1)
	}
	out, err := child(t, "count", childDir+"="+dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	batches := 0
	for line := range strings.Lines(string(out)) {
		var batch, n int
		if _, err := fmt.Sscanf(line, "batch %d %d", &batch, &n); err != nil {
			t.Fatalf("unexpected line %q", line)
		}
		if batch != batches || n != batchRows {
			t.Errorf("batch %d has %d rows, expected batch %d with %d", batch, n, batches, batchRows)
		}
		batches++
	}
	if batches <= acked {
		t.Errorf("%d batches are there, %d were acknowledged", batches, acked+1)
	}
}

func TestOneEnginePerProcess(t *testing.T) {
	t.Parallel()
	other := t.TempDir()
	_, err := openHouse(context.Background(), contract.Options{Dir: other})
	var od *contract.OtherDirError
	if !errors.As(err, &od) || od.Open != shared.Dir() {
		t.Fatalf("got %v", err)
	}
	// The same directory by another name is the same engine.
	link := filepath.Join(other, "link")
	must(t, os.Symlink(shared.Dir(), link))
	e, err := openHouse(context.Background(), contract.Options{Dir: link})
	must(t, err)
	if !engine.Same(e.Engine, shared.Engine) {
		t.Error("a second engine on the same directory")
	}
	db, err := clickhouse.Open(e.ClickHouseOptions(""))
	must(t, err)
	defer func() { _ = db.Close() }()
	must(t, db.Ping(context.Background()))
	must(t, e.Close())
	must(t, e.Close())
	if err := db.Ping(context.Background()); !errors.Is(err, contract.ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
	if got := cell(t, connect(t), "SELECT 1"); got != "1" {
		t.Error("the other handle's Close reached the shared engine")
	}
}
