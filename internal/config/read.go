package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// FileName is the file that is read from the current directory when neither --config nor DEALHOUSE_CONFIG names one.
const FileName = "dealhouse.toml"

// largestFile bounds what is read of a configuration or key file, in bytes.
const largestFile = 1 << 20

// Source is everything that a configuration is made of.
type Source struct {
	// Path is the file that --config names. Empty: the file that DEALHOUSE_CONFIG names, else FileName when it exists,
	// else no file.
	Path string

	// Env is the environment in the form of os.Environ. A variable that is empty counts as not set.
	Env []string

	// KnownEnv names further DEALHOUSE_ variables that are read elsewhere, and so are not a mistake.
	KnownEnv []string

	// NeedAccounts says that the command talks to the API: at least one account must exist, and all keys are resolved.
	// Otherwise keys stay unresolved. In both cases everything that is configured is validated.
	NeedAccounts bool

	// NeedDaemon says that the command serves the daemon's port: its password is resolved.
	NeedDaemon bool

	// NeedReceivers says that the command sends something to receivers: their secrets are resolved. NeedAccounts
	// does that too.
	NeedReceivers bool
	// Only names the tables of the file that are enough for the command, such as "warehouse"; empty: it needs all. If
	// something is wrong elsewhere, they are read alone, and what is wrong becomes warnings: while a daemon goes on that
	// has refused this file, a person must be able to see how it stands.
	Only []string
	// Missing, if set, is called for each secret that is not on this machine: a variable that is not set, a file that
	// cannot be read. A missing secret is then not a problem and stays unresolved.
	Missing func(Problem)

	// ReadFile reads a file and returns its permissions. Default: the file system.
	ReadFile func(path string) ([]byte, fs.FileMode, error)
}

// PathOf is the file that Read reads, which need not exist.
func PathOf(src Source) string {
	path, _ := pathOf(src.Path, parseEnv(src.Env))
	return path
}

// pathOf returns a path and who named it: "" for FileName, which need not exist.
func pathOf(path string, env map[string]string) (found, namedBy string) {
	switch {
	case path != "":
		return path, "--config"
	case env[envFile] != "":
		return env[envFile], envFile
	}
	return FileName, ""
}

type fileReader func(path string) ([]byte, fs.FileMode, error)

// Read reads, merges and validates a configuration. Its error is always a *Problems; warnings are to be shown in both
// cases.
func Read(src Source) (*Config, []Warning, error) {
	found := &findings{missing: src.Missing}
	l := reader{findings: found, src: src, env: parseEnv(src.Env), read: src.ReadFile}
	if l.read == nil {
		l.read = ReadFile
	}
	config := l.readAll()
	err := found.err()
	if err != nil && len(src.Only) > 0 {
		a := l.alone()
		if alone := a.readAll(); alone != nil {
			for _, p := range found.problems {
				found.warnings = append(found.warnings, Warning(p))
			}
			alone.Partial = true
			return alone, found.sortedWarnings(), nil
		}
		found.problems = append(found.problems, a.problems...)
		err = found.err()
	}
	if err != nil {
		return nil, found.sortedWarnings(), err
	}
	return config, found.sortedWarnings(), nil
}

// alone returns the reader of Source.Only.
func (l *reader) alone() *reader {
	a := &reader{findings: &findings{}, src: Source{Path: l.src.Path}, env: map[string]string{}, read: l.read, only: l.src.Only}
	for name, value := range l.env {
		if name == envFile || slices.ContainsFunc(a.only, func(table string) bool { return a.isOf(name, table) }) {
			a.env[name] = value
		}
	}
	return a
}

// isOf reports whether a variable sets a key of a table.
func (l *reader) isOf(name, table string) bool {
	return strings.HasPrefix(name, envPrefix+strings.ToUpper(table)+"_")
}

// keep removes all other tables from what could be read of the file, which may not be the whole. Then it returns nil if
// the place of the warehouse is not in it: the default might be another one.
func (l *reader) keep(root *node, whole bool) *node {
	kept := newTable(root.at)
	for _, table := range l.only {
		found, ok := root.keys[table]
		switch {
		case ok:
			kept.set(table, found.at, found)
		case table == "warehouse" && !whole && !slices.ContainsFunc(slices.Collect(maps.Keys(l.env)), func(name string) bool { return l.isOf(name, table) }):
			return nil
		}
	}
	return kept
}

type reader struct {
	*findings
	src  Source
	env  map[string]string
	read fileReader

	file  string // the file that was read, if any
	loose bool   // whether everybody may read it
	only  []string
}

func (l *reader) readAll() *Config {
	l.network()
	root := l.tree()
	if root == nil {
		return nil
	}
	environment := overrides{findings: l.findings, env: l.env, known: l.src.KnownEnv}
	environment.apply(root)
	top := walker{l.findings}.walk(nil, root, schema(), 0, newValues())
	config := l.build(top)
	if l.only != nil && len(l.problems) > 0 {
		return nil
	}
	return config
}

// tree reads the file, if there is one. After a problem that leaves nothing to look at it returns nil.
func (l *reader) tree() *node {
	path, named := pathOf(l.src.Path, l.env)
	data, mode, err := l.read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && named == "":
		return newTable(position{})
	case err != nil && l.only != nil:
		return l.keep(newTable(position{file: path}), false)
	case err != nil:
		l.problem(position{file: path}, "cannot read the configuration%s: %s", namedBy(named), reason(err))
		return nil
	}
	l.file, l.loose = path, mode&othersRead != 0
	root, err := parseTree(path, data)
	var syntax *syntaxError
	switch {
	case errors.As(err, &syntax) && l.only != nil:
		beginning := bytes.SplitAfterN(data, []byte("\n"), max(1, syntax.at.line))
		if root, err = parseTree(path, bytes.Join(beginning[:len(beginning)-1], nil)); err != nil {
			return nil
		}
		return l.keep(root, false)
	case errors.As(err, &syntax):
		l.problem(syntax.at, "%s", syntax.message)
		return nil
	case l.only != nil:
		return l.keep(root, true)
	}
	return root
}

func namedBy(what string) string {
	if what == "" {
		return ""
	}
	return " that " + what + " names"
}

// ReadFile reads a file of the file system, and returns its permissions. A file above largestFile is an error.
func ReadFile(path string) ([]byte, fs.FileMode, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, errors.New("it is a directory")
	}
	data, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err != nil {
		return nil, 0, err
	}
	if len(data) > largestFile {
		return nil, 0, fmt.Errorf("it is larger than %d bytes", largestFile)
	}
	return data, info.Mode().Perm(), nil
}
