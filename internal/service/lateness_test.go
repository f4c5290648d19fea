package service

import (
	"strings"
	"testing"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// TestTooLate says how long the overlap should be: a quarter longer than the latest change, in whole hours, or in tens
// of minutes below one hour.
func TestTooLate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		latest time.Duration
		want   string
	}{
		{9 * time.Minute, ""}, {10 * time.Minute, ""}, {11 * time.Minute, `"20m"`}, {40 * time.Minute, `"50m"`}, {50 * time.Minute, `"120m"`},
		{3 * time.Hour, `"240m"`}, {20 * 24 * time.Hour, `"36000m"`}, {30 * 24 * time.Hour, "resync"},
	} {
		target := Target{Setting: config.Stream{Overlap: 10 * time.Minute}}
		got := target.tooLate(warehouse.Lateness{Late: 7, Missed: 2, Latest: test.latest})
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %s", test.latest, got, test.want)
		}
	}
}
