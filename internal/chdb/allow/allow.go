//go:build !noengine && (linux || darwin)

package chdb

import (
	"embed"
	"strconv"
	"strings"
	"sync"
)

// The lists of what a statement may name, cut down once from the engine's own catalogues. A test compares them with the
// engine: a new release that brings a name, or drops one, fails it.
//
//go:embed allow/*.txt
var allowFiles embed.FS

// where tells a user where to look.
const where = "; what is allowed is listed in internal/chdb/allow/ of dealhouse's source"

// entry is one name of a list.
type entry struct {
	name    string
	sign    byte // '-' is refused, '+' is for some only, see the file's head; 0 is allowed
	zone    int  // the argument that names a time zone, or -1
	typ     int  // the argument that names a type, or -1; lastArgument is the last one
	hasType bool
	higher  bool // the first argument is a function
	bare    bool // refused only as a call
}

const lastArgument = -1

// list has its names in lower case: most of what the engine looks up by name it finds in any case.
type list map[string]entry

// allows tells whether name is on the list without a sign.
func (l list) allows(name string) bool {
	e, ok := l[strings.ToLower(name)]
	return ok && e.sign == 0
}

// refuses tells whether the list says of name that it is not allowed. A name that it does not have is neither.
func (l list) refuses(name string) bool { return l[strings.ToLower(name)].sign == '-' }

type allowLists struct {
	functions, aggregates, tableFunctions, engines, formats, settings, mergeTree, systemTables list
}

var allowed = sync.OnceValue(func() *allowLists {
	return &allowLists{
		functions:      readList("functions"),
		aggregates:     readList("aggregates"),
		tableFunctions: readList("table_functions"),
		engines:        readList("engines"),
		formats:        readList("formats"),
		settings:       readList("settings"),
		mergeTree:      readList("merge_tree_settings"),
		systemTables:   readList("system_tables"),
	}
})

func readList(file string) list {
	text, err := allowFiles.ReadFile("allow/" + file + ".txt")
	if err != nil {
		panic("chdb: a list is missing from the binary: " + err.Error())
	}
	l := list{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		e := readEntry(fields)
		key := strings.ToLower(e.name)
		if l[key].sign == '-' {
			e.sign = '-' // of two spellings the stricter counts
		}
		l[key] = e
	}
	return l
}

func readEntry(fields []string) entry {
	e := entry{name: fields[0], zone: -1}
	if c := e.name[0]; c == '-' || c == '+' {
		e.sign, e.name = c, e.name[1:]
	}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			n = lastArgument
		}
		switch key {
		case "zone":
			e.zone = n
		case "type":
			e.typ, e.hasType = n, true
		case "higher":
			e.higher = true
		case "bare":
			e.bare = true
		}
	}
	return e
}

// combinators are the suffixes that make a new aggregate function of another.
var combinators = []string{
	"simplestate", "ordefault", "distinct", "resample", "foreach", "argmax", "argmin", "ornull", "tuple", "merge", "state", "array", "null", "map", "if",
}

// function finds what the lists say of a name in a call. Of those that they do not have, ok is false.
func (l *allowLists) function(name string) (e entry, ok bool) {
	name = strings.ToLower(name)
	if e, ok := l.functions[name]; ok {
		return e, true
	}
	if e, ok := l.aggregates[name]; ok {
		return e, true
	}
	if madeByParser[name] {
		return entry{name: name, zone: -1}, true
	}
	for _, c := range combinators {
		if base, cut := strings.CutSuffix(name, c); cut && base != "" {
			if e, ok := l.function(base); ok && e.isAggregate(l) {
				return e, true
			}
		}
	}
	return entry{}, false
}

func (e entry) isAggregate(l *allowLists) bool {
	_, ok := l.aggregates[strings.ToLower(e.name)]
	return ok
}

// madeByParser are functions that no catalogue has: what the parser and the analyzer write for syntax.
var madeByParser = map[string]bool{"lambda": true, "exists": true, "untuple": true, "grouping": true}

// inDefinitions are what stands like a function in the definition of a column, an index or a statistic: codecs, and the
// kinds of the others.
var inDefinitions = map[string]bool{
	"codec": true, "alp": true, "default": true, "delta": true, "doubledelta": true, "fpc": true, "gcd": true, "gorilla": true, "lz4": true,
	"lz4hc": true, "none": true, "t64": true, "zstd": true, "bloom_filter": true, "hypothesis": true, "minmax": true,
	"ngrambf_v1": true, "set": true, "sparse_grams": true, "text": true, "tokenbf_v1": true, "vector_similarity": true, "countmin": true,
	"tdigest": true, "uniq": true,
}
