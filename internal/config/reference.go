package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
)

// reference is what an api_key says: where the key is, or the key itself.
type reference struct {
	scheme string // "env", "file", "env-file", or empty for a literal
	target string // the variable, the path or, for a literal, the secret
	name   string // of env-file, the variable in the file
}

const (
	fromEnvironment = "env"
	fromFile        = "file"
	fromEnvFile     = "env-file"
)

var (
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

	// plainVariablePattern matches what people call their variables. No key looks like that.
	plainVariablePattern = regexp.MustCompile(`^[A-Z_][A-Z0-9_]{0,63}$`)
)

// secret is the codec of a key that may hold a secret. None of its errors shows the text (config-3).
func secret(name string) codec { return secretOr(name, "the key") }

func secretOr(name, what string) codec {
	return codec{
		want:  `a string: "env:NAME", "file:PATH", "env-file:PATH#NAME" or ` + what + ` itself`,
		kinds: []nodeKind{aString},
		set: func(v *values, text string) error {
			r, err := parseReference(text)
			if err == nil {
				v.secrets[name] = r
			}
			return err
		},
		zero: func(v *values) { delete(v.secrets, name) },
	}
}

func parseReference(text string) (reference, error) {
	scheme, target, found := strings.Cut(text, ":")
	if lower := strings.ToLower(strings.TrimSpace(scheme)); found &&
		(lower == fromEnvironment || lower == fromFile || lower == fromEnvFile) {
		switch {
		case scheme != lower:
			return reference{}, fmt.Errorf("write %s: in lower case and without a space before it", lower)
		case lower == fromFile && (target == "" || strings.ContainsRune(target, 0)):
			return reference{}, errors.New("file: needs the path of a file, such as file:/run/secrets/deals")
		case lower == fromEnvironment && !variablePattern.MatchString(target):
			return reference{}, errors.New("env: needs the name of an environment variable, such as env:DEALS_API_KEY")
		case lower == fromEnvFile:
			return parseEnvFile(target)
		}
		return reference{scheme: lower, target: target}, nil
	}
	if strings.HasPrefix(text, "$") {
		return reference{}, errors.New("looks like a shell variable: write env:NAME, without a $")
	}
	if err := checkKey(text); err != nil {
		return reference{}, err
	}
	return reference{target: text}, nil
}

// parseEnvFile reads PATH#NAME. A path may have a # in it, a name may not.
func parseEnvFile(target string) (reference, error) {
	i := strings.LastIndexByte(target, '#')
	if i < 1 || strings.ContainsRune(target, 0) || !variablePattern.MatchString(target[i+1:]) {
		return reference{}, errors.New("env-file: needs the path of a file of variables and the name of one, such as env-file:/etc/dealhouse/env#DEALS_API_KEY")
	}
	return reference{scheme: fromEnvFile, target: target[:i], name: target[i+1:]}, nil
}

// checkKey says what is wrong with a key without showing it.
func checkKey(text string) error {
	const longest = 8 << 10 // what servers accept as one header
	switch {
	case text == "":
		return errors.New("is empty")
	case len(text) > longest:
		return fmt.Errorf("is longer than %d bytes: that is not an API key", longest)
	case strings.HasPrefix(strings.ToLower(text), "bearer "):
		return errors.New(`begins with "Bearer ": give the key alone`)
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return errors.New("holds a space, a line break or a character that no HTTP header may hold")
		}
	}
	return nil
}

// resolve fetches the key. loose says that others than its owner can read the file that it came from.
func (r reference) resolve(env map[string]string, read fileReader) (key Secret, loose bool, err error) {
	text := r.target
	switch r.scheme {
	case fromEnvironment:
		value, set := env[r.target]
		if !set {
			return Secret{}, false, &elsewhereError{r.variable() + " is not set"}
		}
		text = value
	case fromFile:
		data, mode, err := read(r.target)
		if err != nil {
			return Secret{}, false, unread("cannot read the key file "+quote(r.target), err)
		}
		text, loose = strings.TrimRight(string(data), "\r\n"), mode&othersRead != 0
	case fromEnvFile:
		data, mode, err := read(r.target)
		if err != nil {
			return Secret{}, false, fmt.Errorf("cannot read the file of variables %s: %s", quote(r.target), reason(err))
		}
		value, set := variableIn(string(data), r.name)
		if !set {
			return Secret{}, false, fmt.Errorf("%s does not set the variable", r.place())
		}
		text, loose = value, mode&othersRead != 0
	}
	if err := checkKey(text); err != nil {
		return Secret{}, false, fmt.Errorf("the key in %s %w", r.place(), err)
	}
	key = NewSecret(text)
	if r.scheme == fromFile || r.scheme == fromEnvFile {
		key.from = r.scheme + ":" + r.target
		if r.name != "" {
			key.from += "#" + r.name
		}
		key.again = &origin{func() (Secret, error) {
			again, _, err := r.resolve(nil, read)
			return again, err
		}}
	}
	return key, loose, nil
}

// variableIn finds the last line that sets a variable in a file of them, as systemd, docker and shells read it:
// NAME=value, with or without export before it, and with or without quotes around the value. Everything between the
// quotes is the value.
func variableIn(text, name string) (value string, set bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		found, rest, is := strings.Cut(line, "=")
		if !is || strings.TrimSpace(found) != name {
			continue
		}
		rest = strings.TrimSpace(rest)
		if n := len(rest); n > 1 && (rest[0] == '"' || rest[0] == '\'') && rest[n-1] == rest[0] {
			rest = rest[1 : n-1]
		}
		value, set = rest, true
	}
	return value, set
}

// elsewhereError says that a secret is not on this machine, or that this user may not read it: it may exist where the
// configuration is used.
type elsewhereError struct{ text string }

func (e *elsewhereError) Error() string { return e.text }

// unread is the error of a file that could not be read.
func unread(what string, err error) error {
	text := what + ": " + reason(err)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return &elsewhereError{text}
	}
	return errors.New(text)
}

// othersRead is the permission bit that lets everybody read a key file.
const othersRead fs.FileMode = 0o004

// variable names the environment variable, unless it looks more like a key that was written after env: by mistake.
func (r reference) variable() string {
	name := r.target
	if r.scheme == fromEnvFile {
		name = r.name
	}
	if !plainVariablePattern.MatchString(name) {
		return "the environment variable it names"
	}
	return "environment variable " + name
}

func (r reference) place() string {
	switch r.scheme {
	case fromEnvironment:
		return r.variable()
	case fromFile:
		return "the file " + quote(r.target)
	case fromEnvFile:
		return "the file " + quote(r.target) + " (" + r.variable() + ")"
	default:
		return "api_key"
	}
}

// reason returns the part of a file error that does not repeat the path.
func reason(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}

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
