package syncer

import (
	"context"

	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// ForgetRecord is the result of Forget.
type ForgetRecord struct {
	warehouse.RunRecord
	warehouse.Traces
}

// Forget removes a user from the job's stream, its versions and its rejects, also as the hash of the job's key, and
// keeps runs from storing it again. It is a run of its own, whose certificate says that it changed what earlier runs
// had loaded. A dry run counts what has the user. Its errors are those of Run.
func (s *Syncer) Forget(ctx context.Context, job Job, user string) (ForgetRecord, error) {
	x := s.newSession(job)
	values := []string{user}
	if job.HashPrivate != nil {
		values = append(values, decode.PrivateHash(job.HashPrivate, user))
	}
	var traces warehouse.Traces
	err := x.repeat(ctx, func(ctx context.Context) error {
		return x.recorded(ctx, warehouse.ModeForget, 0, func(ctx context.Context) (err error) {
			traces, err = x.forget(ctx, values)
			return err
		})
	})
	return ForgetRecord{RunRecord: x.run.record, Traces: traces}, err
}

func (s *session) forget(ctx context.Context, values []string) (traces warehouse.Traces, err error) {
	r := s.run
	r.beside = true
	if s.job.DryRun {
		return r.writer().Trace(ctx, values)
	}
	traces, forgotten, err := r.writer().Forget(ctx, s.lease, values)
	if err != nil {
		return traces, err
	}
	r.record.Forgotten = &forgotten
	state, err := warehouse.Forgotten{Hashes: forgotten.Hashes}.State()
	if err != nil {
		return traces, err
	}
	return traces, publication{run: r, scope: warehouse.Part, state: map[string]string{warehouse.StateForgotten: state}}.publish(ctx)
}

// decoder returns a new decoder of the session's stream, which hides what is not to be stored. The session must have
// its lease.
func (s *session) decoder() (*decode.Decoder, error) {
	var p *decode.Private
	switch {
	case s.job.DropPrivate:
		p = decode.DropPrivate()
	case s.job.HashPrivate != nil:
		p = decode.HashPrivate(s.job.HashPrivate)
	}
	forgotten, err := s.lease.Forgotten()
	return decode.New(s.job.Stream).Hide(p.Without(forgotten.Hashes)), err
}
