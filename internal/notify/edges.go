package notify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"dealhouse/internal/receiver"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// space is the namespace of the IDs of messages.
var space = uuid.MustParse("5d2f6f0e-6f3b-4b9e-9a4c-5a3a1c8b7f21")

// kindVanished is the kind of the message about fields that have vanished: an event of drift with words of its own. The
// kind of any other message is its event.
const kindVanished = "vanished"

// draft is a message that is being composed.
type draft struct {
	kind     string
	event    string
	streams  []warehouse.StreamID
	accounts []string
	things   uint64 // other than streams
	subjects []string
	lines    []string
	deletes  []warehouse.StreamID // whose runs wait for consent to delete
}

// edges returns what a receiver must be told, given what it was told before: a message for each event, and a record of
// what has ended without a message.
func (o *observation) edges(t *target, told map[string]bool) []warehouse.Notification {
	e := edging{observation: o, target: t, told: told, open: map[string]string{}, drafts: map[string]*draft{},
		gone: map[string]bool{}}
	for s := range told {
		what, _, _ := strings.Cut(s, "@")
		e.open[what] = s
		e.gone[s] = o.accounts[strings.SplitN(what+"/", "/", 3)[1]]
	}
	e.groups()
	for _, s := range o.streams {
		if t.concerns(s.Account, s.Stream) {
			e.stream(s)
		}
	}
	e.findings()
	e.fields()
	return e.messages()
}

// edging compares what a receiver was told with what is true now.
type edging struct {
	*observation
	*target
	told   map[string]bool
	open   map[string]string // what was told and has not ended, by what it is about
	drafts map[string]*draft
	gone   map[string]bool // told before and not seen now; false: another process decides about it
	faults map[string]group
	noted  []string
}

func (e *edging) draft(kind string) *draft {
	d := e.drafts[kind]
	if d == nil {
		d = &draft{kind: kind, event: kind}
		if kind == kindVanished {
			d.event = receiver.EventDrift
		}
		e.drafts[kind] = d
	}
	return d
}

// stream adds what begins and what ends for a stream.
func (e *edging) stream(s Stream) {
	for _, event := range lasting {
		if !e.wants(event) {
			continue
		}
		what := subject{event: event, account: s.Account, name: s.Stream}
		told, open := e.open[what.about()]
		holds, ended, since := e.holds(event, s, e.After)
		switch {
		case open && event == receiver.EventStale && !holds && !strings.Contains(told, "@"+stamp(since)+"."):
			ended = true // the stream was loaded since
		case open && !ended:
			delete(e.gone, told)
			if holds && event == receiver.EventFailing {
				e.another(s, told)
			}
			continue
		}
		switch {
		case open && ended:
			delete(e.gone, told)
			if event != receiver.EventFailing || !e.lasts(told) {
				e.over(s, told)
			}
		case holds && !open && (event != receiver.EventStale || !e.stopped(s)):
			what.since = stamp(since) + "." + stamp(e.now) // a stream that was removed may be configured again
			if event == receiver.EventFailing {
				e.fails(s, what, "")
				continue
			}
			d, id := e.draft(event), warehouse.StreamID{Account: s.Account, Stream: s.Stream}
			d.add(s, "+"+what.String(), e.describe(event, s))
			if event == receiver.EventGuarded && e.guarded[id].Deletes > 0 {
				d.deletes = append(d.deletes, id)
			}
		}
	}
}

// stopped reports that a stream is late because of what the receiver knows, or is being told of now.
func (e *edging) stopped(s Stream) bool {
	id := warehouse.StreamID{Account: s.Account, Stream: s.Stream}
	for _, event := range []string{receiver.EventGuarded, receiver.EventFailing} {
		told := e.open[subject{event: event, account: s.Account, name: s.Stream}.about()]
		if holds, _, _ := e.holds(event, s, e.After); holds && (told != "" || e.drafts[event] != nil && slices.Contains(e.drafts[event].streams, id)) {
			return true
		}
	}
	return false
}

// over adds that something has ended.
func (e *edging) over(s Stream, told string) {
	if !e.wants(receiver.EventRecovered) {
		e.noted = append(e.noted, "-"+told)
		return
	}
	e.draft(receiver.EventRecovered).add(s, "-"+told, e.describe(receiver.EventRecovered, s))
}

func (d *draft) add(s Stream, subject, line string) {
	id := warehouse.StreamID{Account: s.Account, Stream: s.Stream}
	d.subjects = append(d.subjects, subject)
	if !slices.Contains(d.streams, id) { // a stream that failed and was late recovers only once
		d.streams = append(d.streams, id)
		d.lines = append(d.lines, line)
	}
	d.of(s.Account)
}

func (d *draft) of(account string) {
	if !slices.Contains(d.accounts, account) {
		d.accounts = append(d.accounts, account)
	}
}

// findings adds the new findings about payouts.
func (e *edging) findings() {
	for _, f := range e.observation.findings {
		s := subjectOfFinding(f).String()
		delete(e.gone, s) // it is still true, whether or not the receiver still wants to know of it
		if e.told[s] || !e.wants(receiver.EventFindings) || !e.accounts[f.Account] || !e.concerns(f.Account, "") {
			continue
		}
		d := e.draft(receiver.EventFindings)
		d.of(f.Account)
		d.things++
		d.subjects = append(d.subjects, "+"+s)
		d.lines = append(d.lines, f.Account+": "+line(f.Detail))
	}
}

// fields adds the fields that dealhouse does not know, and those that have vanished.
func (e *edging) fields() {
	for _, f := range e.observation.fields {
		e.field(receiver.EventDrift, warehouse.StreamID{Account: f.Account, Stream: f.Stream}, f.Field, subjectOfField(f))
	}
	for _, f := range e.vanished {
		e.field(kindVanished, warehouse.StreamID{Account: f.Account, Stream: f.Stream}, f.Field, subjectOfVanished(f))
	}
}

// field adds one of them, once.
func (e *edging) field(kind string, id warehouse.StreamID, name string, about subject) {
	s := about.String()
	delete(e.gone, s)
	if e.told[s] || !e.wants(receiver.EventDrift) || !e.accounts[id.Account] || !e.concerns(id.Account, id.Stream) {
		return
	}
	d := e.draft(kind)
	d.of(id.Account)
	d.things++
	d.subjects = append(d.subjects, "+"+s)
	d.lines = append(d.lines, fmt.Sprintf("%s of %s: %s", id.Stream, id.Account, clip(line(name), 100)))
	if !slices.Contains(d.streams, id) {
		d.streams = append(d.streams, id)
	}
}

// messages returns the drafts in the order in which they are sent, and a note of what has ended without a message.
func (e *edging) messages() (all []warehouse.Notification) {
	for _, kind := range []string{receiver.EventGuarded, receiver.EventFailing, receiver.EventStale,
		receiver.EventFindings, receiver.EventDrift, kindVanished, receiver.EventRecovered} {
		if d := e.drafts[kind]; d != nil {
			all = append(all, d.message(e.observation, e.target))
		}
	}
	for s, mine := range e.gone { // what is no longer configured, wanted, or there
		if mine {
			e.noted = append(e.noted, "-"+s)
		}
	}
	if len(e.noted) == 0 {
		return all
	}
	slices.Sort(e.noted)
	now := e.now
	return append(all, warehouse.Notification{
		Receiver: e.Name, ID: identify(e.Name, e.noted), At: now, Subjects: e.noted, State: warehouse.NotificationNoted,
		NextAt: now, EndedAt: &now,
	})
}

// identify makes the ID of a message from its content, so that the same message always has the same ID.
func identify(receiver string, subjects []string) uuid.UUID {
	sorted := slices.Sorted(slices.Values(subjects))
	return uuid.NewSHA1(space, []byte(receiver+"\n"+strings.Join(sorted, "\n")))
}

func (d *draft) message(o *observation, t *target) warehouse.Notification {
	n := warehouse.Notification{
		Receiver: t.Name, ID: identify(t.Name, d.subjects), At: o.now, Event: d.event, Subjects: d.subjects,
		State: warehouse.NotificationWaiting, NextAt: o.now,
		Title: clip(d.title(), maxTitle), Text: d.text(),
	}
	if len(d.accounts) == 1 {
		n.Account = d.accounts[0]
	}
	for _, id := range d.streams {
		name := id.Stream
		if len(d.accounts) > 1 {
			name = id.Account + " " + name
		}
		n.Streams = append(n.Streams, name)
	}
	return n
}

// titles are the beginnings of the titles, by the kind of message.
var titles = map[string]string{
	receiver.EventGuarded:   "A guard stopped a run, and a person must look",
	receiver.EventFailing:   "Failing",
	receiver.EventStale:     "Late",
	receiver.EventRecovered: "Recovered",
	receiver.EventFindings:  "Payouts",
	receiver.EventDrift:     "The API sends unknown fields",
	kindVanished:            "The API no longer sends what it used to send",
}

func (d *draft) title() string {
	return titles[d.kind] + ": " + d.whom()
}

// whom says what the message is about.
func (d *draft) whom() string {
	of := " of " + strings.Join(d.accounts, "")
	if len(d.accounts) > 1 {
		of = " of " + term.Plural(uint64(len(d.accounts)), "account")
	}
	switch {
	case d.event == receiver.EventFindings:
		return term.Plural(d.things, "new finding") + of
	case d.kind == kindVanished:
		return term.Plural(d.things, "field") + of
	case d.event == receiver.EventDrift:
		return term.Plural(d.things, "new field") + of
	case len(d.streams) <= 3 && len(d.accounts) == 1:
		var names []string
		for _, id := range d.streams {
			names = append(names, term.Spaced(id.Stream))
		}
		return term.List(names) + of
	}
	return term.Plural(uint64(len(d.streams)), "stream") + of
}

// maxCommands is how many commands a message lists.
const maxCommands = 5

// advice are the ends of the texts, by the kind of message.
var advice = map[string]string{
	receiver.EventFindings: "`dealhouse reconcile` lists what to do about each.",
	receiver.EventFailing:  "Streams that fail of the same later are not told of one by one: `dealhouse status` lists them.",
	receiver.EventDrift:    "They are kept in the column _extra. The view unknown_fields lists them.",
	kindVanished:           "Their columns are NULL or empty now. The view vanished_fields lists them. If the API has renamed a field, the view unknown_fields has its new name.",
}

func (d *draft) text() string {
	lines := d.lines
	if len(lines) > maxLines {
		lines = append(slices.Clone(lines[:maxLines]), fmt.Sprintf("and %s more", term.Count(uint64(len(lines)-maxLines))))
	}
	lines = slices.Clone(lines)
	if len(d.deletes) > 0 {
		lines = append(lines, "Nothing was deleted. If the API is right, agree on the page of the stream, or with:")
	}
	for i, id := range d.deletes {
		if i == maxCommands {
			lines = append(lines, "and the same for the others")
			break
		}
		lines = append(lines, "dealhouse operate consent "+id.Stream+" --account "+id.Account)
	}
	if a := advice[d.kind]; a != "" {
		lines = append(lines, a)
	}
	return clip(strings.Join(lines, "\n"), maxText)
}
