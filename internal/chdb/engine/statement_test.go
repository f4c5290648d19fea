package engine

import (
	"errors"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestParseStatement(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]Statement{
		"SELECT 1":                           {verb: "SELECT"},
		"/* a */ -- b\n(with x as (select 1": {verb: "WITH"},
		"SELECT 'FORMAT CSV' FORMAT JSON":    {verb: "SELECT", format: "JSON"},
		"SELECT 1 AS format FORMAT TSV;":     {verb: "SELECT", format: "TSV"},
		"SELECT 1 SETTINGS a = 1, max_execution_time= '0.5' ,timeout_overflow_mode='break' FORMAT TSV": {verb: "SELECT",
			format: "TSV", timeLimit: "0.5", timeOverflow: "break"},
		"SELECT max_execution_time = 5 FROM (SELECT 1 SETTINGS max_execution_time = 7)": {verb: "SELECT"},
		"SELECT 1 FORMAT CSV SETTINGS max_execution_time=2;":                            {verb: "SELECT", format: "CSV", timeLimit: "2"},
		"SELECT $x$ FORMAT A $x$ format `B`":                                            {verb: "SELECT"},
		"SELECT (1 FORMAT A)":                                                           {verb: "SELECT"},
		"create temporary table x (a Int8)":                                             {verb: "CREATE", temporary: true},
		"INSERT INTO t SELECT 1 FORMAT x":                                               {verb: "INSERT"},
		"INSERT INTO t (`format`, b) SELECT 1":                                          {verb: "INSERT"},
		"insert into t (a) format Native":                                               {verb: "INSERT", Insert: true, format: "Native", Head: "insert into t (a)"},
		"INSERT INTO t FORMAT CSV\n1,2\n": {verb: "INSERT", Insert: true, format: "CSV", Head: "INSERT INTO t",
			data: "1,2\n", dataAny: true},
		"INSERT INTO t FORMAT TSV\r\n\t1\n": {verb: "INSERT", Insert: true, format: "TSV", Head: "INSERT INTO t",
			data: "\t1\n", dataAny: true},
		"INSERT INTO t VALUES (1), ('FORMAT x')": {verb: "INSERT", Insert: true, values: true, format: "Values",
			Head: "INSERT INTO t", data: "(1), ('FORMAT x')", dataAny: true},
		"INSERT INTO t VALUES ;": {verb: "INSERT", Insert: true, values: true, format: "Values",
			Head: "INSERT INTO t", data: ";"},
		"INSERT INTO t SETTINGS a = 1 FORMAT X": {verb: "INSERT", Insert: true, format: "X",
			Head: "INSERT INTO t SETTINGS a = 1"},
		"INSERT INTO t FORMAT":               {verb: "INSERT"},
		"":                                   {},
		"'":                                  {verb: "'"},
		"SELECT '\\":                         {verb: "SELECT"},
		"SELECT /* never closed":             {verb: "SELECT"},
		"SELECT $a$ never closed FORMAT CSV": {verb: "SELECT", format: "CSV"},
		"-- only a comment":                  {},
	} {
		if diff := cmp.Diff(want, ParseStatement(sql), cmp.AllowUnexported(Statement{})); diff != "" {
			t.Errorf("%q: -want +got: %s", sql, diff)
		}
	}
}

func FuzzParseStatement(f *testing.F) {
	for _, s := range []string{"INSERT INTO t FORMAT CSV 1", "SELECT '\\'' -- x\n FORMAT y", "$a$ $a$ /* */ `", "(((",
		"insert $"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		st := ParseStatement(sql)
		if len(st.Head)+len(st.data) > len(sql) {
			t.Errorf("%q grew: %+v", sql, st)
		}
	})
}

// TestFill: a truncated body is not taken for a complete one (chdb-5).
func TestFill(t *testing.T) {
	t.Parallel()
	buf := make([]byte, 8)
	if n, err := Fill(iotest.DataErrReader(iotest.ErrReader(iotest.ErrTimeout)), buf); n != 0 ||
		!errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %d %v", n, err)
	}
}
