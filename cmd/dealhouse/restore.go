package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"dealhouse/internal/backup"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const restoreLong = `Creates the embedded warehouse of warehouse.dsn from a backup that dealhouse backup has written. The folder
must not exist, or must be empty. Every file of the backup is checked. No other command can use the folder
until the restore is complete; if it is interrupted, run the same command again.

The next sync continues from the watermarks of the backup. It also upgrades a backup of an older version. A
backup of a newer version is refused.`

const restoreExample = `  dealhouse restore backups/2026-11-22.tar
  DEALHOUSE_WAREHOUSE_DSN=embedded:./look dealhouse restore backups/2026-11-22.tar    in another folder, to inspect it
  dealhouse restore --check backups/2026-11-22.tar                                    check all of it, restore nothing`

func newRestore(a *app) *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:     "restore FOLDER|FILE.tar",
		Short:   "Create an embedded warehouse from a backup",
		Long:    restoreLong,
		Example: restoreExample,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if check {
				return checkBackup(cmd.Context(), a, args[0])
			}
			return restore(cmd.Context(), a, args[0])
		},
	}
	cmd.Flags().BoolVar(&check, "check", false,
		"only check that the backup is whole, and that this version can restore it")
	return cmd
}

// checkBackup reads all of a backup.
func checkBackup(ctx context.Context, a *app, path string) error {
	m, err := backup.Read(path)
	if err != nil {
		return err
	}
	done := a.showWaiting("reading the backup")
	defer done()
	if err := backup.Verify(ctx, path, m); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s is whole: %s.\n", path, described(m))
	return err
}

// described says what is in a backup.
func described(m backup.Manifest) string {
	return fmt.Sprintf("database %s of %s, %s, made by dealhouse %s", m.Database,
		m.MadeAt.UTC().Format("2006-01-02 15:04:05 UTC"), term.Size(uint64(m.Bytes)), m.Program)
}

func restore(ctx context.Context, a *app, path string) error {
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	dir, err := embeddedDir(cfg)
	if err != nil {
		return err
	}
	m, err := backup.Read(path)
	if err != nil {
		return err
	}
	if m.Database != cfg.Warehouse.Database {
		return usagef("the backup is of the database %s: set warehouse.database to that", m.Database)
	}
	done := a.showWaiting("restoring the backup")
	err = backup.Restore(ctx, path, dir, m, func(ctx context.Context) (*warehouse.Warehouse, error) {
		return a.opener().Restoring(ctx, cfg)
	})
	done()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Restored %s from %s: %s.\n", place(cfg), path, described(m))
	return err
}
