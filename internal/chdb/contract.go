package chdb

import "dealhouse/internal/chdb/contract"

// What an engine is asked for, and what it answers where it cannot, is the same with the engine and without it.
type (
	// Options says how to open the engine. Only Dir has to be set.
	Options = contract.Options
	// Limits bound what the queries of an engine may take.
	Limits = contract.Limits
	// Place is where an engine works.
	Place = contract.Place
	// HandlerOptions says what the HTTP door lets through.
	HandlerOptions = contract.HandlerOptions
	// OtherDirError means that this process already has another directory open.
	OtherDirError = contract.OtherDirError
	// LibraryError means that the engine's library could not be had.
	LibraryError = contract.LibraryError
)

// The errors of this package; see [contract].
var (
	ErrNotBuilt          = contract.ErrNotBuilt
	ErrLocked            = contract.ErrLocked
	ErrClosed            = contract.ErrClosed
	ErrNoVerifiedLibrary = contract.ErrNoVerifiedLibrary
	ErrNoNPM             = contract.ErrNoNPM
	ErrCorrupt           = contract.ErrCorrupt
)

const (
	// EnvLibrary is the environment variable that names a libchdb to use instead of the pinned one.
	EnvLibrary = contract.EnvLibrary
	// Version is the release of the engine that Open downloads when it has none.
	Version = contract.Version
)
