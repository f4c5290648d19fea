package catalog

// Kind says how a stream is read and when rows may be deleted from it.
type Kind uint8

const (
	// Snapshot is read whole in every run; what a complete run did not see is deleted.
	Snapshot Kind = iota
	// Incremental is read from its watermark on; it deletes only in a full run.
	Incremental
	// Walk is a snapshot that may be millions of rows long: it saves its place and can be resumed.
	Walk
)

var kinds = [...]string{Snapshot: "snapshot", Incremental: "incremental", Walk: "walk"}

// String is the kind's name in logs, in documents and as a mode in sync_runs.
func (k Kind) String() string {
	return kinds[k]
}

// Paging says how the next page of a list is asked for.
type Paging uint8

const (
	// CursorPages are {"data": [...], "cursor": "id of the next item"}.
	CursorPages Paging = iota
	// NextPages are {"data": [...], "nextPage": "opaque"}.
	NextPages
	// BareArray is one response that is a JSON array, without envelope or paging.
	BareArray
)

// Type is what a field holds. It decides how JSON is read, how the value travels to the staging table (Wire) and
// what analysts see (Column).
type Type uint8

const (
	// UUID is an RFC 4122 identifier.
	UUID Type = iota
	// Text is a string with many different values.
	Text
	// Label is a string with few different values: status, currency, country, retailer.
	Label
	// Time is an ISO 8601 timestamp, kept in UTC with milliseconds; without a zone it means UTC.
	Time
	// Day is a calendar day.
	Day
	// Money is an amount of 4 decimals, read from the digits of the number and never through a float.
	Money
	// Share is a fraction of 9 decimals.
	Share
	// Quotient is a number that the service computed by dividing (an average, a rating): 6 decimals, rounded
	// without a record of it.
	Quotient
	// Int is a whole number of 64 bits.
	Int
	// Bool is true or false.
	Bool
	// TextList is an array of strings with many different values.
	TextList
	// LabelList is an array of strings with few different values.
	LabelList
)

type typeInfo struct {
	name     string
	column   string // the ClickHouse type that people query
	wire     string // the ClickHouse type in the staging table
	scale    int    // decimals, for decimal types
	quiet    bool   // rounding leaves no record
	emptyCan bool   // '' or [] means absent, so the type is never Nullable
}

var types = [...]typeInfo{
	UUID:      {name: "UUID", column: "UUID", wire: "UUID"},
	Text:      {name: "text", column: "String", wire: "String", emptyCan: true},
	Label:     {name: "label", column: "LowCardinality(String)", wire: "String", emptyCan: true},
	Time:      {name: "timestamp", column: "DateTime64(3, 'UTC')", wire: "Int64"},
	Day:       {name: "day", column: "Date", wire: "UInt16"},
	Money:     {name: "money", column: "Decimal(18, 4)", wire: "Int64", scale: 4},
	Share:     {name: "share", column: "Decimal(18, 9)", wire: "Int64", scale: 9},
	Quotient:  {name: "quotient", column: "Decimal(18, 6)", wire: "Int64", scale: 6, quiet: true},
	Int:       {name: "integer", column: "Int64", wire: "Int64"},
	Bool:      {name: "boolean", column: "Bool", wire: "UInt8"},
	TextList:  {name: "list of text", column: "Array(String)", wire: "String", emptyCan: true},
	LabelList: {name: "list of labels", column: "Array(LowCardinality(String))", wire: "String", emptyCan: true},
}

// String is the type's name for people.
func (t Type) String() string { return types[t].name }

// Wire is the ClickHouse type that carries the value in a staging table: plain integers for decimals and times, so
// that a column of them needs no allocation per value; lists as their strings one after the other, each ended by a NUL.
func (t Type) Wire() string { return types[t].wire }

// Scale is the number of decimals that a decimal type keeps, 0 for the others.
func (t Type) Scale() int { return types[t].scale }

// Decimal reports whether the type is read from the digits of a number into a scaled integer.
func (t Type) Decimal() bool { return types[t].scale > 0 }

// RoundsQuietly reports whether excess decimals are rounded without a record in rejected_records.
func (t Type) RoundsQuietly() bool { return types[t].quiet }

// List reports whether the type is an array of strings.
func (t Type) List() bool { return t == TextList || t == LabelList }
