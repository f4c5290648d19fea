package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"dealhouse/internal/config"
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
		if err := c.complete(a, cfg); err != nil {
			return err
		}
	}
	if cfg.Daemon.User == "" {
		return usagef("a daemon accepts actions only from a configured user: set daemon.user and daemon.password for the daemon and for this command")
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	text, err := r.ask(ctx, cfg, map[string]string{"action": c.Action.Action, "account": c.Account, "stream": c.Stream,
		"reason": c.Reason})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
}

// ask sends a request, and returns what the daemon says came of it.
func (r *remote) ask(ctx context.Context, cfg *config.Config, request map[string]string) (text string, err error) {
	address, transport, err := r.reach(cfg)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("writing the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.JoinPath("/api/v1/actions").String(), bytes.NewReader(body)) //nolint:gosec // G704: the operator names the daemon
	if err != nil {
		return "", usagef("--url: %w", err)
	}
	req.SetBasicAuth(cfg.Daemon.User, cfg.Daemon.Password.Reveal())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", uuid.NewString()) // the transport may send it twice
	client := &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req) //nolint:gosec // G704: see above
	if err != nil {
		return "", fmt.Errorf("no daemon answers; without one, use `dealhouse sync`: %w", err)
	}
	defer resp.Body.Close()
	var answer struct{ Message, Error string }
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(&answer); err != nil {
		answer.Error = "" // the answer is not from our daemon, or from one that takes no actions
	}
	switch {
	case resp.StatusCode == http.StatusOK && answer.Message != "":
		return answer.Message, nil
	case resp.StatusCode == http.StatusUnauthorized:
		return "", refusedUserError{"the daemon refuses daemon.user and daemon.password: it is configured with others"}
	case resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusMethodNotAllowed:
		return "", refusedUserError{"the daemon accepts no actions: it is an older version, or was started without daemon.user"}
	case resp.StatusCode == http.StatusNotFound && answer.Error != "":
		return "", usageError{errors.New(answer.Error)}
	case answer.Error != "":
		return "", errors.New(answer.Error)
	}
	return "", fmt.Errorf("%s answers %s, so it is not a dealhouse daemon", address, resp.Status)
}

// refusedUserError says that the daemon does not accept the credentials.
type refusedUserError struct{ text string }

func (e refusedUserError) Error() string { return e.text }

// reach returns the address of the daemon, and a client that verifies it.
func (r *remote) reach(cfg *config.Config) (*url.URL, *http.Transport, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if r.url != "" {
		transport.Proxy = http.ProxyFromEnvironment
		target, err := daemonURL(r.url, "https://dealhouse:9464")
		return target, transport, err
	}
	target := &url.URL{Scheme: "http", Host: reachable(cfg.Daemon.Listen)}
	if cfg.Daemon.TLSCert != "" {
		target.Scheme = "https"
		same, err := sameCertificate(cfg.Daemon.TLSCert)
		if err != nil {
			return nil, nil, err
		}
		transport.TLSClientConfig = same
	}
	return target, transport, nil
}

// sameCertificate accepts only a server with the certificate of a file. The certificate is for the name that other
// machines use, so the name is not compared. But the password goes to no other server.
func sameCertificate(file string) (*tls.Config, error) {
	text, _, err := config.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of the daemon: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // G402: it is compared with the file
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, block.Bytes) {
				return x509.UnknownAuthorityError{}
			}
			return nil
		},
	}, nil
}
