package warehouse

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/panics"
)

// TestSideBySide checks that tables are filled at the same time, never more than two, each after the one that it reads;
// that an error stops the others and is returned when they have ended; and that a panic is raised again in the caller.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	table := func(name, after string) derived { return derived{table: name, after: after} }
	tables := []derived{table("a", ""), table("b", ""), table("c", ""), table("d", "a"), table("e", "a")}
	var mu sync.Mutex
	var done []string
	now, most := 0, 0
	both := make(chan struct{})
	must(t, sideBySide(t.Context(), tables, func(_ context.Context, x derived) error {
		mu.Lock()
		now++
		most = max(most, now)
		if now == 2 && len(done) == 0 {
			close(both)
		}
		mu.Unlock()
		<-both // the first waits for the second
		mu.Lock()
		defer mu.Unlock()
		if x.after != "" && !slices.Contains(done, x.after) {
			t.Errorf("%s is filled before %s", x.table, x.after)
		}
		now--
		done = append(done, x.table)
		return nil
	}))
	if slices.Sort(done); most != 2 || !slices.Equal(done, []string{"a", "b", "c", "d", "e"}) {
		t.Errorf("%v, %d at a time", done, most)
	}

	failed, stopped := errors.New("no"), false
	err := sideBySide(t.Context(), tables, func(ctx context.Context, x derived) error {
		switch x.table {
		case "a":
			<-ctx.Done()
			stopped = true
			return ctx.Err()
		case "b":
			return failed
		}
		return ctx.Err()
	})
	if !errors.Is(err, failed) || !stopped {
		t.Errorf("%v, stopped %v", err, stopped)
	}

	defer func() {
		if p, is := recover().(*panics.Error); !is || p.Value != "oops" || len(p.Stack) == 0 {
			t.Errorf("the panic was %v", p)
		}
	}()
	_ = sideBySide(t.Context(), tables, func(_ context.Context, x derived) error {
		if x.table == "c" {
			panic("oops")
		}
		return nil
	})
}

// TestOrderOfDerivedTables checks that what reads the delta of another table is filled after it, and that
// chains are short.
func TestOrderOfDerivedTables(t *testing.T) {
	t.Parallel()
	for _, stream := range catalog.All() {
		x := dialect{}.script(Run{ID: uuid.MustParse(goldenRun), Account: "acme", Stream: stream})
		tables := derivedTables(stream)
		for i, one := range tables {
			for _, other := range tables {
				if other.table == one.table {
					continue
				}
				texts := slices.Concat(one.fill(x, "into", true), one.fill(x, "into", false))
				reads := slices.ContainsFunc(texts, func(s string) bool {
					return strings.Contains(s, x.derivedDelta(other.table))
				})
				before := slices.ContainsFunc(tables[:i], func(b derived) bool { return b.table == other.table && b.after == "" })
				if reads != (one.after == other.table) || one.after == other.table && !before {
					t.Errorf("%s: %s reads %s: %v, but comes after %q", stream.Name, one.table, other.table, reads, one.after)
				}
			}
		}
	}
}
