package syncer

import (
	"errors"
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// TestZeroIsZero sets each setting of a job to 0, which is not its default: no share, no age, no time.
func TestZeroIsZero(t *testing.T) {
	coupons, err := catalog.Find("coupons")
	if err != nil {
		t.Fatal(err)
	}
	job := NewJob("acme", coupons, nil)
	job.MaxDeleteRatio, job.MaxRejectedRatio, job.ResumeWithin, job.Overlap = 0, 0, 0, 0
	s, err := New(Options{Warehouse: &warehouse.Warehouse{}})
	if err != nil {
		t.Fatal(err)
	}
	x := s.newSession(job)
	var guard *GuardError
	d := &deletes{session: x, run: x.run}
	if err := d.guard(t.Context(), &warehouse.Changes{Deleted: 1, Live: 1000}); !errors.As(err, &guard) ||
		guard.Guard != GuardDeletes {
		t.Errorf("one of 1000 rows may be deleted: %v", err)
	}
	x.run.record.Totals = warehouse.Totals{Read: 1000, Unloadable: 1}
	if err := x.run.guardRejects(); !errors.As(err, &guard) || guard.Guard != GuardRejects {
		t.Errorf("one of 1000 records may be rejected: %v", err)
	}
	if x.job.resumes(0) || x.job.resumes(-time.Second) {
		t.Error("a walk goes on, though it never is to")
	}
	if got := x.job.overlap(); got != catalog.MinOverlap {
		t.Errorf("an overlap of %s", got)
	}
}

func TestResumes(t *testing.T) {
	job := Job{ResumeWithin: time.Hour}
	if !job.resumes(59*time.Minute) || job.resumes(time.Hour) {
		t.Error("a walk goes on for as long as its checkpoint is younger than ResumeWithin, and no longer")
	}
	job.Full = true
	if job.resumes(0) {
		t.Error("a full read goes on with an earlier walk")
	}
}
