package apisim

import "fmt"

// ground is a list that moves: a listing, or the feed. The numbers of the feed's items are its positions, with
// scriptedBit for those of a script.
type ground interface {
	// pick chooses a listed item at random.
	pick(h uint64, order Order) (uint32, bool)
	// named finds a listed item by its id, or a product by its url.
	named(id string) (uint32, bool)
	// spot returns the name of an item for later use, and find finds the item by it, if it is listed.
	spot(item uint32) spot
	find(s spot) (uint32, bool)

	render(dst []byte, item uint32, st *style) []byte
	withdraw(item uint32) departure
	swap(item uint32, rec *scriptedRecord)
	add(rec *scriptedRecord)
	// undo brings a generated item back, in its present state. It returns false if the life of the item is over, or
	// if it was not generated.
	undo(d *departure) bool
	// vacant reports whether nothing has taken the place of the item that is gone.
	vacant(d *departure) bool
}

// spot names an item: by its id in a listing, by its position in the feed.
type spot struct {
	id   string
	item uint32
}

// departure is an item that is gone.
type departure struct {
	spot      spot
	code      uint64
	generated bool
	raw       []byte // as it was last served
}

// generatedCode returns the code of an item, or false if it is not listed, or comes from a script.
func generatedCode(src interface{ code(uint32) (uint64, bool) }, item uint32) (uint64, bool) {
	if item&scriptedBit != 0 {
		return 0, false
	}
	return src.code(item)
}

// ground returns a stream of an organization as a list that can move, with a script that no other moment shares. For a
// stream that never changes, the error is ErrUnknown.
func (w *world) ground(stream, org string) (*endpoint, ground, error) {
	e, err := w.endpoint(stream)
	if err != nil {
		return nil, nil, err
	}
	if e.revise == nil {
		return nil, nil, fmt.Errorf("stream %q: %w", stream, ErrUnknown)
	}
	l, err := w.list(stream, org)
	if err != nil {
		return nil, nil, err
	}
	return e, l.ground(), nil
}

func (l *listing) ground() ground {
	l.script = l.script.own()
	return listGround{l}
}

func (f *feed) ground() ground {
	f.script = f.script.own()
	return feedGround{f}
}

// Payouts never change.
func (o *orgWorld) ground() ground { return nil }

// listGround is a listing that updates its orders at each change.
type listGround struct{ *listing }

func (l listGround) pick(h uint64, order Order) (uint32, bool) {
	items := l.ordered(order.base())
	if len(items) == 0 {
		return 0, false
	}
	return items[below(h, int64(len(items)))], true
}

func (l listGround) spot(item uint32) spot { return spot{id: l.idOf(item), item: item} }

func (l listGround) named(id string) (uint32, bool) { return l.listing.find(id) }
func (l listGround) find(s spot) (uint32, bool)     { return l.listing.find(s.id) }

func (l listGround) render(dst []byte, item uint32, st *style) []byte { return l.record(dst, item, st) }

func (l listGround) withdraw(item uint32) departure {
	d := departure{spot: l.spot(item)}
	d.code, d.generated = generatedCode(l.src, item)
	l.leave(item)
	l.script.withdraw(item, d.code)
	return d
}

func (l listGround) swap(item uint32, rec *scriptedRecord) {
	code, _ := generatedCode(l.src, item)
	l.leave(item)
	l.enter(l.script.swap(item, code, rec))
}

func (l listGround) add(rec *scriptedRecord) { l.enter(l.script.push(rec)) }

func (l listGround) undo(d *departure) bool {
	i := uint32(d.code & itemMask)
	if !d.generated || int(i) >= l.src.size() || !l.script.hides(d.code) {
		return false
	}
	if now, listed := l.src.code(i); !listed || now != d.code {
		return false
	}
	delete(l.script.hidden, d.code)
	l.enter(i)
	return true
}

func (l listGround) vacant(d *departure) bool {
	_, there := l.find(d.spot)
	return !there && (!d.generated || l.script.hides(d.code))
}

// feedGround is the feed as it moves. A product that changes goes to the end. One that comes back
// unchanged takes its old place.
type feedGround struct{ *feed }

func (f feedGround) item(p int) uint32 {
	if p < f.src.n {
		return uint32(p)
	}
	return scriptedBit | uint32(p-f.src.n)
}

func (f feedGround) position(item uint32) int {
	if item&scriptedBit != 0 {
		return f.src.n + int(item&^scriptedBit)
	}
	return int(item)
}

func (f feedGround) pick(h uint64, _ Order) (uint32, bool) {
	p := f.next(int(below(h, int64(f.length()))))
	if p < 0 {
		p = f.next(0)
	}
	return f.item(max(p, 0)), p >= 0
}

func (f feedGround) named(url string) (uint32, bool) {
	if p, ok := f.script.byID[url]; ok {
		return scriptedBit | uint32(p), true
	}
	i, ok := f.src.find(url)
	if !ok {
		return 0, false
	}
	code, _ := f.src.code(i)
	return i, !f.script.hides(code)
}

func (f feedGround) spot(item uint32) spot { return spot{item: item} }

func (f feedGround) find(s spot) (uint32, bool) {
	p := f.position(s.item)
	return s.item, p < f.length() && f.next(p) == p
}

func (f feedGround) render(dst []byte, item uint32, st *style) []byte {
	return f.record(dst, f.position(item), st)
}

func (f feedGround) withdraw(item uint32) departure {
	d := departure{spot: f.spot(item)}
	d.code, d.generated = generatedCode(f.src, item)
	f.script.withdraw(item, d.code)
	return d
}

func (f feedGround) swap(item uint32, rec *scriptedRecord) {
	code, _ := generatedCode(f.src, item)
	f.script.swap(item, code, rec)
}

func (f feedGround) add(rec *scriptedRecord) { f.script.push(rec) }

func (f feedGround) undo(d *departure) bool {
	if !d.generated || !f.script.hides(d.code) {
		return false
	}
	if now, listed := f.src.code(d.spot.item); !listed || now != d.code {
		return false
	}
	delete(f.script.hidden, d.code)
	return true
}

func (f feedGround) vacant(d *departure) bool {
	if d.generated && !f.script.hides(d.code) {
		return false
	}
	_, there := f.find(d.spot)
	_, again := f.named(fieldText(d.raw, "url"))
	return !there && !again
}
