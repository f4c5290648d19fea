package syncer

import (
	"context"
	"fmt"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// askedBackfill makes the backfill of a range that the caller asked for.
func askedBackfill(ctx context.Context, s *session, asked Range) (*backfill, error) {
	name := stateName(asked)
	stored, err := warehouse.ReadBackfill[progressState](s.lease, name)
	if err != nil {
		return nil, err
	}
	origin := s.job.Client.Identity()
	if stored != nil && !stored.isOf(origin) {
		stored = nil
	}
	watermark, err := s.lease.Watermark()
	if err == nil {
		err = s.readClock()
	}
	if err != nil {
		return nil, err
	}
	b := &backfill{session: s, name: name, parallel: asked.Parallel, watermark: watermark}
	fresh := progressState{BegunAt: s.run.StartedAt, Origin: origin, From: asked.From, To: asked.To,
		Window: asked.Window.String()}
	if err := b.plan(ctx, stored, fresh); err != nil {
		return nil, err
	}
	return b, nil
}

// initialBackfill returns the backfill of a first load from a given time on. It returns nil if the list is
// read in one go, as it is if it fits on one page. The first request shows that, and must be made anyway, to
// learn the service's time.
func (l *list) initialBackfill(ctx context.Context) (*backfill, error) {
	s := l.session
	from := s.job.InitialFrom.UTC().Truncate(time.Millisecond)
	if s.job.Stream.Kind != catalog.Incremental || s.job.Full || s.job.DryRun || !l.watermark.IsZero() || from.IsZero() {
		return nil, nil
	}
	stored, err := warehouse.ReadBackfill[progressState](s.lease, initialBackfill)
	if err != nil {
		return nil, err
	}
	origin := s.job.Client.Identity()
	fresh := progressState{BegunAt: s.run.StartedAt, Origin: origin, From: from, Window: DefaultWindow.String()}
	if stored == nil || !stored.From.Equal(from) || !stored.isOf(origin) {
		// There is no state, or a setting has changed since: then the windows that are done are not enough.
		server, more := l.probe(ctx, window{from: from}.after())
		if !more || !(Range{From: from, To: server}).isValid() {
			return nil, nil // an ordinary run is enough
		}
		fresh.To, fresh.ServerStart = server, server
		if stored != nil {
			if err := s.run.writer().SaveBackfill(ctx, initialBackfill, ""); err != nil {
				return nil, err
			}
			stored = nil
		}
	}
	b := &backfill{session: s, name: initialBackfill, parallel: DefaultParallel}
	if err := b.plan(ctx, stored, fresh); err != nil {
		return nil, err
	}
	// The last window has no end, because no other window has rows that are dated after the server's time.
	b.windows[len(b.windows)-1].to = time.Time{}
	return b, nil
}

// probe requests the first page, to learn the server's time and whether there are more pages. It drops errors: the
// ordinary run that follows meets and records them.
func (l *list) probe(ctx context.Context, after time.Time) (server time.Time, more bool) {
	q := l.session.job.query(after, "")
	q.Ahead = -1
	for page, err := range l.session.job.Client.Pages(ctx, q) {
		if err != nil {
			return time.Time{}, false
		}
		s := seen{}
		s.setClock(page)
		return s.serverStart, page.Next != ""
	}
	return time.Time{}, false
}

// plan continues with the stored state, or starts with the fresh one if stored is nil.
func (b *backfill) plan(ctx context.Context, stored *progressState, fresh progressState) error {
	s := b.session
	b.state = fresh
	if stored != nil {
		b.state = *stored
	}
	width, err := time.ParseDuration(b.state.Window)
	if err != nil || width <= 0 {
		return fmt.Errorf("reading the state %s of %s of account %s: the window %q is none", b.name, s.job.Stream.Name,
			s.job.Account, b.state.Window)
	}
	b.windows = cut(b.state.From, b.state.To, width)
	b.publisher = &publisher{backfill: b, seen: newSeen(), lastTime: time.Now()}
	if b.publisher.pending, err = b.restore(ctx); err != nil {
		return err
	}
	b.earlier = b.state.count()
	b.meter = meter{live: map[*run]warehouse.Totals{},
		windows: Windows{Total: len(b.windows), Done: b.earlier, Earlier: b.earlier}}
	s.meter = &b.meter
	if stored != nil {
		s.log.Info("continuing an interrupted backfill", "begun", b.state.BegunAt, "windows", len(b.windows),
			"left", len(b.windows)-b.earlier)
	}
	return nil
}
