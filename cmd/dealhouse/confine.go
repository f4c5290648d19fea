package main

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

	"github.com/spf13/cobra"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/sandbox"
)

// confinement is the sandbox of a command that loads: run, sync, backfill and the retry of rejects. Such a process
// needs its keys and the network, and reads files that nobody can list in advance. But it starts no program, and writes
// to few folders. Right before it opens an embedded engine, it replaces itself by a process with these rights only, and
// does the same again up to that point.
type confinement struct {
	loads    bool // the command is one of them
	without  bool // the operator turned the sandbox off
	textfile string
	inside   bool            // the process is in the sandbox
	settled  bool            // the sandbox was tried, and its outcome logged: a locked warehouse is opened again and again
	quiet    bool            // the warnings of the configuration have been printed before
	once     map[string]note // files of the configuration that can be read once only: pipes
}

// note is a file as it was read.
type note struct {
	Data []byte
	Mode fs.FileMode
}

// loads marks a command as one that loads.
func (a *app) loads(cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.BoolVar(&a.confinement.without, "without-sandbox", false,
		"load an embedded warehouse without the kernel sandbox")
	cmd.PreRun = func(*cobra.Command, []string) {
		a.confinement.loads = true
		if f := flags.Lookup("metrics-textfile"); f != nil {
			a.confinement.textfile = f.Value.String()
		}
	}
	return cmd
}

// confine enters the sandbox for the embedded warehouse in dir, and then does not return. If there is no sandbox, it
// says so and returns. files are other files that the command writes; empty names are ignored.
func (a *app) confine(ctx context.Context, dir string, files ...string) error {
	c := &a.confinement
	if !c.loads || c.without || c.settled || a.become == nil {
		return nil
	}
	if c.inside {
		c.settled = true
		if a.unattended {
			a.log.Info("the embedded ClickHouse runs in a kernel sandbox: this process can write only to its own folders, and cannot start programs")
		}
		return nil
	}
	policy := sandbox.Policy{Network: true, Read: []string{"/"}}
	missing := policy.Missing()
	lacking := "this kernel cannot refuse this program " + strings.Join(missing, " and ") +
		" that it does not need (Linux 5.19 or later can): " + unconfined
	if len(missing) > 1 {
		c.settled = true
		a.withoutSandbox(lacking)
		return nil
	}
	place, err := a.findEngine(ctx, dir)
	if err != nil {
		return err
	}
	c.settled = true
	if len(missing) > 0 {
		a.withoutSandbox(lacking)
	}
	policy.Write = writable(place.Dir, append(files, c.textfile)...)
	policy.Env = c.environment(a.env, place)
	if len(c.once) > 0 {
		text, err := json.Marshal(c.once)
		if err != nil {
			return fmt.Errorf("writing down what was configured: %w", err)
		}
		file, err := sandbox.Note(text)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it was opened only to be passed on
		policy.Files = []*os.File{file}
	}
	if err := a.flush(); err != nil {
		return err
	}
	err = a.become(policy, os.Args)
	if ctx.Err() != nil { // a signal came before the attempt
		return context.Cause(ctx)
	}
	a.withoutSandbox("the kernel sandbox cannot be started: "+unconfined, "error", err)
	return nil
}

const unconfined = "there, the embedded ClickHouse has the rights of the user of this process"

// withoutSandbox says that the sandbox is not complete. A daemon says it once, as a warning.
func (a *app) withoutSandbox(what string, attrs ...any) {
	if a.unattended {
		a.log.Warn(what, attrs...)
		return
	}
	a.log.Info(what, attrs...)
}

// environment returns the environment of this process, with the library that was found and a temporary folder inside
// the data folder.
func (c *confinement) environment(env []string, place chdb.Place) []string {
	stage := loading
	if len(c.once) > 0 {
		stage = loadingNote
	}
	set := []string{errandVariable + "=" + stage, chdb.EnvLibrary + "=" + place.Library,
		"TMPDIR=" + filepath.Join(place.Dir, "engine")}
	return append(slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return slices.ContainsFunc(set, func(s string) bool {
			name, _, _ := strings.Cut(s, "=")
			return strings.HasPrefix(entry, name+"=")
		})
	}), set...)
}

// writable returns the folders that may be written to: the data folder, the folders that links in it lead to, and the
// folders of the other files that the command writes.
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

// enterLoading is the first step of a process that has replaced itself in order to load.
func (a *app) enterLoading(stage string) error {
	a.env = slices.DeleteFunc(a.env, func(entry string) bool { return strings.HasPrefix(entry, errandVariable+"=") })
	a.confinement.inside, a.confinement.quiet = true, true
	if stage == loadingNote {
		file := os.NewFile(noteFile, "note")
		if file == nil {
			return os.ErrInvalid
		}
		defer func() { _ = file.Close() }() // it was only read
		if err := json.NewDecoder(file).Decode(&a.confinement.once); err != nil {
			return err
		}
	}
	return errors.Join(sandbox.Policy{Network: true}.Verify(), sandbox.Seal())
}

// readFile reads a file of the configuration. The process that replaces this one may have to read it again.
func (c *confinement) readFile(path string) ([]byte, fs.FileMode, error) {
	if c.inside {
		if n, ok := c.once[path]; ok {
			delete(c.once, path) // a reload must read the file as it is then
			return n.Data, n.Mode, nil
		}
		return config.ReadFile(path)
	}
	data, mode, err := config.ReadFile(path)
	if info, statErr := os.Stat(path); err == nil && statErr == nil && !info.Mode().IsRegular() {
		if c.once == nil {
			c.once = map[string]note{}
		}
		c.once[path] = note{data, mode}
	}
	return data, mode, err
}

// warn prints the warnings of a configuration.
func (a *app) warn(warnings []config.Warning) {
	if a.confinement.quiet {
		a.confinement.quiet = false
		return
	}
	for _, w := range warnings {
		a.log.Warn(w.String())
	}
}
