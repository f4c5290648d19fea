package door

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/exception"
)

// running are the requests under way, by the id that their client has given them.
type running struct {
	mu   sync.Mutex
	byID map[string]map[*context.CancelCauseFunc]bool
}

// errKilled is how a query ends that was killed.
var errKilled = exception.New(exception.QueryCancelled, "QUERY_WAS_CANCELLED", "KILL QUERY has ended this query")

// add notes a request, and returns its context and a function that forgets it.
func (r *running) add(ctx context.Context, id string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID == nil {
		r.byID = map[string]map[*context.CancelCauseFunc]bool{}
	}
	if r.byID[id] == nil {
		r.byID[id] = map[*context.CancelCauseFunc]bool{}
	}
	r.byID[id][&cancel] = true
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if delete(r.byID[id], &cancel); len(r.byID[id]) == 0 {
			delete(r.byID, id)
		}
		cancel(nil)
	}
}

// kill ends the requests with an id, and tells whether there is one.
func (r *running) kill(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for cancel := range r.byID[id] {
		(*cancel)(errKilled)
	}
	return len(r.byID[id]) > 0
}

// killQuery matches the statement by which drivers cancel a query. All other forms of KILL are refused.
var killQuery = regexp.MustCompile("(?is)^(?:\\s|/\\*[^*]*\\*/)*KILL\\s+QUERY\\s+(?:ON\\s+CLUSTER\\s+(?:\\w+|'\\w+'|`\\w+`|\"\\w+\")\\s+)?" +
	`WHERE\s+query_id\s*(?:=\s*|IN\s*\(\s*)'([^'\\]+)'\s*\)?\s*(?:A?SYNC)?(\s+FORMAT\s+\w+)?\s*;?\s*$`)

// killing carries out a KILL QUERY, and makes a request for what it answers: one row for the query that it has ended.
// Whoever may send queries may end those whose id he knows, as with a server all of whose queries are of one user.
func (h *handler) killing(r *request) {
	m := killQuery.FindStringSubmatch(r.SQL)
	if m == nil {
		return
	}
	where := "0"
	if h.running.kill(m[1]) {
		where = "1"
	}
	r.SQL = "SELECT 'waiting' AS kill_status, " + conn.QuoteString(m[1]) +
		" AS query_id, 'default' AS user, '' AS query WHERE " + where + strings.TrimRight(m[2], ";")
}
