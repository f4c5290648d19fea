package engine

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dealhouse/internal/chdb/contract"
)

// TestSafe: a folder that every user can change is said, and one with a link that another user has made is refused.
func TestSafe(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a link to another user")
	}
	const stranger = 4711
	elsewhere := t.TempDir()
	for name, c := range map[string]struct {
		mode           os.FileMode
		owner, link    int // of the folder, and of the link in it; link -1: there is none
		refused, warns bool
	}{
		"as it is made":                  {0o700, 0, -1, false, false},
		"for a group":                    {0o770, 0, -1, false, false},
		"for all":                        {0o777, 0, -1, false, true},
		"for all, as a temporary folder": {0o777 | os.ModeSticky, 0, -1, false, false},
		"with a link of ours":            {0o700, 0, 0, false, false},
		"with a link of its owner":       {0o755, stranger, stranger, false, false},
		"with a link of somebody else":   {0o777, 0, stranger, true, true},
	} {
		dir, said := filepath.Join(t.TempDir(), "d"), &strings.Builder{}
		made := []error{os.Mkdir(dir, 0o700), os.Chmod(dir, c.mode)}
		if c.link >= 0 {
			made = append(made, os.Symlink(elsewhere, filepath.Join(dir, "store")), os.Lchown(filepath.Join(dir, "store"), c.link, c.link))
		}
		if err := errors.Join(append(made, os.Chown(dir, c.owner, c.owner))...); err != nil {
			t.Fatal(err)
		}
		err := safe(dir, slog.New(slog.NewTextHandler(said, nil)))
		refused, is := errors.AsType[*contract.FolderError](err)
		if is != c.refused || err != nil && !is {
			t.Errorf("%s: %v", name, err)
		}
		if is && (refused.Path != filepath.Join(dir, "store") || !strings.Contains(err.Error(), "another user has made")) {
			t.Errorf("%s: %v", name, err)
		}
		if warns := strings.Contains(said.String(), "chmod go-w"); warns != c.warns {
			t.Errorf("%s: it says %q", name, said)
		}
	}
}
