package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
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
	address := c.address
	transport := &http.Transport{DisableKeepAlives: true} // without a proxy: the request goes to this machine
	if address == "" {
		cfg, err := a.readConfig(false)
		if _, bad := errors.AsType[*config.Problems](err); bad {
			cfg, err = portOnly(a)
		}
		if err != nil {
			return err
		}
		scheme := "http://"
		if cfg.Daemon.TLSCert != "" {
			scheme = "https://"
			// The certificate is for the name that other machines use. The request holds no secret and does not leave
			// this machine.
			transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // G402: see above
		}
		address = scheme + reachable(cfg.Daemon.Listen) + "/healthz"
	}
	target, err := daemonURL(address, "http://127.0.0.1:9464/healthz")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return usagef("--url: %w", err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("the daemon does not answer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", target, resp.Status)
	}
	return nil
}

// daemonURL reads the --url of a daemon. It appears in messages, so it must hold no password, nor a query with a secret.
func daemonURL(text, example string) (*url.URL, error) {
	target, err := url.Parse(text)
	if err != nil || target.Host == "" || target.User != nil || target.RawQuery != "" ||
		target.Scheme != "http" && target.Scheme != "https" {
		return nil, usagef("--url: want a URL such as %s, without user and password, and without a query", example)
	}
	return target, nil
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
