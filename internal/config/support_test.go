package config

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// testFile is a file with its permissions.
type testFile struct {
	text string
	mode fs.FileMode
}

// files is a file system for Source.ReadFile.
type files map[string]testFile

func (f files) read(path string) ([]byte, fs.FileMode, error) {
	file, ok := f[path]
	switch {
	case !ok:
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case file.mode == 0:
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return []byte(file.text), file.mode, nil
}

// source is a Source with one file, dealhouse.toml.
func source(text string, env ...string) Source {
	return Source{
		Env:          env,
		NeedAccounts: true,
		ReadFile:     files{FileName: {text, 0o600}}.read,
	}
}

func mustLoad(t *testing.T, src Source) *Config {
	t.Helper()
	c, _, err := Read(src)
	if err != nil {
		t.Fatalf("Load:\n%s", err)
	}
	return c
}

// problems returns the lines of the error of Load.
func problems(t *testing.T, src Source) []string {
	t.Helper()
	c, _, err := Read(src)
	if err == nil {
		return nil
	}
	var all *Problems
	if !errors.As(err, &all) || len(all.All()) == 0 {
		t.Fatalf("the error is a %T, not *Problems", err)
	}
	if c != nil {
		t.Error("Load returned a Config with an error")
	}
	return strings.Split(err.Error(), "\n")
}

// acme is the smallest account.
const acme = `[[account]]
name = "acme"
base_url = "https://api.example.com"
api_key = "env:DEALS_API_KEY"
`

const acmeKey = "DEALS_API_KEY=k-acme"
