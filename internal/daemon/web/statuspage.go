package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
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

// filterLink leads to one account.
type filterLink struct {
	Account string // "": all
	Path    string
	Here    bool
	Trouble int // streams that need a person
	State   state
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

// about describes the daemon itself. Something unknown is "".
type about struct{ Version, Up, Memory, Disk string }

// trouble orders states: what needs a person most comes first.
var trouble = []state{stateGuarded, stateFailing, stateIncomplete, stateLate, stateDoubtful, stateUnknown, stateWaiting,
	stateFine, statePaused, stateDisabled, stateRemoved}

// need returns the state of a stream by which it is ordered: what a person must know first.
func (st *streamState) need() state {
	if st.state == stateFine && (len(st.failedChecks()) > 0 || st.rejects > 0) {
		return stateDoubtful
	}
	return st.state
}

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

// status serves the status page.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	runs := s.answers.charts.last(struct{}{})
	o := s.answers.overview(r.Context(), func(ctx context.Context) { runs = s.answers.charts.get(ctx, struct{}{}) })
	o.chart(runs.value)
	names, of := o.byAccount()
	body := front{Chosen: r.URL.Query().Get("account"), About: s.about(&o)}
	if body.Chosen != "" && of[body.Chosen] == nil {
		http.NotFound(w, r)
		return
	}
	body.Receivers = s.receiverRows(r.Context())
	if len(names) > 1 {
		body.Filter = filterLinks(names, of, body.Chosen)
	}
	fold := body.Chosen == "" && len(o.streams) >= manyStreams
	for _, account := range names {
		if body.Chosen != "" && account != body.Chosen {
			continue
		}
		findings := badge(o.findings[account], "payout finding")
		if fold && !of[account][0].troubled() {
			body.Calm = append(body.Calm, calmRow{Account: account, Path: accountPath(account), Text: o.calm(of[account]),
				Findings: findings})
			continue
		}
		rows := o.accountRows(account, of[account], fold)
		rows.Findings, rows.Forms = findings, s.formsOfAccount(account, of[account])
		if body.Chosen == "" && len(names) > 1 {
			rows.Path = accountPath(account)
		}
		body.Accounts = append(body.Accounts, rows)
	}
	_, summary := o.verdict()
	p := s.reply.newPage(&o, "/", summary, body)
	p.Said = s.said.to(r)
	p.Target = o.target(names, of)
	s.reply.render(w, "status.html", p)
}

func accountPath(account string) string { return "/?account=" + url.QueryEscape(account) }

func streamPath(id warehouse.StreamID) string {
	return "/streams/" + url.PathEscape(id.Account) + "/" + url.PathEscape(id.Stream)
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

func filterLinks(names []string, of map[string][]*streamState, chosen string) []filterLink {
	links := []filterLink{{Path: "/", Here: chosen == ""}}
	for _, account := range names {
		l := filterLink{Account: account, Path: accountPath(account), Here: account == chosen, State: of[account][0].need()}
		for _, st := range of[account] {
			if st.troubled() {
				l.Trouble++
			}
		}
		links = append(links, l)
	}
	return links
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

var (
	operation = regexp.MustCompile(`\b(list|get) /\S*: `)
	requested = regexp.MustCompile(` \[GET [^\]]*\]`)
	count     = regexp.MustCompile(`\d+`)
)

// plain returns an error without the parts that differ between the streams of an account.
func plain(text, account string) string {
	text = strings.TrimPrefix(text, "account "+account+": ")
	return requested.ReplaceAllString(operation.ReplaceAllString(text, ""), "")
}

// essence returns the part of an error by which two errors count as equal.
func essence(text, account, stream string) string {
	text = plain(text, account)
	for _, name := range []string{stream, term.Spaced(stream), strings.ReplaceAll(stream, "_", "-")} {
		text = strings.ReplaceAll(text, name, "")
	}
	return count.ReplaceAllString(text, "0")
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

// about returns the daemon's version, uptime, memory and disk use.
func (s *Server) about(o *overview) about {
	a := about{Version: s.o.Version, Up: term.Long(max(0, o.local.Sub(s.began)))}
	if n := residentMemory(); n > 0 {
		a.Memory = term.Size(n)
	}
	if o.room != nil {
		a.Disk = fmt.Sprintf("%s, %s free", term.Size(o.room.Used), term.Size(o.room.Free))
	}
	return a
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

func (a *answers) readOpenings(ctx context.Context, _ struct{}) (warehouse.Openings, error) {
	return a.o.Warehouse.Openings(ctx)
}

func (a *answers) readStorage(ctx context.Context, _ struct{}) (warehouse.Storage, error) {
	return a.o.Warehouse.Storage(ctx)
}

// storageFor is how long the measured disk use of the warehouse is reused.
const storageFor = time.Minute
