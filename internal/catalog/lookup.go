package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Find returns the stream of that name. Its error names the streams that exist.
func Find(name string) (*Stream, error) {
	for i := range streams {
		if streams[i].Name == name {
			return &streams[i], nil
		}
	}
	names, last := Names(), len(streams)-1
	return nil, fmt.Errorf("there is no stream %q: the streams are %s and %s", name, strings.Join(names[:last], ", "),
		names[last])
}

// All lists the streams in the order in which they are shown.
func All() []*Stream {
	all := make([]*Stream, len(streams))
	for i := range streams {
		all[i] = &streams[i]
	}
	return all
}

// Names lists the streams' names in the order of All.
func Names() []string {
	names := make([]string, len(streams))
	for i := range streams {
		names[i] = streams[i].Name
	}
	return names
}

// Payouts returns the stream of payouts (catalog-7).
func Payouts() *Stream { return only(func(s *Stream) bool { return s.Payouts }) }

// Transactions returns the stream whose records payouts add up (catalog-7).
func Transactions() *Stream { return only((*Stream).NamesPayouts) }

// only returns the one stream that a condition holds for. A test checks that there is exactly one (catalog-7).
func only(is func(*Stream) bool) *Stream {
	all := All()
	return all[slices.IndexFunc(all, is)]
}

// States of a transaction that the service is known to send; it may add others.
const (
	StatusPending   = "PENDING"
	StatusConfirmed = "CONFIRMED"
	StatusDeclined  = "DECLINED"
)

// Statuses returns the known states of a transaction.
func Statuses() []string { return []string{StatusPending, StatusConfirmed, StatusDeclined} }
