package service

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/notify"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// Receivers are those of a configuration. Its error is a SettingError.
func (s *Service) Receivers(cfg *config.Config) (*notify.Receivers, error) {
	var all []notify.Receiver
	for _, r := range cfg.Receivers {
		all = append(all, notify.Receiver{
			Name: r.Name, Form: r.Form, URL: r.URL.Reveal(), Token: r.Token.Reveal(), Server: r.Server, TLS: r.TLS, User: r.User,
			Password: r.Password.Reveal(),
			From:     r.From, To: r.To, Events: r.Events, Accounts: r.Accounts, Streams: r.Streams, After: r.After,
			Template: r.Template, AllowInsecure: r.AllowInsecure, Page: cfg.Daemon.PublicURL,
		})
	}
	compiled, err := notify.Compile(all, nil)
	if err != nil {
		return nil, settingf("%w", err)
	}
	return compiled, nil
}

// DefaultNotifyTimeout bounds how long a sync sends notifications after its runs have ended.
const DefaultNotifyTimeout = 20 * time.Second

// Notify sends the notifications that are due after the runs of a sync. Messages that a receiver does not accept wait
// for the next sync or the daemon (what comes after a run never fails it).
func (s *Service) Notify(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, receivers *notify.Receivers) {
	if names, _ := receivers.Names(); len(names) == 0 || ctx.Err() != nil {
		return
	}
	n, err := notify.New(notify.Options{Warehouse: w, Metrics: s.metrics.Notify, Logger: s.log, Clock: s.now,
		Streams: func() []notify.Stream {
			var all []notify.Stream
			for _, a := range cfg.Accounts {
				for _, st := range a.Streams {
					all = append(all, notify.Stream{Account: a.Name, Stream: st.Name, Enabled: st.Enabled})
				}
			}
			return all
		}})
	if err == nil {
		n.Adopt(receivers)
		bounded, cancel := context.WithTimeout(ctx, s.notifyTimeout)
		defer cancel()
		err = n.Turn(bounded)
	}
	if err != nil && ctx.Err() == nil {
		s.warn(Warning{Err: fmt.Errorf("notifications were not sent; the next sync sends them: %w", err)})
	}
}

// Switches are the dead man's switches of the runs of a sync.
func (s *Service) Switches(receivers *notify.Receivers, jobs []syncer.Job) *notify.Run {
	var streams []warehouse.StreamID
	for _, j := range jobs {
		streams = append(streams, warehouse.StreamID{Account: j.Account, Stream: j.Stream.Name})
	}
	return receivers.Run(streams, func(receiver string, err error) {
		if err != nil && !Canceled(err) {
			s.warn(Warning{Err: fmt.Errorf("the dead man's switch %s was not reached: %w", receiver, err)})
		}
	})
}

// EndSwitches tells them how the runs ended; err is why there were none. If a signal ended the runs, it sends nothing:
// the next run does.
func (s *Service) EndSwitches(ctx context.Context, run *notify.Run, results []syncer.Result, err error) {
	if ctx.Err() != nil {
		return
	}
	failed := map[warehouse.StreamID]string{}
	for _, r := range results {
		if r.Err != nil {
			failed[streamOf(r)] = r.Err.Error()
		}
	}
	if len(results) > 0 {
		err = nil // it is that of the runs
	}
	run.End(ctx, failed, err)
}

// noteFields keeps which fields dealhouse does not know (what comes after a run never fails it).
func (s *Service) noteFields(ctx context.Context, w *warehouse.Warehouse, results []syncer.Result) {
	for _, r := range results {
		names, id := r.Record.Unknown, streamOf(r)
		if last, known := s.fields.Load(id); len(names) == 0 || r.Record.Outcome == warehouse.OutcomeDryRun || known &&
			last == strings.Join(names, "\x00") {
			continue
		}
		if _, err := w.NoteUnknownFields(ctx, id, names); err != nil {
			s.warnOf(id.Account, id.Stream, fmt.Errorf("after the run, whose data is loaded: %w", err))
			continue
		}
		s.fields.Store(id, strings.Join(names, "\x00"))
	}
}
