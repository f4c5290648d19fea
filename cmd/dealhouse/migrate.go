package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const migrateLong = `Creates the database with its tables and views, or upgrades them for this version of dealhouse. It only
adds, and can be repeated. dealhouse sync does the same by itself: use migrate if the user of the sync must
not create tables, or to see the SQL first. The SQL that --dry-run prints also records that it was run, so
somebody else can run it.

Each run also keeps derived tables up to date, such as sums. --check compares them with the rows they come
from, and --rebuild computes them again; meanwhile readers see either the old rows of a table or the new
ones. Both wait for running loads to end.`

const migrateExample = `  dealhouse migrate
  dealhouse migrate --dry-run                  print the SQL that is needed, and run nothing
  dealhouse migrate --dry-run > upgrade.sql
  dealhouse migrate --check                    compare the derived tables with the rows they come from
  dealhouse migrate --rebuild                  compute the derived tables again`

func newMigrate(a *app) *cobra.Command {
	var dryRun, check, rebuild bool
	cmd := &cobra.Command{
		Use:     "migrate",
		Short:   "Create or upgrade the schema of the warehouse",
		Long:    migrateLong,
		Example: migrateExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case dryRun:
				return planMigration(cmd.Context(), a)
			case check, rebuild:
				return checkDerived(cmd.Context(), a, rebuild)
			}
			return migrate(cmd.Context(), a)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the SQL instead of running it")
	cmd.Flags().BoolVar(&check, "check", false, "compare the derived tables with the rows they come from")
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "compute all derived tables again")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "check", "rebuild")
	return cmd
}

func migrate(ctx context.Context, a *app) (err error) {
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	w, err := a.opener().OrCreate(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	statements, err := w.Migrate(ctx)
	if err != nil {
		return err
	}
	if len(statements) == 0 {
		fmt.Fprintf(a.stdout, "Nothing to do: the schema of %s is up to date.\n", place(cfg))
		return nil
	}
	fmt.Fprintf(a.stdout, "Done: the schema of %s is up to date (%s run).\n", place(cfg),
		term.Plural(uint64(len(statements)), "statement"))
	return nil
}

func planMigration(ctx context.Context, a *app) (err error) {
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	w, closeAll, err := openToPlan(ctx, a, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	statements, err := w.PlanMigration(ctx)
	if err != nil {
		return err
	}
	if len(statements) == 0 {
		fmt.Fprintf(a.stdout, "-- Nothing to do: the schema of %s is up to date.\n", place(cfg))
		return nil
	}
	_, err = fmt.Fprintln(a.stdout, strings.Join(statements, ";\n\n")+";")
	return err
}

// openToPlan opens the warehouse. If an embedded one does not exist, it opens an empty temporary one instead, which is
// removed when the command ends.
func openToPlan(ctx context.Context, a *app,
	cfg *config.Config) (w *warehouse.Warehouse, closeAll func() error, err error) {
	remove := func() error { return nil }
	w, err = a.opener().Existing(ctx, cfg)
	if is[service.AbsentError](err) {
		empty, err := os.MkdirTemp("", "dealhouse-plan-")
		if err != nil {
			return nil, nil, fmt.Errorf("making a temporary folder: %w", err)
		}
		remove = func() error { return os.RemoveAll(empty) }
		temporary := *cfg
		temporary.Warehouse.DSN = config.NewSecret(warehouse.EmbeddedScheme + empty)
		if w, err = a.opener().OrCreate(ctx, &temporary); err != nil {
			return nil, nil, errors.Join(err, remove())
		}
	}
	if err != nil && w == nil {
		return nil, nil, err
	}
	return w, func() error { return errors.Join(w.Close(), remove()) }, nil
}
