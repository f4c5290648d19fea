package web

import "dealhouse/internal/warehouse"

// state is how a stream is, whether it runs or not. The words are part of the JSON API.
type state string

const (
	stateFine    state = "fine"
	stateWaiting state = "waiting" // it has not succeeded yet, and nothing is wrong
	stateLate    state = "late"    // the last success is older than the schedule allows
	stateFailing state = "failing" // runs have failed since the last success
	// stateIncomplete: the last run may have missed rows of a list that moved; the next one reads them.
	stateIncomplete state = "incomplete"
	stateGuarded    state = "guarded" // a guard stopped the last run: a person must look
	stateDisabled   state = "disabled"
	statePaused     state = "paused"  // by an operator: no run starts
	stateRemoved    state = "removed" // it ran once and is no longer configured
	stateUnknown    state = "unknown" // the warehouse has never answered
	// Two states are of all streams together.
	stateCut      state = "unreachable" // the warehouse does not answer
	stateDoubtful state = "doubtful"    // all is loaded, and a check of it failed or the disk is nearly full
)

// labels are the states as people read them on a stream.
var labels = map[state]string{
	stateFine: "Up to date", stateWaiting: "Not run yet", stateLate: "Late", stateFailing: "Failing",
	stateIncomplete: "Incomplete",
	stateGuarded:    "Needs a person", stateDisabled: "Disabled", statePaused: "Paused", stateRemoved: "Not configured",
	stateUnknown: "Unknown",
	stateCut:     "Unknown", stateDoubtful: "Unknown",
}

func (s state) label() string { return labels[s] }

// Known reports whether the warehouse has ever said how the stream is.
func (s state) Known() bool { return s != stateUnknown }

// State is that of a stream that is paused.
func (pausedRow) State() state { return statePaused }

// State is that of a check that failed.
func (checkRow) State() state { return stateDoubtful }

// tone is how a run is drawn: the class that gives it its colour, and whether a cross marks it, since colour alone says
// nothing to some.
type tone struct {
	class  string
	marked bool
}

// tones are those of runs by their outcome.
var tones = map[string]tone{
	warehouse.OutcomeSuccess: {class: "good"}, warehouse.OutcomeRunning: {class: "running"},
	warehouse.OutcomeFailed: {"bad", true}, warehouse.OutcomeKilled: {"bad", true},
	warehouse.OutcomeGuarded: {"guard", true}, warehouse.OutcomeIncomplete: {"late", true},
}

// toneOf is the tone of a run; one that ended otherwise is drawn plainly.
func toneOf(outcome string) tone {
	if t, ok := tones[outcome]; ok {
		return t
	}
	return tone{class: "other"}
}
