package engine_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-faster/city"
	"github.com/klauspost/compress/zstd"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/enginetest"
)

// frame returns a compressed frame of the native protocol whose header says that it unpacks to `unpacked` bytes.
func frame(method byte, packed []byte, unpacked uint32) []byte {
	f := make([]byte, 25, 25+len(packed))
	f[16] = method
	binary.LittleEndian.PutUint32(f[17:], uint32(len(packed)+9))
	binary.LittleEndian.PutUint32(f[21:], unpacked)
	f = append(f, packed...)
	sum := city.CH128(f[16:])
	binary.LittleEndian.PutUint64(f, sum.Low)
	binary.LittleEndian.PutUint64(f[8:], sum.High)
	return f
}

// TestFramesThatUnpackToMuch: a few kilobytes do not make the process allocate hundreds of megabytes. It is not
// parallel to others, because it measures what the process allocates.
func TestFramesThatUnpackToMuch(t *testing.T) {
	srv := openDoor(t, contract.HandlerOptions{AllowWrites: true})
	w, err := zstd.NewWriter(nil)
	must(t, err)
	bomb, text := w.EncodeAll(make([]byte, 400<<20), nil), []byte("SELECT 17")
	decompress := url.Values{"decompress": {"1"}}
	insert := url.Values{"decompress": {"1"}, "query": {"INSERT INTO nowhere FORMAT RowBinary"}}
	for name, c := range map[string]struct {
		v      url.Values
		frame  []byte
		answer string
	}{
		"ZSTD that says little":       {decompress, frame(0x90, bomb, 1000), "does not have the size that it says"},
		"ZSTD that says little, data": {insert, frame(0x90, bomb, 1000), "does not have the size that it says"},
		"ZSTD that says much":         {decompress, frame(0x90, bomb, 120<<20), "has more than 16 MiB"},
		"LZ4 that says much":          {insert, frame(0x82, bomb, 120<<20), "has more than 16 MiB"},
		"a size below its header's":   {decompress, append(make([]byte, 16), 0x82, 1, 0, 0, 0, 9, 0, 0, 0), "is broken"},
		"ZSTD":                        {decompress, frame(0x90, w.EncodeAll(text, nil), uint32(len(text))), "17\n"},
		"nothing packed":              {decompress, frame(0x02, text, uint32(len(text))), "17\n"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, body, _ := ask(t, srv, http.MethodPost, string(c.frame), c.v, nil)
		runtime.ReadMemStats(&after)
		if !strings.Contains(body, c.answer) {
			t.Errorf("%s: %.200s", name, body)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 100 {
			t.Errorf("%s: it took %d MiB", name, took)
		}
	}
}

// TestLongTextsHavePlaces: a client that sends much and slowly keeps its place only while nobody else waits for one. A
// client that sends little needs none.
func TestLongTextsHavePlaces(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{MaxQueries: 2, Grace: time.Hour})
	cut := make(chan struct{}, 4)
	for range cap(cut) {
		c, err := new(net.Dialer).DialContext(context.Background(), "tcp", strings.TrimPrefix(srv.URL, "http://"))
		must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n%s",
			strings.Repeat(" ", 100_000))
		must(t, err)
		go func() {
			_, _ = io.Copy(io.Discard, c)
			cut <- struct{}{}
		}()
	}
	if status, body, _ := ask(t, srv, http.MethodPost, "SELECT 1", nil, nil); status != http.StatusOK {
		t.Errorf("a small query: %d %s", status, body)
	}
	losesItsPlace := func() {
		t.Helper()
		select {
		case <-cut:
		case <-time.After(patience):
			t.Fatal("a slow client keeps its place")
		}
	}
	for range 2 { // two of the four: those that had a place while the others waited for one
		losesItsPlace()
	}
	// Nobody waits behind this one, so the machine may send it as slowly as it likes.
	if status, body, _ := ask(t, srv, http.MethodPost, "SELECT 2 -- "+strings.Repeat("x", 100_000), nil,
		nil); status != http.StatusOK {
		t.Errorf("a long query: %d %s", status, body)
	}
	losesItsPlace()
}

// TestLongStatements: a text that is too long for the engine's parser is not even split into words. A list that is
// just short enough is judged.
func TestLongStatements(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{})
	for _, sql := range []string{"SELECT '" + strings.Repeat("x", 300<<10) + "'",
		strings.Repeat("\n", 300<<10) + "SELECT 1"} {
		if status, body, _ := ask(t, srv, http.MethodPost, sql, nil, nil); status != http.StatusBadRequest ||
			!strings.Contains(body, "256 KiB") {
			t.Errorf("%d %.200s", status, body)
		}
	}
	list := "SELECT 1 IN (" + strings.Repeat("7, ", 80_000) + "1)"
	if status, body, _ := ask(t, srv, http.MethodPost, list, nil, nil); status != http.StatusOK || body != "1\n" {
		t.Errorf("%d %.200s", status, body)
	}
}
