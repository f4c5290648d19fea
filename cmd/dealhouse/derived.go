package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// checkDerived compares the tables that are derived from the rows of streams with these rows, or rebuilds them.
func checkDerived(ctx context.Context, a *app, rebuild bool) (err error) {
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	w, err := a.opener().ExistingToLoad(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.CheckSchema(ctx); err != nil {
		return err
	}
	all, err := w.DerivedOf(ctx)
	if err != nil {
		return err
	}
	differ := 0
	for _, id := range slices.SortedFunc(maps.Keys(all), func(a, b warehouse.StreamID) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Stream, b.Stream))
	}) {
		if rebuild {
			if err := w.RebuildDerived(ctx, id); err != nil {
				return fmt.Errorf("rebuilding the derived tables of %s of account %s: %w", id.Stream, id.Account, err)
			}
			fmt.Fprintf(a.stdout, "%s of %s: %s rebuilt.\n", id.Stream, id.Account,
				term.Plural(uint64(len(all[id])), "table"))
			continue
		}
		wrong, err := w.CheckDerived(ctx, id)
		if err != nil {
			return err
		}
		differ += len(wrong)
		if len(wrong) > 0 {
			fmt.Fprintf(a.stdout, "%s of %s: differs from the rows: %s.\n", id.Stream, id.Account,
				strings.Join(wrong, ", "))
			continue
		}
		fmt.Fprintf(a.stdout, "%s of %s: %s, equal to what the rows give.\n", id.Stream, id.Account,
			term.Plural(uint64(len(all[id])), "table"))
	}
	if differ > 0 {
		return fmt.Errorf("not equal to what the rows give: %s; run `dealhouse migrate --rebuild`",
			term.Plural(uint64(differ), "table"))
	}
	return nil
}
