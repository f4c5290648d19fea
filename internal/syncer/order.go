package syncer

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/google/uuid"

	"dealhouse/internal/decode"
)

// span is the rows of one page, as a part of the batch that they were decoded into.
type span struct {
	batch    *decode.Batch
	from, to int
	first    string // id of the page's first record, as the page spells it; "" if there is none
}

func (s span) ids() []uuid.UUID {
	if i := s.batch.Stream.KeyField(); i >= 0 && s.batch.Columns[i].UUIDs != nil {
		return s.batch.Columns[i].UUIDs[s.from:s.to]
	}
	return nil
}

// updates returns the updatedAt of the rows, in milliseconds; 0 for a row without one.
func (s span) updates() []int64 {
	if i := s.batch.Stream.VersionField(); i >= 0 {
		return s.batch.Columns[i].Ints[s.from:s.to]
	}
	return nil
}

// firstUpdated returns the updatedAt of the page's first record, 0 if it is not known.
func (s span) firstUpdated() int64 {
	updates := s.updates()
	if len(updates) == 0 || s.batch.Key(s.from) != canonical(s.first) {
		return 0
	}
	return updates[0]
}

// last returns the id of the last row.
func (s span) last() string {
	if s.from == s.to {
		return ""
	}
	return s.batch.Key(s.to - 1)
}

// at returns the number of the row with an id, -1 if there is none.
func (s span) at(id string) int {
	want, err := uuid.Parse(id)
	if err != nil {
		return -1
	}
	return slices.Index(s.ids(), want)
}

// canonical returns an id as Batch.Key writes it.
func canonical(id string) string {
	if parsed, err := uuid.Parse(id); err == nil {
		return parsed.String()
	}
	return id
}

// order tells whether the items of a list come in the order of their ids, in which none can move, or in that of their
// updatedAt, in which an item that changes moves to the end.
type order struct {
	pairs      int  // of rows that followed each other on one page
	begun      bool // last and lastTime belong to the row before
	last       uuid.UUID
	lastTime   int64
	up, down   bool // ids went up, went down
	late, fell bool // times went forward, went back
	unknown    bool // a time was not known
}

// enoughPairs is the number of pairs of rows that show that an order is not chance. Only pairs on one page count as
// evidence for an order, because the next page may begin anywhere. All pairs count as evidence against it.
const enoughPairs = 24

// restart says that the next row does not follow the last one.
func (o *order) restart() { o.begun = false }

func (o *order) add(rows span) {
	updates := rows.updates()
	for i, id := range rows.ids() {
		at := int64(0)
		if updates != nil {
			at = updates[i]
		}
		if i > 0 {
			o.pairs++
		}
		if o.begun {
			sign := bytes.Compare(o.last[:], id[:])
			o.up, o.down = o.up || sign < 0, o.down || sign > 0
			o.late, o.fell = o.late || at > o.lastTime, o.fell || at < o.lastTime
		}
		o.unknown = o.unknown || at == 0
		o.last, o.lastTime, o.begun = id, at, true
	}
}

// byID reports that the list is in the order of ids. A list by updatedAt, in which items do move, looks the same if ids
// are assigned in the order of time. Only times that go both forward and back prove that it is not such a list.
func (o *order) byID() bool {
	return o.pairs >= enoughPairs && o.up != o.down && o.late && o.fell && !o.unknown
}

func (o *order) byTime() bool { return o.pairs >= enoughPairs && o.late && !o.fell && !o.unknown }

// sequence is a hash of the rows that a walk read, in their order.
type sequence struct {
	hash  maphash.Hash
	whole bool // the walk began at the first page
}

func (d *sequence) restart(whole bool) {
	d.hash.Reset()
	d.whole = whole
}

func (d *sequence) add(rows span) {
	updates := rows.updates()
	for i, id := range rows.ids() {
		_, _ = d.hash.Write(id[:]) // it cannot fail
		if updates != nil {
			maphash.WriteComparable(&d.hash, updates[i])
		}
	}
}
