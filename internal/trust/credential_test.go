package trust

import "testing"

func TestMatches(t *testing.T) {
	t.Parallel()
	ops := Login{"ops", "secret"}
	for _, test := range []struct {
		given Login
		want  bool
	}{
		{Login{"ops", "secret"}, true},
		{Login{"ops", "Secret"}, false},
		{Login{"ops", ""}, false},
		{Login{"", "secret"}, false},
		{Login{"ops", "secret "}, false},
		{Login{"secret", "ops"}, false},
		{Login{"opss", "ecret"}, false},
		{Login{}, false},
	} {
		if got := ops.Matches(test.given); got != test.want {
			t.Errorf("%+v: %v, want %v", test.given, got, test.want)
		}
	}
}
