package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"dealhouse/internal/catalog"
	"dealhouse/internal/receiver"
)

func receiverKeys() []key {
	return slices.Concat([]key{
		{
			name: "name", in: inReceiver, required: true, fixed: true, example: `"ops"`,
			value: checked("the name of the receiver", func(v *values) *string { return &v.receiver.Name }, checkAccountName),
			doc: `The name of the receiver in tables, metrics and logs: 1 to 63 of a-z, 0-9, _ and -. A renamed receiver is a
new one, and gets messages about all current problems.`,
		},
		{
			name: "form", in: inReceiver, required: true, example: `"slack"`,
			value: checked("a form", func(v *values) *string { return &v.receiver.Form }, oneOf(receiver.FormNames())),
			doc: `"json": a webhook that takes a JSON object; "slack" and "teams": their incoming webhooks; "mail"; "ping": a
dead man's switch, such as healthchecks.io, which hears of each sync, and once a minute from the daemon.`,
		},
		{
			name: "url", in: inReceiver, example: `"env:OPS_WEBHOOK"`,
			value: secret("url"),
			doc:   `The URL, for all forms except mail. It is a secret: "env:NAME" reads an environment variable, "file:PATH" a file.`,
		},
		{
			name: "token", in: inReceiver, example: `"env:OPS_TOKEN"`,
			value: secret("token"),
			doc:   `Sent as "Authorization: Bearer", for json and ping. Written like url.`,
		},
	}, mailKeys(), []key{
		{
			name: "events", in: inReceiver, standard: `""`, example: `"failing guarded recovered"`,
			value: wordsOf("events with spaces between", func(v *values) *[]string { return &v.receiver.Events },
				slices.Concat(receiver.Events(), receiver.Signals())),
			doc: `The events to send, separated by spaces. "": all. "failing": runs of a stream fail; "guarded": a guard stopped
a run, and a person must look; "stale": the last success is older than the schedule allows; "recovered": one of these is
over; "findings": a new finding about payouts; "drift": the API sends unknown fields,
or no longer sends one that it used to send; "warehouse": the warehouse does not work. Each is sent once, when it begins. For ping: "start", "success" and "fail".`,
		},
		{
			name: "accounts", in: inReceiver, standard: `""`, example: `"acme globex"`,
			value: wordsOf("accounts with spaces between",
				func(v *values) *[]string { return &v.receiver.Accounts }, nil),
			doc: `Send only events of these accounts, separated by spaces. "": all.`,
		},
		{
			name: "streams", in: inReceiver, standard: `""`,
			example: strconv.Quote(strings.Join([]string{catalog.Transactions().Name, catalog.Payouts().Name}, " ")),
			value: wordsOf("streams with spaces between", func(v *values) *[]string { return &v.receiver.Streams },
				catalog.Names()),
			doc: `Send only events of these streams, separated by spaces. "": all. Findings about payouts belong to no stream.`,
		},
		{
			name: "after", in: inReceiver, standard: `1`,
			value: integer(func(v *values) *int { return &v.receiver.After }, 1, 1000),
			doc:   `How many runs of a stream must fail in a row before "failing" is sent.`,
		},
		{
			name: "template", in: inReceiver, standard: `""`, example: `"{{.Title}}: {{.Text}}"`,
			value: checked("a text/template", func(v *values) *string { return &v.receiver.Template }, checkTemplate),
			doc: `The message, as a Go text/template with the fields ID, Receiver, Event, Account, Streams, Title, Text, Link, At
and Attempt. For json it is the whole body: write {{json .Title}}. "": the built-in message.`,
		},
		{
			name: "allow_insecure", in: inReceiver, standard: `false`,
			value: boolean(func(v *values) *bool { return &v.receiver.AllowInsecure }),
			doc:   `Allow unencrypted messages to another machine: a url with http://, or mail with tls = "none".`,
		},
	})
}

func mailKeys() []key {
	return []key{
		{
			name: "server", in: inReceiver, standard: `""`, example: `"smtp.example.com:587"`,
			value: checked("host:port", func(v *values) *string { return &v.receiver.Server }, checkMailServer),
			doc:   `The mail server and its port.`,
		},
		{
			name: "tls", in: inReceiver, standard: `"starttls"`,
			value: checked("how it is encrypted", func(v *values) *string { return &v.receiver.TLS },
				oneOf(receiver.TLSWays())),
			doc: `"starttls" for port 587, "tls" (from the first byte) for port 465, or "none".`,
		},
		{
			name: "user", in: inReceiver, standard: `""`, example: `"dealhouse@example.com"`,
			value: checked("a user name", func(v *values) *string { return &v.receiver.User }, checkUser),
			doc:   `The user name on the mail server. "": it asks for none.`,
		},
		{
			name: "password", in: inReceiver, example: `"env:MAIL_PASSWORD"`,
			value: secret("password"),
			doc:   `The password of that user, written like url.`,
		},
		{
			name: "from", in: inReceiver, standard: `""`, example: `"dealhouse@example.com"`,
			value: checked("a mail address", func(v *values) *string { return &v.receiver.From }, checkSender),
			doc:   `The sender.`,
		},
		{
			name: "to", in: inReceiver, standard: `""`, example: `"ops@example.com, finance@example.com"`,
			value: checked("mail addresses with commas between", func(v *values) *string { return &v.receiver.To },
				checkRecipients),
			doc: `The recipients, separated by commas.`,
		},
	}
}

// oneOf accepts some words.
func oneOf(known []string) func(string) error {
	return func(s string) error {
		if !slices.Contains(known, s) {
			return fmt.Errorf("must be %s; %s is not", either(known), quote(s))
		}
		return nil
	}
}

// wordsOf takes words in one string, with spaces between. known are the words that exist; nil: names of accounts.
func wordsOf(want string, field func(*values) *[]string, known []string) codec {
	return of("a string: "+want, []nodeKind{aString}, field, func(s string) ([]string, error) {
		words := strings.Fields(s)
		for _, word := range words {
			check := oneOf(known)
			if known == nil {
				check = checkAccountName
			}
			if err := check(word); err != nil {
				return nil, err
			}
		}
		return append([]string(nil), words...), nil
	})
}

func checkMailServer(s string) error {
	_, err := receiver.ParseServer(s)
	return unlessEmpty(s, err)
}

func checkSender(s string) error {
	_, err := receiver.ParseSender(s)
	return unlessEmpty(s, err)
}

func checkRecipients(s string) error {
	_, err := receiver.ParseRecipients(s)
	return unlessEmpty(s, err)
}

// unlessEmpty adds to an error what is wrong. An empty text counts as not set.
func unlessEmpty(s string, err error) error {
	if s == "" || err == nil {
		return nil
	}
	return fmt.Errorf("%w; %s is not", err, quote(s))
}

// checkTemplate checks the grammar only. Whether its fields exist is checked where it is filled in.
func checkTemplate(s string) error {
	p := parse.New("template")
	p.Mode = parse.SkipFuncCheck
	if _, err := p.Parse(s, "", "", map[string]*parse.Tree{}); err != nil {
		return fmt.Errorf("is not a template: %s",
			strings.TrimPrefix(strings.ReplaceAll(err.Error(), "template:", ""), " "))
	}
	return nil
}

func (l *reader) receiver(s *scope, accounts []Account) Receiver {
	v, out := s.values, s.values.receiver
	l.fitsForm(s)
	for _, account := range out.Accounts {
		if !slices.ContainsFunc(accounts, func(a Account) bool { return a.Name == account }) && len(accounts) > 0 {
			l.problem(v.at["accounts"], "receiver %q: there is no account %s", out.Name, quote(account))
		}
	}
	for key, to := range map[string]*Secret{"url": &out.URL, "token": &out.Token, "password": &out.Password} {
		who := fmt.Sprintf("receiver %q: ", out.Name)
		l.warnLiteral(v, key, who+key, "")
		*to = l.secret(v, key, who, l.src.NeedAccounts || l.src.NeedReceivers)
	}
	if at, ok := v.at["url"]; ok && out.URL.Resolved() {
		// Its error does not show the URL (config-3).
		if _, err := receiver.ParseURL(out.URL.Reveal(), out.AllowInsecure); err != nil {
			l.problem(at, "receiver %q: url %s", out.Name, err)
		}
	}
	if host, err := receiver.ParseServer(out.Server); err == nil {
		if err := receiver.CheckTLS(out.TLS, host, out.AllowInsecure); err != nil {
			l.problem(v.at["tls"], "receiver %q: tls %s", out.Name, err)
		}
	}
	return out
}

// fitsForm reports keys that the form of a receiver has no use for, and keys that it needs and that are missing.
func (l *reader) fitsForm(s *scope) {
	v, r := s.values, s.values.receiver
	_, password := v.secrets["password"]
	form, known := receiver.Find(r.Form)
	if !known {
		return // it is reported as missing, or as unknown
	}
	for _, name := range form.Needs {
		if !v.has(name) {
			l.problem(s.at, "receiver %q lacks %s, which the form %s needs", r.Name, name, r.Form)
		}
	}
	for _, name := range form.Useless() {
		if at, set := v.at[name]; set {
			l.problem(at, "receiver %q: %s has no meaning for the form %s", r.Name, name, r.Form)
		}
	}
	if err := receiver.CheckLogin(r.User != "", password); err != nil {
		l.problem(s.at, "receiver %q: %s", r.Name, err)
	}
	for _, event := range r.Events {
		if !slices.Contains(form.Events, event) {
			l.problem(v.at["events"], "receiver %q: the form %s knows the events %s; %s is none", r.Name, r.Form,
				joined(form.Events, "and"), quote(event))
		}
	}
}
