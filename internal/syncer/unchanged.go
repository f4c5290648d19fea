package syncer

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// Many services name what an answer has (an ETag), and say in a few bytes that it is still the same. Such an answer is
// believed for a list that came on one page, since that page is all of it, and only while the rows that readers see are
// those of that page: their sum shows it, whatever has written to the warehouse meanwhile. A list of several pages is
// read each time, because its first page says nothing of the others.

// believedFor is how long a list is taken for the same because its service says so. A service that is wrong about it
// cannot hide a change for longer.
const believedFor = 24 * time.Hour

// asked names what a list of the job is asked for, and of whom.
func (j *Job) asked() string {
	q := j.query(time.Time{}, "")
	for _, filter := range j.Scope.Lists() {
		j.narrow(&q, filter)
	}
	return j.Client.Identity() + " " + q.Path + "?" + q.Params.Encode()
}

// conditional reports whether a list of the job may be asked for on the condition that it has changed.
func (j *Job) conditional() bool {
	return j.Stream.Kind == catalog.Snapshot && len(j.Scope.Lists()) == 1 && !j.Full && !j.DryRun && !j.NewService
}

// unless returns the tag of the list whose rows are loaded, and nothing else; "" if there is none.
func (l *list) unless(ctx context.Context) (string, error) {
	s, job := l.session, &l.session.job
	known, err := s.lease.KnownList()
	if err != nil || known == nil || !job.conditional() || s.lease.Scope() != job.Scope.Encode() {
		return "", err
	}
	age := s.takenAt.Sub(known.ReadAt)
	if age < 0 || age > believedFor || known.Asked != job.asked() || known.Content != warehouse.ContentName(job.Stream) {
		return "", nil
	}
	live, err := l.run.writer().LiveSum(ctx)
	if err != nil || live != known.Rows {
		return "", err
	}
	l.loaded = live.Rows
	return known.Tag, nil
}

// countLoaded is a check of a list that was not sent again: what readers see was counted before it was asked for.
func (l *list) countLoaded(_ context.Context, c *warehouse.Changes) error {
	c.Live = l.loaded
	return nil
}

// keepList adds a whole list of one page to the state, so that the next run need not read it again. If something of it
// is not as it should be, each run looks at it anew.
func (l *list) keepList(seen *seen) error {
	t, job := l.run.record.Totals, &l.session.job
	if seen.tag == "" || seen.pages != 1 || !job.conditional() || t.Staged != t.Read || t.Rejected > 0 || seen.notice != "" {
		return nil
	}
	text, err := json.Marshal(warehouse.KnownList{Tag: seen.tag, Asked: job.asked(), Content: warehouse.ContentName(job.Stream),
		Rows: t.Set(), ReadAt: l.session.now(seen.begun)})
	if err != nil {
		return fmt.Errorf("writing the tag of the list: %w", err)
	}
	l.setState(warehouse.StateList, string(text))
	return nil
}
