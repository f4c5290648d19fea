package apisim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// script is what a test has laid over the generated records of one stream.
type script struct {
	records []*scriptedRecord // by time of Put; nil where one was taken away
	byID    map[string]int    // place of the record with an id
	hidden  map[uint64]bool   // codes of generated records replaced or deleted
	live    int
}

// scriptedRecord is a record that is served as it was given.
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
		records: slices.Clone(s.records), byID: maps.Clone(s.byID),
		hidden: maps.Clone(s.hidden), live: s.live,
	}
}

func (s *script) empty() bool { return s.live == 0 }

func (s *script) hides(code uint64) bool { return len(s.hidden) > 0 && s.hidden[code] }

// add appends a record, in the place of the one with its id unless twice is set.
func (s *script) add(rec *scriptedRecord, twice bool) {
	if p, ok := s.byID[rec.id]; ok && rec.id != "" && !twice {
		s.records[p] = rec
		return
	}
	s.records = append(s.records, rec)
	s.live++
	if _, ok := s.byID[rec.id]; !ok && rec.id != "" {
		s.byID[rec.id] = len(s.records) - 1
	}
}

// remove takes away every record with an id and says whether there was one.
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

func (r *scriptedRecord) matches(f *filter) bool {
	return (f.hostname == "" || r.hostname == f.hostname) &&
		(f.name == "" || r.name == f.name) &&
		(f.category == "" || r.category == f.category) &&
		(f.country == "" || contains(r.countries, f.country))
}

// parseScripted reads from a record what listing it takes. Any JSON value will
// do: fields that are not there or not of the expected kind count as absent.
func parseScripted(stream string, raw []byte) (*scriptedRecord, error) {
	raw = bytes.TrimSpace(raw)
	if !json.Valid(raw) {
		return nil, errors.New("the record is not JSON")
	}
	rec := &scriptedRecord{raw: bytes.Clone(raw)}
	if raw[0] != '{' {
		return rec, nil // null, a number, an array: served, known by nothing
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	text := func(name string) (s string) {
		// An error leaves the field absent.
		_ = json.Unmarshal(fields[name], &s)
		return s
	}
	switch stream {
	case StreamProducts:
		rec.id = text("url")
	case StreamPayouts:
		var n json.Number
		if json.Unmarshal(fields["id"], &n) == nil {
			rec.id = n.String()
		}
	default:
		rec.id = text("id")
		if isUUID(rec.id) {
			rec.id = strings.ToLower(rec.id)
		}
	}
	if t, err := parseTime(text("updatedAt")); err == nil {
		rec.updated = t.UnixMilli()
	}
	rec.hostname, rec.name, rec.category = text("hostname"), text("name"), text("category")
	_ = json.Unmarshal(fields["countries"], &rec.countries)
	return rec, nil
}

// parseTime reads RFC 3339, the same with no zone (which is UTC), or a day.
func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not an ISO 8601 date-time", s)
}
