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
)

// maxManifest is how large a manifest is read: it has about 150 bytes for each file.
const maxManifest = 1 << 30

// readManifest reads and checks what the backup at path says of itself. Its files are looked at by extract and verify.
func readManifest(path string) (m Manifest, err error) {
	var text []byte
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return m, fmt.Errorf("reading the backup: %w", err)
	case info.IsDir():
		text, err = os.ReadFile(filepath.Join(path, manifestName))
		if errors.Is(err, fs.ErrNotExist) {
			return m, fmt.Errorf("%s is %w: it has no %s", path, ErrIncomplete, manifestName)
		}
	default:
		err = eachOfTar(path, func(name string, content io.Reader) error {
			if name == manifestName {
				text, err = io.ReadAll(io.LimitReader(content, maxManifest))
				return err
			}
			return nil
		})
		if errors.Is(err, ErrDamaged) {
			return m, err
		}
		if err == nil && text == nil || errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
			return m, fmt.Errorf("%s is %w: it has no %s", path, ErrIncomplete, manifestName)
		}
	}
	if err != nil {
		return m, fmt.Errorf("reading the backup: %w", err)
	}
	return parse(text)
}

// eachOfTar calls do for each file of a tar file.
func eachOfTar(path string, do func(name string, content io.Reader) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	reader := tar.NewReader(file)
	for {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || h.PAXRecords["GNU.sparse.major"] != "" ||
			h.PAXRecords["GNU.sparse.map"] != "" { // backup-5
			return fmt.Errorf("%w (%s is not a regular file)", ErrDamaged, h.Name)
		}
		if err := do(h.Name, reader); err != nil {
			return err
		}
	}
}

// eachOfFolder calls do for each file of a folder.
func eachOfFolder(dir string, do func(name string, content io.Reader) error) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if !e.Type().IsRegular() { // backup-5
			return fmt.Errorf("%w (%s is not a regular file)", ErrDamaged, rel)
		}
		file, err := os.Open(name) //nolint:gosec // G122: what is read is compared with the manifest
		if err != nil {
			return err
		}
		return errors.Join(do(filepath.ToSlash(rel), file), file.Close())
	})
}

// extract writes the files of the backup at path, whose manifest was read before, into a folder (backup-2).
func extract(ctx context.Context, path, to string, m Manifest) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return fmt.Errorf("taking the backup out: %w", err)
	}
	err := each(ctx, path, m, func(f File, content io.Reader) error {
		name := filepath.Join(to, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(f.copy(file, content), file.Close())
	})
	if err != nil {
		return fmt.Errorf("taking the backup out: %w", err)
	}
	return nil
}

// verify reads the files of the backup at path, whose manifest was read before (backup-2).
func verify(ctx context.Context, path string, m Manifest) error {
	err := each(ctx, path, m, func(f File, content io.Reader) error { return f.copy(io.Discard, content) })
	if err != nil {
		return fmt.Errorf("reading the backup: %w", err)
	}
	return nil
}

// each calls do for each file of the manifest, and fails where the backup has others or lacks some.
func each(ctx context.Context, path string, m Manifest, do func(File, io.Reader) error) error {
	left := map[string]File{}
	for _, f := range m.Files {
		left[f.Path] = f
	}
	walk := eachOfTar
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		walk = eachOfFolder
	}
	err := walk(path, func(name string, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if name == manifestName {
			return nil
		}
		rel, ok := strings.CutPrefix(name, dataFolder+"/")
		f, known := left[rel]
		if !ok || !known {
			return fmt.Errorf("%w (it has %s, which its manifest does not name)", ErrDamaged, name)
		}
		delete(left, rel)
		return do(f, content)
	})
	if err != nil {
		return err
	}
	for name := range left {
		return fmt.Errorf("%w (it lacks %s, and %d files more)", ErrDamaged, name, len(left)-1)
	}
	return nil
}

// copy copies the content of the file, which must be what was put in.
func (f File) copy(to io.Writer, content io.Reader) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(content, f.Size+1))
	if err == nil && (n != f.Size || hex.EncodeToString(sum.Sum(nil)) != f.SHA256) {
		err = fmt.Errorf("%w (%s has another content)", ErrDamaged, f.Path)
	}
	return err
}
