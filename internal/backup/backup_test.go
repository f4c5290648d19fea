package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// content is what the tests back up.
var content = map[string]string{
	".backup": "<config/>", "metadata/d.sql": "CREATE DATABASE d",
	"data/d/t/all_1_1_0/data.bin": strings.Repeat("0123456789", 100_000), "data/d/empty": "",
}

// written is a backup of content under a name.
func written(t *testing.T, name string) (path string, m Manifest) {
	t.Helper()
	from := t.TempDir()
	for file, text := range content {
		put(t, filepath.Join(from, filepath.FromSlash(file)), text)
	}
	path = filepath.Join(t.TempDir(), name)
	m, err := write(t.Context(), from, path, Manifest{Program: "1.2.3", Database: "d", Schema: 21, Generation: 4})
	if err != nil {
		t.Fatal(err)
	}
	if left := files(t, from); len(left) > 0 {
		t.Errorf("not moved: %v", left)
	}
	return path, m
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// files are the files below a folder, with their content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := eachOfFolder(dir, func(name string, r io.Reader) error {
		text, err := io.ReadAll(r)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// extracted takes a backup out.
func extracted(t *testing.T, path string) (map[string]string, error) {
	t.Helper()
	m, err := readManifest(path)
	if err != nil {
		return nil, err
	}
	to := filepath.Join(t.TempDir(), "out")
	if err := extract(t.Context(), path, to, m); err != nil {
		return nil, err
	}
	return files(t, to), verify(t.Context(), path, m)
}

// What was put in comes out, from a folder and from a file, and nothing is left beside it.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"folder", "file.tar", "spaces and.dots"} {
		path, m := written(t, name)
		if m.Bytes != 1_000_000+int64(len("<config/>CREATE DATABASE d")) || len(m.Files) != len(content) {
			t.Errorf("%s: %d bytes, %d files", name, m.Bytes, len(m.Files))
		}
		got, err := extracted(t, path)
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range content {
			if got[file] != text {
				t.Errorf("%s: %s is another one", name, file)
			}
		}
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: left beside it: %v %v", name, entries, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: others may read it: %v %v", name, info.Mode(), err)
		}
		again, err := write(t.Context(), t.TempDir(), path, Manifest{})
		if !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: it was replaced: %v %v", name, again, err)
		}
	}
}

// A backup that was changed, or is not all there, is refused (backup-2).
func TestDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	t.Parallel()
	large := filepath.Join(dataFolder, "data", "d", "t", "all_1_1_0", "data.bin")
	edit := func(file, from, to string) func(string) error {
		return func(path string) error {
			name := filepath.Join(path, file)
			text, err := os.ReadFile(name)
			return errors.Join(err, os.WriteFile(name, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600))
		}
	}
	for what, x := range map[string]struct {
		name   string
		damage func(path string) error
		want   error
	}{
		"a bit":          {"b", edit(large, "0", "1"), ErrDamaged},
		"a longer file":  {"b", edit(large, "0", "00"), ErrDamaged},
		"a shorter file": {"b", edit(large, "0", ""), ErrDamaged},
		"a file less":    {"b", func(p string) error { return os.Remove(filepath.Join(p, large)) }, ErrDamaged},
		"a file more": {"b", func(p string) error {
			return os.WriteFile(filepath.Join(p, dataFolder, "x"), nil,
				0o600)
		}, ErrDamaged},
		"beside the data": {"b", func(p string) error { return os.WriteFile(filepath.Join(p, "x"), nil, 0o600) },
			ErrDamaged},
		"another database": {"b", edit(manifestName, `"database": "d"`, `"database": "e"`), ErrDamaged},
		"another schema":   {"b", edit(manifestName, `"schema": 21`, `"schema": 1`), ErrDamaged},
		"a way out":        {"b", edit(manifestName, `"path": ".backup"`, `"path": "../../x"`), ErrDamaged},
		"half a manifest": {"b", func(p string) error { return os.Truncate(filepath.Join(p, manifestName), 50) },
			ErrDamaged},
		"no manifest":       {"b", func(p string) error { return os.Remove(filepath.Join(p, manifestName)) }, ErrIncomplete},
		"a newer form":      {"b", edit(manifestName, `"format": 1`, `"format": 2`), ErrNewer},
		"half a file":       {"b.tar", func(p string) error { return os.Truncate(p, 500_000) }, ErrIncomplete},
		"a file of nothing": {"b.tar", func(p string) error { return os.Truncate(p, 0) }, ErrIncomplete},
		"no tar": {"b.tar", func(p string) error {
			return os.WriteFile(p, []byte(strings.Repeat("no tar ", 1000)),
				0o600)
		}, ErrIncomplete},
		"nothing":         {"b.tar", os.Remove, fs.ErrNotExist},
		"a bit of a file": {"b.tar", edit("", "0123456789012", "0123456789013"), ErrDamaged},
	} {
		path, _ := written(t, x.name)
		if err := x.damage(path); err != nil {
			t.Fatal(err)
		}
		if _, err := extracted(t, path); !errors.Is(err, x.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A manifest with a right checksum cannot write elsewhere either (backup-3).
func TestNoWayOut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../x", "/etc/x", "a/../../x", ""} {
		m := Manifest{Format: format, Files: []File{{Path: name}}}
		text, err := m.seal()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "b.tar")
		var file bytes.Buffer
		w := tar.NewWriter(&file)
		err = errors.Join(w.WriteHeader(&tar.Header{Name: dataFolder + "/" + name, Mode: 0o600}),
			w.WriteHeader(&tar.Header{Name: manifestName, Size: int64(len(text)), Mode: 0o600}))
		if _, more := w.Write(text); errors.Join(err, more, w.Close(), os.WriteFile(path, file.Bytes(), 0o600)) != nil {
			t.Fatal(err, more)
		}
		if _, err := extracted(t, path); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// What is not a regular file is not read, nor a manifest whose sizes do not add up (backup-5).
func TestOnlyRegularFiles(t *testing.T) {
	t.Parallel()
	folder, _ := written(t, "folder")
	if err := unix.Mkfifo(filepath.Join(folder, dataFolder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := extracted(t, folder); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	link, _ := written(t, "folder")
	if err := os.Symlink("/etc/passwd", filepath.Join(link, dataFolder, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := extracted(t, link); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a link: %v", err)
	}
	for name, m := range map[string]Manifest{
		"more than it says": {Format: format, Bytes: 1, Files: []File{{Path: "a", Size: 1 << 40}}},
		"less than it says": {Format: format, Bytes: 2, Files: []File{{Path: "a", Size: 1}}},
		"below zero":        {Format: format, Bytes: 1, Files: []File{{Path: "a", Size: -1}, {Path: "b", Size: 2}}},
	} {
		text, err := m.seal()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(text); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What breaks off leaves nothing under the name, and what a dead process left there is cleared away (backup-1,
// backup-4).
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"folder", "file.tar"} {
		from, dir := t.TempDir(), t.TempDir()
		path := filepath.Join(dir, name)
		put(t, filepath.Join(from, "a"), "1")
		put(t, path+partial+"dead/data/x", "left")
		alive, err := createPartial(path)
		if err != nil {
			t.Fatal(err)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if _, err := write(stopped, from, path, Manifest{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("what another process writes should be there, and nothing else: %v %v", entries, err)
		}
		if err := alive.drop(); err != nil {
			t.Error(err)
		}
		if _, err := write(t.Context(), from, path, Manifest{}); err != nil {
			t.Error(err)
		}
	}
}

// A file that cannot be read may be a good backup all the same: nobody is told that it is not whole.
func TestUnreadableIsNotIncomplete(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "b.tar")
	socket, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	if _, err := readManifest(path); err == nil || errors.Is(err, ErrIncomplete) || errors.Is(err, ErrDamaged) {
		t.Errorf("what cannot be opened is %v", err)
	}
}

// TestNoPlace: a place where no backup can be is refused before anything is opened, with what to do.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none", "x.tar"):   filepath.Join(dir, "none") + " does not exist: create the folder, or choose another",
		filepath.Join(dir, "none", "x") + "/": filepath.Join(dir, "none") + " does not exist",
		filepath.Join(file, "x.tar"):          file + " cannot be written to (not a directory)",
		file:                                  file + " is there already",
		filepath.Join(dir, "data", "x", "y"):  "is in the folder of the warehouse",
	} {
		err := CheckPath(path, filepath.Join(dir, "data"))
		if _, unusable := errors.AsType[UnusableError](err); !unusable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := CheckPath(filepath.Join(dir, "x.tar"), filepath.Join(dir, "data")); err != nil {
		t.Error(err)
	}
}
