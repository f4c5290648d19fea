//go:build !noengine && (linux || darwin)

package chdb

import (
	"errors"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestParseStatement(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]statement{
		"SELECT 1":                               {verb: "SELECT"},
		"/* a */ -- b\n(with x as (select 1":     {verb: "WITH"},
		"SELECT 'FORMAT CSV' FORMAT JSON":        {verb: "SELECT", format: "JSON"},
		"SELECT 1 AS format FORMAT TSV;":         {verb: "SELECT", format: "TSV"},
		"SELECT $x$ FORMAT A $x$ format `B`":     {verb: "SELECT"},
		"SELECT (1 FORMAT A)":                    {verb: "SELECT"},
		"create temporary table x (a Int8)":      {verb: "CREATE", temporary: true},
		"INSERT INTO t SELECT 1 FORMAT x":        {verb: "INSERT"},
		"INSERT INTO t (`format`, b) SELECT 1":   {verb: "INSERT"},
		"insert into t (a) format Native":        {verb: "INSERT", insert: true, format: "Native", head: "insert into t (a)"},
		"INSERT INTO t FORMAT CSV\n1,2\n":        {verb: "INSERT", insert: true, format: "CSV", head: "INSERT INTO t", data: "1,2\n", dataAny: true},
		"INSERT INTO t FORMAT TSV\r\n\t1\n":      {verb: "INSERT", insert: true, format: "TSV", head: "INSERT INTO t", data: "\t1\n", dataAny: true},
		"INSERT INTO t VALUES (1), ('FORMAT x')": {verb: "INSERT", insert: true, values: true, format: "Values", head: "INSERT INTO t", data: "(1), ('FORMAT x')", dataAny: true},
		"INSERT INTO t VALUES ;":                 {verb: "INSERT", insert: true, values: true, format: "Values", head: "INSERT INTO t", data: ";"},
		"INSERT INTO t SETTINGS a = 1 FORMAT X":  {verb: "INSERT", insert: true, format: "X", head: "INSERT INTO t SETTINGS a = 1"},
		"INSERT INTO t FORMAT":                   {verb: "INSERT"},
		"":                                       {},
		"'":                                      {verb: "'"},
		"SELECT '\\":                             {verb: "SELECT"},
		"SELECT /* never closed":                 {verb: "SELECT"},
		"SELECT $a$ never closed FORMAT CSV":     {verb: "SELECT", format: "CSV"},
		"-- only a comment":                      {},
	} {
		if diff := cmp.Diff(want, parseStatement(sql), cmp.AllowUnexported(statement{})); diff != "" {
			t.Errorf("%q: -want +got: %s", sql, diff)
		}
	}
}

func FuzzParseStatement(f *testing.F) {
	for _, s := range []string{"INSERT INTO t FORMAT CSV 1", "SELECT '\\'' -- x\n FORMAT y", "$a$ $a$ /* */ `", "(((", "insert $"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		st := parseStatement(sql)
		if len(st.head)+len(st.data) > len(sql) {
			t.Errorf("%q grew: %+v", sql, st)
		}
	})
}

func TestSettingsDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have, want map[string]string
		sql        string
	}{
		{nil, nil, ""},
		{map[string]string{"a": "1"}, map[string]string{"a": "1"}, ""},
		{map[string]string{"a": "1", "b": "2"}, map[string]string{"b": "3", "c": `it's \`}, `SET a = DEFAULT, b = '3', c = 'it\'s \\'`},
	} {
		if got := settingsDiff(c.have, c.want); got != c.sql {
			t.Errorf("got %s, want %s", got, c.sql)
		}
	}
}

func TestParseException(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		code           int32
		name, message  string
		exceptionClass string
	}{
		"Code: 60. DB::Exception: Table x (y) does not exist. (UNKNOWN_TABLE)": {60, "UNKNOWN_TABLE", "Table x (y) does not exist.", "DB::Exception"},
		"Code: 27. DB::Exception: Cannot parse: (at row 1)":                    {27, "", "Cannot parse: (at row 1)", "DB::Exception"},
		"send_insert requires an INSERT query":                                 {1002, "UNKNOWN_EXCEPTION", "send_insert requires an INSERT query", "DB::Exception"},
		"Code: x. ":                                                            {1002, "UNKNOWN_EXCEPTION", "Code: x. ", "DB::Exception"},
	} {
		e := parseException(text)
		if e.Code != want.code || e.CodeName != want.name || e.Message != want.message || e.Name != want.exceptionClass {
			t.Errorf("%q: got %+v", text, e)
		}
	}
}

// TestFill: a truncated body is not the end of one (chdb-5).
func TestFill(t *testing.T) {
	t.Parallel()
	buf := make([]byte, 8)
	if n, err := fill(iotest.DataErrReader(failingReader{iotest.ErrTimeout}), buf); n != 0 || !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %d %v", n, err)
	}
}
