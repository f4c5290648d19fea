package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

const healthcheckLong = `Asks the daemon of this machine whether it is alive, for images that have neither a shell nor curl. The
address is that of daemon.listen in the configuration; --url names another one, such as /readyz, which
also says whether the warehouse can be reached.

Exit codes: 0 healthy; 1 not; 2 usage or configuration.`

const healthcheckExample = `  dealhouse healthcheck
  dealhouse healthcheck --url http://127.0.0.1:9464/readyz`

func newHealthcheck(a *app) *cobra.Command {
	var address string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:     "healthcheck",
		Short:   "Ask the daemon whether it is alive",
		Long:    healthcheckLong,
		Example: healthcheckExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.healthcheck(cmd.Context(), address, timeout)
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "`URL` to ask (default /healthz at daemon.listen)")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return cmd
}

func (a *app) healthcheck(ctx context.Context, address string, timeout time.Duration) error {
	if address == "" {
		cfg, err := a.loadConfig(false)
		if err != nil {
			return err
		}
		address = "http://" + reachable(cfg.Daemon.Listen) + "/healthz"
	}
	// The address goes into messages: it must not bring a password along.
	target, err := url.Parse(address)
	if err != nil || target.Host == "" || target.User != nil || target.Scheme != "http" && target.Scheme != "https" {
		return usagef("--url: want a URL such as http://127.0.0.1:9464/healthz, without user and password")
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return usagef("--url: %w", err)
	}
	// Through no proxy: what is asked is this machine.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("the daemon does not answer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", target, resp.Status)
	}
	return nil
}
