package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const notifyLong = `Tests the receivers that the configuration names under [[receiver]], and lists what was sent to them.

A receiver gets a message by webhook, Slack, Teams or mail when something begins or ends: runs of a stream
fail, a guard stops a run, a stream is late, a problem is over, there is a new finding about payouts, the API
sends unknown fields, or the warehouse does not work. Each is sent once, by the daemon or by sync. Messages
that cannot be delivered wait in the warehouse.

A dead man's switch (form "ping") hears of each sync, and once a minute from the daemon.`

const notifyExample = `  dealhouse notify test            send a message to each receiver
  dealhouse notify test ops
  dealhouse notify list --limit 50
  dealhouse query "SELECT * FROM notifications WHERE state = '` + warehouse.NotificationWaiting + `'"`

func newNotify(a *app) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:     "notify",
		Short:   "Test the receivers of notifications, and list what was sent",
		Long:    notifyLong,
		Example: notifyExample,
	}, newNotifyTest(a), newNotifyList(a))
}

func newNotifyTest(a *app) *cobra.Command {
	var format *choice[term.Format]
	cmd := &cobra.Command{
		Use:   "test [RECEIVER]",
		Short: "Send a message to the receivers, or to one",
		Long: `Sends a test message to each receiver of the configuration, or to the one you name, and shows which accepted
it. A dead man's switch gets a success. The warehouse is not needed.

Exit codes: 0 all accepted it; 1 at least one did not; 2 usage or configuration.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return testReceivers(cmd.Context(), a, strings.Join(args, ""), format.value)
		},
	}
	format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

func testReceivers(ctx context.Context, a *app, name string, format term.Format) error {
	cfg, err := a.readConfigAs(config.Source{NeedReceivers: true})
	if err != nil {
		return err
	}
	receivers, err := a.newService().Receivers(cfg)
	if err != nil {
		return err
	}
	names, _ := receivers.Names()
	switch only, known := receivers.Only(name); {
	case len(names) == 0:
		return usagef("no receiver is configured: add a [[receiver]] table; config.example.toml explains its keys")
	case name != "" && !known:
		return usagef("there is no receiver %q: the receivers are %s", name, strings.Join(names, ", "))
	case name != "":
		receivers = only
	}
	done := a.showWaiting("sending a message to each receiver")
	tried := receivers.Test(ctx, time.Now())
	done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	columns := []term.Column{{Name: "receiver"}, {Name: "form"}, {Name: "verdict"}, {Name: "detail"}}
	var rows [][]any
	var codes []int
	for _, t := range tried {
		f := service.Receiver(t)
		rows, codes = append(rows, []any{t.Receiver, t.Form, f.Verdict, f.Detail}), append(codes, findingCode(f))
	}
	if err := term.Print(format, a.stdout, columns, rows); err != nil {
		return err
	}
	if code := worst(codes...); code != exitOK {
		return reported{code}
	}
	return nil
}

func newNotifyList(a *app) *cobra.Command {
	var limit int
	var format *choice[term.Format]
	cmd := &cobra.Command{
		Use:   "list [RECEIVER]",
		Short: "List the messages that were sent or are waiting",
		Long: "Lists the last messages, the newest first, and whether each was sent. Times are UTC.\n" +
			"The view notifications has all of them.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			return listNotifications(cmd.Context(), a, strings.Join(args, ""), limit, format.value)
		},
	}
	limitFlag(cmd, &limit, 20, "messages")
	format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

func listNotifications(ctx context.Context, a *app, receiver string, limit int, format term.Format) error {
	return a.readWarehouse(ctx, func(_ *config.Config, w *warehouse.Warehouse) error {
		if err := w.CheckSchema(ctx); err != nil {
			return err
		}
		all, err := w.At("").Notifications(ctx, receiver, limit)
		if err != nil {
			return err
		}
		return printNotifications(a, format, all)
	})
}

func printNotifications(a *app, format term.Format, all []warehouse.Notification) error {
	columns := []term.Column{{Name: "at"}, {Name: "receiver"}, {Name: "title"}, {Name: "state"},
		term.CountColumn("attempts"), {Name: "error", Wrap: term.IsTerminal(a.screen)}}
	if format != term.Table {
		columns = append(columns, term.Column{Name: "id"}, term.Column{Name: "event"}, term.Column{Name: "account"},
			term.Column{Name: "streams"}, term.Column{Name: "text"},
			term.Column{Name: "next_at"}, term.Column{Name: "ended_at"})
	}
	var rows [][]any
	for _, n := range all {
		row := []any{term.Time(n.At), n.Receiver, n.Title, n.State, uint64(n.Attempts), n.Error}
		if format != term.Table {
			next, ended := time.Time{}, time.Time{}
			if n.State == warehouse.NotificationWaiting {
				next = n.NextAt
			}
			if n.EndedAt != nil {
				ended = *n.EndedAt
			}
			row = append(row, n.ID.String(), n.Event, n.Account, orEmpty(n.Streams), n.Text, term.Time(next),
				term.Time(ended))
		}
		rows = append(rows, row)
	}
	a.logEmpty(len(rows), "no message has been sent yet, and none is waiting")
	return term.Print(format, a.stdout, columns, rows)
}
