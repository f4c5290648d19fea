package contract

import (
	"errors"
	"path/filepath"
)

// BackupDisk is the name by which statements know BackupFolder: BACKUP ... TO Disk('backups', 'name'). There is no
// other place that they can name.
const BackupDisk = "backups"

// BackupFolder is where the engine of a data directory puts backups, and finds those to restore.
func BackupFolder(dir string) string { return filepath.Join(dir, "engine", BackupDisk) }

// RestoringFile is in a data directory for as long as what is restored is not all there.
const RestoringFile = "dealhouse.restoring"

// ErrRestoring means that a restore into the data directory has not ended, or broke off.
var ErrRestoring = errors.New("the restore is not complete: wait for the one that is running, or run `dealhouse restore` again, which starts over")
