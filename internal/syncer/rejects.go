package syncer

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// A retry loads what was rejected before and what this version can read. A rejected record is decoded from its raw
// JSON, and counts as read when it was first read: whatever was read since then is newer, and stays. A rejected field
// is put into the record that its row was made from, if nothing has been loaded over that row since. The result counts
// as read right after that row. What a later read of the whole stream did not list is not among the candidates: it is
// gone, and must not come back (syncer-8).

// RetryRecord is the result of a retry. Tried is the sum of Loaded, Rejected and Superseded.
type RetryRecord struct {
	warehouse.RunRecord
	Tried      int // open rejects, records and single fields
	Loaded     int // a reader sees them now
	Rejected   int // still unreadable
	Superseded int // what is loaded was read later
}

// Retry loads the open rejects of the job's stream that match the filter. It makes no request. Its errors are those of
// Run.
func (s *Syncer) Retry(ctx context.Context, job Job, filter warehouse.RejectFilter) (RetryRecord, error) {
	x := s.newSession(job)
	var t *rejects
	err := x.repeat(ctx, func(ctx context.Context) (err error) {
		if t, err = newRejects(x, filter); err != nil {
			return err
		}
		return t.retry(ctx)
	})
	record := RetryRecord{RunRecord: x.run.record}
	if t != nil {
		record.Loaded, record.Rejected, record.Superseded = t.loaded, t.rejected, t.superseded
		record.Tried = t.loaded + t.rejected + t.superseded
	}
	return record, err
}

func newRejects(s *session, filter warehouse.RejectFilter) (*rejects, error) {
	stream := s.job.Stream
	s.run.beside = true
	decoder, err := s.decoder()
	return &rejects{
		session: s, run: s.run, filter: filter,
		decoder: decoder, scratch: decode.NewBatch(stream), batch: decode.NewBatch(stream),
	}, err
}

// retry loads the rejects, and stores the result of each.
func (t *rejects) retry(ctx context.Context) error {
	s := t.session
	if err := s.recorded(ctx, warehouse.ModeRetry, 0, t.load); err != nil || s.job.DryRun {
		return err
	}
	// After a crash before this point, the next retry finds the same candidates, and finds that they are loaded.
	ctx, cancel := s.outlive(ctx)
	defer cancel()
	return t.run.writer().Settle(ctx, t.settled)
}

// load reads the rejects and publishes those that can be read now.
func (t *rejects) load(ctx context.Context) error {
	if err := t.read(ctx); err != nil {
		return err
	}
	return publication{run: t.run, scope: warehouse.Part, checks: []check{t.judge}}.publish(ctx)
}

// read stages the rejects that can be read now.
func (t *rejects) read(ctx context.Context) error {
	t.run.report(PhaseReading)
	scope, err := catalog.ParseScope(t.session.lease.Scope())
	if err != nil {
		return err
	}
	t.filters = scopeFilters(t.run.Stream, scope)
	err = t.run.writer().Candidates(ctx, t.filter, func(c warehouse.Candidate) error { return t.add(ctx, c) })
	if err == nil {
		err = t.tryGroup(ctx)
	}
	if err == nil && t.batch.Len() > 0 {
		err = t.flush(ctx)
	}
	t.run.countRefused()
	return err
}

// add collects the candidates of one record in a group. A record that was rejected as a whole is a group by itself.
func (t *rejects) add(ctx context.Context, c warehouse.Candidate) error {
	if len(t.group) > 0 && (c.Field == "" || t.group[0].Field == "" || c.Key != t.group[0].Key) {
		if err := t.tryGroup(ctx); err != nil {
			return err
		}
	}
	t.group = append(t.group, c)
	return nil
}

// tryGroup tries the record of the group.
func (t *rejects) tryGroup(ctx context.Context) error {
	group := t.group
	t.group = nil
	switch {
	case len(group) == 0:
		return nil
	case group[0].Field == "":
		return t.tryRecord(ctx, group[0])
	}
	return t.tryFields(ctx, group)
}

// tryRecord tries a record that was rejected as a whole.
func (t *rejects) tryRecord(ctx context.Context, c warehouse.Candidate) error {
	if !t.loadable(c.Raw, c.Page, c.Fetched) {
		t.rejected++
		return nil
	}
	if !inScope(t.filters, t.scratch, 0, true) { // the stream has been narrowed since
		t.settle(c, warehouse.RejectSuperseded)
		return nil
	}
	t.tried = append(t.tried, attempt{Candidate: c.Brief(), key: t.scratch.Key(0)})
	return t.stageRecord(ctx, c.Raw, c.Page, c.Fetched, nil)
}

// tryFields tries rejected fields in the record of their row. If the row is not what their run made of the record,
// something was loaded over it: that stays, and the rejects are superseded.
func (t *rejects) tryFields(ctx context.Context, group []warehouse.Candidate) error {
	var now []warehouse.Candidate
	current := false
	for _, c := range group {
		if c.Row != "" && c.Fetched >= c.RowRead {
			now = append(now, c)
			current = current || c.Current
		} else {
			t.settle(c, warehouse.RejectSuperseded)
		}
	}
	if !current {
		for _, c := range now {
			t.settle(c, warehouse.RejectSuperseded)
		}
		return nil
	}
	record, patched := patch(t.run.Stream, now)
	page, fetched := now[0].Page, now[0].RowRead+1
	if !t.loadable(record, page, fetched) || t.scratch.Key(0) != now[0].Key || !t.improves(patched) {
		t.rejected += len(now)
		return nil
	}
	var keep []decode.Reject
	for _, c := range now {
		loadable, known := patched[c.Field]
		if !known {
			c.Fetched = fetched
			keep = append(keep, c.Reject)
		}
		t.tried = append(t.tried, attempt{Candidate: c.Brief(), key: c.Key, rejected: !loadable})
	}
	return t.stageRecord(ctx, record, page, fetched, keep)
}

// patch appends the rejected fields of a record to it: of two members with one name, the later counts. It returns the
// record and the names of the fields that it appended. It leaves out a field that was sent with different values,
// because nothing says which is right, and the entries of a child, which have no place in the row.
func patch(s *catalog.Stream, fields []warehouse.Candidate) (record string, patched map[string]bool) {
	raws := map[string]string{}
	patched = map[string]bool{}
	for _, c := range fields {
		raw, twice := raws[c.Field]
		raws[c.Field] = c.Raw
		known := slices.ContainsFunc(s.Fields, func(f catalog.Field) bool { return f.JSON == c.Field })
		if known && (!twice || raw == c.Raw && patched[c.Field]) {
			patched[c.Field] = true
		} else {
			delete(patched, c.Field)
		}
	}
	record = strings.TrimSuffix(fields[0].Row, "}")
	for name := range patched {
		record += `,"` + name + `":` + raws[name]
	}
	return record + "}", patched
}

// improves notes which of the patched fields are still rejected, and reports whether any is not. If the record has
// other rejects than these, it is not read as it was when the row was stored, and must not replace the row.
func (t *rejects) improves(patched map[string]bool) bool {
	better := len(patched)
	for _, x := range t.scratch.Rejects {
		loadable, known := patched[x.Field]
		if !known {
			return false
		}
		if loadable {
			better--
		}
		patched[x.Field] = false
	}
	return better > 0
}

// loadable decodes a record by itself, and reports whether it can be loaded. It checks first that the record is JSON,
// which the decoder relies on: that was checked when the page came, but the record has been stored since.
func (t *rejects) loadable(record string, page uint32, fetched int64) bool {
	t.scratch.Reset()
	return json.Valid([]byte(record)) && t.decoder.Page(t.scratch, []byte("["+record+"]"), page, fetched) == nil &&
		t.scratch.Len() == 1
}

// stageRecord adds a record that was looked at to the batch, with keep in addition to the rejects of the decoder.
func (t *rejects) stageRecord(ctx context.Context, record string, page uint32, fetched int64,
	keep []decode.Reject) error {
	err := t.run.tally(t.batch, func() error {
		err := t.decoder.Page(t.batch, []byte("["+record+"]"), page, fetched)
		t.batch.Rejects = append(t.batch.Rejects, keep...)
		return err
	})
	if err != nil || t.batch.Len() < t.session.job.BatchRows && t.batch.Bytes < batchBytes {
		return err
	}
	return t.flush(ctx)
}

// flush stages the batch.
func (t *rejects) flush(ctx context.Context) error {
	if err := t.run.stage(ctx, t.batch); err != nil {
		return err
	}
	t.batch.Reset()
	t.run.report(PhaseReading)
	return nil
}

// judge is a check: it decides what became of each reject.
func (t *rejects) judge(ctx context.Context, c *warehouse.Changes) error {
	changed, err := t.run.writer().PlannedKeys(ctx, *c)
	if err != nil {
		return err
	}
	there, err := t.run.writer().StagedKeys(ctx)
	if err != nil {
		return err
	}
	for _, a := range t.tried {
		switch {
		case !there[a.key]: // the warehouse refuses it
			t.reject(a)
		case !changed[a.key]:
			t.settle(a.Candidate, warehouse.RejectSuperseded)
		case a.rejected:
			t.reject(a)
		default:
			t.settle(a.Candidate, warehouse.RejectLoaded)
		}
	}
	return nil
}

// reject counts an attempt that is still rejected. Its old reject is superseded by the one that the retry has stored.
func (t *rejects) reject(a attempt) {
	t.rejected++
	t.settled = append(t.settled, warehouse.Settled{Candidate: a.Candidate, State: warehouse.RejectSuperseded})
}

// settle counts a candidate that needs no further retry.
func (t *rejects) settle(c warehouse.Candidate, state warehouse.RejectState) {
	if state == warehouse.RejectLoaded {
		t.loaded++
	} else {
		t.superseded++
	}
	t.settled = append(t.settled, warehouse.Settled{Candidate: c.Brief(), State: state})
}
