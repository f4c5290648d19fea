package main

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
	"dealhouse/internal/output"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/wording"
)

// checkFolder checks the folder of an embedded warehouse: its disk, who has it open, and the engine. It creates
// nothing.
func checkFolder(ctx context.Context, a *app, dir string) []finding {
	all := []finding{checkWritable(dir)}
	if all[0].verdict == verdictFailed {
		return all
	}
	all = append(all, checkRoom(dir))
	if held, is := checkHolder(ctx, dir); is {
		all = append(all, held)
	}
	return append(all, checkEngine(ctx, a, dir))
}

func checkWritable(dir string) finding {
	const name = "data folder"
	whole, err := filepath.Abs(dir)
	if err != nil {
		return finding{name, verdictFailed, err.Error(), exitUsage}
	}
	there := machine.Existing(whole)
	info, err := os.Stat(there)
	if err == nil && !info.IsDir() {
		return finding{name, verdictFailed, there + " is not a folder: set warehouse.dsn to another one", exitUsage}
	}
	if err == nil {
		err = unix.Access(there, unix.W_OK|unix.X_OK)
	}
	switch {
	case err != nil:
		return finding{name, verdictFailed, fmt.Sprintf("%s cannot be written to (%v): give it to the user of this command, or set warehouse.dsn to another folder", there, err), exitUsage}
	case there != whole:
		return finding{name, verdictOK, fmt.Sprintf("%s does not exist yet, and can be created in %s", whole, there), exitOK}
	}
	if _, err := os.Lstat(filepath.Join(whole, chdb.RestoringFile)); err == nil {
		return finding{name, verdictFailed, whole + ": " + chdb.ErrRestoring.Error(), exitFault}
	}
	return finding{name, verdictOK, whole + " can be written to", exitOK}
}

func checkRoom(dir string) finding {
	free, err := machine.FreeDisk(dir)
	switch {
	case err != nil:
		return finding{"disk", verdictFailed, err.Error(), exitFault}
	case free < warehouse.NoRoom:
		return finding{"disk", verdictFailed, wording.Bytes(free) +
			" free: make room or move the folder to another disk, else loading will soon fail", exitFault}
	case free < warehouse.LittleRoom:
		return finding{"disk", verdictWarn, wording.Bytes(free) +
			" free, which is little: loaded data is stored twice for a moment", exitOK}
	}
	return finding{"disk", verdictOK, wording.Bytes(free) + " free", exitOK}
}

// checkHolder says which other process has the folder open, if one has.
func checkHolder(ctx context.Context, dir string) (f finding, held bool) {
	const name = "held by"
	if guest, err := chdb.Join(ctx, dir); err == nil {
		defer guest.Close()
		what := "which will end by itself: commands that only read work through it, those that load wait for it"
		if guest.Lasting() {
			what = "which runs until it is stopped: other commands work through it"
		}
		return finding{name, verdictOK, fmt.Sprintf("process %d, %s", guest.PID(), what), exitOK}, true
	}
	pid, held := chdb.Holder(dir)
	if !held {
		return f, false
	}
	who := "another process"
	if pid != 0 {
		who = fmt.Sprintf("process %d", pid)
	}
	return finding{name, verdictWarn, who +
		", which does not share it (perhaps serve-warehouse, a backup or a report): no other command can use the warehouse until it ends", exitOK}, true
}

// checkEngine checks that the engine's library is complete. If no warehouse is opened afterwards, it also starts the
// engine.
func checkEngine(ctx context.Context, a *app, dir string) finding {
	const name = "engine"
	present, err := chdb.Present(ctx, chdb.Options{Logger: a.log})
	switch {
	case err != nil:
		return finding{name, verdictFailed, output.Message(err), faultCode(err)}
	case !present:
		if _, err := exec.LookPath("npm"); err != nil {
			return finding{name, verdictFailed, "the ClickHouse engine is not on this machine, nor is npm, which downloads it: install Node.js with npm, or set " + chdb.EnvLibrary + " to a libchdb.so", exitUsage}
		}
		return finding{name, verdictWarn, "the ClickHouse engine is not on this machine yet: dealhouse sync downloads it, once (178 MB)", exitOK}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return finding{name, verdictOK, "ClickHouse " + chdb.Version + ", the library is whole", exitOK}
	}
	if err := tryEngine(ctx, a); err != nil {
		return finding{name, verdictFailed, output.Message(err), faultCode(err)}
	}
	return finding{name, verdictOK, "ClickHouse " + chdb.Version + ", the library is whole and starts", exitOK}
}

// tryEngine starts the engine on a folder of its own.
func tryEngine(ctx context.Context, a *app) (err error) {
	dir, err := os.MkdirTemp("", "dealhouse-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e, err := chdb.Open(ctx, chdb.Options{Dir: dir, Logger: a.log})
	if err != nil {
		return err
	}
	return e.Close()
}
