package syncer

import (
	"fmt"
	"time"

	"dealhouse/internal/warehouse"
)

// latest is the service's clock at a local time after the first page, rounded up to the whole seconds that it tells: no
// row that was read by then changed later. It is zero where the service does not tell the time.
func (s *seen) latest(local time.Time) time.Time {
	if s.noDate || s.serverStart.IsZero() {
		return time.Time{}
	}
	return s.serverStart.Add(max(local.Sub(s.begun), 0)).Add(time.Second)
}

// noticeOlder says what a comparison left as it was although the service now says otherwise.
func (r *run) noticeOlder(c warehouse.Changes) {
	if c.Older == 0 {
		return
	}
	r.warn(fmt.Sprintf("%d rows came with other content than is loaded, but with an older updatedAt, and were left as they are: "+
		"the service gave an older state or set their updatedAt back; the next `dealhouse sync %s --full` loads what it then says", c.Older, r.Stream.Name))
}
