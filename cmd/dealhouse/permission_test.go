//go:build !noengine

package main

import (
	"bytes"
	"dealhouse/internal/enginetest"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// otherUser is a user who owns nothing but what a test gives away.
const otherUser = 12345

// otherProgram is this program in a folder where every user can start it.
func otherProgram(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "dealhouse")
	from, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }() // it was only read
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.Copy(to, from); errors.Join(err, to.Close()) != nil {
		t.Fatal(err)
	}
	return path
}

// A folder that the user may not write to is a mistake of the setup: one message says what to do, and a retry is of no
// use. The engine is not started, so it prints nothing of its own.
func TestFoldersOfOthers(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("only root can start programs as somebody else: CI has to run as root, or this is not tested at all")
		}
		t.Skip("only root can start programs as somebody else")
	}
	root := t.TempDir()
	for _, dir := range []string{filepath.Dir(root), root} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := otherProgram(t, root)
	folder := func(name string, mode os.FileMode, owner int) string {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Join(path, "metadata"), 0o755), os.Chown(path, owner, -1),
			os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	others, frozen := folder("others", 0o700, 0), folder("frozen", 0o500, otherUser)
	readable, own := folder("readable", 0o755, 0), folder("own", 0o700, otherUser)
	beside := func(dir string) []string {
		return []string{dir + " cannot be written to (permission denied): give it to the user of this command, or set warehouse.dsn to another folder"}
	}
	for _, c := range []struct {
		name, data, home string
		words            []string
		args             []string // default: several commands
	}{
		{"another's folder", others, own, beside(others), nil},
		{"a folder without the right to write", frozen, own, beside(frozen), nil},
		{"a folder that cannot be made", filepath.Join(readable, "data"), own, beside(readable),
			[]string{"migrate"}}, // for the others there is no warehouse yet, which is another mistake
		{"a cache that cannot be made", own, readable, []string{"permission denied", "set XDG_CACHE_HOME to a folder that"},
			nil},
		{"no home", own, "", []string{"set HOME or XDG_CACHE_HOME"}, nil},
		{"another's folder for a backup", own, own, []string{readable + " cannot be written to (permission denied)",
			"choose another folder"}, []string{"backup", filepath.Join(readable, "x.tar")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := [][]string{c.args}
			if c.args == nil {
				all = [][]string{{"migrate"}, {"status"}, {"query", "SELECT 1"}, {"serve-warehouse"}}
			}
			for _, args := range all {
				var out, errs bytes.Buffer
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Env = slices.DeleteFunc(ambient(), func(entry string) bool {
					return strings.HasPrefix(entry, "HOME=") || strings.HasPrefix(entry, "XDG_") ||
						strings.HasPrefix(entry, "DEALHOUSE_")
				})
				cmd.Env = append(cmd.Env, childVariable+"=1", "DEALHOUSE_WAREHOUSE_DSN=embedded:"+c.data)
				if c.home != "" {
					cmd.Env = append(cmd.Env, "HOME="+c.home)
				}
				cmd.Dir, cmd.Stdout, cmd.Stderr = own, &out, &errs
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
				err := cmd.Run()
				if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
					t.Fatal(err)
				}
				outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}.want(t, 2, c.words...)
				if n := strings.Count(errs.String(), "\n"); n != 1 {
					t.Error(fmt.Sprint(args), "prints", n, "lines:", errs.String())
				}
			}
		})
	}
}
