package notify

import (
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"time"

	"dealhouse/internal/receiver"
)

// Receiver is a receiver of messages, as the configuration has it. An empty list means all.
type Receiver struct {
	Name, Form string
	URL        string // of all but mail; a secret
	Token      string // sent as a bearer token with json and ping; a secret
	Server     string // of mail, host:port
	TLS        string // of mail: starttls, tls or none
	User       string // of mail; "": no authentication
	Password   string // a secret
	From, To   string // of mail; To is one address or several with commas

	Events, Accounts, Streams []string
	After                     int    // failed runs in a row before the first message; at least 1
	Template                  string // text/template of the text, or for json of the body; "": the built-in message
	AllowInsecure             bool   // permits unencrypted messages to other machines
	Page                      string // URL of the status page, for links; "": there are none
}

// target is a receiver that can be sent to.
type target struct {
	Receiver
	text     *template.Template // nil: the built-in text
	url      *url.URL
	from     *mail.Address
	to       []*mail.Address
	unsecret *strings.Replacer // takes secrets out of a text
	http     *http.Client
	patience time.Duration // of one attempt; a test has less
}

// Receivers are those of a configuration, each of which can be sent to.
type Receivers struct{ all []*target }

// Names returns the names of the receivers, and their forms, in the order of the configuration.
func (r *Receivers) Names() (names, forms []string) {
	if r == nil {
		return nil, nil
	}
	for _, t := range r.all {
		names, forms = append(names, t.Name), append(forms, t.Form)
	}
	return names, forms
}

// Compile makes receivers usable, or says what is wrong with each that cannot be used. Its errors show no secret. All
// requests use transport; nil: one of its own, with the proxies of the environment.
func Compile(all []Receiver, transport http.RoundTripper) (*Receivers, error) {
	var out Receivers
	var errs []error
	client := newClient(transport)
	for _, r := range all {
		t, err := compile(r, client)
		if err != nil {
			errs = append(errs, fmt.Errorf("receiver %q: %w", r.Name, err))
			continue
		}
		out.all = append(out.all, t)
	}
	return &out, errors.Join(errs...)
}

func compile(r Receiver, client *http.Client) (*target, error) {
	r.After = max(1, r.After)
	t := &target{Receiver: r, http: client, patience: attemptTimeout}
	var err error
	if r.Form == receiver.Mail {
		err = t.address()
	} else {
		err = t.locate()
	}
	if err != nil {
		return nil, err
	}
	t.unsecret = unsecret(r, t.url)
	if r.Template == "" {
		return t, nil
	}
	if r.Form == receiver.Ping {
		return nil, errors.New("template: a ping has no text")
	}
	t.text, err = template.New("template").Funcs(template.FuncMap{"json": quoteJSON}).Option("missingkey=error").Parse(r.Template)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if _, err := t.render(sample); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return t, nil
}

// locate checks the URL. Its errors do not show it (notify-6).
func (t *target) locate() error {
	u, err := receiver.ParseURL(t.URL, t.AllowInsecure)
	if err != nil {
		return fmt.Errorf("url: %w", err)
	}
	u.Fragment = ""
	t.url = u
	return nil
}

// address checks what is needed to send mail.
func (t *target) address() error {
	host, err := receiver.ParseServer(t.Server)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if t.from, err = receiver.ParseSender(t.From); err != nil {
		return fmt.Errorf("from: %w", err)
	}
	if t.to, err = receiver.ParseRecipients(t.To); err != nil {
		return fmt.Errorf("to: %w", err)
	}
	if err := receiver.CheckLogin(t.User != "", t.Password != ""); err != nil {
		return err
	}
	if err := receiver.CheckTLS(t.TLS, host, t.AllowInsecure); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	return nil
}

func (r Receiver) wants(event string) bool {
	return event == receiver.EventTest || len(r.Events) == 0 || slices.Contains(r.Events, event)
}

func (r Receiver) concerns(account, stream string) bool {
	return (len(r.Accounts) == 0 || slices.Contains(r.Accounts, account)) &&
		(stream == "" || len(r.Streams) == 0 || slices.Contains(r.Streams, stream))
}
