package warehouse

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
)

// Whoever is to be forgotten is removed from every row, version and reject of a stream, where they stand: a new version
// would leave the old ones. Hashes of the values stay, so that no later run stores them again. No statement that the
// engine keeps, as it keeps mutations, has the values themselves.

// StateForgotten names the state that has a Forgotten as JSON, for Intent.State.
const StateForgotten = "forgotten"

// Forgotten is what a stream must not have any more.
type Forgotten struct {
	Hashes []string `json:"hashes"` // of the values (decode.PersonHash)
	// Runs have versions from which values are being removed: their sums will not be those that they certified. The
	// certificate of the run that removes them names these runs.
	Runs []string `json:"runs,omitempty"`
	// Differs says that the rows were not those of the last certificate before anything was removed.
	Differs bool `json:"differs,omitempty"`
}

// State returns it as it is stored.
func (f Forgotten) State() (string, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("writing what is forgotten: %w", err)
	}
	return string(text), nil
}

// Forgotten returns what the stream must not have.
func (l *Lease) Forgotten() (f Forgotten, err error) {
	stored, err := parseState[Forgotten](l.account, l.stream, StateForgotten, l.state(StateForgotten))
	if stored != nil {
		f = *stored
	}
	return f, err
}

// Traces are how many rows, versions and rejects have a value that is to be forgotten.
type Traces struct{ Rows, Versions, Rejects uint64 }

// Trace counts where values stand, and changes nothing.
func (w *Writer) Trace(ctx context.Context, values []string) (Traces, error) {
	found, err := w.find(ctx, values)
	return found.counts(), err
}

// Forget removes the values. It returns where they were, and what the run that removes them has to certify and then to
// store: it has to be published, also if nothing was found. After a crash it is called again. Backups keep the values.
func (w *Writer) Forget(ctx context.Context, l *Lease, values []string) (Traces, Forgotten, error) {
	f, err := l.Forgotten()
	if err != nil {
		return Traces{}, f, err
	}
	found, err := w.find(ctx, values)
	if err != nil {
		return Traces{}, f, err
	}
	last, err := parseState[Certificate](l.account, l.stream, stateCertificate, l.state(stateCertificate))
	if err == nil && last != nil && len(f.Runs) == 0 { // nothing was begun by a process that died
		var live Set
		live, err = w.LiveSum(ctx)
		f.Differs = live != last.Live
	}
	if err != nil {
		return Traces{}, f, err
	}
	for _, value := range slices.Concat(values, found.texts) {
		f.Hashes = append(f.Hashes, decode.PersonHash(value))
	}
	f.Runs = append(f.Runs, found.runs...)
	for _, list := range []*[]string{&f.Hashes, &f.Runs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	text, err := f.State()
	if err == nil {
		err = w.save(ctx, stateRow{StateForgotten, text, 0})
	}
	if err != nil {
		return Traces{}, f, fmt.Errorf("noting what is to be forgotten: %w", err)
	}
	return found.counts(), f, w.remove(ctx, found)
}

// traced is where values stand.
type traced struct {
	rows    map[string][]trace // by the table
	rejects []string           // the values of rejects, by their hashes
	runs    []string           // that have loaded the rows and versions
	texts   []string           // of private fields that have a value among other things
}

// trace is a version of a row that has a value.
type trace struct {
	key, version, run string
	columns           string // to be emptied, separated by spaces
	texts             []string
}

func (t traced) counts() (c Traces) {
	for table, rows := range t.rows {
		if strings.HasSuffix(table, "_versions") {
			c.Versions = uint64(len(rows))
			continue
		}
		keys := map[string]bool{}
		for _, row := range rows {
			keys[row.key] = true
		}
		c.Rows = uint64(len(keys))
	}
	c.Rejects = uint64(len(t.rejects))
	return c
}

// shortest is how long a value must be to be looked for within texts. A shorter one stands in too many of them.
const shortest = 4

// mention is a regular expression for texts that mention one of the values, not as a part of a longer word.
func mention(values []string) string {
	var parts []string
	for _, value := range values {
		if len(value) < shortest {
			continue
		}
		quoted, _ := json.Marshal(value) // a text has no error
		for _, form := range []string{value, string(quoted[1 : len(quoted)-1])} {
			parts = append(parts, regexp.QuoteMeta(form))
		}
	}
	if len(parts) == 0 {
		return "[^\\s\\S]" // none
	}
	return "(^|[^0-9A-Za-z])(" + strings.Join(slices.Compact(parts), "|") + ")([^0-9A-Za-z]|$)"
}

// find looks for values in all rows and versions of the stream, and in its rejects.
func (w *Writer) find(ctx context.Context, values []string) (found traced, err error) {
	found.rows = map[string][]trace{}
	for _, table := range storedTables(w.Stream) {
		rows, err := w.pool.conn.Query(ctx, selectTraces(w.Stream, table, values), named("account", w.Account))
		found.rows[table], err = scanned(rows, err, func(t *trace) []any {
			return []any{&t.key, &t.version, &t.run, &t.columns, &t.texts}
		})
		if err != nil {
			return found, fmt.Errorf("looking for what is to be forgotten in %s: %w", table, err)
		}
		for _, t := range found.rows[table] {
			found.runs, found.texts = append(found.runs, t.run), append(found.texts, t.texts...)
		}
	}
	found.texts = slices.DeleteFunc(found.texts, func(text string) bool { return text == "" })
	rows, err := w.pool.conn.Query(ctx, selectTracedRejects(w.Stream, values), named("account", w.Account), named("stream", w.Stream.Name))
	if found.rejects, err = scanned(rows, err, only[string]); err != nil {
		return found, fmt.Errorf("looking for what is to be forgotten in the rejects: %w", err)
	}
	return found, nil
}

// remove removes what was found, with few statements: each writes the parts of a table again.
func (w *Writer) remove(ctx context.Context, found traced) error {
	var statements []string
	for _, table := range storedTables(w.Stream) {
		alike := map[string][]trace{}
		for _, row := range found.rows[table] {
			alike[row.columns] = append(alike[row.columns], row)
		}
		for columns, rows := range alike {
			for some := range slices.Chunk(rows, rowsAtOnce) {
				e := emptied(w.Stream, table, w.Account, strings.Fields(columns), some)
				if table == latestTable(w.Stream) && keysTable(w.Stream) != "" { // first: the rows are found by the values
					statements = append(statements, e.insertKeys())
				}
				statements = append(statements, e.update())
			}
		}
	}
	for some := range slices.Chunk(found.rejects, rowsAtOnce) {
		statements = append(statements, emptyRejects(w.Account, w.Stream.Name, some))
	}
	for _, statement := range statements {
		if err := w.pool.execAll(ctx, []step{{statement: statement, settings: clickhouse.Settings{"mutations_sync": 2}}}); err != nil {
			return fmt.Errorf("removing what is to be forgotten: %w", err)
		}
	}
	return nil
}

// selectTraces selects the rows of a table that have a value, with the columns to empty: where records are looked up by
// the value, all that may name a person. Parameter: account.
func selectTraces(s *catalog.Stream, table string, values []string) string {
	var all, some, texts, found []string
	pattern := quote(mention(values))
	for _, f := range s.Fields {
		if !f.Private {
			continue
		}
		all = append(all, f.Column)
		text := "ifNull(" + f.Column + ", '')"
		if slices.Contains(s.LookedUpBy, f.Column) {
			found = append(found, text+" IN ("+words(values)+")")
			continue
		}
		has := "match(" + text + ", " + pattern + ")"
		some = append(some, "if("+has+", "+quote(f.Column)+", '')")
		texts = append(texts, "if("+has+", "+text+", '')")
	}
	some = append(some, "if("+mentioned("_extra", values)+", '_extra', '')")
	return sql(`SELECT toString($key), toString(_version), toString(_run_id),
    if(($found) AS is, $all, arrayStringConcat(arrayFilter(c -> c != '', [$some]), ' ')) AS emptied, [$texts]
FROM $table
WHERE account = {account:String} AND emptied != ''`, parts{"key": keyNames(s), "found": strings.Join(found, " OR "),
		"all": quote(strings.Join(append(all, extraColumn.name), " ")), "some": strings.Join(some, ", "), "texts": strings.Join(texts, ", "), "table": table})
}

// emptying is how columns of rows are emptied.
type emptying struct {
	stream  *catalog.Stream
	table   string
	updates []string
	hash    string // of the rows afterwards
	where   string
}

func emptied(s *catalog.Stream, table, account string, columns []string, rows []trace) emptying {
	e := emptying{stream: s, table: table}
	after, extra := *s, extraColumn.name
	after.Fields = slices.Clone(s.Fields)
	for i := range after.Fields {
		f := &after.Fields[i]
		if !slices.Contains(columns, f.Column) {
			continue
		}
		none := "''"
		if f.Nullable() {
			none = "CAST(NULL, " + quote(f.ColumnType()) + ")"
		}
		e.updates, f.Column = append(e.updates, f.Column+" = "+none), none
	}
	if slices.Contains(columns, extra) {
		e.updates, extra = append(e.updates, extra+" = ''"), "''"
	}
	var pairs []string
	for _, row := range rows {
		pairs = append(pairs, "("+quote(row.key)+", "+quote(row.version)+")")
	}
	e.hash = hashOf(storedValues(&after, extra))
	e.where = sql("account = $account AND (toString($key), toString(_version)) IN ($pairs)",
		parts{"account": quote(account), "key": keyNames(s), "pairs": strings.Join(pairs, ", ")})
	return e
}

// insertKeys gives the rows their new hash in the table of keys.
func (e emptying) insertKeys() string {
	return insertKeys(e.stream, keysTable(e.stream), e.hash,
		sql("$table FINAL\nWHERE _deleted != $moved AND $where", parts{"table": e.table, "moved": markedMoved, "where": e.where}))
}

// update empties the columns.
func (e emptying) update() string {
	return sql("ALTER TABLE $table UPDATE $updates, _hash = $hash\nWHERE $where",
		parts{"table": e.table, "updates": strings.Join(e.updates, ", "), "hash": e.hash, "where": e.where})
}

// storedTables are the tables of the rows of a stream with their versions, the current ones first.
func storedTables(s *catalog.Stream) []string { return []string{latestTable(s), versionsTable(s)} }

// mentioned is a condition on JSON: one of its texts mentions one of the values. A number is no mention: it may be any
// amount.
func mentioned(json string, values []string) string {
	return "arrayExists(t -> match(t, " + quote(mention(values)) + "), extractAll(" + json + ", " + quote(`"(?:[^"\\]|\\.)*"`) + "))"
}

// selectTracedRejects selects the hashes of rejected values and records that have a value: by which a record is looked
// up, or that a text of what may name a person mentions. Parameters: account, stream.
func selectTracedRejects(s *catalog.Stream, values []string) string {
	fields, is := []string{""}, []string{}
	var tokens []string // as JSON has them
	for _, value := range values {
		quoted, _ := json.Marshal(value) // a text has no error
		tokens = append(tokens, value, string(quoted))
	}
	for _, f := range s.Fields {
		if !f.Private {
			continue
		}
		fields = append(fields, f.JSON)
		if slices.Contains(s.LookedUpBy, f.Column) {
			is = append(is, sql("if(field = '', JSONExtractRaw(raw, $name), if(field = $name, raw, '')) IN ($tokens)",
				parts{"name": quote(f.JSON), "tokens": words(tokens)}))
		}
	}
	return sql("SELECT DISTINCT hex(raw_hash) FROM rejects_log WHERE account = {account:String} AND stream = {stream:String} AND field IN ($fields) AND ($is OR $mentioned)",
		parts{"fields": words(fields), "is": strings.Join(is, " OR "), "mentioned": mentioned("raw", values)})
}

// emptyRejects replaces rejected values. What was rejected, and why, stays.
func emptyRejects(account, stream string, hashes []string) string {
	return sql(`ALTER TABLE rejects_log UPDATE raw = '"forgotten"' WHERE account = $account AND stream = $stream AND hex(raw_hash) IN ($hashes)`,
		parts{"account": quote(account), "stream": quote(stream), "hashes": words(hashes)})
}
