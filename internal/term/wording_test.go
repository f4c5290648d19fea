package term

import (
	"testing"
	"time"
)

func TestWording(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, test := range []struct{ got, want string }{
		{Count(1234567), "1,234,567"},
		{Count(999), "999"},
		{Grouped("-1234567.891"), "-1,234,567.891"},
		{Grouped("999"), "999"},
		{Grouped("1000"), "1,000"},
		{Spaced("no_longer_listed"), "no longer listed"},
		{Plural(1, "row"), "1 row"},
		{Plural(0, "row"), "0 rows"},
		{Plural(1000, "row"), "1,000 rows"},
		{Size(0), "0 B"},
		{Size(999), "999 B"},
		{Size(1000), "1.0 KiB"},
		{Size(1234), "1.2 KiB"},
		{Size(3_400_000), "3.2 MiB"},
		{Size(178 << 20), "178 MiB"},
		{Size(5_000_000_000), "4.7 GiB"},
		{Size(3000 << 40), "3000 TiB"},
		{List(nil), ""},
		{List([]string{"a"}), "a"},
		{List([]string{"a", "b"}), "a and b"},
		{List([]string{"a", "b", "c"}), "a, b and c"},
		{Span(-time.Second), "0 ms"},
		{Span(1500 * time.Millisecond), "1.5 s"},
		{Span(125 * time.Second), "2 min 5 s"},
		{Span(125 * time.Minute), "2 h 5 min"},
		{Span(2*day - 1), "47 h 59 min"},
		{Span(2*day + 5*time.Hour), "2 days 5 h"},
		{Short(0), "0 s"},
		{Short(80 * time.Hour), "3 days"},
		{Short(47 * time.Hour), "47 h"},
		{Long(0), "under a second"},
		{Long(time.Second), "1 second"},
		{Long(2 * day), "2 days"},
		{Sentence("it is paid"), "It is paid."},
		{Sentence("total_gmv is 2 and not 1."), "total_gmv is 2 and not 1."},
		{Ago(0, Short), "just now"},
		{Ago(4*time.Minute+50*time.Second, Short), "4 min ago"},
		{Ago(time.Hour-1, Long), "59 minutes ago"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
