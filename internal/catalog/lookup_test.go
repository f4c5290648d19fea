package catalog

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	if s, err := Find("coupons"); err != nil || s.Name != "coupons" {
		t.Errorf("%v, %v", s, err)
	}
	names := Names()
	last := len(names) - 1
	want := `there is no stream "coupon": the streams are ` + strings.Join(names[:last], ", ") + " and " + names[last]
	if _, err := Find("coupon"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
