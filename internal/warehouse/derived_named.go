package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

// namedTable is the table of the records that the rows of a stream name.
func namedTable(s *catalog.Stream) string { return s.Name + "_named" }

// namedBy returns the table of the records of other streams that the rows of a stream name: a few thousand, of millions
// of rows. A record is in it if any version of a row named it. A run fills it without reading what is stored: if two
// rows name one record, the latest updatedAt and the earliest time of loading are kept.
func namedBy(s *catalog.Stream) derived {
	return derived{
		table: namedTable(s),
		create: sqlFile("create_named",
			parts{"table": namedTable(s), "stream": s.Name}),
		fill: func(x script, delta string, first bool) []string {
			if first {
				return []string{insertNamed(x.Stream, delta, x.names["delta"], "{run:UUID}", "")}
			}
			return []string{x.insertNamedOnce(delta)}
		},
		rebuild: func(x script, into string) []string {
			return []string{insertNamed(x.Stream, into, x.names["versions"], "any(_run_id)",
				"account = {account:String} AND ")}
		},
	}
}

// insertNamed collects the records that the rows of a table name. Parameter: account.
func insertNamed(s *catalog.Stream, into, from, run, condition string) string {
	var each []string
	for _, f := range s.References() {
		each = append(each, sql(`SELECT {account:String}, $to, toString(assumeNotNull($named)), max($updated), min(synced_at), $run
FROM $from WHERE $condition$named IS NOT NULL GROUP BY $named`, parts{
			"to": quote(f.RefersTo), "named": f.Column, "updated": s.Fields[s.VersionField()].Column,
			"run": run, "from": from,
			"condition": condition,
		}))
	}
	return sql("INSERT INTO $into (account, stream, key, newest, named_at, _run_id)\n$each",
		parts{"into": into, "each": strings.Join(each, "\nUNION ALL\n")})
}

// insertNamedOnce does the same as insertNamed for a run after the first. It reads the delta once, and is planned in
// half the time. With many rows it takes longer, since it compares keys as texts.
func (x script) insertNamedOnce(into string) string {
	s := x.Stream
	var each []string
	for _, f := range s.References() {
		each = append(each, "("+quote(f.RefersTo)+", toString("+f.Column+"))")
	}
	return x.render(`INSERT INTO $into (account, stream, key, newest, named_at, _run_id)
SELECT {account:String}, named.1, assumeNotNull(named.2), max($updated), min(synced_at), {run:UUID}
FROM $delta
ARRAY JOIN [$each] AS named
WHERE named.2 IS NOT NULL
GROUP BY named`, parts{
		"into": into, "updated": s.Fields[s.VersionField()].Column, "each": strings.Join(each, ", "),
	})
}
