package client

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
	"os"

	"github.com/google/uuid"
)

// Options say which daemon is asked. One of URL and Host has to be set.
type Options struct {
	URL            string // where the daemon is
	Host           string // host:port of a daemon on this machine; only without URL
	TLSCert        string // the file with its certificate, if it has one; only without URL
	User, Password string // for actions
}

// ErrURL means that Options.URL is not the URL of a daemon (client-1).
var ErrURL = errors.New("want an http or https URL without user and password, and without a query")

// RefusedError says that the daemon does not accept the credentials, or no actions at all.
type RefusedError struct{ text string }

func (e RefusedError) Error() string { return e.text }

// NotFoundError says that the daemon knows nothing that the action names.
type NotFoundError struct{ text string }

func (e NotFoundError) Error() string { return e.text }

// Client asks one daemon.
type Client struct {
	options Options
	target  *url.URL
}

// New makes a client. It connects to nothing.
func New(o Options) (*Client, error) {
	c := &Client{options: o, target: &url.URL{Scheme: "http", Host: o.Host}}
	if o.URL == "" {
		if o.TLSCert != "" {
			c.target.Scheme = "https"
		}
		return c, nil
	}
	var err error
	if c.target, err = url.Parse(o.URL); err != nil || c.target.Host == "" || c.target.User != nil ||
		c.target.RawQuery != "" || c.target.Scheme != "http" && c.target.Scheme != "https" {
		return nil, ErrURL
	}
	return c, nil
}

// Health asks whether the daemon is healthy, at Options.URL itself or at /healthz of this machine. The request has no
// secret, so no certificate is compared: it is for the name that other machines use.
func (c *Client) Health(ctx context.Context) error {
	target := c.target
	transport := &http.Transport{DisableKeepAlives: true} // without a proxy (client-4)
	if c.options.URL == "" {
		target = target.JoinPath("/healthz")
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // G402: see above
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrURL, err)
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

// Action is what the daemon is to do, in the words of its API.
type Action struct {
	Action  string `json:"action"`
	Account string `json:"account"`
	Stream  string `json:"stream"`
	Reason  string `json:"reason"`
}

// Act has the daemon carry out an action, and returns what it says came of it.
func (c *Client) Act(ctx context.Context, a Action) (text string, err error) {
	transport, err := c.transport()
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("writing the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.target.JoinPath("/api/v1/actions").String(),
		bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrURL, err)
	}
	req.SetBasicAuth(c.options.User, c.options.Password)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", uuid.NewString()) // client-3: the transport may send it twice
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // client-2
	}}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("no daemon answers; without one, use `dealhouse sync`: %w", err)
	}
	defer resp.Body.Close()
	return c.answer(resp)
}

// answer reads what came of an action.
func (c *Client) answer(resp *http.Response) (text string, err error) {
	var answer struct{ Message, Error string }
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(&answer); err != nil {
		answer.Error = "" // the answer is not from our daemon, or from one that takes no actions
	}
	switch {
	case resp.StatusCode == http.StatusOK && answer.Message != "":
		return answer.Message, nil
	case resp.StatusCode == http.StatusUnauthorized:
		return "", RefusedError{"the daemon refuses daemon.user and daemon.password: it is configured with others"}
	case resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusMethodNotAllowed:
		return "", RefusedError{"the daemon accepts no actions: it is an older version, or was started without daemon.user"}
	case resp.StatusCode == http.StatusNotFound && answer.Error != "":
		return "", NotFoundError{answer.Error}
	case answer.Error != "":
		return "", errors.New(answer.Error)
	}
	return "", fmt.Errorf("%s answers %s, so it is not a dealhouse daemon", c.target, resp.Status)
}

// transport makes connections to the daemon, and to nobody else (client-2).
func (c *Client) transport() (*http.Transport, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	switch {
	case c.options.URL != "":
		transport.Proxy = http.ProxyFromEnvironment
	case c.options.TLSCert != "":
		var err error
		if transport.TLSClientConfig, err = onlyCertificate(c.options.TLSCert); err != nil {
			return nil, err
		}
	}
	return transport, nil
}

// onlyCertificate accepts only a server with the certificate of a file. The certificate is for the name that other
// machines use, so the name is not compared.
func onlyCertificate(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
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
