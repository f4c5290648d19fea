// Package schema holds the numbered SQL of the tables that every warehouse has, whatever its streams are. The tables
// and views of the streams follow from internal/catalog and are made after these.
//
// A file is applied once, in the order of its number, and recorded in schema_migrations. Files are never edited after
// a release: a change is a new file. Statements end with a semicolon at the end of a line; every one can be repeated
// without harm, since a process may be killed between a statement and its record.
//
// The files in views/ are the views that people query beside those of the streams. They are made after everything else,
// in the order of their names, and again whenever a binary has others: to change a view is to edit its file. Each
// statement is a CREATE OR REPLACE VIEW whose columns are listed with their comments.
package schema

import "embed"

// Files are the numbered *.sql files.
//
//go:embed *.sql
var Files embed.FS

// Views are the views/*.sql files.
//
//go:embed views/*.sql
var Views embed.FS
