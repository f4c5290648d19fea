package apisim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// script has what a test or movement has changed about the generated records of one stream.
type script struct {
	records []*scriptedRecord // in the order of Put; nil where one was removed
	ids     []string          // of the records, and of those that were removed
	byID    map[string]int    // place of the record with an id
	hidden  map[uint64]bool   // codes of generated records replaced or deleted
	live    int
	frozen  bool // other moments share it; guarded by Sim.mu
}

// scriptedRecord is a record that is served exactly as it was given.
type scriptedRecord struct {
	raw       []byte
	id        string // text of the key; empty when it has none
	updated   int64
	hostname  string
	name      string
	category  string
	countries []string
}

func newScript() *script {
	return &script{byID: map[string]int{}, hidden: map[uint64]bool{}}
}

func (s *script) clone() *script {
	return &script{
		records: slices.Clone(s.records), ids: slices.Clone(s.ids), byID: maps.Clone(s.byID),
		hidden: maps.Clone(s.hidden), live: s.live,
	}
}

// freeze returns the script for another moment: the same one, which both share until one of them changes it (own).
func (s *script) freeze() *script {
	s.frozen = true
	return s
}

// own returns the script for a moment that changes it: a copy if other moments share it.
func (s *script) own() *script {
	if s.frozen {
		return s.clone()
	}
	return s
}

func (s *script) empty() bool { return s.live == 0 }

func (s *script) hides(code uint64) bool { return len(s.hidden) > 0 && s.hidden[code] }

// add appends a record. If there is one with its id, it replaces that one, unless twice is set.
func (s *script) add(rec *scriptedRecord, twice bool) {
	if p, ok := s.byID[rec.id]; ok && rec.id != "" && !twice {
		s.records[p] = rec
		return
	}
	s.records, s.ids = append(s.records, rec), append(s.ids, rec.id)
	s.live++
	if _, ok := s.byID[rec.id]; !ok && rec.id != "" {
		s.byID[rec.id] = len(s.records) - 1
	}
}

// remove removes every record with an id and reports whether there was one.
func (s *script) remove(id string) bool {
	if _, ok := s.byID[id]; !ok {
		return false
	}
	delete(s.byID, id)
	for p, rec := range s.records {
		if rec != nil && rec.id == id {
			s.records[p] = nil
			s.live--
		}
	}
	return true
}

// withdraw removes an item: a record of the script, or the generated one with the code.
func (s *script) withdraw(item uint32, code uint64) {
	if item&scriptedBit == 0 {
		s.hidden[code] = true
		return
	}
	p := int(item &^ scriptedBit)
	id := s.records[p].id
	s.records[p] = nil
	s.live--
	if s.byID[id] != p {
		return
	}
	delete(s.byID, id)
	for q, rec := range s.records {
		if rec != nil && rec.id == id && id != "" {
			s.byID[id] = q // the stream had the id twice
			return
		}
	}
}

// swap replaces an item by a record with the same id, and returns the number of the new item.
func (s *script) swap(item uint32, code uint64, rec *scriptedRecord) uint32 {
	if item&scriptedBit != 0 {
		s.records[item&^scriptedBit] = rec
		return item
	}
	s.hidden[code] = true
	return s.push(rec)
}

// push adds a record at the end and returns the number of the new item.
func (s *script) push(rec *scriptedRecord) uint32 {
	s.add(rec, true)
	return scriptedBit | uint32(len(s.records)-1)
}

func (r *scriptedRecord) matches(f *filter) bool {
	return (f.hostname == "" || r.hostname == f.hostname) &&
		(f.name == "" || r.name == f.name) &&
		(f.category == "" || r.category == f.category) &&
		(f.country == "" || contains(r.countries, f.country))
}

// read makes a scriptedRecord that keeps raw, and reads the fields that lists need. Any JSON value is allowed: fields
// that are missing or not of the expected kind count as absent.
func (e *endpoint) read(raw []byte) *scriptedRecord {
	rec := &scriptedRecord{raw: raw}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return rec // null, a number, an array: it is served, but has no id
	}
	rec.id = e.key(fields)
	if t, err := parseTime(textOf(fields, "updatedAt")); err == nil {
		rec.updated = t.UnixMilli()
	}
	rec.hostname, rec.name, rec.category = textOf(fields, "hostname"), textOf(fields, "name"), textOf(fields, "category")
	_ = json.Unmarshal(fields["countries"], &rec.countries)
	return rec
}

// textOf returns the text of a field, or "" if the field is missing or not a text.
func textOf(fields map[string]json.RawMessage, name string) (s string) {
	_ = json.Unmarshal(fields[name], &s)
	return s
}

// The keys of records: an id, a url, an id that is a number.
func idOf(fields map[string]json.RawMessage) string  { return plainID(textOf(fields, "id")) }
func urlOf(fields map[string]json.RawMessage) string { return textOf(fields, "url") }

func numberOf(fields map[string]json.RawMessage) string {
	var n json.Number
	if json.Unmarshal(fields["id"], &n) != nil {
		return ""
	}
	return n.String()
}

// parseTime reads RFC 3339, the same without a zone (which means UTC), or a day.
func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not an ISO 8601 date-time", s)
}
