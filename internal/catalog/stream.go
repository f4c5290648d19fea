package catalog

import "slices"

// Field is one field of a record, from its JSON name to the column that people query.
type Field struct {
	JSON     string // name in the API's JSON
	Column   string // name of the column: the snake_case of JSON, except for name and logo of deals (catalog-2)
	Type     Type
	Key      bool   // the record's identifier; a record without a usable one is rejected
	Version  bool   // the upstream's time of last change, which orders two reads of one record
	Status   bool   // the state of a transaction: one of Statuses, or one that the service has added
	Declined bool   // an amount that adds up declined transactions, whose amounts may be below zero
	Private  bool   // it may name a person: see passback in the configuration
	RefersTo string // the stream whose key the value is; "" for other fields
	Comment  string // what it means, for the column's comment
	Unit     string // of a number; times are in UTC
}

// Describe returns the comment of the field's column: its meaning, [its unit], how absence is shown if not as NULL, and
// (API: the field's JSON name). The data dictionary parses it again.
func (f Field) Describe() string {
	text := f.Comment
	if types[f.Type].emptyCan && !f.Key {
		text += "; empty when absent"
	}
	unit := f.Unit
	if f.Type == Time {
		unit = "UTC"
	}
	if unit != "" {
		text += " [" + unit + "]"
	}
	return text + " (API: " + f.JSON + ")"
}

// Nullable reports whether absence is kept as NULL. In strings and lists it is shown by the empty value.
func (f Field) Nullable() bool { return !f.Key && !types[f.Type].emptyCan }

// ColumnType returns the ClickHouse type of the field's column in tables and views.
func (f Field) ColumnType() string {
	if f.Nullable() {
		return "Nullable(" + types[f.Type].column + ")"
	}
	return types[f.Type].column
}

// Child is an array of objects inside a record that becomes a table of its own: a product's price history.
type Child struct {
	JSON    string // name of the array in the record
	Table   string // the view that people query
	Comment string
	Fields  []Field // the entry's fields; the Key field distinguishes two entries of one record
	Inherit []Field // fields of the parent that every entry repeats
}

// AllFields returns the fields of the child's table beside the parent's key: its own, then those of the parent.
func (c *Child) AllFields() []Field { return slices.Concat(c.Fields, c.Inherit) }

// PackedSize returns the number of bytes of an entry that is stored packed with its record. They are a byte with a bit
// for each field that is absent (NullBits), and then the Fields in their order, lowest byte first: two bytes for a Day,
// eight for others.
func (c *Child) PackedSize() int {
	size := 1
	for _, f := range c.Fields {
		size += f.PackedSize()
	}
	return size
}

// PackedSize returns the number of bytes of the field in a packed entry.
func (f Field) PackedSize() int {
	if f.Type == Day {
		return 2
	}
	return 8
}

// ByDay says how the rows of a stream are counted by day, for the chart on its page.
type ByDay struct {
	View   string // the stream's view, or that of its child
	Column string // a Time or a Day
	Title  string // of the chart
}

// Stream is everything the worker needs to know about one list operation of the API.
type Stream struct {
	Name    string // also the name of the view
	Path    string // of the list, after the base URL
	Kind    Kind
	Paging  Paging
	Comment string
	Fields  []Field
	// Schedule is when the daemon loads the stream unless the configuration says otherwise: five cron fields.
	Schedule string
	// Resync is the same for reading an Incremental stream as a whole.
	Resync string
	// DerivedKey is set when the record has no identifier of its own: DerivedKeyColumn holds a hash of the fields that
	// identify it, and KeyRuleColumn the name of the rule that chose them (catalog-1).
	DerivedKey bool
	// ByID says that a record can also be read by its own address, Path/{key}.
	ByID bool
	// AllView names the view of every known record, including those that have left the list; set if ByID is set.
	AllView string
	// Filters are those of the list operation, by which a part of the stream can be loaded (catalog-12).
	Filters []Filter
	// History keeps every version of a record in <name>_history.
	History bool
	Child   *Child
	// ByDay is how its rows are counted by day; nil: they belong to no day.
	ByDay *ByDay
	// Payouts says that the records are payouts: each adds up records of the stream that names it (catalog-7).
	Payouts bool
	// OrderedBy is the column, of a Time, by which the rows are sorted before their key, so that those of some days are
	// read without the others; "" if they are sorted by the key alone (catalog-10).
	OrderedBy string
	// LookedUpBy are other columns by whose values single rows are looked up. Each of them gets a view that has the
	// value as its parameter.
	LookedUpBy []string
	// OwnKey says that services give out API keys for this stream alone.
	OwnKey bool
}

// Column names of derived keys.
const (
	DerivedKeyColumn = "product_key"
	KeyRuleColumn    = "product_key_rule"
)

// KeyColumn returns the name of the key's column.
func (s *Stream) KeyColumn() string {
	if s.DerivedKey {
		return DerivedKeyColumn
	}
	return s.Fields[s.KeyField()].Column
}

// KeyType returns the type of the key.
func (s *Stream) KeyType() Type {
	if s.DerivedKey {
		return UUID
	}
	return s.Fields[s.KeyField()].Type
}

// KeyField returns the index of the field that is the key, or -1 if the key is derived.
func (s *Stream) KeyField() int { return s.index(func(f Field) bool { return f.Key }) }

// VersionField returns the index of the field that says when the record last changed upstream, or -1.
func (s *Stream) VersionField() int { return s.index(func(f Field) bool { return f.Version }) }

// OrderField returns the index of the field of OrderedBy, or -1.
func (s *Stream) OrderField() int {
	return s.index(func(f Field) bool { return s.OrderedBy != "" && f.Column == s.OrderedBy })
}

// Reference returns the field that is a key of the other stream, or nil if there is none.
func (s *Stream) Reference(to *Stream) *Field {
	if i := s.index(func(f Field) bool { return f.RefersTo == to.Name }); i >= 0 {
		return &s.Fields[i]
	}
	return nil
}

// References returns the fields that are keys of other streams.
func (s *Stream) References() (fields []Field) {
	for _, f := range s.Fields {
		if f.RefersTo != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// NamesPayouts reports whether the records are sales, which say in which payout they are. For this one stream
// (catalog-7), sums by day and by payout are kept, and when each record was confirmed or declined.
func (s *Stream) NamesPayouts() bool { return s.Reference(Payouts()) != nil }

// NamesDeals reports whether the records name records of other streams that can be asked for one by one.
func (s *Stream) NamesDeals() bool {
	return s.index(func(f Field) bool {
		to, err := Find(f.RefersTo)
		return err == nil && to.ByID
	}) >= 0
}

func (s *Stream) index(match func(Field) bool) int {
	for i, f := range s.Fields {
		if match(f) {
			return i
		}
	}
	return -1
}

// NullBits maps each field to its bit in the record's absence mask, or -1 for a field that is never NULL
// (catalog-3).
func NullBits(fields []Field) []int {
	bits := make([]int, len(fields))
	next := 0
	for i, f := range fields {
		bits[i] = -1
		if f.Nullable() {
			bits[i] = next
			next++
		}
	}
	return bits
}
