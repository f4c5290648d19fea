package library

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb/contract"
)

const (
	libraryFile = "libchdb.so"
	hintInstall = "set " + contract.EnvLibrary +
		" to a libchdb.so, or set warehouse.dsn to a clickhouse:// or https:// server"
)

// downloadPrefix is the beginning of the names of the folders in which downloads work.
const downloadPrefix = "download-"

// maxLibrary bounds the bytes that are unpacked; the real file has 566 MB.
const maxLibrary = 2 << 30

// release is one published build of the library.
type release struct {
	pkg       string // npm package
	integrity string // base64 of the tarball's SHA-512
	library   string // base64 of the SHA-512 of the library in it
	size      int64  // bytes of the tarball
}

// releases are the builds whose hash has been verified, by GOOS/GOARCH. Other builds are published too, but a build
// that has not been verified is not loaded (chdb-9).
var releases = map[string]release{
	"linux/amd64": {
		pkg:       "@chdb/lib-linux-x64-gnu",
		integrity: "XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
		library:   "Cl5q9c9XA0EW00o5SAmJoWDdEF83LYWqdI+NKwpevVKpDZE3N9euhvb1l9N/4G06TSISXBPFqpYdkaqT0DR1Hg==",
		size:      177817999,
	},
}

// packFunc downloads the tarball of an npm package into dir and returns its path. Meanwhile it reports how
// many bytes have arrived.
type packFunc func(ctx context.Context, dir, pkg string, came func(bytes int64)) (string, error)

// acquirer finds the library or downloads it.
type acquirer struct {
	platform string // GOOS/GOARCH
	releases map[string]release
	library  string // a file the operator named
	cacheDir string
	pack     packFunc // npmPack, except in tests
	log      *slog.Logger
	progress func(percent int)
	looks    bool // it only looks: errAbsent instead of a download
}

// errAbsent says that the library is not on this machine.
var errAbsent = errors.New("the library is not on this machine")

func newAcquirer(o contract.Options) acquirer {
	a := acquirer{
		platform: runtime.GOOS + "/" + runtime.GOARCH,
		releases: releases,
		library:  o.Library,
		cacheDir: o.CacheDir,
		pack:     npmPack,
		log:      o.Logger,
		progress: o.Downloading,
	}
	if a.library == "" {
		a.library = os.Getenv(contract.EnvLibrary)
	}
	return a
}

// Find returns the path of the library that o asks for, downloading it first if need be. Errors are
// [*contract.LibraryError].
func Find(ctx context.Context, o contract.Options) (string, error) { return newAcquirer(o).path(ctx) }

// Present reports whether the library that o asks for is on this machine. It downloads nothing. If the library is there
// but cannot be used, for example because it is incomplete, that is an error.
func Present(ctx context.Context, o contract.Options) (bool, error) {
	a := newAcquirer(o)
	a.looks = true
	_, err := a.path(ctx)
	if errors.Is(err, errAbsent) {
		return false, nil
	}
	return err == nil, err
}

// path returns the library's path, downloading it first if need be.
func (a acquirer) path(ctx context.Context) (string, error) {
	if a.library != "" {
		return a.named()
	}
	rel, ok := a.releases[a.platform]
	if !ok {
		return "", &contract.LibraryError{Op: "find a library for " + a.platform, Hint: hintInstall,
			Err: contract.ErrNoVerifiedLibrary}
	}
	if a.cacheDir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", &contract.LibraryError{Op: "find the cache directory",
				Hint: "set HOME or XDG_CACHE_HOME, or " + hintInstall, Err: err, Setting: true}
		}
		a.cacheDir = filepath.Join(base, "dealhouse", "chdb")
	}
	dir := filepath.Join(a.cacheDir, contract.Version)
	target := filepath.Join(dir, libraryFile)
	if regularFile(target) == nil {
		return target, a.verifyCached(ctx, rel, target)
	}
	if a.looks {
		return "", errAbsent
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", uncached("make the cache directory", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return "", uncached("lock the cache directory", err)
	}
	defer unlock()
	// Another process may have finished while this one waited.
	if regularFile(target) == nil {
		return target, a.verifyCached(ctx, rel, target)
	}
	if err := removeLeftovers(dir); err != nil {
		return "", &contract.LibraryError{Op: "remove what a broken download left", Hint: hintInstall, Err: err}
	}
	if err := a.download(ctx, rel, dir, target); err != nil {
		return "", err
	}
	return target, a.verifyCached(ctx, rel, target)
}

// uncached makes the error for a cache directory that cannot be used.
func uncached(op string, err error) error {
	e := &contract.LibraryError{Op: op, Hint: hintInstall, Err: err}
	if contract.IsLasting(err) {
		e.Setting, e.Hint = true, "set XDG_CACHE_HOME to a folder that the user of this command can write to, or "+hintInstall
	}
	return e
}

// named returns the path of the file that the operator named. Nobody knows its hash, so the only check is that nobody
// else can have changed it.
func (a acquirer) named() (string, error) {
	path, err := TrueName(a.library)
	if err == nil {
		err = regularFile(path)
	}
	if err != nil {
		return "", &contract.LibraryError{Op: "use the named library", Hint: "correct or unset " + contract.EnvLibrary,
			Err: err, Setting: true}
	}
	if err := onlyOurs(path, filepath.Dir(path)); err != nil {
		return "", &contract.LibraryError{Op: "use the named library", Hint: hintOwner, Err: err, Setting: true}
	}
	return path, nil
}

// TrueName returns the absolute path of a file, without symbolic links.
func TrueName(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// removeLeftovers removes the folders of downloads that were killed, up to a gigabyte each. The caller holds the lock,
// so no other process uses any of them.
func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), downloadPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// download fetches, verifies and unpacks the library. The target appears by a
// rename, so that it is complete or absent (chdb-9).
func (a acquirer) download(ctx context.Context, rel release, dir, target string) error {
	a.log.Info("downloading the ClickHouse engine, "+contract.DownloadSize+", once", "package", rel.pkg, "version",
		contract.Version, "to", dir)
	begin := time.Now()
	p := &progress{size: rel.size, tell: a.progress}
	p.downloaded(0)
	tmp, err := os.MkdirTemp(dir, downloadPrefix)
	if err != nil {
		return uncached("make a temporary directory", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()

	tarball, err := a.pack(ctx, tmp, rel.pkg, p.downloaded)
	if err != nil {
		if errors.Is(err, contract.ErrNoNPM) {
			return &contract.LibraryError{Op: "download the library", Hint: "install Node.js with npm, or " + hintInstall,
				Err: err}
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return &contract.LibraryError{Op: "download the library", Hint: "check npm's registry and network, or " + hintInstall,
			Err: err}
	}
	if err := verify(ctx, tarball, rel.integrity); err != nil {
		return &contract.LibraryError{Op: "verify the download",
			Hint: "check the registry that npm is configured for, or " + hintInstall, Err: err}
	}
	unpacked := filepath.Join(tmp, libraryFile)
	if err := unpack(ctx, tarball, unpacked, p.unpacked); err != nil {
		return &contract.LibraryError{Op: "unpack the library", Hint: "check for free space in " + dir + " (1 GB)", Err: err}
	}
	if err := os.Rename(unpacked, target); err != nil {
		return &contract.LibraryError{Op: "move the library into place", Hint: hintInstall, Err: err}
	}
	p.unpacked(rel.size)
	a.log.Info("the ClickHouse engine is ready", "path", target, "took", time.Since(begin).Round(time.Millisecond))
	return nil
}

// verify compares a file's SHA-512 with the pinned one.
func verify(ctx context.Context, path, want string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha512.New()
	if _, err := io.Copy(h, ctxReader{ctx, f}); err != nil {
		return err
	}
	if got := base64.StdEncoding.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%w: got sha512-%s, want sha512-%s", contract.ErrCorrupt, got, want)
	}
	return nil
}

// unpack copies the library out of the tarball to dst and syncs it. Meanwhile it reports how many bytes of
// the tarball it has read.
func unpack(ctx context.Context, tarball, dst string, read func(bytes int64)) error {
	f, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	zr, err := gzip.NewReader(&counter{r: ctxReader{ctx, f}, count: read})
	if err != nil {
		return err
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("package/%s is not in the package", libraryFile)
		}
		if err != nil {
			return err
		}
		if h.Name == "package/"+libraryFile && h.Typeflag == tar.TypeReg {
			return writeSynced(dst, io.LimitReader(tr, maxLibrary))
		}
	}
}

func writeSynced(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700) //nolint:gosec // G302: a shared library is mapped as code; nobody but its owner has access
	if err != nil {
		return err
	}
	if _, err := io.CopyBuffer(f, r, make([]byte, 1<<20)); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// lockFile takes an exclusive lock, which the kernel drops when the process
// ends, however it ends.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// Polling, since a blocking flock cannot be interrupted by a context.
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, err
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

func regularFile(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	return nil
}

// ctxReader fails as soon as its context has ended.
type ctxReader struct {
	ctx context.Context //nolint:containedctx // io.Reader's Read takes none; the reader lives within one call
	r   io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
