package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/smtp"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"dealhouse/internal/receiver"
	"dealhouse/internal/trust"
)

// Limits of the conversation with a mail server (notify-5).
const (
	maxMailBytes = 256 << 10 // that the server may send, with its certificates
	mailTakes    = 2         // times as long as a webhook may take: the server is asked several things
)

// mail sends a message by mail, to all addresses that the server takes: problem names the others. roots are the
// authorities that are trusted; nil: those of the system.
func (t *target) mail(ctx context.Context, m Message, roots *x509.CertPool) (problem, err error) {
	text, problem := t.render(m)
	ctx, cancel := context.WithTimeout(ctx, mailTakes*t.patience)
	defer cancel()
	refused, err := t.converse(ctx, t.letter(m, text), roots)
	if err != nil {
		return problem, t.mailFault(ctx, err)
	}
	return errors.Join(problem, refused), nil
}

// converse gives a mail to the server. refused is about the addresses that it does not take, while it takes others.
func (t *target) converse(ctx context.Context, letter []byte, roots *x509.CertPool) (refused, err error) {
	host, err := receiver.ParseServer(t.Server)
	if err != nil {
		return nil, err
	}
	dialed, err := new(net.Dialer).DialContext(ctx, "tcp", t.Server)
	if err != nil {
		return nil, err
	}
	defer dialed.Close() //nolint:errcheck // what counts has been answered
	deadline, _ := ctx.Deadline()
	if err := dialed.SetDeadline(deadline); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = dialed.Close() }) // a signal ends it, too
	defer stop()
	var conn net.Conn = &shortConn{Conn: dialed, left: maxMailBytes}
	secure := &tls.Config{ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12}
	if t.TLS == receiver.TLSFirst {
		conn = tls.Client(conn, secure)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return nil, err
	}
	if t.TLS != receiver.TLSFirst && t.TLS != receiver.TLSNone {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return nil, errors.New("the mail server offers no STARTTLS: set tls to \"tls\" if it speaks TLS at once, as port 465 does")
		}
		if err := c.StartTLS(secure); err != nil {
			return nil, err
		}
	}
	if t.User != "" {
		if err := c.Auth(t.auth(c, host)); err != nil {
			return nil, err
		}
	}
	return t.handOver(c, letter)
}

// handOver sends the mail. One wrong address does not keep it from the others.
func (t *target) handOver(c *smtp.Client, letter []byte) (refused, err error) {
	if err := c.Mail(t.from.Address); err != nil {
		return nil, err
	}
	var errs []error
	for _, to := range t.to {
		err := c.Rcpt(to.Address)
		if said, ok := errors.AsType[*textproto.Error](err); ok {
			errs = append(errs, fmt.Errorf("the mail server does not take %s: it answers %d %s", to.Address, said.Code,
				line(t.unsecret.Replace(said.Msg))))
		}
		if err != nil && (len(errs) == 0 || len(errs) == len(t.to)) {
			return nil, err
		}
	}
	w, err := c.Data()
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(letter); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	_ = c.Quit() // the server has taken it
	return errors.Join(errs...), nil
}

// auth returns PLAIN, or LOGIN if the server knows only that.
func (t *target) auth(c *smtp.Client, host string) smtp.Auth {
	_, list := c.Extension("AUTH")
	if mechanisms := strings.Fields(list); !slices.Contains(mechanisms, "PLAIN") && slices.Contains(mechanisms, "LOGIN") {
		return &loginAuth{user: t.User, password: t.Password, host: host}
	}
	return smtp.PlainAuth("", t.User, t.Password, host)
}

// loginAuth is the mechanism LOGIN, the only one of some servers.
type loginAuth struct{ user, password, host string }

// Start is part of smtp.Auth.
func (a *loginAuth) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS && !trust.LocalHost(a.host) {
		return "", nil, errors.New("the connection is not encrypted, and no password is sent over it")
	}
	return "LOGIN", nil, nil
}

// Next is part of smtp.Auth: the server asks for the user, and then for the password.
func (a *loginAuth) Next(fromServer []byte, more bool) ([]byte, error) {
	switch {
	case !more:
		return nil, nil
	case strings.HasPrefix(strings.ToLower(string(fromServer)), "user"):
		return []byte(a.user), nil
	default:
		return []byte(a.password), nil
	}
}

// letter returns the mail itself. A title has no line break, and what a header may not hold is encoded (notify-7).
func (t *target) letter(m Message, text string) []byte {
	var to []string
	for _, a := range t.to {
		to = append(to, a.String())
	}
	_, domain, _ := strings.Cut(t.from.Address, "@")
	subject := clip(line(m.Title), maxTitle)
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", t.from.String()}, {"To", strings.Join(to, ",\r\n ")}, {"Subject", mime.QEncoding.Encode("utf-8", subject)},
		{"Date", m.At.Format(time.RFC1123Z)}, {"Message-ID", "<" + m.ID + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"X-Dealhouse-Event", m.Event}, {"MIME-Version", "1.0"}, {"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	b.WriteString("\r\n")
	body := quotedprintable.NewWriter(&b)
	_, _ = io.WriteString(body, strings.NewReplacer("\r", "", "\n", "\r\n").Replace(text)+"\r\n") // into memory
	_ = body.Close()
	return b.Bytes()
}

// mailFault says what went wrong, without what was sent (notify-6).
func (t *target) mailFault(ctx context.Context, err error) *AttemptError {
	if late, ok := errors.AsType[net.Error](err); ctx.Err() != nil || ok && late.Timeout() {
		return &AttemptError{What: "the mail server did not accept it within " + (mailTakes * t.patience).String()}
	}
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		f := &AttemptError{What: fmt.Sprintf("the mail server answers %d %s", said.Code, line(t.unsecret.Replace(said.Msg)))}
		switch said.Code {
		case 552, 554: // too large, or refused as it is
			f.Refused = true
		}
		return f
	}
	return t.fault(err)
}

// shortConn is a connection from which only a limited number of bytes can be read.
type shortConn struct {
	net.Conn
	left int
}

// Read is part of net.Conn.
func (c *shortConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errors.New("the answer of the mail server is too long")
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
