package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/daemon/client"
	"dealhouse/internal/service"
	"dealhouse/internal/warehouse"
)

const askDaemonLong = `

This asks the daemon over HTTP, at daemon.listen or --url, with daemon.user and daemon.password. A daemon
without these two accepts no actions. The action is recorded in operator_actions under that user.`

// remote is how a command reaches a daemon.
type remote struct {
	url     string
	timeout time.Duration
}

func (r *remote) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.url, "url", "",
		"`URL` of the daemon, such as https://dealhouse:9464 (default that of daemon.listen)")
	cmd.Flags().DurationVar(&r.timeout, "timeout", time.Minute, "how long to wait for the answer")
}

func newOperateRun(a *app) *cobra.Command {
	c, r := &operateCommand{Action: warehouse.Action{Action: warehouse.ActionRun}}, &remote{}
	full := false
	cmd := newAction(a, c, "run [STREAM]", "Tell the daemon to run a stream or an account now",
		`Tells the daemon to run a stream now, or all streams of the account if you name none, regardless of their
schedules. A stream that is already running is not started twice. To load without a daemon, use sync.`+askDaemonLong,
		func(ctx context.Context) error {
			if full {
				c.Action.Action = warehouse.ActionRunFull
			}
			return c.askDaemon(ctx, a, r)
		})
	cmd.Flags().BoolVar(&full, "full", false, "read everything again; waits for the running load, if there is one")
	r.flags(cmd)
	return cmd
}

func newOperateCancel(a *app) *cobra.Command {
	c, r := &operateCommand{Action: warehouse.Action{Action: warehouse.ActionCancel}}, &remote{}
	cmd := newAction(a, c, "cancel [STREAM]", "Tell the daemon to stop what is running",
		`Tells the daemon to stop the run of a stream, or all runs of the account if you name none. Their outcome is
stopped: a stream that was read to its end is still published, the others are not. The next run follows the
schedule.`+askDaemonLong, func(ctx context.Context) error {
			return c.askDaemon(ctx, a, r)
		})
	r.flags(cmd)
	return cmd
}

func newOperateReload(a *app) *cobra.Command {
	c, r := &operateCommand{Action: warehouse.Action{Action: warehouse.ActionReload}}, &remote{}
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Tell the daemon to read its configuration again",
		Long: `Tells the daemon to read its configuration again, as the signal HUP does, and shows the result. If the new
configuration is invalid, the old one stays in force.` + askDaemonLong,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.askDaemon(cmd.Context(), a, r) },
	}
	cmd.Flags().StringVar(&c.Reason, "reason", "", "`why`, for operator_actions")
	r.flags(cmd)
	return cmd
}

// askDaemon asks a daemon to carry out the action.
func (c *operateCommand) askDaemon(ctx context.Context, a *app, r *remote) error {
	cfg, err := a.readConfigAs(config.Source{NeedDaemon: true})
	if err != nil {
		return err
	}
	if c.Action.Action != warehouse.ActionReload {
		if err := c.complete(cfg); err != nil {
			return err
		}
		if err := service.Unconfigured(cfg, c.Account); err != nil { // a daemon loads only what is configured
			return err
		}
	}
	if cfg.Daemon.User == "" {
		return usagef("a daemon accepts actions only from a configured user: set daemon.user and daemon.password for the daemon and for this command")
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	daemon, err := client.New(client.Options{URL: r.url, Host: reachable(cfg.Daemon.Listen),
		TLSCert: cfg.Daemon.TLSCert, User: cfg.Daemon.User, Password: cfg.Daemon.Password.Reveal()})
	var text string
	if err == nil {
		text, err = daemon.Act(ctx, client.Action{Action: c.Action.Action, Account: c.Account, Stream: c.Stream,
			Reason: c.Reason})
	}
	if errors.Is(err, client.ErrURL) {
		return usagef("--url: want a URL such as https://dealhouse:9464, without user and password, and without a query")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
}
