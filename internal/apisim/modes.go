package apisim

import "fmt"

// Order is the order of the items in the cursor lists.
type Order int

// The orders. Equal times of update are ordered by an internal number that never changes.
const (
	ByID Order = iota
	ByUpdatedAsc
	ByUpdatedDesc
	// Shuffled is an order by a hash of the id, which no record shows. An item that is updated keeps its place.
	Shuffled
	// Drifting is like Shuffled, but an item that is updated moves to another place, before or behind the reader.
	Drifting

	orderCount
)

func (o Order) names() []string {
	return []string{"id", "updated-asc", "updated-desc", "shuffled", "drifting"}
}

// String is the name used in settings.
func (o Order) String() string { return nameOf(int(o), o.names()) }

// MarshalText writes the name used in settings.
func (o Order) MarshalText() ([]byte, error) { return marshalName("order", int(o), o.names()) }

// UnmarshalText reads id, updated-asc, updated-desc, shuffled or drifting.
func (o *Order) UnmarshalText(b []byte) error {
	return unmarshalName("order", b, o.names(), func(i int) { *o = Order(i) })
}

// TimestampStyle is how timestamps are written.
type TimestampStyle int

// The styles of 2026-03-15T09:00:00Z.
const (
	TimeZulu   TimestampStyle = iota // 2026-03-15T09:00:00.000Z
	TimeNoZone                       // 2026-03-15T09:00:00.000, and no fraction when it is zero
	TimeOffset                       // 2026-03-15T11:00:00.000+02:00
)

func (t TimestampStyle) names() []string { return []string{"zulu", "no-zone", "offset"} }

// String is the name used in settings.
func (t TimestampStyle) String() string { return nameOf(int(t), t.names()) }

// MarshalText writes the name used in settings.
func (t TimestampStyle) MarshalText() ([]byte, error) {
	return marshalName("timestamps", int(t), t.names())
}

// UnmarshalText reads zulu, no-zone or offset.
func (t *TimestampStyle) UnmarshalText(b []byte) error {
	return unmarshalName("timestamps", b, t.names(), func(i int) { *t = TimestampStyle(i) })
}

// NextPageKind is what nextPage of the products looks like.
type NextPageKind int

// The kinds of nextPage.
const (
	NextToken      NextPageKind = iota // an opaque string that needs URL escaping
	NextNumber                         // a string of digits
	NextJSONNumber                     // a JSON number, against the document
	NextURL                            // the whole URL of the next page
)

func (k NextPageKind) names() []string { return []string{"token", "number", "json-number", "url"} }

// String is the name used in settings.
func (k NextPageKind) String() string { return nameOf(int(k), k.names()) }

// MarshalText writes the name used in settings.
func (k NextPageKind) MarshalText() ([]byte, error) {
	return marshalName("nextPage", int(k), k.names())
}

// UnmarshalText reads token, number, json-number or url.
func (k *NextPageKind) UnmarshalText(b []byte) error {
	return unmarshalName("nextPage", b, k.names(), func(i int) { *k = NextPageKind(i) })
}

// LastPageKind is the form of nextPage on the last page of products.
type LastPageKind int

// The kinds of a last page.
const (
	LastAbsent LastPageKind = iota
	LastNull
	LastEmpty
)

func (k LastPageKind) names() []string { return []string{"absent", "null", "empty"} }

// String is the name used in settings.
func (k LastPageKind) String() string { return nameOf(int(k), k.names()) }

// MarshalText writes the name used in settings.
func (k LastPageKind) MarshalText() ([]byte, error) {
	return marshalName("lastPage", int(k), k.names())
}

// UnmarshalText reads absent, null or empty.
func (k *LastPageKind) UnmarshalText(b []byte) error {
	return unmarshalName("lastPage", b, k.names(), func(i int) { *k = LastPageKind(i) })
}

func nameOf(i int, names []string) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i]
}

func marshalName(what string, i int, names []string) ([]byte, error) {
	if i < 0 || i >= len(names) {
		return nil, fmt.Errorf("%s: %d is not one of %v", what, i, names)
	}
	return []byte(names[i]), nil
}

func unmarshalName(what string, b []byte, names []string, set func(int)) error {
	for i, name := range names {
		if string(b) == name {
			set(i)
			return nil
		}
	}
	return fmt.Errorf("%s: %q is not one of %v", what, b, names)
}
