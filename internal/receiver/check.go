package receiver

import (
	"errors"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"

	"dealhouse/internal/trust"
)

// The errors of these checks say what a value must be, and never show it: a URL is a secret.

// ParseURL reads the URL of a receiver. insecure permits that it is not encrypted to another machine.
func ParseURL(text string, insecure bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", u.Hostname() == "", u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("must be a URL such as https://hooks.example.com/services/T0")
	case u.Scheme == "http" && !insecure && !trust.LocalHost(u.Hostname()):
		return nil, errors.New("must be https:// unless the receiver is on this machine; allow_insecure = true permits it")
	}
	return u, nil
}

// ParseServer returns the host of a mail server's host:port.
func ParseServer(text string) (host string, err error) {
	host, port, err := net.SplitHostPort(text)
	_, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || host == "" || strings.ContainsAny(host, " /@") {
		return "", errors.New("must be host:port of a mail server, such as smtp.example.com:587")
	}
	return host, nil
}

// ParseSender reads the address of the one sender.
func ParseSender(text string) (*mail.Address, error) {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return nil, errors.New("must be a mail address, such as dealhouse@example.com")
	}
	return a, nil
}

// ParseRecipients reads the addresses of recipients, with commas between.
func ParseRecipients(text string) ([]*mail.Address, error) {
	all, err := mail.ParseAddressList(text)
	if err != nil {
		return nil, errors.New("must be a mail address, such as ops@example.com, or several with commas")
	}
	return all, nil
}

// CheckLogin returns an error if only one of user and password is set.
func CheckLogin(user, password bool) error {
	if user != password {
		return errors.New("user and password go together: one is set and the other is not")
	}
	return nil
}

// CheckTLS returns an error if mail is not encrypted on its way to another machine, unless insecure permits that.
func CheckTLS(tls, host string, insecure bool) error {
	if tls == TLSNone && !insecure && !trust.LocalHost(host) {
		return errors.New("none is for a mail server on this machine; allow_insecure = true permits it")
	}
	return nil
}
