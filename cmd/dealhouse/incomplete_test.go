package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// TestIncomplete: it is worth another run, and told once for the streams of an account that it concerns.
func TestIncomplete(t *testing.T) {
	partial := func(stream string) error {
		return fmt.Errorf("wrapped: %w", &syncer.IncompleteError{Account: "acme", Stream: stream, Reason: "3 rows moved"})
	}
	if code := exitCode(t.Context(), partial("coupons")); code != exitFault {
		t.Errorf("exit code %d", code)
	}
	if code := worst(faultCode(partial("coupons")), faultCode(&syncer.GuardError{})); code != exitGuard {
		t.Errorf("exit code %d beside a guard", code)
	}
	if got := cause(partial("coupons")); got != cause(partial("promotions")) ||
		!strings.HasPrefix(got, "incomplete: 3 rows moved; what was read is loaded") {
		t.Errorf("%q", got)
	}
	var out bytes.Buffer
	record := warehouse.RunRecord{Account: "acme", Stream: "coupons", Outcome: warehouse.OutcomeIncomplete,
		Changes: warehouse.Changes{Inserted: 5}}
	if err := printResults(&out, "table", []syncer.Result{{Record: record, Err: partial("coupons")}}); err != nil ||
		!strings.Contains(out.String(), "incomplete") {
		t.Errorf("%s, %v", &out, err)
	}
}
