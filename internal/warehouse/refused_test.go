package warehouse

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Each kind of refusal is recognized by its code, also inside other errors.
func TestRefusals(t *testing.T) {
	t.Parallel()
	type kinds struct{ auth, denied, readOnly, setting, missing bool }
	of := func(err error) kinds {
		return kinds{IsAuth(err), IsDenied(err), IsReadOnly(err), IsSettingRefused(err), IsMissing(err)}
	}
	for code, want := range map[int32]kinds{
		497: {auth: true, denied: true}, 516: {auth: true}, 193: {auth: true}, 164: {readOnly: true, setting: true},
		452: {setting: true}, 60: {missing: true}, 81: {missing: true}, 62: {},
	} {
		err := fmt.Errorf("asking: %w", &clickhouse.Exception{Code: code})
		if got := of(err); got != want {
			t.Errorf("code %d: %+v, want %+v", code, got, want)
		}
	}
	if got := of(&clickhouse.HTTPError{StatusCode: http.StatusUnauthorized}); got != (kinds{auth: true}) {
		t.Errorf("HTTP 401: %+v", got)
	}
	for _, err := range []error{nil, errors.New("code: 497")} {
		if got := of(err); got != (kinds{}) {
			t.Errorf("%v: %+v", err, got)
		}
	}
}
