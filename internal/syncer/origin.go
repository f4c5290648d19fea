package syncer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// What answers may be another service than the one whose rows are loaded, or an older copy of it: because of another
// base_url, another key, a proxy, or a test system behind the same name. Before anything is published, a run compares
// what it read with what is loaded (syncer-15). A list must have rows that are known. A run that reads what changed
// must find a row that is unchanged, since it reads again what is as old as the watermark; if it finds none, it asks
// for the newest rows that are known. If base_url or the key has changed since the last publication, more is asked for:
// the newest rows must be there in any case, and of a whole list no more may be missing than may be deleted.
// The same holds for a walk that continues an earlier one.

// Of the rows with the newest updatedAt, someNewest are looked for, on at most newestPages pages.
const (
	someNewest  = 20
	newestPages = 10
)

// whatMoved says what isMoved has found.
func (s *session) whatMoved() string {
	before, mark, _ := strings.Cut(s.lease.Origin(), " ")
	now := s.job.Client.Origin()
	switch {
	case !s.isMoved():
		return "base_url and api_key are as they were"
	case before == now || mark == "":
		return "api_key is another one than it was"
	}
	return "base_url was " + before + " and is now " + now
}

// recognise returns a check that the list is of the service whose rows are loaded. scope is that of the publication.
func (l *list) recognise(fetching context.Context, scope warehouse.Scope) check {
	return func(ctx context.Context, c *warehouse.Changes) (err error) {
		s, job := l.session, l.session.job
		moved, whole := s.isMoved(), l.after.IsZero()
		back, numbers := c.Distinct-c.Inserted, job.Stream.KeyType() == catalog.Int
		if numbers && c.Unchanged == 0 && back > 0 { // other services have rows with the same numbers
			if back, err = l.run.writer().CountAlike(ctx); err != nil {
				return err
			}
		}
		lost := c.Live - min(back, c.Live)
		found := fmt.Sprintf("it lists %d of the %d rows that are loaded", back, c.Live)
		same := true
		switch {
		case job.NewService && scope != warehouse.Whole:
			return s.guardOrigin("the list of the new service could not be read as a whole", "nothing was changed; run it again")
		case job.NewService, c.Live == 0:
		case whole && (moved || l.run.resumed): // a walk that is continued may have pages of two services
			same = lost == 0 || back > 0 && (job.AllowMassDelete ||
				mayDelete(&warehouse.Changes{Deleted: lost, Live: c.Live}, job.MaxDeleteRatio))
		case whole && scope == warehouse.Whole && job.Stream.Kind != catalog.Walk && (!numbers || c.Deleted >= c.Live):
			// the guard of deletions sees it
		case whole:
			same = back > 0 || c.Distinct == 0 || c.Live <= catalog.FewDeletes || job.AllowMassDelete
		case moved || c.Unchanged == 0:
			same, found, err = s.hasNewest(ctx, fetching)
		}
		return s.conclusion(same, found, err)
	}
}

// recognise makes sure that a backfill reads the service whose rows are loaded.
func (b *backfill) recognise(ctx context.Context) error {
	same, found, err := b.session.hasNewest(ctx, ctx)
	return b.session.conclusion(same, found, err)
}

// conclusion returns an error if the service is not the same. If it is, its identity is stored with what is published.
func (s *session) conclusion(same bool, found string, err error) error {
	switch {
	case err != nil:
		return err
	case !same:
		return s.stranger(found)
	case s.isMoved() && !s.job.NewService:
		s.log.Info("the service has another address or key, and the rows that are loaded: going on", "changed", s.whatMoved())
	}
	s.identity = s.job.Client.Identity()
	return nil
}

// hasNewest reports whether the session's run has read one of the loaded rows with the newest updatedAt, or the service
// still has one of them. found says which one is missing.
func (s *session) hasNewest(ctx, fetching context.Context) (has bool, found string, err error) {
	known, err := s.run.writer().Newest(ctx, someNewest)
	if err != nil || len(known) == 0 {
		return true, "", err
	}
	keys := map[string]bool{}
	for _, k := range known {
		if k.Updated == known[0].Updated {
			has, keys[k.Key] = has || k.Staged, true
		}
	}
	at := time.UnixMilli(known[0].Updated).UTC()
	if !has {
		has, err = s.hasOneOf(fetching, keys, at)
	}
	return has, fmt.Sprintf("it does not have the newest row that is loaded, %s of %s", known[0].Key, at.Format(time.RFC3339)), err
}

// hasOneOf asks the service for rows of a time, and reports whether one of the keys is among them. A record that cannot
// be loaded counts, too.
func (s *session) hasOneOf(ctx context.Context, keys map[string]bool, at time.Time) (bool, error) {
	q := s.job.query(at.Add(-clockSlack), "")
	q.Ahead = -1
	s.job.bound(&q, at.Add(clockSlack))
	decoder, batch := decode.New(s.job.Stream), decode.NewBatch(s.job.Stream)
	for page, err := range s.job.Client.Pages(ctx, q) {
		if err != nil {
			return false, err
		}
		batch.Reset()
		if err := decoder.Page(batch, page.Data, uint32(page.Number), 1); err != nil {
			return false, err
		}
		for row := range batch.Len() {
			if keys[batch.Key(row)] {
				return true, nil
			}
		}
		if slices.ContainsFunc(batch.Rejects, func(x decode.Reject) bool { return keys[x.Key] }) {
			return true, nil
		}
		if page.Number >= newestPages {
			break
		}
	}
	return false, nil
}

// stranger says that the service is another one, and what to do.
func (s *session) stranger(found string) error {
	name := s.job.Account
	advice := "nothing was changed; put right what leads to it"
	if s.job.Stream.Kind == catalog.Incremental && !s.job.Full {
		advice += fmt.Sprintf("; if it is the right one and such rows are gone there, run `dealhouse sync %s --account %s --full --allow-mass-delete` once", s.job.Stream.Name, name)
	}
	return s.guardOrigin("the service that answers is not the one whose rows are loaded, or is an older copy of it: "+found+"; "+s.whatMoved(),
		advice+fmt.Sprintf("; if the account means this service from now on, run `dealhouse sync --account %s --new-service` once, which reads everything and removes what this service does not have", name))
}

func (s *session) guardOrigin(reason, advice string) error {
	return &GuardError{Account: s.job.Account, Stream: s.job.Stream.Name, Guard: GuardService, Reason: reason, Advice: advice}
}

// Behind says what to do if initial_from asks for older rows than are loaded, which begin at from; "" if it does not.
func (j *Job) Behind(from time.Time) string {
	first := j.InitialFrom.UTC().Truncate(time.Millisecond)
	loaded := "but of the transactions only those updated from " + from.Format(time.RFC3339Nano) + " on are loaded"
	switch {
	case !first.Before(from):
		return ""
	case first.IsZero():
		return fmt.Sprintf("initial_from is not set any more, %s: run `dealhouse sync %s --account %s --full` once", loaded, j.Stream.Name, j.Account)
	}
	return fmt.Sprintf("initial_from is now %s, %s: run `dealhouse backfill %s --account %s --from %s --to %s` once",
		first.Format(time.RFC3339Nano), loaded, j.Stream.Name, j.Account, first.Format(time.RFC3339Nano), from.Format(time.RFC3339Nano))
}
