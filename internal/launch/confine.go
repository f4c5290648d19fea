package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/sandbox"
)

// Confinement is the sandbox of a command that loads. Such a process needs its keys and the network, and reads files
// that nobody can list in advance. But it starts no program, and writes to few folders. The zero value is that of a
// command that does not load: it enters none.
type Confinement struct {
	Loads   bool     // the command is one that loads
	Without bool     // the operator turned the sandbox off
	Files   []string // that the command writes, besides the warehouse; empty names are ignored

	inside  bool                  // the process is in the sandbox
	settled bool                  // the sandbox was tried, and its outcome logged: a locked warehouse is opened again and again
	again   bool                  // the configuration has been read before, and not yet by this process
	once    map[string]configFile // files of the configuration that can be read once only: pipes
}

// configFile is a file as it was read.
type configFile struct {
	Data []byte
	Mode fs.FileMode
}

// Loading reports whether this process has replaced itself in order to load. If it has, Resume has to be called first.
func Loading() bool {
	stage := os.Getenv(Variable)
	return stage == stageLoading || stage == stageLoadingFiles
}

// Resume is the first step of a process that has replaced itself in order to load: it makes sure that it is in the
// sandbox (launch-2). It returns the environment without what only that process needs.
func (c *Confinement) Resume(env []string) (rest []string, err error) {
	stage := os.Getenv(Variable)
	_ = os.Unsetenv(Variable) // which fails for names that are none
	rest = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, Variable+"=") })
	c.inside, c.again = true, true
	if stage == stageLoadingFiles {
		if err := c.receiveFiles(); err != nil {
			return rest, byHand(err)
		}
	}
	if err := errors.Join(sandbox.Policy{Network: true}.Verify(), sandbox.Seal()); err != nil {
		return rest, byHand(err)
	}
	return rest, nil
}

func (c *Confinement) receiveFiles() error {
	file := os.NewFile(noteFile, "note")
	if file == nil {
		return os.ErrInvalid
	}
	defer func() { _ = file.Close() }() // it was only read
	return json.NewDecoder(file).Decode(&c.once)
}

// Inside reports that this process has replaced itself, and is in the sandbox.
func (c *Confinement) Inside() bool { return c.inside }

// ReadAgain reports, once, that the process which this one replaced has read the configuration, and shown its warnings.
func (c *Confinement) ReadAgain() bool {
	again := c.again
	c.again = false
	return again
}

// ReadFile reads a file of the configuration. The process that replaces this one may have to read it again (launch-4).
func (c *Confinement) ReadFile(path string) ([]byte, fs.FileMode, error) {
	if c.inside {
		if f, ok := c.once[path]; ok {
			delete(c.once, path) // a reload must read the file as it is then
			return f.Data, f.Mode, nil
		}
		return config.ReadFile(path)
	}
	data, mode, err := config.ReadFile(path)
	if info, statErr := os.Stat(path); err == nil && statErr == nil && !info.Mode().IsRegular() {
		if c.once == nil {
			c.once = map[string]configFile{}
		}
		c.once[path] = configFile{data, mode}
	}
	return data, mode, err
}

// Confine enters the sandbox for the embedded warehouse in dir, and then does not return: the process begins anew, and
// comes here again. If there is no sandbox, it says so and returns (launch-3). files are more of those that the command
// writes.
func (c *Confinement) Confine(ctx context.Context, l *Launcher, dir string, files ...string) error {
	if !c.Loads || c.Without || c.settled || l.InPlace() {
		return nil
	}
	if c.inside {
		c.settled = true
		if l.options.Unattended {
			l.options.Logger.Info("the embedded ClickHouse runs in a kernel sandbox: this process can write only to its own folders, and cannot start programs")
		}
		return nil
	}
	policy := sandbox.Policy{Network: true, Read: []string{"/"}}
	missing := policy.Missing()
	lacking := "this kernel cannot block " + strings.Join(missing, " and ") +
		" that this program does not need (Linux 5.19 or later can): " + unconfined
	if len(missing) > 1 {
		c.settled = true
		l.logUnconfined(lacking)
		return nil
	}
	place, err := l.options.Find(ctx, dir)
	if err != nil {
		return err
	}
	c.settled = true
	if len(missing) > 0 {
		l.logUnconfined(lacking)
	}
	policy.Write = writable(place.Dir, slices.Concat(c.Files, files)...)
	policy.Env = c.environment(l.options.Env, place)
	if len(c.once) > 0 {
		file, err := c.note()
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it was opened only to be passed on
		policy.Files = []*os.File{file}
	}
	if err := l.options.Flush(); err != nil {
		return err
	}
	err = l.options.Become(policy, os.Args)
	if ctx.Err() != nil { // a signal came before the attempt
		return context.Cause(ctx)
	}
	l.logUnconfined("the kernel sandbox cannot be started: "+unconfined, "error", err)
	return nil
}

const unconfined = "there, the embedded ClickHouse has the rights of the user of this process"

// logUnconfined says that the sandbox is not complete. A daemon says it once, as a warning.
func (l *Launcher) logUnconfined(what string, attrs ...any) {
	if l.options.Unattended {
		l.options.Logger.Warn(what, attrs...)
		return
	}
	l.options.Logger.Info(what, attrs...)
}

// note has the files that can be read once only.
func (c *Confinement) note() (*os.File, error) {
	text, err := json.Marshal(c.once)
	if err != nil {
		return nil, fmt.Errorf("writing down what was configured: %w", err)
	}
	return sandbox.Note(text)
}

// environment returns the environment of this process, with the settings of one in the sandbox.
func (c *Confinement) environment(env []string, place chdb.Place) []string {
	stage := stageLoading
	if len(c.once) > 0 {
		stage = stageLoadingFiles
	}
	set := settings(stage, place)
	return append(slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return slices.ContainsFunc(set, func(s string) bool {
			name, _, _ := strings.Cut(s, "=")
			return strings.HasPrefix(entry, name+"=")
		})
	}), set...)
}

// writable returns the folders that may be written to: the data folder, the folders that links in it lead to, and the
// folders of the other files that the command writes (launch-4).
func writable(dir string, files ...string) []string {
	folders := linked(dir, tableDepth, []string{dir})
	for _, file := range files {
		if file == "" {
			continue
		}
		folder := filepath.Dir(file)
		if _, err := os.Stat(folder); err == nil {
			folders = append(folders, folder)
		}
	}
	return folders
}

// tableDepth is how deep in the data folder the folders of tables are: store/123/UUID. What is below belongs to the
// engine and is too much to look through. A link there leads out of the sandbox, and is refused.
const tableDepth = 3

// linked adds the targets of the links in dir to folders, and the targets of the links inside those.
func linked(dir string, depth int, folders []string) []string {
	entries, _ := os.ReadDir(dir) // what cannot be read cannot be used either; the engine reports it
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink != 0 {
			target, err := filepath.EvalSymlinks(path)
			if err != nil || slices.ContainsFunc(folders, func(folder string) bool { return within(target, folder) }) {
				continue
			}
			folders = append(folders, target)
			path = target
		} else if !e.IsDir() {
			continue
		}
		if depth > 1 {
			folders = linked(path, depth-1, folders)
		}
	}
	return folders
}

// within tells whether a path is a folder or below it.
func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
