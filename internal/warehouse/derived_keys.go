package warehouse

import (
	"dealhouse/internal/catalog"
)

// A stream that is ordered by a time has two more derived tables, so that the cost of a run depends on what it changes.
// One has the stream's keys, with what a comparison needs of each row. The other has the number of its live rows.

// keysTable returns the name of the table of the keys of a stream, or "" if _latest itself is ordered by key.
func keysTable(s *catalog.Stream) string {
	if s.OrderedBy == "" {
		return ""
	}
	return s.Name + "_keys"
}

// liveTable returns the name of the table that has the number of live rows of each account.
func liveTable(s *catalog.Stream) string { return s.Name + "_live" }

// keysOf returns the table of the keys of a stream. Its granules are small, since a run looks up single
// keys all over it.
func keysOf(s *catalog.Stream) derived {
	columns := []column{accountColumn}
	columns = append(columns, keyColumns(s)...)
	f := s.Fields[s.OrderField()]
	columns = append(columns, column{f.Column, f.ColumnType(), "Where the row is in " + latestTable(s)},
		column{"_hash", "FixedString(16)", "As in " + latestTable(s)},
		column{"_version", "UInt128", "As in " + latestTable(s)},
		column{"_deleted", "UInt8", "As in " + latestTable(s) + "; 0 or 1"},
		column{"_ahead", "Int64", "updatedAt less the time in the version, in milliseconds; nearly always 0, also when there is no updatedAt"})
	insert := func(x script, into, from string) []string {
		return []string{x.render(`INSERT INTO $into ($columns)
SELECT account, $key, $ordered_by, _hash, _version, _deleted, $ahead
FROM $from`, parts{"into": into, "columns": joinNames(columns), "ordered_by": s.OrderedBy, "ahead": updatedAhead(s),
			"from": from})}
	}
	return derived{
		table: keysTable(s), once: true,
		create: createTable(keysTable(s), columns, "ReplacingMergeTree(_version)",
			"(account, "+keyNames(s)+")\nSETTINGS index_granularity = 512",
			"Storage beside "+latestTable(s)+": what a run compares its rows with"),
		fill: func(x script, delta string, _ bool) []string { return insert(x, delta, x.names["delta"]) },
		rebuild: func(x script, into string) []string {
			return insert(x, into, x.render("$latest FINAL\nWHERE account = {account:String} AND _deleted != $moved",
				parts{"moved": markedMoved}))
		},
	}
}

// upstreamTime is the time at which a row changed upstream, taken from its version, in milliseconds. updatedAhead
// returns by how much its updatedAt differs from that.
const upstreamTime = "toInt64(bitShiftRight(_version, 64))"

func updatedAhead(s *catalog.Stream) string {
	i := s.VersionField()
	if i < 0 {
		return "0"
	}
	return sql("ifNull(greatest(toUnixTimestamp64Milli($updated), 0) - $time, 0)",
		parts{"updated": s.Fields[i].Column, "time": upstreamTime})
}

// liveOf returns the table of the number of live rows of each account.
func liveOf(s *catalog.Stream) derived {
	columns := []column{accountColumn,
		{"live", "Int64", "Rows that are not deleted [count]"},
		{"version", "UInt64", "The highest wins"}}
	return derived{
		table: liveTable(s),
		create: createTable(liveTable(s), columns, "ReplacingMergeTree(version)", "account",
			"Storage beside "+latestTable(s)+": how many rows readers see"),
		fill: func(x script, delta string, _ bool) []string {
			return []string{x.render(`INSERT INTO $into (account, live, version)
SELECT {account:String},
    sum(live) + (SELECT toInt64(countIf(_deleted = 0)) FROM $delta) - (SELECT toInt64(countIf($live_before)) FROM $changes),
    max(version) + 1
FROM $live FINAL
WHERE account = {account:String}`, parts{"into": delta, "live_before": isLive, "live": liveTable(s)})}
		},
		rebuild: func(x script, into string) []string {
			return []string{x.render(`INSERT INTO $into (account, live, version)
SELECT account, count(), 1
FROM $latest FINAL
WHERE account = {account:String} AND _deleted = 0
GROUP BY account`, parts{"into": into})}
		},
		touched: func(_ script, c Changes) []string {
			if c.Inserted+c.Deleted == 0 {
				return nil
			}
			return []string{"count()"}
		},
		nothing: "live = 0",
	}
}

// countLive counts the rows that readers see. By default it reads the count that is stored, by the last run that
// changed it. If exact is set, it counts the rows again, which a run that compares everything can afford.
func (x script) countLive(exact bool) string {
	switch {
	case x.Stream.OrderedBy == "":
		return x.render("SELECT count() FROM $latest FINAL WHERE account = {account:String} AND _deleted = 0", nil)
	case exact:
		return x.render("SELECT count() FROM $current FINAL WHERE account = {account:String} AND _deleted = 0", nil)
	}
	return x.render("SELECT toUInt64(sum(live)) FROM $live FINAL WHERE account = {account:String}",
		parts{"live": liveTable(x.Stream)})
}
