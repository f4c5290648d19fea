package term

import (
	"fmt"
	"log/slog"
	"time"
)

const (
	// patience is how long a person waits before anything is shown.
	patience = 2 * time.Second
	// logEvery is how often something that takes long is logged.
	logEvery = 10 * time.Second
)

// ShowWaiting tells a user who waits for more than 2 seconds what the program waits for: on a terminal with the
// seconds, else by a log line now and then. The text may change while it is shown. The returned function ends the
// display, and must be called.
func ShowWaiting(c *Console, log *slog.Logger, what func() string) (done func()) {
	begun, end, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(patience)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			took := time.Since(begun).Round(time.Second)
			if c.live {
				c.Show([]string{fmt.Sprintf("%s ... %s", what(), took)})
				tick.Reset(time.Second)
				continue
			}
			log.Info(what(), "waited", took)
			tick.Reset(logEvery)
		}
	}()
	return func() {
		close(end)
		<-ended
		c.Show(nil)
	}
}
