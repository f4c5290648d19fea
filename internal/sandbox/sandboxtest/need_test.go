package sandboxtest

import (
	"fmt"
	"strings"
	"testing"
)

// verdict is a test that records what happens to it.
type verdict struct {
	testing.TB
	skipped, failed string
}

func (v *verdict) Helper()                           {}
func (v *verdict) Skip(args ...any)                  { v.skipped = fmt.Sprint(args...) }
func (v *verdict) Fatalf(format string, args ...any) { v.failed = fmt.Sprintf(format, args...) }

func TestNeed(t *testing.T) {
	for _, test := range []struct {
		required string
		missing  []string
		skipped  bool
		failed   bool
	}{
		{"", nil, false, false},
		{"1", nil, false, false},
		{"", []string{"files"}, true, false},
		{"1", []string{"files"}, false, true},
	} {
		t.Setenv(Required, test.required)
		v := verdict{TB: t}
		// What comes after Fatalf runs here, unlike in a test.
		Need(&v, test.missing)
		if v.failed != "" {
			v.skipped = ""
		}
		if (v.skipped != "") != test.skipped || (v.failed != "") != test.failed || len(test.missing) > 0 &&
			!strings.Contains(v.skipped+v.failed, "files") {
			t.Errorf("%+v: %+v", test, v)
		}
	}
}
