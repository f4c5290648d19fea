package service

import (
	"context"
	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
	"errors"
	"fmt"
	"strings"
	"time"
)

func (c *Checker) checkWarehouse(ctx context.Context, cfg *config.Config) (all []Finding) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded && chdb.Built {
		all = c.checkFolder(ctx, dir)
		if all[0].Verdict == Failed {
			return append(all, skipped("warehouse", "correct the folder first"))
		}
	}
	w, err := c.options.Opener.Existing(ctx, cfg)
	if none, ok := errors.AsType[AbsentError](err); ok {
		return append(all, warn("warehouse",
			fmt.Sprintf("embedded: there is no warehouse in %s yet; dealhouse sync creates it", none.Dir)))
	}
	if err != nil {
		return append(all, failed("warehouse", err))
	}
	defer func() {
		if err := w.Close(); err != nil {
			all = append(all, warn("warehouse", term.Message(err)))
		}
	}()
	server := w.Server()
	all = append(all, ok("warehouse", fmt.Sprintf("%s: ClickHouse %s", cfg.Warehouse.RedactedDSN(), server)))
	schema := checkSchema(ctx, w)
	if all = append(all, schema); schema.Verdict == OK {
		all = append(append(all, checkLoadedFrom(ctx, cfg, w)...), checkMonths(ctx, w)...)
		all = append(all, checkLateness(ctx, cfg, w)...)
	}
	if w.Embedded() { // its only user may do everything
		return all
	}
	return append(all, checkSettings(ctx, w), checkRights(ctx, w, schema.Verdict != OK))
}

// checkSchema says whether the warehouse fits this program.
func checkSchema(ctx context.Context, w *warehouse.Warehouse) Finding {
	err := w.CheckSchema(ctx)
	switch {
	case errors.Is(err, warehouse.ErrSchemaOld):
		return warn("schema", "database "+w.Database()+
			": to be created or upgraded; dealhouse sync does it, or dealhouse migrate")
	case err != nil:
		return failedAs("schema", "database "+w.Database()+": "+term.Message(err), err)
	}
	return ok("schema", "database "+w.Database()+": up to date")
}

// checkLoadedFrom warns of streams whose initial_from asks for older rows than are loaded.
func checkLoadedFrom(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse) (all []Finding) {
	from, err := w.LoadedFrom(ctx)
	if err != nil {
		return []Finding{failed("initial_from", err)}
	}
	targets, err := Selection{}.Targets(cfg)
	if err != nil { // another check says so
		return nil
	}
	for _, t := range targets {
		if at, known := from[warehouse.StreamID{Account: t.Account.Name, Stream: t.Stream.Name}]; known && t.Behind(at) != "" {
			all = append(all, warn("initial_from: "+t.Account.Name+" "+t.Stream.Name, t.Behind(at)))
		}
	}
	return all
}

// checkMonths says how many months of sales queries read more slowly for now.
func checkMonths(ctx context.Context, w *warehouse.Warehouse) []Finding {
	m, err := w.Months(ctx)
	switch {
	case err != nil:
		return []Finding{failed("months", err)}
	case m.All == 0:
		return nil
	}
	return []Finding{ok("months", fmt.Sprintf("%d of %d months of sales are folded; queries read the others more slowly until later runs fold them",
		m.All-m.Unfolded, m.All))}
}

// checkSettings tries the settings that a run sends.
func checkSettings(ctx context.Context, w *warehouse.Warehouse) Finding {
	err := w.TrySettings(ctx)
	switch {
	case err == nil:
		return ok("settings", "the user may change the settings that runs depend on")
	case warehouse.IsSettingRefused(err):
		return misconfigured("settings",
			"the user may not change settings that runs depend on: remove the constraint, or give the user a profile that is not readonly: "+term.Message(err))
	}
	return failed("settings", err)
}

// checkRights checks the rights that a run needs. With toMigrate, it also checks the rights of a migration.
func checkRights(ctx context.Context, w *warehouse.Warehouse, toMigrate bool) Finding {
	missing, err := w.MissingGrants(ctx, warehouse.Loader)
	if err != nil {
		return failed("rights", err)
	}
	if len(missing) > 0 {
		return misconfigured("rights", "to load, the user lacks rights: "+strings.Join(missing, "; "))
	}
	if missing, err = w.MissingGrants(ctx, warehouse.Migrator); err != nil {
		return failed("rights", err)
	}
	switch {
	case len(missing) == 0:
		return ok("rights", "the user may load and migrate")
	case toMigrate:
		return warn("rights", fmt.Sprintf("the user may load but not migrate: run dealhouse migrate as another user, or %s", strings.Join(missing, "; ")))
	}
	return ok("rights", "the user may load, but not migrate")
}
