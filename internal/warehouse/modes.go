package warehouse

import (
	"slices"
	"strings"
)

// Modes of a run, as sync_runs has them: what it reads of its stream. The first three are the kinds of the catalog.
const (
	ModeSnapshot    = "snapshot"    // all of it
	ModeWalk        = "walk"        // all of it, in a walk that can be resumed
	ModeIncremental = "incremental" // what changed after the watermark
	ModeFull        = "full"        // all of a stream that is otherwise read by changes
	ModeInitial     = "initial"     // one of the windows in which a stream is first read
	ModeBackfill    = "backfill"    // one of the windows of a range that was asked for
	ModeRetry       = "retry"       // rejected records, from what was kept of them
	ModeReferences  = "references"  // single records, by their own addresses
)

// mode says what the runs of a mode tell about their stream. Every condition on modes is made from this table.
type mode struct {
	name   string
	whole  bool // it reads the whole list, and can say which rows the list no longer has
	inStep bool // it brings the stream in step with the API; the others load single records and say nothing of the rest
	fresh  bool // it says how fresh the stream is; a range of the past does not, and a person sees how it ends
	window bool // it is one of many runs that together read a range
}

var modes = []mode{
	{name: ModeSnapshot, whole: true, inStep: true, fresh: true},
	{name: ModeWalk, whole: true, inStep: true, fresh: true},
	{name: ModeIncremental, inStep: true, fresh: true},
	{name: ModeFull, whole: true, inStep: true, fresh: true},
	{name: ModeInitial, inStep: true, fresh: true, window: true},
	{name: ModeBackfill, inStep: true, window: true},
	{name: ModeRetry},
	{name: ModeReferences},
}

// modesThat lists the names of the modes for which are is true.
func modesThat(are func(mode) bool) (names []string) {
	for _, m := range modes {
		if are(m) {
			names = append(names, m.name)
		}
	}
	return names
}

// ReadsWhole reports whether runs of the mode read the whole list of their stream.
func ReadsWhole(name string) bool {
	return slices.Contains(modesThat(func(m mode) bool { return m.whole }), name)
}

// Conditions on the column mode of sync_runs. A run that failed before it had a mode counts as in step and as fresh.
var (
	wholeModes  = "mode IN (" + words(modesThat(func(m mode) bool { return m.whole })) + ")"
	inStepModes = "mode NOT IN (" + words(modesThat(func(m mode) bool { return !m.inStep })) + ")"
	freshModes  = "mode NOT IN (" + words(modesThat(func(m mode) bool { return !m.fresh })) + ")"
)

// words writes words of a table as a list of SQL literals. The list is empty if there are no words.
func words[T ~string](list []T) string {
	quoted := make([]string, len(list))
	for i, word := range list {
		quoted[i] = quote(string(word))
	}
	return strings.Join(quoted, ", ")
}
