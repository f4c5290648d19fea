package web

import "dealhouse/internal/warehouse"

// state is the state of a stream, whether it runs or not. The words are part of the JSON API.
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
	// These two states are only for all streams together.
	stateCut      state = "unreachable" // the warehouse does not answer
	stateDoubtful state = "doubtful"    // all is loaded, but a check of it failed or the disk is nearly full
)

// labels are the names of the states for people, as shown at a stream.
var labels = map[state]string{
	stateFine: "Up to date", stateWaiting: "Not run yet", stateLate: "Late", stateFailing: "Failing",
	stateIncomplete: "Incomplete",
	stateGuarded:    "Needs a person", stateDisabled: "Disabled", statePaused: "Paused", stateRemoved: "Not configured",
	stateUnknown: "Unknown",
	stateCut:     "Unknown", stateDoubtful: "Unknown",
}

func (s state) label() string { return labels[s] }

// Known reports whether the state of the stream was ever read from the warehouse.
func (s state) Known() bool { return s != stateUnknown }

// State returns the state of a paused stream.
func (pausedRow) State() state { return statePaused }

// State returns the state of a failed check.
func (checkRow) State() state { return stateDoubtful }

// tone is how a run is drawn: the CSS class that gives it its colour, and whether a cross marks it, for people
// who cannot see the colour.
type tone struct {
	class  string
	marked bool
}

// tones has the tone of a run by its outcome.
var tones = map[string]tone{
	warehouse.OutcomeSuccess: {class: "good"}, warehouse.OutcomeRunning: {class: "running"},
	warehouse.OutcomeFailed: {"bad", true}, warehouse.OutcomeKilled: {"bad", true},
	warehouse.OutcomeGuarded: {"guard", true}, warehouse.OutcomeIncomplete: {"late", true},
}

// toneOf returns the tone of a run. A run with an outcome that is not in tones is drawn plainly.
func toneOf(outcome string) tone {
	if t, ok := tones[outcome]; ok {
		return t
	}
	return tone{class: "other"}
}
