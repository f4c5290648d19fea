package daemon

import (
	"context"
	"time"

	"dealhouse/internal/syncer"
)

// reloadEvery is the least time between the beginnings of two reloads, so that endless requests do not keep
// the daemon from its runs.
const reloadEvery = time.Second

// reload reads the configuration in a goroutine of its own, because a file on a network disk may be slow. If a reload
// is under way, or has begun less than reloadEvery ago, the new one is put off (daemon-6). Its result is sent to
// answer, unless that is nil; answer must have room for it.
func (l *loop) reload(ctx context.Context, answer chan error) {
	if l.o.Load == nil {
		return
	}
	if answer != nil {
		l.later = append(l.later, answer)
	}
	now := l.now()
	if l.again = l.reloading || now.Sub(l.lastReload).Abs() < reloadEvery; l.again {
		return
	}
	l.reloading, l.lastReload = true, now
	l.waiting, l.later = l.later, nil
	l.supervisor.reloading()
	go func() {
		var r reloaded
		r.err = syncer.Contain(func() (err error) {
			r.plan, err = l.o.Load(ctx)
			return err
		})
		if r.err == nil {
			r.known, r.err = l.know(ctx)
		}
		l.reloaded <- r
	}()
}

// applyReload puts the plan that was read in force, or keeps the one that is (daemon-6).
func (l *loop) applyReload(ctx context.Context, r reloaded) {
	l.reloading = false
	if l.again {
		defer l.reload(ctx, nil)
	}
	defer l.answerReload(r.err)
	l.o.Metrics.read(l.now(), r.err)
	if r.err != nil {
		if r.plan != nil {
			r.plan.free()
		}
		l.log.Error("THE CONFIGURATION WAS REFUSED: the previous one stays in force. Correct it and send SIGHUP again", "error",
			r.err)
		why := r.err.Error()
		l.refused.Store(&why)
		l.supervisor.notify("READY=1", "STATUS=the last configuration was refused, the previous one is in force")
		return
	}
	l.refused.Store(nil)
	l.adopt(r.plan, r.known)
	l.log.Info("the configuration was read again and is in force", "streams", len(r.plan.Streams))
	l.supervisor.notify("READY=1", "STATUS="+l.summary())
	l.turn()
}

// answerReload tells those who wait for the outcome of the reload.
func (l *loop) answerReload(err error) {
	for _, answer := range l.waiting {
		answer <- err
	}
	l.waiting = nil
}
