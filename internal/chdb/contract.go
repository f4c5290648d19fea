package chdb

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/share"
)

// Options and errors are the same with the engine and without it.
type (
	// Options says how to open the engine. Only Dir has to be set.
	Options = contract.Options
	// Limits bound what the queries of an engine may take.
	Limits = contract.Limits
	// Place is where an engine works.
	Place = contract.Place
	// HandlerOptions says which requests the HTTP door accepts.
	HandlerOptions = contract.HandlerOptions
	// OtherDirError means that this process already has another directory open.
	OtherDirError = contract.OtherDirError
	// FolderError means that this process cannot write to a data directory, or cannot make it.
	FolderError = contract.FolderError
	// LibraryError means that the engine's library could not be found, downloaded or loaded.
	LibraryError = contract.LibraryError
	// Host lets other processes of the same user work with an engine that is open.
	Host = share.Host
	// Stuck is a statement that the engine does not end.
	Stuck = contract.Stuck
	// Kept is the engine in a process of its own.
	Kept = contract.Kept
	// Guest works with the engine that another process has open.
	Guest = share.Guest
)

// Join finds the process that has a data directory open and shares it. It returns [ErrNobody] if there is none.
func Join(ctx context.Context, dir string) (*Guest, error) { return share.Join(ctx, dir) }

// ListenApart listens for the process that is to have the engine of a data directory, and that gets the listener: on
// the socket of a host, or on the one of a front. remove removes the socket.
func ListenApart(dir string, front bool) (listener *net.UnixListener, remove func(), err error) {
	if !front {
		return share.Listen(dir, share.SocketName)
	}
	if err := os.MkdirAll(filepath.Join(dir, "engine"), 0o700); err != nil {
		return nil, nil, err
	}
	return share.Listen(filepath.Join(dir, "engine"), frontSocket)
}

// frontSocket is the socket between a front and the process that has the engine.
const frontSocket = "front.sock"

// The errors of this package; see [contract] and [share].
var (
	ErrNotBuilt          = contract.ErrNotBuilt
	ErrLocked            = contract.ErrLocked
	ErrClosed            = contract.ErrClosed
	ErrNoVerifiedLibrary = contract.ErrNoVerifiedLibrary
	ErrNoNPM             = contract.ErrNoNPM
	ErrCorrupt           = contract.ErrCorrupt
	ErrNobody            = share.ErrNobody
	ErrHostEnded         = share.ErrHostEnded
	ErrRestoring         = contract.ErrRestoring
)

// BackupFolder returns the folder where the engine of a data directory puts backups, and finds those to restore.
func BackupFolder(dir string) string { return contract.BackupFolder(dir) }

const (
	// EnvLibrary is the environment variable that names a libchdb to use instead of the pinned one.
	EnvLibrary = contract.EnvLibrary
	// OwnCluster is the name of the cluster in which every shard is the engine itself (Options.Shards).
	OwnCluster = contract.OwnCluster
	// Version is the release of the engine that Open downloads when it has none.
	Version = contract.Version
	// DownloadSize is how much is downloaded then, for people.
	DownloadSize = contract.DownloadSize
	// BackupDisk is the name by which statements know BackupFolder.
	BackupDisk = contract.BackupDisk
	// RestoringFile is a file in a data directory. It exists until a restore into the directory is complete.
	RestoringFile = contract.RestoringFile
)
