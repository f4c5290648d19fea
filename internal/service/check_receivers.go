package service

import (
	"context"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/notify"
	"dealhouse/internal/term"
)

// Receivers says which receivers are set up correctly. With ask, it sends each a test message. Without ask, it
// prints only what is wrong.
func (c *Checker) Receivers(ctx context.Context, ask bool) (all []Finding) {
	source := c.options.Config
	source.NeedReceivers = true
	cfg, _, err := config.Read(source)
	if err != nil {
		return nil // it has been said
	}
	receivers, err := c.options.Service.Receivers(cfg)
	switch {
	case err != nil:
		return []Finding{failed("receivers", err)}
	case !ask:
		return nil
	case len(cfg.Receivers) == 0:
		return []Finding{warn("receivers",
			"no [[receiver]] is configured: nobody gets a message when something goes wrong")}
	}
	for _, t := range receivers.Test(ctx, time.Now()) {
		all = append(all, Receiver(t))
	}
	return all
}

// Receiver is the finding of a test of one.
func Receiver(t notify.Tried) Finding {
	if t.Err != nil {
		return failedAs("receiver: "+t.Receiver, term.Message(t.Err))
	}
	return ok("receiver: "+t.Receiver, "it accepted a message")
}
