package launch

import (
	"context"
	"log/slog"
	"path/filepath"

	"dealhouse/internal/chdb"
	"dealhouse/internal/sandbox"
)

// Variable is the variable of the environment by which a process knows that this program itself has started it.
const Variable = "DEALHOUSE_LAUNCHED"

// The values of Variable.
const (
	stageOutside = "outside" // still to enter the sandbox
	stageInside  = "inside"  // and in the sandbox
)

// The numbers under which files come along.
const (
	noteFile     = 3 // the job, as JSON
	listenerFile = 4
)

// Options of a Launcher.
type Options struct {
	// Become replaces this process by another one of this program, or fails. Default: this process may not be replaced,
	// and does everything itself.
	Become func(policy sandbox.Policy, args []string) error
	// Find makes sure that the folder of an embedded warehouse and the engine's library exist. Inside the sandbox, this
	// program could not create them. Default: chdb.Find.
	Find  func(ctx context.Context, dir string) (chdb.Place, error)
	Flush func() error // writes what is still to be written before this process is replaced; default: nothing is
	Env   []string     // of this process
	// Logger is told where there is no complete sandbox (launch-3). Default: none.
	Logger *slog.Logger
}

// Launcher starts this program again.
type Launcher struct{ options Options }

// New makes a Launcher.
func New(o Options) *Launcher {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Find == nil {
		o.Find = func(ctx context.Context, dir string) (chdb.Place, error) {
			return chdb.Find(ctx, chdb.Options{Dir: dir, Logger: o.Logger})
		}
	}
	if o.Flush == nil {
		o.Flush = func() error { return nil }
	}
	return &Launcher{o}
}

// InPlace reports that this process may not be replaced, so that it does everything itself.
func (l *Launcher) InPlace() bool { return l.options.Become == nil }

// settings are the variables by which a process in the sandbox knows its stage, finds the engine's library, and has a
// temporary folder inside the data folder.
func settings(stage string, place chdb.Place) []string {
	return []string{Variable + "=" + stage, chdb.EnvLibrary + "=" + place.Library,
		"TMPDIR=" + filepath.Join(place.Dir, "engine")}
}
