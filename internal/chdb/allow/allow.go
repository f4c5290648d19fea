package allow

import (
	"embed"
	"strconv"
	"strings"
	"sync"
)

// The lists of what a statement may name. They began as the engine's own catalogues, cut down by hand. A test compares
// them with the engine: it fails if a new release adds or drops a name.
//
//go:embed *.txt
var allowFiles embed.FS

// Where is the end of an error text. It tells a user where the lists are.
const Where = "; what is allowed is listed in internal/chdb/allow/ of dealhouse's source"

// Entry is one name of a list.
type Entry struct {
	Name    string
	Sign    byte // '-': refused; '+': allowed in some cases only, see the head of the file; 0: allowed
	Zone    int  // the argument that names a time zone, or -1
	Type    int  // the argument that names a type, or -1; LastArgument is the last one
	HasType bool
	Higher  bool // the first argument is a function
	Bare    bool // refused only as a call
}

// LastArgument means the last argument of a function, however many it has.
const LastArgument = -1

// List maps names in lower case to their entries: the engine itself ignores the case of most names.
type List map[string]Entry

// Allows tells whether name is on the list without a sign.
func (l List) Allows(name string) bool {
	e, ok := l[strings.ToLower(name)]
	return ok && e.Sign == 0
}

// Refuses tells whether the list marks name as not allowed. A name that is not on the list is neither allowed nor
// refused.
func (l List) Refuses(name string) bool { return l[strings.ToLower(name)].Sign == '-' }

// Lists holds all the lists.
type Lists struct {
	Functions, Aggregates, TableFunctions, Engines, Formats, Settings, MergeTree, SystemTables List
}

// All returns the lists. It reads them once.
var All = sync.OnceValue(func() *Lists {
	return &Lists{
		Functions:      readList("functions"),
		Aggregates:     readList("aggregates"),
		TableFunctions: readList("table_functions"),
		Engines:        readList("engines"),
		Formats:        readList("formats"),
		Settings:       readList("settings"),
		MergeTree:      readList("merge_tree_settings"),
		SystemTables:   readList("system_tables"),
	}
})

func readList(file string) List {
	text, err := allowFiles.ReadFile(file + ".txt")
	if err != nil {
		panic("chdb: a list is missing from the binary: " + err.Error())
	}
	l := List{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		e := readEntry(fields)
		key := strings.ToLower(e.Name)
		if l[key].Sign == '-' {
			e.Sign = '-' // if two spellings differ, the stricter one counts
		}
		l[key] = e
	}
	return l
}

func readEntry(fields []string) Entry {
	e := Entry{Name: fields[0], Zone: -1}
	if c := e.Name[0]; c == '-' || c == '+' {
		e.Sign, e.Name = c, e.Name[1:]
	}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			n = LastArgument
		}
		switch key {
		case "zone":
			e.Zone = n
		case "type":
			e.Type, e.HasType = n, true
		case "higher":
			e.Higher = true
		case "bare":
			e.Bare = true
		}
	}
	return e
}

// Combinators are the suffixes that turn one aggregate function into another, such as "if" in sumIf.
var Combinators = []string{
	"simplestate", "ordefault", "distinct", "resample", "foreach", "argmax", "argmin", "ornull", "tuple", "merge", "state",
	"array", "null", "map", "if",
}

// Function returns the entry of a name in a call. ok is false for a name that is on no list.
func (l *Lists) Function(name string) (e Entry, ok bool) {
	name = strings.ToLower(name)
	if e, ok := l.Functions[name]; ok {
		return e, true
	}
	if e, ok := l.Aggregates[name]; ok {
		return e, true
	}
	if madeByParser[name] {
		return Entry{Name: name, Zone: -1}, true
	}
	for _, c := range Combinators {
		if base, cut := strings.CutSuffix(name, c); cut && base != "" {
			if e, ok := l.Function(base); ok && e.isAggregate(l) {
				return e, true
			}
		}
	}
	return Entry{}, false
}

func (e Entry) isAggregate(l *Lists) bool {
	_, ok := l.Aggregates[strings.ToLower(e.Name)]
	return ok
}

// madeByParser are functions that are in no catalogue: the parser and the analyzer put them in place of syntax.
var madeByParser = map[string]bool{"lambda": true, "exists": true, "untuple": true, "grouping": true}

// InDefinitions are names that look like functions in the definition of a column, an index or a statistic: codecs, and
// the kinds of indexes and statistics.
var InDefinitions = map[string]bool{
	"codec": true, "alp": true, "default": true, "delta": true, "doubledelta": true, "fpc": true, "gcd": true,
	"gorilla": true, "lz4": true,
	"lz4hc": true, "none": true, "t64": true, "zstd": true, "bloom_filter": true, "hypothesis": true, "minmax": true,
	"ngrambf_v1": true, "set": true, "sparse_grams": true, "text": true, "tokenbf_v1": true, "vector_similarity": true,
	"countmin": true,
	"tdigest":  true, "uniq": true,
}
