package dealapi

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// The memory of bodies while they are read. A body of up to trustedBytes, like most pages, needs no place. Up to
// roomyBytes it needs one of roomyBodies places. A larger one, up to Options.MaxBodyBytes, needs the only large place.
const (
	roomyBytes  = 16 << 20
	roomyBodies = 8
)

// Bodies bounds the memory of the response bodies that are read at the same time: if many answers unpack to gigabytes,
// they are read one after the other, each up to the point at which it is refused. Share one among all clients of a
// process.
//
// There is no deadlock: a body waits for a roomy place while it holds no place, and for the large place while it holds
// a roomy one. The holder of the large place waits only for the network, and no longer than an attempt may take.
type Bodies struct {
	roomy, large *semaphore.Weighted
	waiting      atomic.Int32 // for the large place
	spare        []byte       // the buffer of a refused body; only the holder of the large place may use it
}

// NewBodies returns room for the bodies of a process: at most about 128 MiB and twice MaxBodyBytes, in
// addition to what is free.
func NewBodies() *Bodies {
	return &Bodies{roomy: semaphore.NewWeighted(roomyBodies), large: semaphore.NewWeighted(1)}
}

// place is the room that one body has. The zero place has none.
type place struct {
	of           *Bodies
	wait         func(acquire func(context.Context) error) error // waits, without using up the time of the attempt
	roomy, large bool
}

// grow waits until the body may use size bytes. It must be called before they are allocated.
func (p *place) grow(size int64) error {
	if size > trustedBytes && !p.roomy {
		if err := p.acquire(p.of.roomy); err != nil {
			return err
		}
		p.roomy = true
	}
	if size > roomyBytes && !p.large {
		p.of.waiting.Add(1)
		err := p.acquire(p.of.large)
		p.of.waiting.Add(-1)
		if err != nil {
			return err
		}
		p.large = true
	}
	return nil
}

func (p *place) acquire(from *semaphore.Weighted) error {
	if from.TryAcquire(1) {
		return nil
	}
	return p.wait(func(ctx context.Context) error { return from.Acquire(ctx, 1) })
}

// buffer returns an empty buffer of at least size bytes. grow must have been called for it. It prefers the buffer of a
// refused body: garbage uses memory until it is collected, and answers that unpack to gigabytes rarely come alone.
func (p *place) buffer(size int64) []byte {
	if p.large && int64(cap(p.of.spare)) >= size {
		body := p.of.spare[:0]
		p.of.spare = nil
		return body
	}
	return make([]byte, 0, size)
}

// refuse keeps the buffer of a refused body for the next one.
func (p *place) refuse(body []byte) {
	if p.large {
		p.of.spare = body
	}
}

// leave gives the place back.
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

// nextSize returns the next size of a buffer that is full: twice as large, but not beyond the point where more bytes
// need a place. A body that gets a roomy place uses all of it at once.
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
