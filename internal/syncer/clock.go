package syncer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// The Date of an answer says of what moment it is. It is compared with what the service's clock is known to have
// shown: the Date of the last run that was believed, and the watermark. If it is earlier, one of two things has
// happened. Either the answer is old: a cache has kept it, or it comes from a copy of the service that is behind.
// Then it is no snapshot, and nothing of it is loaded. Or the service's clock was ahead and was put right. Then the
// watermark was never true, and everything in doubt is read again. They are told apart as follows:
//
//   - No cache answers a request to an address that nobody has asked for. If its Date is not early, the list was old.
//   - A copy that is behind cannot have rows from the time that it has not reached. A service whose clock was put right
//     has them, unless all of them have changed since.
//   - Old answers do not come for long, but a clock that was put right stays: after backRuns runs in a row it is
//     believed, unless it stands still while time passes.
//
// Rows may be dated by the wrong clock until that time has come. What has changed before it replaces what is stored,
// whatever their updatedAt.
//
// A clock that was set back by less than what has passed since the last run shows nothing early. The clock of the
// warehouse shows that it has lost time, and what can be dated in that time is read again.

// readClock reads what is known of the service's clock.
func (s *session) readClock() error {
	known, err := s.lease.Clock()
	if err != nil {
		return err
	}
	s.known, s.shown = warehouse.ServiceClock{}, time.Time{}
	if s.job.NewService || s.isMoved() { // the clock that is known may be another service's
		return nil
	}
	if known != nil {
		s.known = *known
	}
	s.shown, err = s.lease.Watermark()
	if s.known.Date.After(s.shown) {
		s.shown = s.known.Date
	}
	return err
}

// backs returns how many runs in a row have got an early Date, if this one has got it.
func (s *session) backs(date, at time.Time) int {
	passed, shown := at.Sub(s.known.BackAt), date.Sub(s.known.BackDate)
	if s.known.Back > 0 && shown > -clockStep && (passed < time.Minute || shown > passed/2) {
		return s.known.Back + 1
	}
	return 1
}

// checkClock decides how far the answers of a run may be believed. If the service's clock has lost time, it reads again
// from a time before that.
func (l *list) checkClock(ctx, fetching context.Context, s *seen) (*seen, error) {
	x, again := l.session, l.run.Stream.Kind == catalog.Incremental && !l.session.job.Full
	if s.noDate || s.gap != "" {
		return s, nil
	}
	date, at, known := s.serverStart, x.now(s.begun), x.known
	if s.early > 0 {
		return l.checkEarly(ctx, fetching, s)
	}
	if s.doubtAll(l.lacksNewest(s)) {
		return s, nil
	}
	if !known.Date.IsZero() {
		lost := at.Sub(known.At) - date.Sub(known.Date)
		from := known.Date.Add(-max(lost, 0) - catalog.MinOverlap)
		if known.Back > 0 && known.Low.Before(from) { // a clock that was set back, and was not believed
			from = known.Low
		}
		if again && (lost > clockError || known.Back > 0) && from.Before(l.after) {
			var err error
			if s, err = l.readAgain(ctx, fetching, s, from); err != nil || s.gap != "" {
				return s, err
			}
		}
		l.run.Present = lost > clockError || known.Back > 0 || known.Date.Before(known.Until)
		if again && lost > clockStep {
			l.say(fmt.Sprintf("the service's clock has lost %s since the last run, or the warehouse's was set: everything since %s was read again",
				lost.Round(time.Second), stamp(from)))
		}
		switch {
		case lost > clockStep || known.Back > 0: // the watermark may be of a time when the clock was ahead
			if known.Sure.IsZero() || from.Before(known.Sure) {
				known.Sure = from
			}
		case known.Sure.IsZero() && -lost > clockStep:
			known.Sure = l.watermark
		}
	}
	return s, l.setClock(warehouse.ServiceClock{Date: date, At: at, Sure: known.Sure, Until: known.Until})
}

// checkEarly decides about answers that are dated before what the service's clock has shown.
func (l *list) checkEarly(ctx, fetching context.Context, s *seen) (_ *seen, err error) {
	x := l.session
	date, at, known := s.serverStart, x.now(s.begun), x.known
	what := fmt.Sprintf("the answers are of %s, but the service's clock has shown %s", stamp(date), stamp(x.shown))
	if now := l.present(fetching); now.Add(clockStep).After(x.shown) {
		s.doubtAll(what + fmt.Sprintf(" and shows %s now: they come from a cache", stamp(now)))
		return s, nil
	}
	low := date.Add(-max(0, at.Sub(known.At)) - catalog.MinOverlap)
	if known.Back == 0 || low.Before(known.Low) {
		known.Low = low
	}
	if !l.after.IsZero() {
		from := known.Sure
		if !from.IsZero() {
			from = x.job.overlapping(from)
			if known.Low.Before(from) {
				from = known.Low
			}
		}
		if s, err = l.readAgain(ctx, fetching, s, from); err != nil || s.gap != "" {
			return s, err
		}
	}
	if n := x.backs(date, at); s.foretold == 0 && n < backRuns {
		s.doubtAll(what + fmt.Sprintf(": they come from a copy that is behind, or its clock was put right, which is believed after %d more runs", backRuns-n))
		known.Back, known.BackDate, known.BackAt = n, date, at
		return s, l.setClock(known)
	}
	l.corrected, l.run.Present, s.early, s.behind = l.watermark.After(date), true, 0, 0
	from := "from the beginning"
	if !l.after.IsZero() {
		from = "since " + stamp(l.after)
	}
	l.say(what + ": it was ahead and was put right; everything " + from + " was read again")
	return s, l.setClock(warehouse.ServiceClock{Date: date, At: at, Until: x.shown.Add(catalog.FutureTolerance)})
}

// doubtAll makes all that was read one that is older than what is known, and says why. It reports whether there is a
// reason.
func (s *seen) doubtAll(reason string) bool {
	s.stale, s.gap = reason, reason
	return reason != ""
}

// dropOld drops what was staged from answers that are older than what is known: nothing of it is new.
func (l *list) dropOld(ctx context.Context) error {
	r := l.run
	t := &r.record.Totals
	t.LeftOut, t.Staged, t.Sum = t.LeftOut+t.Staged, 0, 0
	r.unused, r.surplus = true, warehouse.Set{}
	return r.writer().DropStaging(ctx)
}

// lacksNewest returns why a full list of transactions is older than what is loaded, though its Date is not: it has
// nothing of the time before the watermark. An operator may say that these rows are gone.
func (l *list) lacksNewest(s *seen) string {
	job := &l.session.job
	newest := time.UnixMilli(s.newest)
	if !job.Full || job.NewService || job.AllowMassDelete || job.Scope != nil || s.newest == 0 || !newest.Add(job.overlap()).Before(l.watermark) {
		return ""
	}
	return fmt.Sprintf("the newest row of the list is of %s, but rows up to %s are loaded: the answers come from a copy that is behind; if these rows are really gone, run `dealhouse sync %s --account %s --full --allow-mass-delete` once",
		stamp(newest), stamp(l.watermark), l.run.Stream.Name, l.run.Account)
}

// readAgain reads everything after a time, in place of what was read.
func (l *list) readAgain(ctx, fetching context.Context, before *seen, after time.Time) (*seen, error) {
	l.session.log.Info("reading again, because the service's clock has lost time", "after", after)
	l.after = after
	l.run.record.RequestedAfter = after
	s, err := l.reader.readChain(ctx, fetching, after, "")
	if err == nil {
		s.unnamed(before.unknown)
		s.notice, s.reread = cmp.Or(s.notice, before.notice), s.reread+before.reread
	}
	return s, err
}

// present returns the service's time by an answer that no cache can have kept; zero if it is not known.
func (l *list) present(ctx context.Context) time.Time {
	_, err := l.session.job.Client.Get(ctx, l.run.Stream.Path+"/"+uuid.NewString(), nil)
	if api, is := errors.AsType[*dealapi.Error](err); is {
		return api.ServerTime
	}
	return time.Time{}
}

// say adds a warning to the run, and logs it.
func (l *list) say(text string) {
	l.session.log.Warn(text, "run_id", l.run.ID)
	l.run.warn(text)
}

// setClock makes what is known of the service's clock a part of what is stored with the publication.
func (l *list) setClock(c warehouse.ServiceClock) error {
	text, err := clockState(c)
	l.setState(warehouse.StateClock, text)
	return err
}

func clockState(c warehouse.ServiceClock) (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("writing what is known of the service's clock: %w", err)
	}
	return string(text), nil
}

// nextWatermark returns the watermark to store after the run. One that was never true is brought back.
func (l *list) nextWatermark(s *seen) time.Time {
	if !l.corrected {
		return s.watermark(l.watermark, l.session.job.overlap())
	}
	next := s.watermark(time.Time{}, l.session.job.overlap())
	if next.IsZero() { // there is no row
		next = s.serverStart
	}
	l.say(fmt.Sprintf("the watermark %s was never true, and was set to %s", stamp(l.watermark), stamp(next)))
	return next
}
