package syncer

import (
	"errors"
	"fmt"
	"testing"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// Each kind of error of the API is of a cause, wrapped or not. What is none of them is of the warehouse.
func TestCauseOfErrors(t *testing.T) {
	t.Parallel()
	const origin = "https://api.example.com:443"
	for kind := dealapi.KindAuth; kind.String() != "none"; kind++ {
		if got := cause(fmt.Errorf("reading: %w", &dealapi.Error{Kind: kind}), origin); got == "warehouse" {
			t.Errorf("%s is of no cause", kind)
		}
	}
	for want, err := range map[string]error{
		"service " + origin: &dealapi.Error{Kind: dealapi.KindTimeout}, "key": &dealapi.Error{Kind: dealapi.KindAuth},
		"guard": &GuardError{}, "time": &DeadlineError{}, "list": errors.Join(&IncompleteError{}, errors.New("beside it")),
		"program": &PanicError{}, "warehouse": &warehouse.LagError{},
	} {
		if got := cause(err, origin); got != want {
			t.Errorf("%T is of %s, want %s", err, got, want)
		}
	}
}
