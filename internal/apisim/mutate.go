package apisim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrUnknown is the error for a stream, organization or record that does not exist.
var ErrUnknown = errors.New("unknown")

// Put adds a record, or replaces the one with its id (products: url; payouts: decimal id). It is served byte for byte,
// without spaces around it, whatever the clock does, until Delete or Restore. A record without an id is added. Streams
// without an organization ignore org.
func (s *Sim) Put(stream, org string, record []byte) error {
	return s.script("put", stream, org, record, false)
}

// Append does what Put does, but keeps records with the same id, so that the stream can have one id twice.
func (s *Sim) Append(stream, org string, record []byte) error {
	return s.script("append", stream, org, record, true)
}

func (s *Sim) script(op, stream, org string, record []byte, twice bool) error {
	raw := bytes.TrimSpace(record)
	if !json.Valid(raw) {
		return fmt.Errorf("apisim: %s %s: the record is not JSON", op, stream)
	}
	e, err := s.stage.endpoint(stream)
	if err != nil {
		return fmt.Errorf("apisim: %s: %w", op, err)
	}
	rec := e.read(bytes.Clone(raw))
	return s.change(func(w *world) error {
		t, err := w.target(stream, org)
		if err != nil {
			return fmt.Errorf("apisim: %s: %w", op, err)
		}
		if !twice {
			if code, ok := t.code(rec.id); ok {
				t.script.hidden[code] = true
			}
		}
		t.script.add(rec, twice)
		return nil
	})
}

// Delete removes a record from its list, whether it was generated or put there.
func (s *Sim) Delete(stream, org, id string) error {
	return s.change(func(w *world) error {
		t, err := w.target(stream, org)
		if err != nil {
			return fmt.Errorf("apisim: delete: %w", err)
		}
		id := t.normal(id)
		gone := t.script.remove(id)
		if code, ok := t.code(id); ok && !t.script.hidden[code] {
			t.script.hidden[code] = true
			gone = true
		}
		if !gone {
			return fmt.Errorf("apisim: delete: %s: record %q: %w", stream, id, ErrUnknown)
		}
		return nil
	})
}

// Restore undoes every Put, Append and Delete of an id: the generated record, if there is one, is
// back in its present state.
func (s *Sim) Restore(stream, org, id string) error {
	return s.change(func(w *world) error {
		t, err := w.target(stream, org)
		if err != nil {
			return fmt.Errorf("apisim: restore: %w", err)
		}
		id := t.normal(id)
		done := t.script.remove(id)
		if code, ok := t.code(id); ok && t.script.hidden[code] {
			delete(t.script.hidden, code)
			done = true
		}
		if !done {
			return fmt.Errorf("apisim: restore: %s: record %q: %w", stream, id, ErrUnknown)
		}
		return nil
	})
}

// Touch updates a record now: its content changes, and its updatedAt becomes the time of the world's clock, which does
// not move. A product has no updatedAt and goes to the end of the feed. The error is ErrUnknown for payouts, which
// never change, and for a record that is not listed or is not an object.
func (s *Sim) Touch(stream, org, id string) error {
	set := s.settings.Load()
	return s.change(func(w *world) error {
		e, g, err := w.ground(stream, org)
		if err != nil {
			return fmt.Errorf("apisim: touch: %w", err)
		}
		st := w.style(set)
		var raw []byte
		item, ok := g.named(id)
		if ok {
			raw = g.render(nil, item, &st)
		}
		if !isObject(raw) {
			return fmt.Errorf("apisim: touch: %s: record %q: %w", stream, id, ErrUnknown)
		}
		h := hashText(uint64(w.now), string(raw))
		g.swap(item, e.read(e.revise(raw, h, w.now, &st)))
		return nil
	})
}

// target is what Put, Append, Delete and Restore change.
type target struct {
	script *script
	// code finds a generated record that is listed, or would be without the script.
	code   func(id string) (uint64, bool)
	normal func(id string) string
}

func (w *world) target(stream, org string) (target, error) {
	l, err := w.list(stream, org)
	if err != nil {
		return target{}, err
	}
	return l.target(), nil
}

func sameID(id string) string { return id }

func (f *feed) target() target {
	f.script = f.script.own()
	return target{f.script, func(url string) (uint64, bool) {
		i, ok := f.src.find(url)
		if !ok {
			return 0, false
		}
		code, _ := f.src.code(i)
		return code, true
	}, sameID}
}

func (o *orgWorld) target() target {
	o.script = o.script.own()
	return target{o.script, func(id string) (uint64, bool) {
		n, err := strconv.ParseInt(id, 10, 64)
		for _, p := range o.payouts {
			if err == nil && p.id == n {
				return uint64(n), true
			}
		}
		return 0, false
	}, sameID}
}

func (l *listing) target() target {
	l.script = l.script.own()
	l.forget()
	return target{l.script, func(id string) (uint64, bool) {
		i, ok := l.findGenerated(id, false)
		if !ok {
			return 0, false
		}
		code, _ := l.src.code(i)
		return code, true
	}, plainID}
}

// plainID returns an id in the form in which it is stored: a UUID in lower case.
func plainID(id string) string {
	if isUUID(id) {
		return strings.ToLower(id)
	}
	return id
}
