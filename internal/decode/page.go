package decode

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
	"unsafe"

	"dealhouse/internal/catalog"
)

// Decoder appends pages to batches of one stream. It is used by one goroutine at a time.
type Decoder struct {
	stream *catalog.Stream
	byName map[string]int
	quoted [][]byte // of each field, its name as it is written in a record

	batch    *Batch
	asked    string // key that the current record was requested by; "" in a list
	page     uint32
	fetched  int64
	extra    []extraField
	list     []byte // the list that is being read, in the free memory of lists
	lists    []byte // memory that the last lists are parts of; bytes are only appended
	unusable []unusableRecord
	child    *childDecoder
	// unknownSeen counts the unknown fields of the current page.
	unknownSeen map[string]int
	onField     func(*cursor, []byte) error
	onRecord    func(*cursor) error
	onElement   func(*cursor) error
	listReason  string // why the list is refused
	utf8        bool   // the whole page is UTF-8
	private     *hiding
}

// unusableRecord is a record that is left out, by its position in the page.
type unusableRecord struct {
	position int
	reason   string
}

// New makes a decoder for the stream.
func New(s *catalog.Stream) *Decoder {
	d := &Decoder{stream: s, byName: make(map[string]int, len(s.Fields)), unknownSeen: map[string]int{}}
	for i, f := range s.Fields {
		d.byName[f.JSON] = i
	}
	d.quoted = quotedNames(s.Fields)
	if s.Child != nil {
		d.child = newChildDecoder(d)
	}
	d.onField, d.onRecord, d.onElement = d.field, d.record, d.element
	return d
}

// Page appends the records of data, a JSON array, to the batch. page counts from 1 within the run; fetched is in
// microseconds since 1970 by the run's clock. The batch refers to data, which must not be changed afterwards. An error
// means that data is no JSON array; the batch is unchanged then (decode-5).
func (d *Decoder) Page(b *Batch, data []byte, page uint32, fetched int64) error {
	if d.private != nil {
		hidden, err := d.private.page(data)
		if err != nil {
			return fmt.Errorf("decoding page %d of %s: %w", page, d.stream.Name, err)
		}
		data = hidden
	}
	d.batch, d.page, d.fetched, d.utf8 = b, page, fetched, utf8.Valid(data)
	d.unusable = d.unusable[:0]
	clear(d.unknownSeen)
	before, records, noiseBefore := b.mark(), b.Records, b.Noise
	err := (&cursor{data: data, plain: d.utf8 && bytes.IndexByte(data, '\\') < 0}).array(d.onRecord)
	if err == nil && len(d.unusable) > 0 {
		err = d.rejectRecords(data, records)
	}
	b.alignColumns()
	if err != nil {
		b.truncate(before)
		b.Records, b.Noise = records, noiseBefore
		return fmt.Errorf("decoding page %d of %s: %w", page, d.stream.Name, err)
	}
	b.sum(before.rows)
	b.Bytes += len(data)
	from := source{data: data, row: before.rows}
	for _, u := range d.unusable {
		from.leftOut = append(from.leftOut, u.position-records-1)
	}
	b.sources = append(b.sources, from)
	for kind, n := range d.unknownSeen {
		b.Unknown[kind] += n
	}
	return nil
}

// Item appends a record that was requested by its key, and rejects it if it has another key. data is a JSON object; the
// other parameters and the error are those of Page.
func (d *Decoder) Item(b *Batch, data []byte, key string, page uint32, fetched int64) error {
	d.asked = key
	defer func() { d.asked = "" }()
	return d.Page(b, slices.Concat([]byte("["), data, []byte("]")), page, fetched)
}

// record decodes one element of the page.
func (d *Decoder) record(c *cursor) error {
	d.batch.Records++
	if c.next() != objectKind {
		d.leaveOut(ReasonNotAnObject)
		return c.skip()
	}
	b := d.batch
	before := b.mark()
	b.grow(d.fetched)
	d.extra = d.extra[:0]
	if d.child != nil {
		d.child.reset()
	}
	c.names, c.turn = d.quoted, 0
	if err := c.object(d.onField); err != nil {
		return err
	}
	b.Pages = append(b.Pages, d.page)
	b.Extra = append(b.Extra, d.joinExtra())
	if b.Stream.DerivedKey {
		b.deriveKey()
	}
	if d.child != nil {
		b.Entries = append(b.Entries, d.child.pack())
	}
	if d.asked != "" && b.keyReason == "" && b.Key(b.Len()-1) != d.asked {
		b.keyReason = ReasonOtherKey
	}
	if reason := b.keyReason; reason != "" {
		b.truncate(before)
		d.leaveOut(reason)
		return nil
	}
	d.nameRejects(before.rejects)
	return nil
}

// leaveOut notes that the current record is rejected; its JSON is collected after the page (decode-3).
func (d *Decoder) leaveOut(reason string) {
	d.unusable = append(d.unusable, unusableRecord{position: d.batch.Records, reason: reason})
}

// rejectRecords reads the page once more, for the raw JSON of the records that were left out. It is a second pass
// because it is rare, and the first pass should not be slower for it.
func (d *Decoder) rejectRecords(data []byte, recordsBefore int) error {
	position, next := recordsBefore, 0
	return (&cursor{data: data}).array(func(c *cursor) error {
		position++
		if next == len(d.unusable) || d.unusable[next].position != position {
			return c.skip()
		}
		raw, err := c.raw()
		if err != nil {
			return err
		}
		d.batch.Rejects = append(d.batch.Rejects,
			Reject{Page: d.page, Fetched: d.fetched, Key: d.asked, Reason: d.unusable[next].reason, Raw: string(raw)})
		next++
		return nil
	})
}

// nameRejects fills in key and updatedAt of the current record in its field rejects, which begin at from.
func (d *Decoder) nameRejects(from int) {
	b := d.batch
	for i := from; i < len(b.Rejects); i++ {
		b.Rejects[i].Key = b.Key(b.Len() - 1)
		if v := b.Stream.VersionField(); v >= 0 {
			b.Rejects[i].Updated = b.Columns[v].Ints[b.Len()-1]
		}
	}
}

// field decodes one member of a record.
func (d *Decoder) field(c *cursor, name []byte) error {
	i := c.turn
	if !c.asExpected {
		var known bool
		if i, known = d.byName[string(name)]; !known {
			return d.otherMember(c, name)
		}
	}
	c.turn = i + 1
	return d.value(c, &d.batch.Rows, i)
}

// otherMember decodes a member that is no field of the record: its list of entries, or one that
// the catalog does not know.
func (d *Decoder) otherMember(c *cursor, name []byte) error {
	if d.child == nil || string(name) != d.stream.Child.JSON {
		return d.unknown(c, "", name, string(name))
	}
	turn := c.turn
	err := d.child.array(c)
	c.names, c.turn = d.quoted, turn
	return err
}

// quotedNames returns the names of the fields as they are written in a record, with quotes and colon.
func quotedNames(fields []catalog.Field) [][]byte {
	names := make([][]byte, len(fields))
	for i, f := range fields {
		names[i] = []byte(`"` + f.JSON + `":`)
	}
	return names
}

// rejectField adds the raw value of a field of the current record to the rejects, because it could not
// be loaded as it was sent.
func (d *Decoder) rejectField(name, reason string, raw []byte) {
	if value, ok := unreadable(raw); ok {
		reason, raw = ReasonNotJSON, value
	}
	d.batch.Rejects = append(d.batch.Rejects,
		Reject{Page: d.page, Fetched: d.fetched, Field: name, Reason: reason, Raw: string(raw)})
}

// unreadable returns the text of a value that was no JSON: the client has put the object {"": text} in its place.
func unreadable(raw []byte) (value []byte, ok bool) {
	if !bytes.HasPrefix(raw, []byte(`{"":"`)) {
		return nil, false
	}
	c := cursor{data: raw}
	members := 0
	err := c.object(func(c *cursor, _ []byte) (err error) {
		members++
		value, err = c.str()
		return err
	})
	return value, err == nil && members == 1
}

// text makes a string, without a copy, of bytes that are never changed: a part of the page, or a buffer
// made for this one value.
func text(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // nothing writes to these bytes again
}
