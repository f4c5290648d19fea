package contract

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// Contract is what is promised, whatever the form.
type Contract struct {
	Database string // that holds the views
	Version  uint32 // of the views: it rises with each change of them
	Server   Server // zero: an embedded warehouse, which is on no network
	Views    []warehouse.View
	Streams  []Promise
}

// Server is where a warehouse is found.
type Server struct {
	Host string
	Port int
}

// Promise is how fresh a stream is.
type Promise struct {
	Stream    *catalog.Stream
	Accounts  []string // that load it; none: all that the warehouse knows
	Schedules []string // when it is loaded, each once
	// LateAfter is the age of the last success from which on the stream is late: a run was left out, or it failed. 0:
	// freshness is not promised.
	LateAfter time.Duration
}

// freshnessTable is the view that says when each stream was last in step.
const freshnessTable = "stream_freshness"

// never is a time that is older than any limit.
const never = "toDateTime64(0, 3, 'UTC')"

// freshness returns the query for the time at which the stream was last in step (contract-2, contract-3).
func (p Promise) freshness(database string) string {
	where, least := fmt.Sprintf("stream = '%s'", p.Stream.Name), max(len(p.Accounts), 1)
	if len(p.Accounts) > 0 {
		where += " AND account IN ('" + strings.Join(p.Accounts, "', '") + "')" // names of accounts have no quotes
	}
	return fmt.Sprintf("SELECT if(count() < %d, %s, min(ifNull(last_success, %[2]s))) AS loaded_at FROM %[3]s.%[4]s WHERE %[5]s",
		least, never, database, freshnessTable, where)
}

// failsAfter is the age at which more than one run is missing.
func (p Promise) failsAfter() time.Duration { return 2 * p.LateAfter }

// promise returns the promise of the stream whose current rows a view shows.
func (c Contract) promise(view string) (Promise, bool) {
	i := slices.IndexFunc(c.Streams, func(p Promise) bool { return p.Stream.Name == view })
	if i < 0 || c.Streams[i].LateAfter == 0 {
		return Promise{}, false
	}
	return c.Streams[i], true
}

// tables returns the views that can be read without parameters.
func (c Contract) tables() []warehouse.View {
	return slices.DeleteFunc(slices.Clone(c.Views), func(v warehouse.View) bool { return len(v.Parameters) > 0 })
}

// key lists the columns that identify the rows of a view; nil if the catalog does not say.
func key(view string) []string {
	if view == freshnessTable {
		return []string{"account", "stream"}
	}
	for _, s := range catalog.All() {
		columns := []string{"account", s.KeyColumn()}
		switch {
		case view == s.Name, view == s.AllView && view != "":
			return columns
		case s.Child != nil && view == s.Child.Table:
			for _, f := range s.Child.Fields {
				if f.Key {
					columns = append(columns, f.Column)
				}
			}
			return columns
		}
	}
	return nil
}

// describe returns all that the dictionary says of a column, except its type.
func describe(c warehouse.ViewColumn) string {
	text := c.Meaning
	if c.Unit != "" {
		text += " [" + c.Unit + "]"
	}
	if strings.HasPrefix(c.Source, "API: ") {
		text += " (" + c.Source + ")"
	}
	return text
}

// heading is the comment at the top of a file.
func heading(form, command string) string {
	return "# " + form + "\n# Made by `" + command + "`: do not edit it, make it again.\n"
}

// write writes a document as YAML, under its heading.
func write(w io.Writer, heading string, document any) error {
	if _, err := io.WriteString(w, heading); err != nil {
		return err
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	return enc.Close()
}
