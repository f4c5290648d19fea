//go:build !noengine

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// On a disk without any room the engine cannot even be configured, and the error says what to do.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("this process may not mount a small disk: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	data := filepath.Join(disk, "data")
	b := &bench{}
	got := start(t, []string{"DEALHOUSE_WAREHOUSE_DSN=embedded:" + data}, "migrate", "--config",
		b.write(t, "")).finish(t)
	got.want(t, 1, "no space left on device: free space on the disk of "+data)
}
