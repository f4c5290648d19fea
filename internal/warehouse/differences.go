package warehouse

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Difference is a record of which the warehouse has something else than the service.
type Difference struct {
	Account, Stream string
	Key             string
	Kind            string    // one of the kinds below
	Fields          []string  // columns that differ, of DifferenceChanged and DifferenceWrong
	Stored, Read    time.Time // updatedAt in the warehouse and at the service; zero: there is none
}

// Differences are those of a stream.
type Differences struct {
	Named       []Difference // faults first
	Faults, All uint64       // how many there are, named or not
}

// Kinds of differences. The first three are no faults: the next run brings them.
const (
	DifferenceChanged = "changed" // the service has a later updatedAt, or none, and what is stored is as it was loaded
	DifferenceNew     = "new"     // the warehouse does not have it, and its updatedAt is after the last run, or there is none
	DifferenceGone    = "gone"    // the service does not list it
	DifferenceWrong   = "wrong"   // other content under the same updatedAt, or what is stored is not as it was loaded
	DifferenceMissing = "missing" // the warehouse does not have it, though it should
)

// Differences finds the records of which the live rows differ from what the run has read, and names up to limit of
// them. The run has read the whole stream; what is from before all that is loaded (initial_from) is left out. Every
// field is compared, and not the hashes and keys by which a run finds what has changed: so a row that somebody altered
// or removed by hand is found, too.
func (w *Writer) Differences(ctx context.Context, c Changes, limit int) (found Differences, err error) {
	settings := clickhouse.Context(ctx, clickhouse.WithSettings(joinSettings(c.Distinct+c.Live)))
	rows, err := w.pool.conn.Query(settings, w.script.selectDifferences(c, limit),
		append(w.args(w.StartedAt), named("stream", w.Stream.Name))...)
	type row struct {
		Difference
		stored, read int64
	}
	all, err := scanned(rows, err, func(r *row) []any {
		return []any{&r.Key, &r.Kind, &r.Fields, &r.stored, &r.read, &found.Faults, &found.All}
	})
	if err != nil {
		return found, fmt.Errorf("reading how %s differs from the service: %w", w.Stream.Name, err)
	}
	for _, r := range all {
		r.Account, r.Stream, r.Stored, r.Read = w.Account, w.Stream.Name, atMilli(r.stored), atMilli(r.read)
		found.Named = append(found.Named, r.Difference)
	}
	return found, nil
}

// atMilli returns a time of milliseconds since 1970; 0 is none.
func atMilli(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// selectDifferences compares what was read with the live rows. here says that a side has the record, and own that the
// content of a row is that of its hash. Parameters: account, stream, run.
func (x script) selectDifferences(c Changes, limit int) string {
	var staged, stored, differ []string
	for i, f := range x.Stream.Fields {
		if f.Key {
			continue
		}
		staged, stored = append(staged, fromWire(x.Stream.Fields, i)+" AS "+f.Column+"_read"), append(stored, f.Column)
		differ = append(differ, sql("if(s.$read <=> l.$stored, '', '$stored')", parts{"stored": f.Column, "read": f.Column + "_read"}))
	}
	staged, stored = append(staged, "_extra AS _extra_read"), append(stored, "_extra")
	differ = append(differ, "if(s._extra_read = l._extra, '', '_extra')")
	was, is, since, later, asked := "toInt64(0)", "toInt64(0)", "1", "1", "1" // without an updatedAt, everything may have changed since
	if i := x.Stream.VersionField(); i >= 0 {
		was = sql("ifNull(toUnixTimestamp64Milli(l.$u), 0)", parts{"u": x.Stream.Fields[i].Column})
		is = sql("ifNull(toUnixTimestamp64Milli(s.$u), 0)", parts{"u": x.Stream.Fields[i].Column + "_read"})
		since, later = sql("$read > toUnixTimestamp64Milli(loaded)", parts{"read": is}), is+" > "+was
		asked = sql("(loaded_from = 0 OR $read = 0 OR $read >= loaded_from)", parts{"read": is})
	}
	return x.sqlFile("select_differences", parts{
		"success": quote(OutcomeSuccess), "fresh": freshModes, "from": quote(StateFrom), "differ": joined(differ), "was": was, "is": is, "since": since, "later": later, "asked": asked,
		"gone": quote(DifferenceGone), "new": quote(DifferenceNew), "missing": quote(DifferenceMissing),
		"changed": quote(DifferenceChanged), "wrong": quote(DifferenceWrong),
		"read": joined(staged), "rows": x.stagedRows("*", "", c.Ahead > 0), "stored": joined(stored),
		"hash": storedHash(x.Stream), "limit": strconv.Itoa(limit),
	})
}
