package exception

import "testing"

func TestParseException(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		code           int32
		name, message  string
		exceptionClass string
	}{
		"Code: 60. DB::Exception: Table x (y) does not exist. (UNKNOWN_TABLE)": {60, "UNKNOWN_TABLE",
			"Table x (y) does not exist.", "DB::Exception"},
		"Code: 27. DB::Exception: Cannot parse: (at row 1)": {27, "", "Cannot parse: (at row 1)",
			"DB::Exception"},
		"send_insert requires an INSERT query": {1002, "UNKNOWN_EXCEPTION",
			"send_insert requires an INSERT query", "DB::Exception"},
		"Code: x. ": {1002, "UNKNOWN_EXCEPTION", "Code: x. ",
			"DB::Exception"},
	} {
		e := Parse(text)
		if e.Code != want.code || e.CodeName != want.name || e.Message != want.message || e.Name != want.exceptionClass {
			t.Errorf("%q: got %+v", text, e)
		}
	}
}
