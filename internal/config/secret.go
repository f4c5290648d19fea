package config

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted is what every printed form of a Secret shows.
const redacted = "***"

// Secret is a value that no log line, error or dump may show (config-3). The zero Secret is unresolved.
type Secret struct {
	value string
	from  string  // the reference to a file that it was read from; "" when it cannot change
	again *origin // nil when it cannot change
}

// origin is where a secret can be read again. A Secret has a pointer to it, so that Secrets can be compared.
type origin struct{ read func() (Secret, error) }

// NewSecret wraps a value; for tests and for programs that configure themselves.
func NewSecret(value string) Secret { return Secret{value: value} }

// From returns the reference from which the value was read, if it can be read again: "file:PATH" or
// "env-file:PATH#NAME". It is "" for a literal and for an environment variable, which is fixed when a process starts.
func (s Secret) From() string { return s.from }

// Again reads the value again from where it came. A value that cannot change is returned as it is. The error
// shows no secret.
func (s Secret) Again() (Secret, error) {
	if s.again == nil {
		return s, nil
	}
	return s.again.read()
}

// Reveal returns the value. There is no other way to get it, so a search for Reveal finds every place that can leak it.
// An unresolved Secret reveals "".
func (s Secret) Reveal() string { return s.value }

// Resolved says whether there is a value.
func (s Secret) Resolved() bool { return s.value != "" }

// String hides the value.
func (s Secret) String() string { return redacted }

// GoString hides the value from %#v.
func (s Secret) GoString() string { return redacted }

// Format hides the value from every verb of package fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalText hides the value from encoders: JSON, XML, TOML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue hides the value from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// Equal makes Secrets comparable for package cmp without showing them.
func (s Secret) Equal(other Secret) bool { return s.value == other.value }
