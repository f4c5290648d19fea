package notify

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/receiver"
)

// postOffice is a mail server that remembers the mail that it accepted.
type postOffice struct {
	net.Listener
	cert    *tls.Config
	roots   *x509.CertPool
	offers  string            // its answer to EHLO, besides STARTTLS
	refuses string            // its answer to DATA, instead of accepting the mail
	unknown map[string]string // its answers to addresses, instead of accepting them

	mu      sync.Mutex
	said    []string
	letters []string
}

// openPostOffice listens; direct: with TLS from the first byte.
func openPostOffice(t *testing.T, direct bool, offers, refuses string) *postOffice {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS() // for its certificate, which is for 127.0.0.1
	t.Cleanup(web.Close)
	p := &postOffice{cert: &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12},
		roots: x509.NewCertPool(), offers: offers, refuses: refuses}
	p.roots.AddCert(web.Certificate())
	var err error
	if p.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if direct {
		p.Listener = tls.NewListener(p.Listener, p.cert)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := p.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(conn, direct) })
		}
	})
	t.Cleanup(func() {
		_ = p.Close()
		serving.Wait()
	})
	return p
}

func (p *postOffice) serve(conn net.Conn, secure bool) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(unhurried))
	in := bufio.NewReader(conn)
	reply := func(format string, args ...any) { _, _ = fmt.Fprintf(conn, format+"\r\n", args...) }
	reply("220 ready")
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		text = strings.TrimSpace(text)
		p.mu.Lock()
		p.said = append(p.said, text)
		p.mu.Unlock()
		switch verb, _, _ := strings.Cut(strings.ToUpper(text), " "); verb {
		case "EHLO":
			reply("250-mail.example.com")
			if !secure && p.cert != nil {
				reply("250-STARTTLS")
			}
			reply("250 " + p.offers)
		case "STARTTLS":
			reply("220 go on")
			conn = tls.Server(conn, p.cert)
			in, secure = bufio.NewReader(conn), true
		case "AUTH":
			if strings.Contains(text, "LOGIN") {
				for _, ask := range []string{"Username:", "Password:"} {
					reply("334 " + base64.StdEncoding.EncodeToString([]byte(ask)))
					answer, _ := in.ReadString('\n')
					text += " " + strings.TrimSpace(answer)
				}
				p.mu.Lock()
				p.said = append(p.said, text)
				p.mu.Unlock()
			}
			if strings.Contains(p.offers, "REFUSE") {
				reply("535 no, you said %s, which is %s", text, secret)
				continue
			}
			reply("235 welcome")
		case "DATA":
			if p.refuses != "" {
				reply("%s", p.refuses)
				continue
			}
			reply("354 go on")
			var letter strings.Builder
			for line := ""; line != ".\r\n" && err == nil; line, err = in.ReadString('\n') {
				letter.WriteString(line)
			}
			p.mu.Lock()
			p.letters = append(p.letters, letter.String())
			p.mu.Unlock()
			reply("250 taken")
		case "RCPT":
			_, address, _ := strings.Cut(text, ":")
			if answer := p.unknown[strings.Trim(address, "<>")]; answer != "" {
				reply("%s", answer)
				continue
			}
			reply("250 ok")
		case "QUIT":
			reply("221 bye")
			return
		default:
			reply("250 ok")
		}
	}
}

func (p *postOffice) receiver() Receiver {
	return Receiver{
		Name: "mail", Form: receiver.Mail, Server: p.Addr().String(), TLS: "starttls",
		User: "dealhouse", Password: secret,
		From: "Dealhouse <dealhouse@example.com>", To: "Ops <ops@example.com>, finance@example.com",
	}
}

// Mail is sent over STARTTLS or TLS, with PLAIN or LOGIN, in plain text, and no text of the API makes a header.
func TestMail(t *testing.T) {
	t.Parallel()
	m := Message{
		ID: "0b2c4a52-4f3c-4b62-9d2e-2f7a33f5b1aa", Event: receiver.EventFailing,
		Title: "Failing:\r\nBcc: evil@example.com\r\n\r\nüber " + hostileText,
		Text:  "first line\n.\n" + hostileText, At: time.Date(2026, 3, 1, 1, 2, 3, 0, time.UTC), Attempt: 2,
	}
	for name, c := range map[string]struct {
		direct bool
		offers string
		said   string
	}{
		"STARTTLS and PLAIN": {false, "AUTH PLAIN LOGIN",
			"AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00dealhouse\x00"+secret))},
		"TLS and LOGIN": {true, "AUTH LOGIN",
			"AUTH LOGIN " + base64.StdEncoding.EncodeToString([]byte("dealhouse")) + " " +
				base64.StdEncoding.EncodeToString([]byte(secret))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openPostOffice(t, c.direct, c.offers, "")
			r := p.receiver()
			if c.direct {
				r.TLS = "tls"
			}
			compiled, err := Compile([]Receiver{r}, nil)
			if err != nil {
				t.Fatal(err)
			}
			compiled.all[0].patience = unhurried
			if _, err := compiled.all[0].mail(t.Context(), m, p.roots); err != nil {
				t.Fatal(err)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if said := strings.Join(p.said, "\n"); !strings.Contains(said, c.said) ||
				!strings.Contains(said, "RCPT TO:<ops@example.com>\nRCPT TO:<finance@example.com>") {
				t.Errorf("said:\n%s", said)
			}
			checkLetter(t, p.letters[0], m)
		})
	}
}

func checkLetter(t *testing.T, text string, m Message) {
	t.Helper()
	letter, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(letter.Header.Get("Subject"))
	if err != nil || !strings.HasPrefix(subject, `Failing:\r\nBcc: evil`) || letter.Header.Get("Bcc") != "" {
		t.Errorf("subject %q, headers %v, %v", subject, letter.Header, err)
	}
	if id := letter.Header.Get("Message-ID"); id != "<"+m.ID+"@example.com>" ||
		letter.Header.Get("Date") != "Sun, 01 Mar 2026 01:02:03 +0000" {
		t.Errorf("headers %v", letter.Header)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(letter.Body))
	if err != nil || !strings.Contains(string(body), "first line\r\n..\r\n") ||
		!strings.Contains(string(body), "may be a repetition") {
		t.Errorf("body %q, %v", body, err)
	}
}

// A mail server that refuses, hangs, offers no encryption or cannot be trusted gets no password, and no
// error shows one.
func TestMailServersThatFail(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	m := Message{ID: "x", Title: "a", Text: "b", Attempt: 1}
	plain := openPostOffice(t, false, "AUTH PLAIN", "")
	plain.cert = nil
	for name, c := range map[string]struct {
		*postOffice
		trusted bool
		want    string
		refused bool
	}{
		"no STARTTLS":       {plain, true, "offers no STARTTLS", false},
		"not to be trusted": {openPostOffice(t, false, "AUTH PLAIN", ""), false, "certificate", false},
		"a wrong password": {openPostOffice(t, false, "AUTH PLAIN REFUSE", ""), true,
			"the mail server answers 535 no, you said AUTH PLAIN ***, which is ***", false},
		"a full mailbox": {openPostOffice(t, false, "AUTH PLAIN", "452 full \x1b[2J"), true,
			"the mail server answers 452 full", false},
		"a refusal": {openPostOffice(t, false, "AUTH PLAIN", "554 spam"), true, "the mail server answers 554 spam",
			true},
		"hangs": {openPostOffice(t, true, "", ""), true, "did not accept it within 2s", false}, // it waits for TLS
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compiled, err := Compile([]Receiver{c.receiver()}, nil)
			if err != nil {
				t.Fatal(err)
			}
			compiled.all[0].patience = unhurried
			if name == "hangs" {
				compiled.all[0].patience = time.Second
			}
			roots := c.roots
			if !c.trusted {
				roots = x509.NewCertPool()
			}
			_, err = compiled.all[0].mail(t.Context(), m, roots)
			fault, ok := err.(*AttemptError) //nolint:errorlint // it is never wrapped
			if !ok || !strings.Contains(fault.What, c.want) || fault.Refused != c.refused ||
				strings.Contains(fault.What, secret) || strings.ContainsRune(fault.What, 0x1b) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if said := strings.Join(c.said, " "); c.want != "" && strings.HasPrefix(name, "no") &&
				strings.Contains(said, "AUTH") {
				t.Errorf("a password was sent: %s", said)
			}
		})
	}
}

// A wrong address keeps the mail from nobody else, and whoever looks is told which one it is.
func TestOneWrongAddress(t *testing.T) {
	t.Parallel()
	all := map[string]string{"ops@example.com": "550 5.1.1 no such user", "finance@example.com": "550 5.1.1 no such user"}
	for name, c := range map[string]struct {
		unknown map[string]string
		problem string // "": none
		err     string
	}{
		"the first":            {map[string]string{"ops@example.com": "550 5.1.1 no such user"}, "does not take ops@example.com: it answers 550 5.1.1", ""},
		"the last":             {map[string]string{"finance@example.com": "553 bad name"}, "does not take finance@example.com: it answers 553", ""},
		"a full mailbox":       {map[string]string{"ops@example.com": "452 4.2.2 over quota"}, "does not take ops@example.com: it answers 452", ""},
		"greylisted":           {map[string]string{"finance@example.com": "450 try later"}, "does not take finance@example.com: it answers 450", ""},
		"an answer with a key": {map[string]string{"ops@example.com": "550 " + secret}, "does not take ops@example.com: it answers 550 ***", ""},
		"both":                 {all, "", "the mail server answers 550 5.1.1 no such user"},
		"none":                 {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openPostOffice(t, false, "AUTH PLAIN", "")
			p.unknown = c.unknown
			compiled, err := Compile([]Receiver{p.receiver()}, nil)
			if err != nil {
				t.Fatal(err)
			}
			compiled.all[0].patience = unhurried
			problem, err := compiled.all[0].mail(t.Context(), Message{ID: "x", Title: "a", Text: "b", Attempt: 1}, p.roots)
			p.mu.Lock()
			defer p.mu.Unlock()
			if taken := len(p.letters) == 1; taken != (c.err == "") || (err == nil) != taken {
				t.Errorf("%d letters were taken, error %v", len(p.letters), err)
			}
			if err != nil && err.Error() != c.err {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if said := fmt.Sprint(problem); (problem == nil) != (c.problem == "") || !strings.Contains(said, c.problem) || strings.Contains(said, secret) {
				t.Errorf("problem %v, want %q", problem, c.problem)
			}
		})
	}
}
