package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/backup"
	"dealhouse/internal/config"
	"dealhouse/internal/term"
)

const backupLong = `Writes the whole embedded warehouse into a new folder, or into one file if the name ends in .tar: rows,
history, watermarks, and everything known about runs and payouts. dealhouse restore brings it back.

It also works while the daemon runs. It waits up to --wait for running loads to end, and holds back new ones
while the engine copies, so the backup shows one moment. The backup gets its name only when it is complete.
It never replaces a file or folder that already exists.

If the warehouse is on a server, use the backup tools of that server, or dealhouse copy into a folder.`

const backupExample = `  dealhouse backup backups/2026-11-22
  dealhouse backup backups/2026-11-22.tar
  dealhouse backup --wait 1h "backups/$(date +%F).tar"`

func newBackup(a *app) *cobra.Command {
	wait := 10 * time.Minute
	cmd := &cobra.Command{
		Use:     "backup FOLDER|FILE.tar",
		Short:   "Back up an embedded warehouse into a folder or a file",
		Long:    backupLong,
		Example: backupExample,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return backUp(cmd.Context(), a, args[0], wait)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", wait, "how long to wait for runs under way to end")
	return cmd
}

func backUp(ctx context.Context, a *app, path string, wait time.Duration) (err error) {
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	dir, err := embeddedDir(cfg)
	if err != nil {
		return err
	}
	if err := backup.CheckPath(path, dir); err != nil {
		return err
	}
	o := a.opener()
	w, err := o.WhenFree(ctx, cfg, o.ExistingToLoad)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	options := backup.Options{Program: readBuild().version, Streams: configuredStreams(cfg), Wait: wait,
		ShowWaiting: a.showWaitingFor}
	m, err := backup.Take(ctx, w, dir, path, options)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Backed up %s to %s: %s in %s.\n", place(cfg), path, term.Size(uint64(m.Bytes)),
		term.Plural(uint64(len(m.Files)), "file"))
	return err
}

// embeddedDir returns the folder of an embedded warehouse, and refuses a server.
func embeddedDir(cfg *config.Config) (string, error) {
	dir, embedded := cfg.Warehouse.EmbeddedDir()
	if !embedded {
		return "", usagef("%s is a server, which has backup tools of its own: see `BACKUP DATABASE %s` in ClickHouse's manual, and deploy/README.md for what to consider; or `dealhouse copy` it into a folder", cfg.Warehouse.RedactedDSN(), cfg.Warehouse.Database)
	}
	return dir, nil
}
