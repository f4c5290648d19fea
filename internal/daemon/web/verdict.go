package web

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// judge returns the state of a stream.
func (o *overview) judge(st *streamState) state {
	faults, age := st.standing.Faults, o.age(st)
	switch {
	case !st.configured:
		return stateRemoved
	case !st.Enabled:
		return stateDisabled
	case st.Paused != nil:
		return statePaused
	case faults.Count > 0 && faults.Outcome == warehouse.OutcomeGuarded:
		return stateGuarded
	case faults.Count > 0 && faults.Outcome == warehouse.OutcomeIncomplete:
		return stateIncomplete
	case faults.Count > 0:
		return stateFailing
	case o.known.IsZero():
		return stateUnknown
	case o.attemptFailed(st): // and the run could not write its row
		return stateFailing
	case age == nil:
		return stateWaiting
	case st.StaleAfter > 0 && *age > st.StaleAfter:
		return stateLate
	}
	return stateFine
}

// verdict returns the state of everything: the worst state of a stream, and a sentence about it. A full disk is
// mentioned first, even before a run has failed because of it. Paused streams are mentioned, because nothing else says
// that they are not loaded.
func (o *overview) verdict() (state, string) {
	worst, text := o.worst()
	if o.room != nil && o.room.Free < warehouse.NoRoom {
		full := "The disk of the warehouse has " + term.Size(o.room.Free) + " left: make room, or nothing can be loaded soon."
		if worst == stateFine {
			worst, text = stateDoubtful, full
		} else {
			text = full + " " + text
		}
	}
	if o.refused != "" {
		refused := "The new configuration was refused, and the previous one is in force: a restart would fail."
		if worst == stateFine || worst == stateWaiting {
			worst = stateDoubtful
		}
		text = refused + " " + capitalized(strings.TrimPrefix(text, "All is fine: "))
	}
	paused := uint64(0)
	for i := range o.streams {
		if o.streams[i].state == statePaused {
			paused++
		}
	}
	if paused == 0 || worst == statePaused || worst == stateCut {
		return worst, text
	}
	verb := " are paused."
	if paused == 1 {
		verb = " is paused."
	}
	return worst, text + " " + term.Plural(paused, "stream") + verb
}

// worst returns the verdict on all streams that are not paused.
func (o *overview) worst() (state, string) {
	by := map[state][]*streamState{}
	var unsound, rejected []*streamState
	enabled := 0
	for i := range o.streams {
		st := &o.streams[i]
		by[st.state] = append(by[st.state], st)
		if st.configured && st.Enabled && st.state != statePaused {
			enabled++
			if len(st.failedChecks()) > 0 {
				unsound = append(unsound, st)
			}
			if st.rejects > 0 {
				rejected = append(rejected, st)
			}
		}
	}
	doubts := o.doubts(unsound, rejected)
	guarded, failing, partial := by[stateGuarded], by[stateFailing], by[stateIncomplete]
	late, waiting := by[stateLate], by[stateWaiting]
	switch {
	case o.problem != nil && o.known.IsZero():
		return stateCut, "The warehouse does not answer."
	case o.problem != nil:
		return stateCut, "The warehouse does not answer. This is what was known " + ago(o.local.Sub(o.known)) + "."
	case enabled == 0 && len(by[statePaused]) > 0:
		return statePaused, "Every stream is paused: nothing is loaded."
	case enabled == 0:
		return stateWaiting, "No stream is enabled: there is nothing to do."
	case len(guarded) == 1:
		return stateGuarded, "A guard stopped " + guarded[0].name() + ": a person must look." + also(failing, partial, late)
	case len(guarded) > 1:
		return stateGuarded, "Guards stopped " + streamsOf(guarded) + ": a person must look." + also(failing, partial, late)
	case len(failing) > 0:
		return stateFailing, o.failing(failing) + also(nil, partial, late)
	case len(partial) == 1:
		return stateIncomplete, capitalized(partial[0].name()) + " may lack rows: their list moved while it was read." +
			also(nil, nil, late)
	case len(partial) > 1:
		return stateIncomplete, capitalized(streamsOf(partial)) + " may lack rows: their lists moved while they were read." +
			also(nil, nil, late)
	case len(late) == 1:
		return stateLate, capitalized(late[0].name()) + " are late: they were last loaded " + ago(*o.age(late[0])) + "."
	case len(late) > 1:
		return stateLate, capitalized(streamsOf(late)) + " are late."
	case len(waiting) == enabled:
		return stateWaiting, "Nothing has run yet."
	case len(doubts) > 0 && len(waiting) > 0:
		return stateDoubtful, capitalized(term.List(doubts)) + "; " + have(len(waiting)) + " not run yet."
	case len(doubts) > 0:
		return stateDoubtful, "Everything is loaded, but " + term.List(doubts) + "."
	case len(waiting) > 0:
		return stateWaiting, fmt.Sprintf("%s up to date; %s not run yet.", capitalized(upToDate(enabled-len(waiting))), have(len(waiting)))
	case enabled == 1:
		return stateFine, "All is fine: the one stream is up to date."
	}
	return stateFine, fmt.Sprintf("All is fine: %d streams are up to date.", enabled)
}

// mostNamed is how many accounts a sentence names.
const mostNamed = 3

// streamsOf names several streams with their accounts, for a sentence.
func streamsOf(all []*streamState) string {
	var accounts []string
	for _, st := range all {
		if !slices.Contains(accounts, st.id.Account) {
			accounts = append(accounts, st.id.Account)
		}
	}
	text := term.Plural(uint64(len(all)), "stream") + " of "
	if len(accounts) > mostNamed {
		return text + term.Plural(uint64(len(accounts)), "account")
	}
	return text + term.List(accounts)
}

// doubts returns what a person should look at if there is nothing worse: failed checks, rejects, and payouts.
func (o *overview) doubts(unsound, rejected []*streamState) (all []string) {
	named := func(of []*streamState) string {
		if len(of) == 1 {
			return of[0].name()
		}
		return streamsOf(of)
	}
	switch {
	case len(unsound) > 1:
		all = append(all, "checks of "+streamsOf(unsound)+" failed")
	case len(unsound) == 1 && len(unsound[0].failedChecks()) > 1:
		all = append(all, fmt.Sprintf("%d checks of %s failed", len(unsound[0].failedChecks()), unsound[0].name()))
	case len(unsound) == 1:
		all = append(all, "a check of "+unsound[0].name()+" failed")
	}
	if len(rejected) > 0 {
		all = append(all, "records of "+named(rejected)+" could not be loaded")
	}
	accounts := slices.Sorted(maps.Keys(o.findings))
	switch {
	case len(accounts) > mostNamed:
		all = append(all, "the payouts of "+term.Plural(uint64(len(accounts)), "account")+" need a look")
	case len(accounts) > 0:
		all = append(all, "the payouts of "+term.List(accounts)+" need a look")
	}
	return all
}

func (o *overview) failing(all []*streamState) string {
	var first *time.Time
	for _, st := range all {
		if t := st.standing.Faults.Since; t != nil && (first == nil || t.Before(*first)) {
			first = t
		}
	}
	who, since := streamsOf(all)+" have been failing", ", the first since "
	if len(all) == 1 {
		who, since = capitalized(all[0].name())+" have been failing", " since "
	}
	if first == nil {
		return who + "."
	}
	return who + since + o.clockTime(*first) + "."
}

// clockTime returns the time of day, and the day too if it is not today.
func (o *overview) clockTime(t time.Time) string {
	t, now := t.UTC(), o.now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04") + " UTC"
	}
	return t.Format("2 January 15:04") + " UTC"
}

// also adds the other problems to a sentence.
func also(failing, partial, late []*streamState) string {
	text := ""
	if n := len(failing); n > 0 {
		text += fmt.Sprintf(" %s failing.", are(n))
	}
	if n := len(partial); n > 0 {
		text += fmt.Sprintf(" %s incomplete.", are(n))
	}
	if n := len(late); n > 0 {
		text += fmt.Sprintf(" %s late.", are(n))
	}
	return text
}

func upToDate(n int) string {
	if n == 1 {
		return "1 stream is"
	}
	return fmt.Sprintf("%d streams are", n)
}

func are(n int) string {
	if n == 1 {
		return "1 other is"
	}
	return fmt.Sprintf("%d others are", n)
}

func have(n int) string {
	if n == 1 {
		return "1 stream has"
	}
	return fmt.Sprintf("%d streams have", n)
}

// name returns the name of a stream for a sentence. The names of all streams are plurals.
func (st *streamState) name() string {
	return "the " + term.Spaced(st.id.Stream) + " of " + st.id.Account
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"`
}

// reasons splits joined errors: each is on a line of its own.
func reasons(err error) []string { return strings.Split(err.Error(), "\n") }
