// Package schema holds the numbered SQL of the tables that every warehouse has, whatever its streams are. The tables
// and views of the streams follow from internal/catalog and are made after these.
//
// A file is applied once, in the order of its number, and recorded in schema_migrations. The first one is the baseline.
// Files are never edited after a release: a change is a new file. Statements end with a semicolon at the end of a line;
// every one can be repeated without harm, since a process may be killed between a statement and its record.
//
// The files in views/ are the views that people query beside those of the streams. They are made after everything else,
// in the order of their names, and again whenever a binary has newer ones (Generation). To change a view is to edit its
// file, and to raise the generation with `go generate ./...`. Each statement is a CREATE OR REPLACE VIEW whose columns
// are listed with their comments. What several views have in common is a file in views/parts/: $name stands for the
// text of the file of that name.
package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Files are the numbered *.sql files.
//
//go:embed *.sql
var Files embed.FS

// Guide is README.md: the rules of the views, what each has, and a cookbook.
//
//go:embed README.md
var Guide string

//go:embed views/*.sql views/parts/*.sql
var views embed.FS

// Views are the texts of the views/*.sql files, in the order of their names, with their parts filled in.
func Views() ([]string, error) {
	names, err := fs.Glob(views, "views/*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing the views: %w", err)
	}
	texts := make([]string, len(names))
	for i, name := range names {
		if texts[i], err = View(strings.TrimPrefix(name, "views/")); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// View is the text of one file of views/, with its parts filled in.
func View(name string) (string, error) {
	text, err := fs.ReadFile(views, "views/"+name)
	if err != nil {
		return "", fmt.Errorf("reading the view %s: %w", name, err)
	}
	whole, err := withParts(string(text))
	if err != nil {
		return "", fmt.Errorf("reading the view %s: %w", name, err)
	}
	return whole, nil
}

// withParts replaces each $name of a text by the file of that name in views/parts/, without its comment lines.
func withParts(text string) (string, error) {
	var missing error
	text = os.Expand(text, func(name string) string {
		part, err := fs.ReadFile(views, "views/parts/"+name+".sql")
		if err != nil {
			missing = fmt.Errorf("it names the part $%s: %w", name, err)
		}
		var lines strings.Builder
		for line := range strings.Lines(string(part)) {
			if !strings.HasPrefix(line, "--") {
				lines.WriteString(line)
			}
		}
		return strings.TrimSuffix(lines.String(), "\n")
	})
	return text, missing
}
