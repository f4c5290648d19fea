package contract

import (
	"errors"
	"path/filepath"
)

// BackupDisk is the name of BackupFolder in statements: BACKUP ... TO Disk('backups', 'name'). They
// can name no other place.
const BackupDisk = "backups"

// BackupFolder returns the folder where the engine of a data directory puts backups, and finds those to restore.
func BackupFolder(dir string) string { return filepath.Join(dir, "engine", BackupDisk) }

// RestoringFile is a file in a data directory. It exists until a restore into the directory is complete.
const RestoringFile = "dealhouse.restoring"

// ErrRestoring means that a restore into the data directory is still running, or broke off.
var ErrRestoring = errors.New("the restore is not complete: wait for the one that is running, or run `dealhouse restore` again, which starts over")
