package daemon

import (
	"context"
	"errors"

	"dealhouse/internal/dealapi"
)

// usedKey is the key of a client when a run started; the zero value means none.
type usedKey struct {
	client *dealapi.Client
	number int
}

func keyOf(c *dealapi.Client) usedKey {
	if c == nil {
		return usedKey{}
	}
	return usedKey{c, c.KeyNumber()}
}

// refusedKey returns the key of a run that ended because the service refused it. For a run that ended otherwise,
// it returns the zero value.
func (a *attempt) refusedKey(err error) usedKey {
	if api, is := errors.AsType[*dealapi.Error](err); is && api.Kind == dealapi.KindAuth {
		return a.key
	}
	return usedKey{}
}

// renewKeys reads the keys again that the service refused. If a key has changed, its streams run at once instead of
// waiting for their next attempt. The files are read outside of the loop, because their disk may be slow.
func (d *Daemon) renewKeys(ctx context.Context) error {
	keys := map[usedKey]bool{}
	if err := d.inLoop(ctx, func(l *loop) {
		for _, e := range l.timetable.entries {
			if e.refused.client != nil && e.Enabled && e.running == nil {
				keys[e.refused] = true
			}
		}
	}); err != nil || len(keys) == 0 {
		return err
	}
	for k := range keys {
		if !k.client.RenewKey(k.number) {
			delete(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return d.inLoop(ctx, func(l *loop) {
		for _, e := range l.timetable.entries {
			if keys[e.refused] {
				e.refused = usedKey{}
				e.tryNow(l.now())
			}
		}
		if !l.draining.Load() {
			l.turn()
		}
	})
}
