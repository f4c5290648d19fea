package dealapi

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// What bodies take while they are read. A body of up to trustedBytes is free: pages mostly are. Up to roomyBytes it
// needs one of roomyBodies places, and beyond, up to Options.MaxBodyBytes, the only one there is.
const (
	roomyBytes  = 16 << 20
	roomyBodies = 8
)

// Bodies bounds the memory of the response bodies that are read at the same time: however many answers unpack to
// gigabytes at once, one after the other is read to where it is refused. Share one among all clients of a process.
//
// Nobody waits in a circle: a body waits for a roomy place while it holds none, and for the large one while it holds a
// roomy one; who has the large one waits for the network alone, and for that no longer than an attempt may take.
type Bodies struct {
	roomy, large *semaphore.Weighted
	waiting      atomic.Int32 // for the large place
	spare        []byte       // of a body that was refused, for those who wait; who has the large place has it too
}

// NewBodies returns room for the bodies of a process: at most about 128 MiB and twice MaxBodyBytes, besides what is
// free.
func NewBodies() *Bodies {
	return &Bodies{roomy: semaphore.NewWeighted(roomyBodies), large: semaphore.NewWeighted(1)}
}

// place is the room that one body has. The zero place is none.
type place struct {
	of           *Bodies
	wait         func(acquire func(context.Context) error) error // waits, outside of the time that an attempt may take
	roomy, large bool
}

// grow waits until the body may take so many bytes. It is to be called before they are taken.
func (p *place) grow(size int64) error {
	if size > trustedBytes && !p.roomy {
		if err := p.take(p.of.roomy); err != nil {
			return err
		}
		p.roomy = true
	}
	if size > roomyBytes && !p.large {
		p.of.waiting.Add(1)
		err := p.take(p.of.large)
		p.of.waiting.Add(-1)
		if err != nil {
			return err
		}
		p.large = true
	}
	return nil
}

func (p *place) take(from *semaphore.Weighted) error {
	if from.TryAcquire(1) {
		return nil
	}
	return p.wait(func(ctx context.Context) error { return from.Acquire(ctx, 1) })
}

// buffer returns an empty one of so many bytes or more, which has been paid for. What a refused body left is taken
// first: garbage counts until it is collected, and bombs come in numbers.
func (p *place) buffer(size int64) []byte {
	if p.large && int64(cap(p.of.spare)) >= size {
		body := p.of.spare[:0]
		p.of.spare = nil
		return body
	}
	return make([]byte, 0, size)
}

// refuse takes the buffer of a body that nobody gets.
func (p *place) refuse(body []byte) {
	if p.large {
		p.of.spare = body
	}
}

// leave gives the room back.
func (p *place) leave() {
	if p.large {
		if p.of.waiting.Load() == 0 {
			p.of.spare = nil
		}
		p.of.large.Release(1)
	}
	if p.roomy {
		p.of.roomy.Release(1)
	}
	p.roomy, p.large = false, false
}

// nextSize is how large a full buffer of a body becomes: twice, stopping where the next bytes cost a place, and all of
// a roomy place at once.
func nextSize(size, limit int64) int64 {
	next := max(2*size, smallBody)
	switch {
	case size < trustedBytes:
		next = min(next, trustedBytes)
	case size < roomyBytes:
		next = roomyBytes
	}
	return min(next, limit+1)
}
