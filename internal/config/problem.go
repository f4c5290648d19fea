package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// position says where a value came from: a place in the file, or an environment variable. The zero position is neither.
type position struct {
	file      string
	line, col int
	env       string
}

func (p position) String() string {
	switch {
	case p.env != "":
		return "environment variable " + p.env
	case p.line > 0:
		return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.col)
	default:
		return p.file
	}
}

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	File         string // the file, when the problem is in one
	Line, Column int    // from 1, in characters; 0 when the file as a whole is meant
	Env          string // the environment variable, when the problem is in one
	Message      string // for a person; never holds a secret
	Advice       string // what to do, if that needs lines of its own; often empty
}

// String is "file:line:col: message" or "environment variable NAME: message", with the advice, in one line.
func (p Problem) String() string { return strings.Join(p.lines(), " ") }

func (p Problem) lines() []string {
	text := p.Message
	if where := (position{file: p.File, line: p.Line, col: p.Column, env: p.Env}).String(); where != "" {
		text = where + ": " + text
	}
	if p.Advice == "" {
		return []string{text}
	}
	return append([]string{text}, strings.Split(p.Advice, "\n")...)
}

// Warning is something that works, but should be changed.
type Warning Problem

// String has the form of Problem.String.
func (w Warning) String() string { return Problem(w).String() }

// Problems is the error of Load: everything that is wrong, at least one.
type Problems struct{ list []Problem } //nolint:errname // the callers know it by this name; each Problem in it is no error by itself

// Error gives each problem a line, or several lines if it has advice.
func (p *Problems) Error() string { return strings.Join(p.Lines(), "\n") }

// Lines returns the lines of Error.
func (p *Problems) Lines() (lines []string) {
	for _, one := range p.list {
		lines = append(lines, one.lines()...)
	}
	return lines
}

// All returns the problems: those of the file in its order, then those of environment variables by name, then those of
// neither.
func (p *Problems) All() []Problem { return slices.Clone(p.list) }

// findings collects problems and warnings while a configuration is read.
type findings struct {
	problems []Problem
	warnings []Warning
	missing  func(Problem) // Source.Missing
}

func (f *findings) problem(at position, format string, args ...any) {
	found := at.problem(fmt.Sprintf(format, args...))
	if f.missing != nil && slices.ContainsFunc(args, isElsewhere) {
		f.missing(found)
		return
	}
	f.problems = append(f.problems, found)
}

// isElsewhere reports whether an argument of a problem is the error of a secret that is not on this machine.
func isElsewhere(arg any) bool {
	err, is := arg.(error)
	if is {
		_, is = errors.AsType[*elsewhereError](err)
	}
	return is
}

func (f *findings) warn(at position, format string, args ...any) {
	f.warnings = append(f.warnings, Warning(at.problem(fmt.Sprintf(format, args...))))
}

func (p position) problem(message string) Problem {
	return Problem{File: p.file, Line: p.line, Column: p.col, Env: p.env, Message: message}
}

// err is nil when there is no problem.
func (f *findings) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(f.problems, compareProblems)
	return &Problems{list: slices.Compact(f.problems)}
}

func (f *findings) sortedWarnings() []Warning {
	slices.SortStableFunc(f.warnings, func(a, b Warning) int { return compareProblems(Problem(a), Problem(b)) })
	return slices.Compact(f.warnings)
}

func compareProblems(a, b Problem) int {
	return cmp.Or(
		cmp.Compare(rank(a), rank(b)),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
		cmp.Compare(a.Env, b.Env),
	)
}

func rank(p Problem) int {
	switch {
	case p.Env != "":
		return 1
	case p.File != "":
		return 0
	default:
		return 2
	}
}

// didYouMean returns `; did you mean "x"?` for the candidate nearest to name, or "" if none is near.
func didYouMean(name string, candidates []string) string {
	near, ok := nearest(name, candidates, len(name)/3)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// nearest finds the candidate that name was probably meant to be: the nearest one with no more than the given number of
// wrong letters, or else the only one that contains it.
func nearest(name string, candidates []string, wrong int) (string, bool) {
	// Every key is much shorter, and the comparison is quadratic.
	const longest = 128
	if name == "" || len(name) > longest {
		return "", false
	}
	plain := fold(name)
	best, bestDistance := "", wrong+1
	for _, c := range candidates {
		if d := distance(plain, fold(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best != "" {
		return best, true
	}
	const shortest = 3 // "a" is contained in nearly everything
	if len(plain) < shortest {
		return "", false
	}
	for _, c := range candidates {
		if !strings.Contains(fold(c), plain) {
			continue
		}
		if best != "" {
			return "", false
		}
		best = c
	}
	return best, best != ""
}

// fold takes away what people vary without meaning it.
func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour to get from a to b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
