package telemetry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings are what the standard variables say.
type Settings struct {
	Traces, Metrics *Endpoint // nil: not sent
	Attributes      map[string]string
	Parent          string // in the form of the header traceparent: the span that has started this program; "": none
	Problems        []string
}

// Endpoint is where a signal goes.
type Endpoint struct {
	URL     string
	Headers map[string]string
	Timeout time.Duration // of an export
	Gzip    bool
	TLS     *tls.Config // nil: the system's settings
}

// On reports whether anything is sent.
func (s Settings) On() bool { return s.Traces != nil || s.Metrics != nil }

// Kinds of signals, as the names of variables have them.
const (
	tracesSignal  = "TRACES"
	metricsSignal = "METRICS"
)

const defaultTimeout = 10 * time.Second

// variables are the environment. A variable that is set to nothing counts as not set.
type variables map[string]string

// Read reads the variables of an environment in the form of os.Environ.
func Read(environ []string) Settings {
	env := variables{}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); strings.TrimSpace(value) != "" &&
			(strings.HasPrefix(name, "OTEL_") || name == "TRACEPARENT") {
			env[name] = strings.TrimSpace(value)
		}
	}
	s := Settings{Parent: env["TRACEPARENT"]}
	if strings.EqualFold(env["OTEL_SDK_DISABLED"], "true") {
		return s
	}
	s.Traces, s.Metrics = s.endpoint(env, tracesSignal), s.endpoint(env, metricsSignal)
	if s.On() {
		s.Attributes = s.attributes(env)
	}
	return s
}

// endpoint returns where a signal goes, or nil. A signal is sent if its exporter is otlp, or if an address is
// given for it.
func (s *Settings) endpoint(env variables, signal string) *Endpoint {
	own := "OTEL_EXPORTER_OTLP_" + signal + "_"
	name, address := own+"ENDPOINT", env[own+"ENDPOINT"]
	base := address == ""
	if base {
		name, address = "OTEL_EXPORTER_OTLP_ENDPOINT", env["OTEL_EXPORTER_OTLP_ENDPOINT"]
	}
	switch exporter := env["OTEL_"+signal+"_EXPORTER"]; {
	case exporter == "none", exporter == "" && address == "":
		return nil
	case exporter != "" && exporter != "otlp":
		return s.refuse("OTEL_"+signal+"_EXPORTER", "only otlp and none are known")
	case address == "":
		address = "http://localhost:4318"
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return s.refuse(name, "it must be a URL such as http://collector:4318, without user and password")
	}
	if base {
		u = u.JoinPath("v1", strings.ToLower(signal))
	}
	e := &Endpoint{URL: u.String(), Timeout: defaultTimeout}
	either := func(key string) (name, value string) {
		if v := env[own+key]; v != "" {
			return own + key, v
		}
		return "OTEL_EXPORTER_OTLP_" + key, env["OTEL_EXPORTER_OTLP_"+key]
	}
	switch name, protocol := either("PROTOCOL"); protocol {
	case "", "http/protobuf":
	default:
		return s.refuse(name, "only http/protobuf is known: most collectors accept it on port 4318")
	}
	if name, text := either("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return s.refuse(name, "it must be a number of milliseconds")
		}
		e.Timeout = time.Duration(ms) * time.Millisecond
	}
	_, compression := either("COMPRESSION")
	e.Gzip = compression == "gzip"
	name, text := either("HEADERS")
	if e.Headers, err = pairs(text); err != nil {
		return s.refuse(name, "it must be name=value,name=value, with special characters %-encoded")
	}
	_, ca := either("CERTIFICATE")
	_, cert := either("CLIENT_CERTIFICATE")
	_, key := either("CLIENT_KEY")
	if e.TLS, err = trust(ca, cert, key); err != nil {
		return s.refuse(own+"CERTIFICATE, CLIENT_CERTIFICATE or CLIENT_KEY", err.Error())
	}
	return e
}

// refuse notes that a variable cannot be used, without its value (invalid variables stop nothing).
func (s *Settings) refuse(name, why string) *Endpoint {
	if text := name + ": " + why; !slices.Contains(s.Problems, text) { // both signals may be about the same variable
		s.Problems = append(s.Problems, text)
	}
	return nil
}

// attributes returns the attributes that say which program this is.
func (s *Settings) attributes(env variables) map[string]string {
	all, err := pairs(env["OTEL_RESOURCE_ATTRIBUTES"])
	if err != nil {
		s.refuse("OTEL_RESOURCE_ATTRIBUTES", "it must be name=value,name=value, with special characters %-encoded")
		all = map[string]string{}
	}
	if name := env["OTEL_SERVICE_NAME"]; name != "" {
		all["service.name"] = name
	}
	if all["service.name"] == "" {
		all["service.name"] = "dealhouse"
	}
	return all
}

var errPair = errors.New("no name=value")

// pairs reads name=value,name=value, with values that are %-encoded.
func pairs(text string) (map[string]string, error) {
	all := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n\x00") {
			return nil, errPair
		}
		all[name] = value
	}
	return all, nil
}

// trust makes the settings of TLS from files in PEM; nil: none are given.
func trust(ca, cert, key string) (*tls.Config, error) {
	if ca == "" && cert == "" && key == "" {
		return nil, nil //nolint:nilnil // the system's own settings
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, errors.New("the file of authorities cannot be read")
		}
		if c.RootCAs, err = x509.SystemCertPool(); err != nil {
			c.RootCAs = x509.NewCertPool()
		}
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("the file of authorities has no certificate")
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, errors.New("the certificate of the client and its key cannot be read")
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
