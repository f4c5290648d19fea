package library

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dealhouse/internal/chdb/contract"
)

// cachedLibrary returns a cache with a library that was verified, and the acquirer that verified it.
func cachedLibrary(t *testing.T) (a acquirer, path string, log *bytes.Buffer) {
	t.Helper()
	cache := filepath.Join(t.TempDir(), "dealhouse", "chdb")
	log = &bytes.Buffer{}
	b := tarball(t, "the library")
	a = testAcquirer(cache, integrity(b), "the library", packer(b))
	a.log = slog.New(slog.NewTextHandler(log, nil))
	path, err := a.path(context.Background())
	must(t, err)
	return a, path, log
}

// The library is hashed once, and again if its record is gone.
func TestCachedLibraryIsHashedOnce(t *testing.T) {
	t.Parallel()
	a, path, log := cachedLibrary(t)
	hashed := func() int { return strings.Count(log.String(), "has the expected hash") }
	for range 3 {
		_, err := a.path(context.Background())
		must(t, err)
	}
	if hashed() != 1 {
		t.Errorf("it was hashed %d times", hashed())
	}
	// A cache that was filled before there were records.
	must(t, os.Remove(filepath.Join(filepath.Dir(path), recordFile)))
	_, err := a.path(context.Background())
	must(t, err)
	if hashed() != 2 {
		t.Errorf("without a record it was hashed %d times", hashed())
	}
}

// A cached library that was changed, in whatever way, is not loaded.
func TestChangedLibraryIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, path string){
		"written in place, with its old times": func(t *testing.T, path string) {
			t.Helper()
			st, err := os.Stat(path)
			must(t, err)
			must(t, os.WriteFile(path, []byte("THE LIBRARY"), 0o700))
			must(t, os.Chtimes(path, st.ModTime(), st.ModTime()))
		},
		"exchanged, with its old times": func(t *testing.T, path string) {
			t.Helper()
			st, err := os.Stat(path)
			must(t, err)
			must(t, os.WriteFile(path+"2", []byte("THE LIBRARY"), 0o700))
			must(t, os.Chtimes(path+"2", st.ModTime(), st.ModTime()))
			must(t, os.Rename(path+"2", path))
		},
		"cut off": func(t *testing.T, path string) { t.Helper(); must(t, os.Truncate(path, 3)) },
		"a record that others may write": func(t *testing.T, path string) {
			t.Helper()
			must(t, os.WriteFile(path, []byte("THE LIBRARY"), 0o700))
			identity, err := fileIdentity(path)
			must(t, err)
			record := filepath.Join(filepath.Dir(path), recordFile)
			must(t, os.WriteFile(record, []byte("sha512-"+integrity([]byte("the library"))+" "+identity+"\n"), 0o600))
			must(t, os.Chmod(record, 0o622))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, path, _ := cachedLibrary(t)
			change(t, path)
			_, err := a.path(context.Background())
			var le *contract.LibraryError
			if !errors.Is(err, contract.ErrCorrupt) || !errors.As(err, &le) || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "remove it") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A library that somebody else can write to is not loaded, even if its hash is right: it may change at the next moment.
func TestLibraryOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	chmod := func(mode os.FileMode) func(*testing.T, string) {
		return func(t *testing.T, path string) { t.Helper(); must(t, os.Chmod(path, mode)) }
	}
	folder := func(levels int, change func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			for range levels {
				path = filepath.Dir(path)
			}
			change(t, path)
		}
	}
	stranger := func(t *testing.T, path string) {
		t.Helper()
		if os.Geteuid() != 0 {
			if os.Getenv("CI") != "" {
				t.Fatal("only root can give files away: CI has to run as root, or this is not tested at all")
			}
			t.Skip("only root can give files away")
		}
		must(t, os.Lchown(path, 12345, -1))
	}
	for _, c := range []struct {
		name   string
		change func(*testing.T, string)
		ok     bool
	}{
		{"its group may write", chmod(0o720), false},
		{"everyone may write", chmod(0o702), false},
		{"everyone may read", chmod(0o755), true},
		{"it is another's", stranger, false},
		{"its folder is everyone's", folder(1, chmod(0o777)), false},
		{"its folder is everyone's, and sticky", folder(1, chmod(0o777|os.ModeSticky)), true},
		{"its folder is another's", folder(1, stranger), false},
		{"the cache is everyone's", folder(2, chmod(0o777)), false},
		{"the program's folder is everyone's", folder(3, chmod(0o777)), false},
		{"the user's cache is everyone's", folder(4, chmod(0o777)),
			true}, // not checked: a folder that others put there has another owner
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, path, _ := cachedLibrary(t)
			c.change(t, path)
			got, err := a.path(context.Background())
			var le *contract.LibraryError
			if c.ok && (err != nil || got != path) || !c.ok &&
				(!errors.As(err, &le) || !strings.Contains(err.Error(), "chmod go-w")) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	// The same is true for a library that the operator names, except that its hash is not checked.
	named := filepath.Join(t.TempDir(), "mine.so")
	must(t, os.WriteFile(named, []byte("any"), 0o600))
	a := acquirer{library: named}
	if got, err := a.path(context.Background()); err != nil || got != named {
		t.Errorf("a named library: %s, %v", got, err)
	}
	must(t, os.Chmod(named, 0o666))
	if _, err := a.path(context.Background()); err == nil {
		t.Error("a named library that everyone may write to was taken")
	}
}
