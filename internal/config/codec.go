package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// codec is the type of a key: which nodes it takes, and how their text becomes a value in its place.
type codec struct {
	want  string     // completes "must be ..."
	kinds []nodeKind // besides fromEnv
	set   func(v *values, text string) error
	zero  func(v *values) // forgets the value
}

func (c codec) takes(k nodeKind) bool { return k == fromEnv || slices.Contains(c.kinds, k) }

// of makes the codec of a type out of its parser and the place of the value.
func of[T any](want string, kinds []nodeKind, field func(*values) *T, parse func(string) (T, error)) codec {
	set := func(v *values, text string) error {
		value, err := parse(text)
		if err == nil {
			*field(v) = value
		}
		return err
	}
	return codec{want, kinds, set, func(v *values) { *field(v) = *new(T) }}
}

// checked is a string that one function accepts or refuses.
func checked(want string, field func(*values) *string, check func(string) error) codec {
	return of("a string: "+want, []nodeKind{aString}, field, func(s string) (string, error) {
		return s, check(s)
	})
}

func boolean(field func(*values) *bool) codec {
	return of("true or false, without quotes", []nodeKind{aBool}, field, func(s string) (bool, error) {
		switch s {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, fmt.Errorf("must be true or false, not %s", quote(s))
	})
}

// number is a float in (0, most] or, withZero, in [0, most].
func number(field func(*values) *float64, most float64, withZero bool) codec {
	low := "above 0"
	if withZero {
		low = "from 0"
	}
	want := fmt.Sprintf("a number %s to %g, without quotes", low, most)
	return of(want, []nodeKind{anInteger, aFloat}, field, func(s string) (float64, error) {
		f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
		if err != nil {
			// A hexadecimal, octal or binary integer.
			i, intErr := strconv.ParseInt(s, 0, 64)
			f, err = float64(i), intErr
		}
		if err != nil || math.IsNaN(f) || f < 0 || f > most || (f == 0 && !withZero) {
			return 0, fmt.Errorf("must be %s; %s is not", want, quote(s))
		}
		return f, nil
	})
}

func integer(field func(*values) *int, least, most int64) codec {
	want := fmt.Sprintf("an integer from %d to %d, without quotes", least, most)
	return of(want, []nodeKind{anInteger}, field, func(s string) (int, error) {
		i, err := strconv.ParseInt(s, 0, 64)
		if err != nil || i < least || i > most {
			return 0, fmt.Errorf("must be %s; %s is not", want, quote(s))
		}
		return int(i), nil
	})
}

func duration(field func(*values) *time.Duration, least, most time.Duration) codec {
	want := `a duration with its unit, in quotes, such as "30s", "10m" or "24h"`
	return of(want, []nodeKind{aString}, field, func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%s is not a duration%s", quote(s), durationHint(s))
		case d < least || d > most:
			return 0, fmt.Errorf("must be from %s to %s; %s is not", short(least), short(most), quote(s))
		}
		return d, nil
	})
}

// durations takes several durations in one string, with spaces between; an empty string has none.
func durations(field func(*values) *[]time.Duration, least, most time.Duration) codec {
	want := `durations with their units in one string, such as "1m 5m 30m"`
	return of(want, []nodeKind{aString}, field, func(s string) (all []time.Duration, err error) {
		one := duration(func(*values) *time.Duration { all = append(all, 0); return &all[len(all)-1] }, least, most)
		for _, word := range strings.Fields(s) {
			if err := one.set(nil, word); err != nil {
				return nil, err
			}
		}
		return all, nil
	})
}

// amounts takes an amount for each currency, in its smallest unit, with spaces between; an empty string has none.
func amounts(field func(*values) *map[string]int64) codec {
	want := `amounts in the smallest units of their currencies in one string, such as "EUR=5 JPY=1"`
	return of(want, []nodeKind{aString}, field, func(s string) (all map[string]int64, err error) {
		for _, word := range strings.Fields(s) {
			currency, text, _ := strings.Cut(word, "=")
			n, err := strconv.ParseInt(text, 10, 64)
			code := len(currency) == 3 && strings.Trim(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
			if _, twice := all[currency]; err != nil || n < 0 || n > 1_000_000 || !code || twice {
				return nil, fmt.Errorf("must be %s, each currency once and with 0 to 1000000 units; %s is not", want,
					quote(word))
			}
			if all == nil {
				all = map[string]int64{}
			}
			all[currency] = n
		}
		return all, nil
	})
}

func durationHint(s string) string {
	if days, err := strconv.ParseUint(strings.TrimSuffix(s, "d"), 10, 16); err == nil {
		if strings.HasSuffix(s, "d") {
			return fmt.Sprintf(": days have no unit of their own, write \"%dh\"", days*24)
		}
		return fmt.Sprintf(": it lacks a unit, write \"%ds\" for seconds", days)
	}
	return `: write a number with its unit, such as "30s", "10m" or "24h"`
}

// short is a duration without the zeros that String adds: 24h, not 24h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func size(field func(*values) *int64, least, most int64) codec {
	want := `a size such as "256MiB", or a number of bytes`
	return of(want, []nodeKind{aString, anInteger}, field, func(s string) (int64, error) {
		n, err := parseSize(s)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%s is not a size: write a number of bytes, or one with a unit such as \"256MiB\"",
				quote(s))
		case n < least || n > most:
			return 0, fmt.Errorf("must be from %d to %d bytes; %s is not", least, most, quote(s))
		}
		return n, nil
	})
}

func parseSize(s string) (int64, error) {
	units := []struct {
		suffix string
		bytes  int64
	}{
		{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30},
		{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"b", 1},
	}
	digits, unit := strings.ToLower(strings.TrimSpace(s)), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(digits, u.suffix); ok && !strings.HasPrefix(digits, "0x") {
			digits, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 0, 64)
	if err != nil {
		return 0, err
	}
	if n > math.MaxInt64/unit || n < 0 {
		return 0, errors.New("out of range")
	}
	return n * unit, nil
}

func moment(field func(*values) *time.Time) codec {
	want := `a time in RFC 3339, such as "2024-01-01T00:00:00Z"`
	return of(want, []nodeKind{aString, aTime}, field, func(s string) (time.Time, error) {
		// TOML allows a space for the T.
		t, err := time.Parse(time.RFC3339, strings.ToUpper(strings.Replace(s, " ", "T", 1)))
		if err != nil {
			return time.Time{}, fmt.Errorf("must be %s; %s is not", want, quote(s))
		}
		const epoch = 1970 // ClickHouse's DateTime64 and any sale begin later
		if t.UTC().Year() < epoch {
			return time.Time{}, fmt.Errorf("must not be before %d; %s is", epoch, quote(s))
		}
		return t.UTC(), nil
	})
}

// quote shows a value that is no secret, and not more of it than helps.
func quote(s string) string {
	const enough = 60
	if runes := []rune(s); len(runes) > enough {
		return strconv.Quote(string(runes[:enough])) + "..."
	}
	return strconv.Quote(s)
}
