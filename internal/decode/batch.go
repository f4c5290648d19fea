package decode

import (
	"slices"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Reasons why a value or a record is in rejected_records. People filter by them, so they do not change.
const (
	ReasonMissingKey  = "missing_key"   // the record has no key
	ReasonUnusableKey = "unusable_key"  // its key is not of the key's type
	ReasonOtherKey    = "other_key"     // the record was requested by another key than it has
	ReasonNotAnObject = "not_an_object" // an element of the list that is no JSON object
	ReasonNotJSON     = "not_json"      // a value that is no JSON, such as NaN
	ReasonWrongType   = "wrong_type"    // a JSON type that the field cannot hold
	ReasonNotText     = "not_text"      // a string with half of a surrogate pair, or with bytes that are not UTF-8
	ReasonNotUUID     = "not_a_uuid"
	ReasonNotTime     = "not_a_timestamp" // no timestamp, or one outside of 1900 to 2299
	ReasonNotDay      = "not_a_day"
	ReasonOutOfRange  = "out_of_range" // a number that the column cannot hold
	ReasonRounded     = "rounded"      // loaded, but with fewer decimals than were sent
	ReasonRefused     = "refused"      // the warehouse does not take it
)

// Reject is a value, or a whole record, that could not be loaded as it was sent (decode-2, decode-3).
type Reject struct {
	Page    uint32 // page of the run, from 1
	Fetched int64  // when that page was requested, as in Rows.Fetched
	Key     string // key of the record, '' when it has none
	Field   string // JSON name of the field, '' for a whole record
	Reason  string
	Raw     string // JSON of the value or the record, verbatim
	Sum     uint64 // of the row, if the warehouse refused it
	// Updated is the updatedAt of the record that the field belongs to, in milliseconds since 1970; 0 if there is none.
	Updated int64
}

// Column holds one field of all rows of a batch; which slice is used follows from the field's wire type.
type Column struct {
	UUIDs   []uuid.UUID
	Strings []string
	Ints    []int64
	Bytes   []uint8
	Days    []uint16
}

// Values returns the slice in use, for the wire type of t.
func (c *Column) Values(t catalog.Type) any {
	switch t.Wire() {
	case "UUID":
		return c.UUIDs
	case "String":
		return c.Strings
	case "UInt8":
		return c.Bytes
	case "UInt16":
		return c.Days
	}
	return c.Ints
}

// extend appends n zero values, for a field of type t.
func (c *Column) extend(t catalog.Type, n int) {
	switch t {
	case catalog.UUID:
		c.UUIDs = append(c.UUIDs, make([]uuid.UUID, n)...)
	case catalog.Text, catalog.Label, catalog.TextList, catalog.LabelList:
		c.Strings = append(c.Strings, make([]string, n)...)
	case catalog.Bool:
		c.Bytes = append(c.Bytes, make([]uint8, n)...)
	case catalog.Day:
		c.Days = append(c.Days, make([]uint16, n)...)
	default:
		c.Ints = append(c.Ints, make([]int64, n)...)
	}
}

// zero makes the value of a row the zero value again.
func (c *Column) zero(t catalog.Type, row int) {
	switch t {
	case catalog.UUID:
		c.UUIDs[row] = uuid.UUID{}
	case catalog.Text, catalog.Label, catalog.TextList, catalog.LabelList:
		c.Strings[row] = ""
	case catalog.Bool:
		c.Bytes[row] = 0
	case catalog.Day:
		c.Days[row] = 0
	default:
		c.Ints[row] = 0
	}
}

// truncate drops all rows from n on.
func (c *Column) truncate(n int) {
	c.UUIDs = c.UUIDs[:min(n, len(c.UUIDs))]
	c.Strings = c.Strings[:min(n, len(c.Strings))]
	c.Ints = c.Ints[:min(n, len(c.Ints))]
	c.Bytes = c.Bytes[:min(n, len(c.Bytes))]
	c.Days = c.Days[:min(n, len(c.Days))]
}

// Rows is a set of columns of equal length.
type Rows struct {
	Fields  []catalog.Field
	Columns []Column // one per field
	// Nulls has a bit set for every nullable field that is absent (catalog.NullBits).
	Nulls []uint64
	// Fetched is when the request of the row's page left, in microseconds since 1970 by the run's clock.
	Fetched []int64

	masks     []uint64 // of each field, its bit in Nulls; 0 if it is not nullable
	key       int      // index of the key field; -1 if there is none
	absent    uint64   // mask of all nullable fields
	reserved  int      // length of the columns, which are longer than the rows while a page is decoded
	keyReason string   // why the last row has no usable key; '' when it has one

	month      uint64 // year and month of the last day that was read, as bytes of JSON; 0: none yet
	monthBegin int64  // the day before the first day of that month, in days since 1970
}

func newRows(fields []catalog.Field) Rows {
	r := Rows{Fields: fields, Columns: make([]Column, len(fields)), masks: make([]uint64, len(fields))}
	r.key = slices.IndexFunc(fields, func(f catalog.Field) bool { return f.Key })
	for i, bit := range catalog.NullBits(fields) {
		if bit >= 0 {
			r.masks[i] = 1 << bit
			r.absent |= r.masks[i]
		}
	}
	return r
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.Nulls) }

// reserve is the number of rows by which the columns grow at a time.
const reserve = 256

// grow adds one row without any value. The columns grow by a block of rows at a time, until alignColumns shortens them.
func (r *Rows) grow(fetched int64) {
	if r.reserved == len(r.Nulls) {
		for i := range r.Columns {
			r.Columns[i].extend(r.Fields[i].Type, reserve)
		}
		r.reserved += reserve
	}
	r.Nulls = append(r.Nulls, r.absent)
	r.Fetched = append(r.Fetched, fetched)
	r.keyReason = ReasonMissingKey
}

// alignColumns makes the columns as long as the rows.
func (r *Rows) alignColumns() { r.truncate(len(r.Nulls)) }

// truncate drops all rows from n on.
func (r *Rows) truncate(n int) {
	for i := range r.Columns {
		r.Columns[i].truncate(n)
	}
	r.Nulls = r.Nulls[:n]
	r.Fetched = r.Fetched[:n]
	r.reserved = n
}

// Present reports whether field i of the row has a value.
func (r *Rows) Present(i, row int) bool {
	return r.Nulls[row]&r.masks[i] == 0
}

// setPresent notes that field i of the last row has a value.
func (r *Rows) setPresent(i int) {
	if i == r.key {
		r.keyReason = ""
	}
	r.Nulls[len(r.Nulls)-1] &^= r.masks[i]
}

// setAbsent makes field i of the last row absent again.
func (r *Rows) setAbsent(i int) {
	if i == r.key {
		r.keyReason = ReasonMissingKey
	}
	r.Nulls[len(r.Nulls)-1] |= r.masks[i]
	r.Columns[i].zero(r.Fields[i].Type, len(r.Nulls)-1)
}

// Batch is what decoding appends to: the rows of one or more pages of one stream.
type Batch struct {
	Stream *catalog.Stream
	Rows
	// Pages has the page of the run that each row came from.
	Pages []uint32
	// Extra has the fields that the catalog does not know as one JSON object, '' when there are none (decode-4).
	Extra []string
	// Keys and KeyRules are the derived keys, for streams that have no identifier of their own.
	Keys     []uuid.UUID
	KeyRules []string
	// Entries has the entries of the stream's Child of each row in the form of catalog.Child.Packed, '' when there are
	// none.
	Entries []string

	// Hashes has the hash of each row's content, and Sums that by which the row is proved: of its key, its content, and
	// its entries. A row that is lost or altered on its way to the warehouse shows by them.
	Hashes []Hash
	Sums   []uint64

	// LeftOut has the rows, in ascending order, that are not staged, because the reader of the
	// batch does not need them.
	LeftOut []int

	Rejects []Reject
	Records int            // records read, loaded or rejected
	Noise   int64          // decimals whose binary noise was rounded away
	Unknown map[string]int // fields that the catalog does not know, and how often each was seen
	Bytes   int            // JSON that the rows refer to

	sources []source // one per page
	keyText []byte   // memory for the texts that keys are derived from
	ofKey   [][]int  // of a derived key, the fields that each rule reads
	packed  []byte   // memory that the last of Entries are parts of; bytes are only appended
}

// NewBatch makes an empty batch for the stream.
func NewBatch(s *catalog.Stream) *Batch {
	return &Batch{Stream: s, Rows: newRows(s.Fields), Unknown: map[string]int{}, ofKey: keyColumns(s)}
}

// Reset empties the batch and keeps its memory. Strings that were taken from it stay valid.
func (b *Batch) Reset() {
	b.truncate(mark{})
	for i := range b.Columns {
		clear(b.Columns[i].Strings[:cap(b.Columns[i].Strings)]) // so that they do not keep pages alive
	}
	clear(b.Extra[:cap(b.Extra)])
	clear(b.Entries[:cap(b.Entries)])
	clear(b.Unknown)
	clear(b.sources)
	b.Rejects, b.LeftOut, b.sources = nil, nil, b.sources[:0]
	b.Records, b.Noise, b.Bytes = 0, 0, 0
}

// mark is a place in a batch to return to.
type mark struct{ rows, rejects int }

func (b *Batch) mark() mark { return mark{rows: b.Len(), rejects: len(b.Rejects)} }

func (b *Batch) truncate(m mark) {
	b.Rows.truncate(m.rows)
	b.Pages = b.Pages[:m.rows]
	b.Extra = b.Extra[:m.rows]
	if b.Stream.DerivedKey {
		b.Keys = b.Keys[:m.rows]
		b.KeyRules = b.KeyRules[:m.rows]
	}
	if b.Stream.Child != nil {
		b.Entries = b.Entries[:m.rows]
	}
	b.Hashes = b.Hashes[:min(m.rows, len(b.Hashes))] // a page has none before its end
	b.Sums = b.Sums[:min(m.rows, len(b.Sums))]
	b.Rejects = b.Rejects[:min(m.rejects, len(b.Rejects))]
}
