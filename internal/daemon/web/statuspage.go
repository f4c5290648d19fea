package web

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"dealhouse/internal/term"
)

// manyStreams is the number of streams from which on the status page shows healthy accounts as one line each,
// unless an account is chosen.
const manyStreams = 48

// front is the status page: what needs a person comes first.
type front struct {
	Chosen    string // the account; "": all
	Filter    []filterLink
	Accounts  []accountRows
	Calm      []calmRow     // accounts that are well, if there are many streams
	Receivers []receiverRow // of notifications
	About     about
}

// accountRows are the streams of one account.
type accountRows struct {
	Account  string
	Path     string // of the account's own page; "" on that page
	Forms    *forms // nil: there is nothing to do
	Findings string // present findings about payouts; "" if there are none
	Errors   []sharedError
	Streams  []streamRow
	Rest     string // the streams that are not shown
}

// sharedError is an error that several streams of an account have.
type sharedError struct {
	Streams string
	State   state
	Text    string
}

// calmRow is an account in which nothing is wrong.
type calmRow struct {
	Account, Path, Text, Findings string
}

// trouble orders states: what needs a person most comes first.
var trouble = []state{stateGuarded, stateFailing, stateIncomplete, stateLate, stateDoubtful, stateUnknown, stateWaiting,
	stateFine, statePaused, stateDisabled, stateRemoved}

// rank returns the place of a stream in the order of trouble.
func (st *streamState) rank() int { return slices.Index(trouble, st.need()) }

// troubled reports whether a stream needs a person.
func (st *streamState) troubled() bool { return st.rank() <= slices.Index(trouble, stateDoubtful) }

// byAccount groups the streams by account. Accounts and streams that need a person come first.
func (o *overview) byAccount() (names []string, of map[string][]*streamState) {
	of = map[string][]*streamState{}
	for i := range o.streams {
		st := &o.streams[i]
		if of[st.id.Account] == nil {
			names = append(names, st.id.Account)
		}
		of[st.id.Account] = append(of[st.id.Account], st)
	}
	rank := func(a, b *streamState) int { return a.rank() - b.rank() }
	for _, streams := range of {
		slices.SortStableFunc(streams, rank)
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(of[a][0], of[b][0]) })
	return names, of
}

// target returns where the headline leads: to the stream, or to the account, that it is about. "" means nowhere.
func (o *overview) target(names []string, of map[string][]*streamState) string {
	if len(names) == 0 || !of[names[0]][0].troubled() {
		if len(o.findings) > 0 {
			return "/payouts"
		}
		return ""
	}
	first := of[names[0]]
	switch {
	case len(first) == 1 || first[1].rank() != first[0].rank():
		return streamPath(first[0].id)
	case len(names) > 1:
		return accountPath(names[0])
	}
	return ""
}

// accountRows returns the rows of the streams of an account. If fold is set, it leaves out those that are well.
func (o *overview) accountRows(account string, streams []*streamState, fold bool) accountRows {
	rows := accountRows{Account: account}
	var rest []*streamState
	for _, st := range streams {
		if fold && !st.troubled() {
			rest = append(rest, st)
			continue
		}
		row := o.row(st)
		if text := badge(st.rejects, "rejected record"); text != "" {
			row.Rejects = &badgeLink{Text: text, Path: streamPath(st.id)}
		}
		rows.Streams = append(rows.Streams, row)
	}
	if len(rest) > 0 {
		rows.Rest = "Not shown: " + o.calm(rest)
	}
	rows.shareErrors()
	return rows
}

// shareErrors removes equal errors from the rows of the streams, so that they are shown once.
func (rows *accountRows) shareErrors() {
	same := map[string][]int{}
	var order []string
	for i, row := range rows.Streams {
		if row.Note == "" {
			continue
		}
		key := string(row.State) + essence(row.Note, row.Account, row.Stream)
		if same[key] == nil {
			order = append(order, key)
		}
		same[key] = append(same[key], i)
	}
	for _, key := range order {
		if len(same[key]) < 2 {
			continue
		}
		var names []string
		for _, i := range same[key] {
			names = append(names, rows.Streams[i].Name)
			rows.Streams[i].Shared = true
		}
		first := rows.Streams[same[key][0]]
		rows.Errors = append(rows.Errors, sharedError{Streams: term.List(names), State: first.State,
			Text: plain(first.Note, first.Account)})
	}
}

// badgeLink leads to what waits for a person.
type badgeLink struct{ Text, Path string }

// badge returns a number of things that wait for a person, "" if there are none.
func badge(n uint64, of string) string {
	if n == 0 {
		return ""
	}
	return term.Plural(n, of)
}

// calm describes streams that are well.
func (o *overview) calm(streams []*streamState) string {
	counts := map[state]uint64{}
	for _, st := range streams {
		counts[st.state]++
	}
	var parts []string
	for _, s := range trouble {
		if n := counts[s]; n > 0 {
			parts = append(parts, term.Count(n)+" "+strings.ToLower(s.label()))
		}
	}
	return strings.Join(parts, ", ")
}

// residentMemory returns how much of the machine's memory this process uses, in bytes, the embedded
// engine included; 0: not known.
func residentMemory() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
