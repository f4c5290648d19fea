package library

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb/contract"
)

const (
	hintOwner = "anyone who can write to it decides what this program executes: only you or root may own it and write to it (chown, chmod go-w), or remove it"
	hintCache = "remove it, and the next start downloads it again, or " + hintInstall
)

// recordFile is a file beside the library. It records which file had the expected hash.
const recordFile = "verified"

// verifyCached makes sure that the cached library is the one that is pinned, and can only have been written by the
// user or root (chdb-9). Half a gigabyte is hashed once and not at every start.
func (a acquirer) verifyCached(ctx context.Context, rel release, path string) error {
	// The check includes the folder around the cache, which belongs to this program too.
	if err := onlyOurs(path, filepath.Dir(a.cacheDir)); err != nil {
		return &contract.LibraryError{Op: "use the cached library", Hint: hintOwner, Err: err}
	}
	record := filepath.Join(filepath.Dir(path), recordFile)
	identity, err := fileIdentity(path)
	if err != nil {
		return &contract.LibraryError{Op: "use the cached library", Hint: hintCache, Err: err}
	}
	known := fmt.Sprintf("sha512-%s %s\n", rel.library, identity)
	if recorded(record) == known {
		return nil
	}
	begin := time.Now()
	if err := verify(ctx, path, rel.library); err != nil {
		return &contract.LibraryError{Op: "verify the cached library " + path, Hint: hintCache, Err: err}
	}
	// If the file was changed while it was hashed, the hash is not that of the file as it is now.
	if now, err := fileIdentity(path); err != nil || now != identity {
		return &contract.LibraryError{Op: "verify the cached library " + path, Hint: hintCache,
			Err: errors.Join(contract.ErrCorrupt, err)}
	}
	a.log.Info("the ClickHouse engine's library has the expected hash", "path", path, "took",
		time.Since(begin).Round(time.Millisecond))
	if err := ReplaceFile(record, []byte(known)); err != nil {
		a.log.Warn("could not store that the library was checked: it will be hashed again at the next start", "error", err)
	}
	return nil
}

// recorded returns the text of a record, or "" if anyone but the user can have written it.
func recorded(path string) string {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o077 != 0 || ownerOf(st) != os.Geteuid() {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// fileIdentity returns a text that changes whenever the file is written to or replaced: it includes the ctime, which
// only the kernel can set.
func fileIdentity(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return fmt.Sprintf("dev=%d inode=%d size=%d mtime=%d ctime=%d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(),
		st.Ctim.Nano()), nil
}

// onlyOurs refuses a file if anyone except the user and the superuser owns it or can write to it, or to
// one of its folders up to and including root. Others may write to a sticky folder: only the owner of an
// entry can replace it there.
func onlyOurs(path, root string) error {
	for entry := path; ; entry = filepath.Dir(entry) {
		st, err := os.Lstat(entry)
		if err != nil {
			return err
		}
		if entry == path && !st.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", entry)
		}
		if owner := ownerOf(st); owner != os.Geteuid() && owner != 0 {
			return fmt.Errorf("%s belongs to the user with the id %d", entry, owner)
		}
		sticky := st.IsDir() && st.Mode()&fs.ModeSticky != 0
		if st.Mode().Perm()&0o022 != 0 && st.Mode()&fs.ModeSymlink == 0 && !sticky {
			return fmt.Errorf("others can write to %s (mode %04o)", entry, st.Mode().Perm())
		}
		if entry == root || entry == filepath.Dir(entry) {
			return nil
		}
	}
}

func ownerOf(st fs.FileInfo) int {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}

// ReplaceFile writes a file by a rename, so that it is complete at any moment.
func ReplaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
