// Package receiver says what a receiver of notifications may be: which forms there are, what each needs and can be
// sent, and which addresses it may have. The configuration is checked by it, and package notify sends by it. So a new
// form is one entry of Forms, and the message that notify makes for it.
package receiver

import "slices"

// Forms of a receiver.
const (
	JSON  = "json"
	Slack = "slack"
	Teams = "teams"
	Mail  = "mail"
	Ping  = "ping"
)

// Events that a receiver may want.
const (
	EventFailing   = "failing"   // runs of a stream fail, as many in a row as the receiver wants
	EventGuarded   = "guarded"   // a guard stopped a run, and a person must look
	EventStale     = "stale"     // the last success is older than the schedule allows
	EventRecovered = "recovered" // one of these is over
	EventFindings  = "findings"  // something new about payouts
	EventDrift     = "drift"     // the API sends fields that dealhouse does not know
	EventWarehouse = "warehouse" // the warehouse does not work
	EventTest      = "test"      // a person asked for it; every receiver gets it
)

// Signals of a ping: what is added to the URL of a dead man's switch. A receiver chooses among them as others do among
// events.
const (
	SignalStart   = "start"
	SignalSuccess = "success" // the URL itself
	SignalFail    = "fail"
)

// Ways to encrypt the connection to a mail server.
const (
	TLSStart = "starttls"
	TLSFirst = "tls" // from the first byte
	TLSNone  = "none"
)

// Form is the way in which a receiver gets messages.
type Form struct {
	Name  string
	Needs []string // keys of [[receiver]] that it needs
	// Takes are further keys that it may have, of those that not every form has.
	Takes  []string
	Events []string // what it can be sent
}

// Forms returns all of them.
func Forms() []Form {
	message := []string{"template", "after"}
	return []Form{
		{JSON, []string{"url"}, append([]string{"token"}, message...), Events()},
		{Slack, []string{"url"}, message, Events()},
		{Teams, []string{"url"}, message, Events()},
		{Mail, []string{"server", "from", "to"}, append([]string{"tls", "user", "password"}, message...), Events()},
		{Ping, []string{"url"}, []string{"token"}, Signals()},
	}
}

// FormNames are the names of the forms.
func FormNames() (names []string) {
	for _, f := range Forms() {
		names = append(names, f.Name)
	}
	return names
}

// Find returns the form of that name; false: there is none.
func Find(name string) (Form, bool) {
	all := Forms()
	i := slices.IndexFunc(all, func(f Form) bool { return f.Name == name })
	if i < 0 {
		return Form{}, false
	}
	return all[i], true
}

// Useless returns the keys of other forms that this one has no use for.
func (f Form) Useless() (keys []string) {
	own := slices.Concat(f.Needs, f.Takes)
	for _, other := range Forms() {
		for _, key := range slices.Concat(other.Needs, other.Takes) {
			if !slices.Contains(own, key) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Events returns those that a receiver may choose among.
func Events() []string {
	return []string{EventFailing, EventGuarded, EventStale, EventRecovered, EventFindings, EventDrift, EventWarehouse}
}

// Signals returns those that a dead man's switch may choose among.
func Signals() []string { return []string{SignalStart, SignalSuccess, SignalFail} }

// TLSWays are the ways to encrypt mail.
func TLSWays() []string { return []string{TLSStart, TLSFirst, TLSNone} }
