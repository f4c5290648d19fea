package syncer

import (
	"fmt"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// checkOrigin says so when the stored watermark was read from another service than the run reads: of this one, what is
// older than the watermark was never read. A run that reads everything makes up for it, and remembers this service from
// then on; so does the first one.
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
