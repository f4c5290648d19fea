package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/daemon/client"
)

const healthcheckLong = `Asks the daemon on this machine whether it is healthy. It is meant for images without a shell or curl. The
address is daemon.listen from the configuration; --url asks another one, such as /readyz, which also checks
that the warehouse can be reached.

A daemon keeps running when its configuration file becomes invalid. So if the file cannot be read, the
address is DEALHOUSE_DAEMON_LISTEN, else 127.0.0.1:9464. With TLS, also set DEALHOUSE_DAEMON_TLS_CERT and
DEALHOUSE_DAEMON_TLS_KEY, or use --url.

Exit codes: 0 healthy; 1 not healthy; 2 usage or configuration.`

const healthcheckExample = `  dealhouse healthcheck
  dealhouse healthcheck --url http://127.0.0.1:9464/readyz`

// healthcheckCommand is what its flags say.
type healthcheckCommand struct {
	address string
	timeout time.Duration
}

func newHealthcheck(a *app) *cobra.Command {
	var c healthcheckCommand
	cmd := &cobra.Command{
		Use:     "healthcheck",
		Short:   "Ask the daemon whether it is healthy",
		Long:    healthcheckLong,
		Example: healthcheckExample,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), a) },
	}
	cmd.Flags().StringVar(&c.address, "url", "", "`URL` to ask (default /healthz at daemon.listen)")
	cmd.Flags().DurationVar(&c.timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return cmd
}

func (c healthcheckCommand) run(ctx context.Context, a *app) error {
	o := client.Options{URL: c.address}
	if c.address == "" {
		cfg, err := a.readOnly("daemon")
		if err != nil {
			return err
		}
		o.Host, o.TLSCert = reachable(cfg.Daemon.Listen), cfg.Daemon.TLSCert
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	daemon, err := client.New(o)
	if err == nil {
		err = daemon.Health(ctx)
	}
	if errors.Is(err, client.ErrURL) {
		return usagef("--url: want a URL such as http://127.0.0.1:9464/healthz, without user and password, and without a query")
	}
	return err
}
