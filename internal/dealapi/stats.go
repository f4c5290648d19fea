package dealapi

import (
	"sync/atomic"
	"time"
)

// RequestInfo describes one attempt, for Options.OnRequest.
type RequestInfo struct {
	Account string
	// Op is what the attempt was for: "list /v1/deals/coupons".
	Op string
	// Attempt counts from 1 within one request.
	Attempt int
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Kind is 0 for a success.
	Kind Kind
	// SentAt is the local time at which it left.
	SentAt time.Time
	// Duration from the start of the attempt to the last byte of its body.
	Duration time.Duration
	// Waited for the limiter before that.
	Waited time.Duration
	// WireBytes and Bytes are the body's size before and after decompression.
	WireBytes, Bytes int64
}

// Stats counts what a Client did since it was made. Each attempt is in exactly one of the first nine.
type Stats struct {
	Succeeded    uint64 // 200 with the promised body
	Malformed    uint64 // a success without the promised body
	ClientErrors uint64 // 4xx without 408, 425 and 429
	RateLimited  uint64 // 429
	ServerErrors uint64 // 5xx, 408, 425
	NetworkFails uint64
	Timeouts     uint64
	Canceled     uint64
	Others       uint64 // refused redirects, bodies too large

	Retries     uint64        // attempts beyond the first of a request
	WireBytes   uint64        // of bodies, as received
	Bytes       uint64        // of bodies, decompressed
	LimiterWait time.Duration // summed over all requests
}

// counters counts what Stats reports; it is safe for concurrent use.
type counters struct {
	kinds [KindCanceled + 1]atomic.Uint64 // by Kind, 0 is success

	retries, wireBytes, bytes, limiterWait atomic.Uint64
}

func (c *counters) add(info RequestInfo) {
	c.kinds[info.Kind].Add(1)
	if info.Attempt > 1 {
		c.retries.Add(1)
	}
	c.wireBytes.Add(uint64(info.WireBytes))
	c.bytes.Add(uint64(info.Bytes))
}

func (c *counters) stats() Stats {
	kind := func(kinds ...Kind) (sum uint64) {
		for _, k := range kinds {
			sum += c.kinds[k].Load()
		}
		return sum
	}
	return Stats{
		Succeeded:    kind(0),
		Malformed:    kind(KindMalformed),
		ClientErrors: kind(KindAuth, KindBadRequest, KindNotFound),
		RateLimited:  kind(KindRateLimited),
		ServerErrors: kind(KindServer),
		NetworkFails: kind(KindNetwork),
		Timeouts:     kind(KindTimeout),
		Canceled:     kind(KindCanceled),
		Others:       kind(KindRedirect, KindTooLarge),
		Retries:      c.retries.Load(),
		WireBytes:    c.wireBytes.Load(),
		Bytes:        c.bytes.Load(),
		LimiterWait:  time.Duration(c.limiterWait.Load()),
	}
}
