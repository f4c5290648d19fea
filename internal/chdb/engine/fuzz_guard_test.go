package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"dealhouse/internal/enginetest"
)

// pieces are the parts of which FuzzGuard composes statements. A name in braces, such as {X}, is replaced
// by a piece of that kind.
var pieces = map[string][]string{
	"STATEMENT": {
		"SELECT {X}", "WITH {X} AS a SELECT {X}, a", "SELECT * FROM {T}", "SELECT {X} FROM {T} WHERE {X} IN {T}",
		"SELECT * APPLY({F}) FROM (SELECT {S})",
		"SELECT * REPLACE({X} AS a) FROM (SELECT {S} AS a)", "EXPLAIN SYNTAX SELECT {X}", "DESCRIBE (SELECT {X})",
		"SHOW TABLES WHERE {X} = ''",
		"CREATE VIEW fuzz_{N} AS SELECT {X} AS x ;;; SELECT * FROM fuzz_{N}",
		"CREATE FUNCTION fuzz_{N} AS (x) -> {X} ;;; SELECT fuzz_{N}({S})",
		"CREATE TABLE fuzz_{N} (a String, b String {D} {X}) ENGINE = Memory ;;; INSERT INTO fuzz_{N} (a) VALUES ({X}) ;;; SELECT b FROM fuzz_{N}",
		"INSERT INTO fuzz_w VALUES ({X})", "SELECT {X} SETTINGS {Z} = {S}", "SELECT a FROM {T} ARRAY JOIN [{X}] AS a",
		"(SELECT {X}) UNION ALL (SELECT {X})",
	},
	"X": {
		"{F}({S})", "arrayMap({F}, [{S}])", "arrayMap(x -> {F}(x), [{S}])", "(SELECT {X})", "[{X}]", "toString({X})",
		"concat({S}, {X})", "{P}",
		"toTimeZone(now(), {S})", "CAST({S}, {S})", "if(1, {X}, '')", "arrayMap({P}, [{S}])", "{S}", "x",
	},
	"F": {"file", "FILE", "`file`", "\"file\"", "`fil\\x65`", "f/**/ile", "file/**/", "{P}", "upper", "hostName",
		"reverse", "format", "joinGet", "dictGet"},
	"T": {
		"{T0}({S})", "{T0}({S}, {S})", "{T0}('a String, b String ALIAS file({Q}{FILE}{Q})', ('x'))", "(SELECT {X} AS a)",
		"system.processes", "`{FILE}`",
		"numbers(2)", "{T0}(concat('a String, b String AL', 'IAS fi', 'le({Q}{FILE}{Q})'))", "fuzz_w",
	},
	"T0": {"values", "format", "generateRandom", "file", "null", "input", "url", "merge", "executable", "VALUES",
		"`values`", "eval", "loop", "view"},
	"S": {"'{FILE}'", "'/proc/self/environ'", "'fi' || 'le'", "'DateTime({Q}x{Q})'", "$a${FILE}$a$", "'LineAsString'",
		"concat('{DIR}', '/secret')", "{X}"},
	"P": {"{p:String}", "{f:Identifier}", "{f : Identifier}", "{f:/**/Identifier}"},
	"D": {"DEFAULT", "ALIAS", "MATERIALIZED", "EPHEMERAL"},
	"Z": {"additional_result_filter", "parallel_replicas_custom_key", "max_threads", "readonly", "format_schema"},
}

// compose makes a statement. The same seed gives the same statement.
func compose(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	s := "{STATEMENT}"
	for range 40 {
		open := -1
		var name string
		for i := range len(s) {
			if end := strings.IndexByte(s[i:], '}'); s[i] == '{' && end > 0 && pieces[s[i+1:i+end]] != nil {
				open, name = i, s[i+1:i+end]
				break
			}
		}
		if open < 0 {
			break
		}
		choice := pieces[name][r.IntN(len(pieces[name]))]
		s = s[:open] + choice + s[open+len(name)+2:]
	}
	for name := range pieces { // ends what is nested too deeply
		s = strings.ReplaceAll(s, "{"+name+"}", "'{FILE}'")
	}
	return strings.NewReplacer("{Q}", `\'`, "{N}", fmt.Sprint(seed)).Replace(s)
}

// FuzzGuard looks for the canary in the answers to composed statements.
func FuzzGuard(f *testing.F) {
	for seed := range uint64(enginetest.Sample(100, 300)) {
		f.Add(seed)
	}
	c := newCanary(f)
	admin := connect(f)
	execute(f, admin, "CREATE DATABASE IF NOT EXISTS t"+attackDatabase)
	execute(f, admin, "CREATE TABLE IF NOT EXISTS t"+attackDatabase+".fuzz_w (a String) ENGINE = MergeTree ORDER BY a")
	f.Cleanup(func() {
		for _, name := range columnOf(f, admin, "SELECT name FROM system.functions WHERE origin = 'SQLUserDefined'") {
			execute(f, admin, "DROP FUNCTION IF EXISTS "+name)
		}
		execute(f, admin, "DROP DATABASE t"+attackDatabase+" SYNC")
	})
	ways := waysIn(f)
	f.Fuzz(func(t *testing.T, seed uint64) {
		a := attack{steps: strings.Split(compose(seed), " ;;; "), v: url.Values{"param_f": {"file"}, "param_p": {c.file}}}
		if _, report := a.run(context.Background(), ways[seed%uint64(len(ways))], c); report != "" {
			t.Error(report)
		}
		if c.accepted.Load() != 0 {
			t.Error("the engine connected")
		}
	})
}
