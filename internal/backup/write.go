package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// write moves all files of a folder into a backup at path, and returns its manifest, which is about with the files. A
// path that ends in .tar becomes one file, any other a folder.
func write(ctx context.Context, from, path string, about Manifest) (m Manifest, err error) {
	if err := free(path); err != nil {
		return m, err
	}
	if err := removeLeft(path); err != nil {
		return m, err
	}
	out, err := createPartial(path)
	if err != nil {
		return m, fmt.Errorf("beginning the backup: %w", err)
	}
	defer func() { err = errors.Join(err, out.drop()) }()
	m = about
	m.Format = format
	err = filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		f, err := move(out, name, filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		m.Files = append(m.Files, f)
		m.Bytes += f.Size
		return nil
	})
	if err != nil {
		return m, fmt.Errorf("writing the backup: %w", err)
	}
	text, err := m.seal()
	if err != nil {
		return m, err
	}
	if err := out.add(manifestName, int64(len(text)), strings.NewReader(string(text))); err != nil {
		return m, fmt.Errorf("writing the manifest of the backup: %w", err)
	}
	if err := out.commit(path); err != nil {
		return m, fmt.Errorf("finishing the backup: %w", err)
	}
	return m, nil
}

// move adds a file to the backup and removes it where it was: so there is room for one of them.
func move(out sink, name, path string) (f File, err error) {
	file, err := os.Open(name)
	if err != nil {
		return f, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return f, err
	}
	sum := sha256.New()
	f = File{Path: path, Size: info.Size()}
	if err := out.add(dataFolder+"/"+path, f.Size, io.TeeReader(file, sum)); err != nil {
		return f, err
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f, os.Remove(name)
}

// free reports an error when something is at the path already, unless it is an empty folder (backup-1).
func free(path string) error {
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0 && !isTar(path):
		return nil
	case err == nil, errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%s is there already, and is not replaced: %w", path, fs.ErrExist)
	}
	return err
}

func isTar(path string) bool { return strings.HasSuffix(path, ".tar") }

// sink is what a backup is written to.
type sink interface {
	add(path string, size int64, content io.Reader) error
	commit(path string) error // brings all to the disk, and gives it its name
	drop() error              // removes what was not committed
}

// partial stands between the name of a backup and letters by chance, while it is written.
const partial = ".partial-"

// createPartial creates the place to write to, and locks it for as long as this process has it.
func createPartial(path string) (sink, error) {
	folder, base := filepath.Split(filepath.Clean(path))
	if folder == "" {
		folder = "."
	}
	if isTar(path) {
		file, err := os.CreateTemp(folder, base+partial)
		if err != nil {
			return nil, err
		}
		return &tarSink{file, tar.NewWriter(file)}, lock(file)
	}
	dir, err := os.MkdirTemp(folder, base+partial)
	if err != nil {
		return nil, err
	}
	handle, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	return &folderSink{dir, handle}, lock(handle)
}

// removeLeft removes what was left of backups of this name whose processes died (backup-4).
func removeLeft(path string) error {
	folder, base := filepath.Split(filepath.Clean(path))
	entries, err := os.ReadDir(filepath.Clean(folder))
	if err != nil {
		return fmt.Errorf("looking at the folder of the backup: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), base+partial) {
			continue
		}
		name := filepath.Join(folder, e.Name())
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		if lock(f) == nil {
			err = os.RemoveAll(name)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("removing what an interrupted backup left behind: %w", err)
		}
	}
	return nil
}

// folderSink is a backup in a folder.
type folderSink struct {
	dir    string
	handle *os.File
}

func (s *folderSink) add(path string, _ int64, content io.Reader) error {
	name := filepath.Join(s.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return create(name, content)
}

// create writes a file, and brings it to the disk.
func create(name string, content io.Reader) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func (s *folderSink) commit(path string) error {
	err := filepath.WalkDir(s.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return syncFolder(name)
	})
	if err != nil {
		return err
	}
	return rename(s.dir, path)
}

func (s *folderSink) drop() error { return errors.Join(s.handle.Close(), os.RemoveAll(s.dir)) }

// tarSink is a backup in one file.
type tarSink struct {
	file *os.File
	tar  *tar.Writer
}

func (s *tarSink) add(path string, size int64, content io.Reader) error {
	if err := s.tar.WriteHeader(&tar.Header{Name: path, Size: size, Mode: 0o600}); err != nil {
		return err
	}
	_, err := io.Copy(s.tar, content)
	return err
}

func (s *tarSink) commit(path string) error {
	if err := errors.Join(s.tar.Close(), s.file.Sync()); err != nil {
		return err
	}
	return rename(s.file.Name(), path)
}

func (s *tarSink) drop() error {
	err := os.Remove(s.file.Name())
	if errors.Is(err, fs.ErrNotExist) { // it was committed
		err = nil
	}
	return errors.Join(s.file.Close(), err)
}

// rename gives a complete backup its name. The system lets a folder replace only an empty one. For a file, this is
// checked first.
func rename(from, to string) error {
	if err := free(to); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
