package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb"
	"dealhouse/internal/machine"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// DemoFile marks a folder as one of the demo, whose data may be removed.
const DemoFile = "dealhouse-demo.txt"

// checkFolder checks the folder of an embedded warehouse: its disk, who has it open, and the engine. It creates
// nothing.
func (c *Checker) checkFolder(ctx context.Context, dir string) []Finding {
	all := []Finding{checkWritable(dir)}
	if all[0].Verdict == Failed {
		return all
	}
	all = append(all, checkRoom(dir))
	if held, is := checkHolder(ctx, dir); is {
		all = append(all, held)
	}
	return append(all, c.checkEngine(ctx, dir))
}

func checkWritable(dir string) Finding {
	const name = "data folder"
	whole, err := filepath.Abs(dir)
	if err != nil {
		return misconfigured(name, err.Error())
	}
	there := machine.Existing(whole)
	err = machine.MayUse(there, unix.W_OK|unix.X_OK)
	switch {
	case err != nil:
		return misconfigured(name, (&chdb.FolderError{Path: there, Err: err}).Error())
	case there != whole:
		return ok(name, fmt.Sprintf("%s does not exist yet, and can be created in %s", whole, there))
	}
	if _, err := os.Lstat(filepath.Join(whole, chdb.RestoringFile)); err == nil {
		return failedAs(name, whole+": "+chdb.ErrRestoring.Error())
	}
	if machine.OpenToOthers(whole) {
		return warn(name, whole+" can be written to by every user of this machine, who could change what is loaded: chmod go-w "+whole)
	}
	if _, err := os.Lstat(filepath.Join(whole, DemoFile)); err == nil {
		return warn(name, whole+" is that of a demo, and the next `dealhouse demo` on it removes what you load: set warehouse.dsn to another folder")
	}
	return ok(name, whole+" can be written to")
}

func checkRoom(dir string) Finding {
	free, err := machine.FreeDisk(dir)
	switch {
	case err != nil:
		return failedAs("disk", err.Error())
	case free < warehouse.NoRoom:
		return failedAs("disk", term.Size(free)+
			" free: make room or move the folder to another disk, else loading will soon fail")
	case free < warehouse.LittleRoom:
		return warn("disk", term.Size(free)+
			" free, which is little: loaded data is stored twice for a moment")
	}
	return ok("disk", term.Size(free)+" free")
}

// checkHolder says which other process has the folder open, if one has.
func checkHolder(ctx context.Context, dir string) (f Finding, held bool) {
	const name = "held by"
	if guest, err := chdb.Join(ctx, dir); err == nil {
		defer func() { _ = guest.Close() }() // nothing was asked
		what := "which will end by itself: commands that only read work through it, those that load wait for it"
		if guest.Lasting() {
			what = "which runs until it is stopped: other commands work through it"
		}
		return ok(name, fmt.Sprintf("process %d, %s", guest.PID(), what)), true
	}
	pid, held := chdb.Holder(dir)
	if !held {
		return f, false
	}
	who := "another process"
	if pid != 0 {
		who = fmt.Sprintf("process %d", pid)
	}
	return warn(name, who+
		", which does not share it (perhaps serve-warehouse, a backup or a report): no other command can use the warehouse until it ends"), true
}

// checkEngine checks that the engine's library is complete. Its version is not that of the ClickHouse in it, which the
// check of the warehouse tells. If no warehouse is opened afterwards, it also starts the engine.
func (c *Checker) checkEngine(ctx context.Context, dir string) Finding {
	const name = "engine"
	present, err := chdb.Present(ctx, chdb.Options{Logger: c.options.Logger})
	switch {
	case err != nil:
		return failed(name, err)
	case !present:
		if _, err := exec.LookPath("npm"); err != nil {
			return misconfigured(name, "the ClickHouse engine is not on this machine, nor is npm, which downloads it: install Node.js with npm, or set "+chdb.EnvLibrary+" to a libchdb.so")
		}
		return warn(name, "the ClickHouse engine is not on this machine yet: dealhouse sync downloads it, once ("+chdb.DownloadSize+")")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return ok(name, "libchdb "+chdb.Version+", the library is whole")
	}
	if err := c.tryEngine(ctx); err != nil {
		return failed(name, err)
	}
	return ok(name, "libchdb "+chdb.Version+", the library is whole and starts")
}

// tryEngine starts the engine on a folder of its own.
func (c *Checker) tryEngine(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "dealhouse-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e, err := chdb.Open(ctx, chdb.Options{Dir: dir, Logger: c.options.Logger})
	if err != nil {
		return err
	}
	return e.Close()
}
