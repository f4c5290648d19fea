package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// Unpaused leaves out the jobs of streams that an operator has paused, and warns of them.
func (s *Service) Unpaused(ctx context.Context, w *warehouse.Warehouse, jobs []syncer.Job) ([]syncer.Job, error) {
	directives, err := w.Directives(ctx)
	if err != nil {
		return nil, err
	}
	left := map[string]Warning{} // by account and pause, since most streams are paused with their account
	var order []string
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(job syncer.Job) bool {
		id := warehouse.StreamID{Account: job.Account, Stream: job.Stream.Name}
		pause := directives.PauseOf(id)
		s.metrics.SetPaused(id, pause != nil)
		if pause == nil {
			return false
		}
		key := pause.ID.String()
		warning, known := left[key]
		if !known {
			order = append(order, key)
			warning = Warning{Account: id.Account, Err: errors.New(pausedSince(*pause))}
		}
		warning.Streams = append(warning.Streams, id.Stream)
		left[key] = warning
		return true
	})
	for _, key := range order {
		s.warn(left[key])
	}
	return jobs, nil
}

// pausedSince says who has paused something, and how it is resumed.
func pausedSince(p warehouse.Action) string {
	what := "account " + p.Account
	again := "--account " + p.Account
	if p.Stream != "" {
		what, again = "this stream", p.Stream+" "+again
	}
	text := fmt.Sprintf("not loaded: %s has paused %s at %s", p.Actor, what, p.At.UTC().Format(time.RFC3339))
	if p.Reason != "" {
		text += " (" + p.Reason + ")"
	}
	return text + "; `dealhouse operate resume " + again + "` ends that"
}
