package library

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dealhouse/internal/chdb/contract"
)

// The test binary also runs as its own child processes, which get the library.
const childDir = "LIBRARY_TEST_DIR"

func TestMain(m *testing.M) {
	if os.Getenv(childDir) == "" {
		os.Exit(m.Run())
	}
	if err := childAcquire(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const testPlatform = "plan9/pdp11"

// tarball returns a package like npm's, with a library that has the given content.
func tarball(t testing.TB, content string) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for name, text := range map[string]string{"package/package.json": "{}", "package/" + libraryFile: content} {
		must(t, tw.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}))
		_, err := tw.Write([]byte(text))
		must(t, err)
	}
	must(t, tw.Close())
	must(t, zw.Close())
	return buf.Bytes()
}

func integrity(b []byte) string {
	sum := sha512.Sum512(b)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func testAcquirer(cache, hash, library string, pack packFunc) acquirer {
	return acquirer{
		platform: testPlatform,
		releases: map[string]release{testPlatform: {pkg: "@test/lib", integrity: hash, library: integrity([]byte(library)),
			size: 400}},
		cacheDir: cache,
		pack:     pack,
		log:      slog.New(slog.DiscardHandler),
	}
}

// packer returns a packFunc that "downloads" b.
func packer(b []byte) packFunc {
	return func(_ context.Context, dir, _ string, came func(int64)) (string, error) {
		path := filepath.Join(dir, "lib.tgz")
		for share := range int64(4) {
			came(int64(len(b)) * share / 4)
		}
		came(int64(len(b)) / 2) // less than before: npm's temporary file is gone
		return path, os.WriteFile(path, b, 0o600)
	}
}

func TestAcquireDownloadsOnce(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	killed := filepath.Join(cache, contract.Version, downloadPrefix+"1", "lib.tgz")
	must(t, os.MkdirAll(filepath.Dir(killed), 0o700))
	must(t, os.WriteFile(killed, nil, 0o600))
	b := tarball(t, "the library")
	var logged bytes.Buffer
	a := testAcquirer(cache, integrity(b), "the library", packer(b))
	a.log = slog.New(slog.NewTextHandler(&logged, nil))
	a.releases[testPlatform] = release{pkg: "@test/lib", integrity: integrity(b),
		library: integrity([]byte("the library")), size: int64(len(b))}
	var percents []int
	a.progress = func(percent int) { percents = append(percents, percent) }
	path, err := a.path(context.Background())
	must(t, err)
	if len(percents) < 5 || percents[0] != 0 || percents[len(percents)-1] != 100 || !slices.IsSorted(percents) {
		t.Errorf("told were %v %%", percents)
	}
	percents = nil
	got, err := os.ReadFile(path)
	must(t, err)
	if string(got) != "the library" || path != filepath.Join(cache, contract.Version, libraryFile) {
		t.Errorf("%s has %q", path, got)
	}
	if !strings.Contains(logged.String(), "downloading the ClickHouse engine, 178 MB, once") {
		t.Errorf("log: %s", logged.String())
	}
	for platform, rel := range releases {
		if size := fmt.Sprintf("%.0f MB", float64(rel.size)/1e6); size != contract.DownloadSize {
			t.Errorf("%s are downloaded for %s, and %s are told", size, platform, contract.DownloadSize)
		}
	}
	a.pack = func(context.Context, string, string, func(int64)) (string, error) {
		return "", errors.New("a second download")
	}
	again, err := a.path(context.Background())
	must(t, err)
	if again != path {
		t.Errorf("got %s", again)
	}
	if len(percents) > 0 {
		t.Errorf("nothing is downloaded, and told were %v %%", percents)
	}
	left, err := filepath.Glob(filepath.Join(cache, contract.Version, "download-*"))
	must(t, err)
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAcquireErrors(t *testing.T) {
	t.Parallel()
	good := tarball(t, "the library")
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	hash := integrity(good)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		change func(*acquirer)
		want   error
		says   string
	}{
		{"corrupt", nil, func(a *acquirer) { a.pack = packer(bad) }, contract.ErrCorrupt, "registry"},
		{"truncated", nil, func(a *acquirer) { a.pack = packer(good[:100]) }, contract.ErrCorrupt, contract.EnvLibrary},
		{"cancelled", cancelled, func(a *acquirer) { a.pack = packer(good) }, context.Canceled, ""},
		{"no npm", nil, func(a *acquirer) {
			a.pack = func(context.Context, string, string, func(int64)) (string, error) { return "", contract.ErrNoNPM }
		}, contract.ErrNoNPM, "install Node.js"},
		{"other platform", nil, func(a *acquirer) { a.platform = "darwin/arm64" }, contract.ErrNoVerifiedLibrary,
			"warehouse.dsn"},
		{"named file missing", nil, func(a *acquirer) { a.library = "/nonexistent/lib.so" }, os.ErrNotExist,
			contract.EnvLibrary},
		{"named file a directory", nil, func(a *acquirer) { a.library = os.TempDir() }, nil, "is not a file"},
		{"no library inside", nil, func(a *acquirer) {
			b := []byte("not even gzip")
			a.pack = packer(b)
			a.releases = map[string]release{testPlatform: {integrity: integrity(b)}}
		}, gzip.ErrHeader, "unpack"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			a := testAcquirer(cache, hash, "the library", nil)
			c.change(&a)
			ctx := c.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			_, err := a.path(ctx)
			var le *contract.LibraryError
			if !errors.As(err, &le) {
				t.Fatalf("got %v", err)
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
			if _, err := os.Stat(filepath.Join(cache, contract.Version, libraryFile)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a library is in the cache: %v", err)
			}
		})
	}
}

// unheard ignores how far a download is.
func unheard(int64) {}

func TestNPMMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := npmPack(context.Background(), t.TempDir(), "@test/lib", unheard); !errors.Is(err, contract.ErrNoNPM) {
		t.Fatalf("got %v", err)
	}
}

// TestNPMPack runs a script in place of npm: what it prints when it fails must reach the user, and a run
// must end with its context.
func TestNPMPack(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	script := func(text string) {
		must(t, os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	}
	script(`case "$*" in *"@test/lib@` + contract.Version + `") echo x > test-lib.tgz;; *) exit 9;; esac`)
	dir := t.TempDir()
	path, err := npmPack(context.Background(), dir, "@test/lib", unheard)
	must(t, err)
	if path != filepath.Join(dir, "test-lib.tgz") {
		t.Errorf("got %s", path)
	}
	script(`echo "E404 no such package" >&2; exit 1`)
	if _, err := npmPack(context.Background(), t.TempDir(), "@test/lib", unheard); err == nil ||
		!strings.Contains(err.Error(), "E404") {
		t.Errorf("got %v", err)
	}
	script(`exec sleep 60`)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := npmPack(ctx, t.TempDir(), "@test/lib", unheard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestNPMFails runs npm itself against a registry that is not there: the error has the line of its output that matters,
// and nothing of its stack.
func TestNPMFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("npm is not on this machine")
	}
	t.Setenv("npm_config_registry", "http://127.0.0.1:1/")
	t.Setenv("npm_config_fetch_retries", "0")
	t.Setenv("npm_config_cache", t.TempDir())
	_, err := npmPack(context.Background(), t.TempDir(), "@test/lib", unheard)
	if err == nil || !strings.Contains(err.Error(), "connect ECONNREFUSED 127.0.0.1:1") {
		t.Fatalf("got %v", err)
	}
	if text := err.Error(); len(text) > 300 || strings.ContainsAny(text, "\n{") || strings.Contains(text, "node_modules") {
		t.Errorf("it has more than matters: %s", text)
	}
}

// TestReason takes what matters from outputs of several versions of npm.
func TestReason(t *testing.T) {
	for output, want := range map[string]string{
		"npm error code ETARGET\nnpm error notarget No matching version found for x@9.\nnpm error notarget In most cases":                                                  "notarget No matching version found for x@9.",
		"npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://r/x\nnpm ERR! 404 \n":                                                                                    "404 Not Found - GET https://r/x",
		"npm error code EACCES\nnpm error syscall mkdir\nnpm error path /x/.npm\nnpm error errno EACCES\nnpm error\nnpm error Your cache folder contains root-owned files": "/x/.npm: Your cache folder contains root-owned files",
		"npm notice\nno such thing\n\n": "no such thing",
		"":                              "",
		strings.Repeat("é", 200):        strings.Repeat("é", 150) + "...",
	} {
		if got := reason(output); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}

// TestNPMTellsHowFarItIs: the bytes that arrive in npm's cache are reported while they arrive.
// Older files do not count.
func TestNPMTellsHowFarItIs(t *testing.T) {
	bin, cache, seen := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "seen")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	tmp := filepath.Join(cache, "_cacache", "tmp")
	must(t, os.MkdirAll(tmp, 0o700))
	must(t, os.WriteFile(filepath.Join(tmp, "old"), make([]byte, 5000), 0o600))
	must(t, os.Chtimes(filepath.Join(tmp, "old"), time.Time{}, time.Now().Add(-time.Hour)))
	must(t, os.WriteFile(filepath.Join(bin, "npm"), []byte(`#!/bin/sh
case "$1" in
config) echo "`+cache+`";;
*) printf 1234567 > "`+tmp+`/part"; until [ -e "`+seen+`" ]; do sleep 0.02; done; echo x > test-lib.tgz;;
esac
`), 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var most int64
	_, err := npmPack(ctx, t.TempDir(), "@test/lib", func(bytes int64) {
		if most = max(most, bytes); most >= 7 {
			_ = os.WriteFile(seen, nil, 0o600)
		}
	})
	must(t, err)
	if most != 7 {
		t.Errorf("%d bytes have come", most)
	}
}

// childAcquire gets the library with a packFunc that leaves a mark for each download.
func childAcquire() error {
	dir := os.Getenv(childDir)
	b, err := os.ReadFile(filepath.Join(dir, "source.tgz"))
	if err != nil {
		return err
	}
	path, err := testAcquirer(filepath.Join(dir, "cache"), integrity(b), strings.Repeat("x", 1<<20),
		func(ctx context.Context, tmp, pkg string, came func(int64)) (string, error) {
			mark, err := os.CreateTemp(dir, "mark-")
			if err != nil {
				return "", err
			}
			_ = mark.Close()
			return packer(b)(ctx, tmp, pkg, came)
		}).path(context.Background())
	if err != nil {
		return err
	}
	got, err := os.ReadFile(path)
	if err == nil && len(got) != 1<<20 {
		err = fmt.Errorf("the library has %d bytes", len(got))
	}
	return err
}

func TestAcquireFromSeveralProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "source.tgz"), tarball(t, strings.Repeat("x", 1<<20)), 0o600))
	var wg sync.WaitGroup
	for range 6 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	marks, err := filepath.Glob(filepath.Join(dir, "mark-*"))
	must(t, err)
	if len(marks) != 1 {
		t.Errorf("%d downloads", len(marks))
	}
}

func TestNamedLibraryWins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.so")
	must(t, os.WriteFile(file, nil, 0o600))
	t.Setenv(contract.EnvLibrary, file)
	got, err := newAcquirer(contract.Options{}).path(context.Background())
	must(t, err)
	if got != file {
		t.Errorf("got %s", got)
	}
	t.Setenv(contract.EnvLibrary, file+".missing")
	if _, err := newAcquirer(contract.Options{}).path(context.Background()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
