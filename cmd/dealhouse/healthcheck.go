package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
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
		cfg, err := a.readConfig(false)
		if is[*config.Problems](err) {
			cfg, err = portOnly(a)
		}
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

// portOnly returns the daemon's port from the environment, or the default, without reading any file.
func portOnly(a *app) (*config.Config, error) {
	a.log.Warn("the configuration cannot be read, so the daemon's address is that of the environment, or the default; `dealhouse check` says what is wrong")
	cfg, _, err := config.Read(config.Source{
		Env: slices.DeleteFunc(slices.Clone(a.env), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return !slices.Contains([]string{"DEALHOUSE_DAEMON_LISTEN", "DEALHOUSE_DAEMON_TLS_CERT", "DEALHOUSE_DAEMON_TLS_KEY"},
				name)
		}),
		ReadFile: func(string) ([]byte, fs.FileMode, error) { return nil, 0, fs.ErrNotExist },
	})
	return cfg, err
}
