package syncer

import (
	"fmt"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// checkOrigin warns if the stored watermark came from another service than the one that the run reads: what this
// service had before the watermark was never read. A run that reads everything solves this, and stores the new service;
// so does the first run.
func (l *list) checkOrigin() {
	s, r := l.session, l.run
	if r.Stream.Kind != catalog.Incremental {
		return
	}
	stored, now := s.lease.Origin(), s.job.Client.Origin()
	switch {
	case stored == now:
	case stored == "", l.watermark.IsZero(), s.job.Full:
		l.state = map[string]string{warehouse.StateOrigin: now}
	default:
		s.log.Warn("the watermark comes from another service", "watermark", l.watermark, "read_from", stored, "base_url",
			now)
		r.warn(fmt.Sprintf("the watermark %s comes from %s, but base_url is now %s: older rows of this service are not read; "+
			"run `dealhouse sync %s --account %s --full` once to read them", l.watermark.Format(time.RFC3339), stored, now,
			r.Stream.Name, r.Account))
	}
}
