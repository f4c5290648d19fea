package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const copyLong = `Copies the whole warehouse into another one: rows, history, watermarks, certificates, and everything known
about runs, payouts and settlements. Use it to move from the embedded warehouse to a server or to ClickHouse
Cloud, from one server to another, or back. Between two embedded warehouses, use backup and restore.

--to is the DSN of the other warehouse, as warehouse.dsn has it (file:PATH keeps a password out of the list
of processes), or a configuration file that ends in .toml, whose [warehouse] counts. Its database must be
empty, or have what an earlier copy has brought. Every row is compared at both ends by a hash of all its
columns.

It also works while the daemon runs: most is copied beside its runs. Then it waits up to --wait for them to
end, and holds back new ones while it copies what they have changed. If it is interrupted, run the same
command again: it goes on where it was. When it has ended, stop the daemon, set warehouse.dsn to the new
warehouse, and start it again. Run copy once more if anything has run in between.`

const copyExample = `  dealhouse copy --to clickhouse://dealhouse@warehouse.example.com:9440/?secure=true
  dealhouse copy --to file:/run/secrets/new-dsn --wait 1h
  dealhouse copy --to server.toml
  dealhouse copy --from file:/run/secrets/dsn --to embedded:./data       and back`

func newCopy(a *app) *cobra.Command {
	var from, to string
	wait := 10 * time.Minute
	cmd := &cobra.Command{
		Use:     "copy",
		Short:   "Copy the warehouse to another server, or from a server into a folder",
		Long:    copyLong,
		Example: copyExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return copyWarehouse(cmd.Context(), a, from, to, wait)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the warehouse to copy to: a DSN or a configuration file")
	cmd.Flags().StringVar(&from, "from", "", "the warehouse to copy from, likewise (default: the configured one)")
	cmd.Flags().DurationVar(&wait, "wait", wait, "how long to wait for runs under way to end")
	return cmd
}

func copyWarehouse(ctx context.Context, a *app, from, to string, wait time.Duration) (err error) {
	if to == "" {
		return usagef("say where to copy to: --to")
	}
	source, err := a.readWarehouseConfig("--from", from)
	if err != nil {
		return err
	}
	target, err := a.readWarehouseConfig("--to", to)
	if err != nil {
		return err
	}
	_, one := source.Warehouse.EmbeddedDir()
	if _, other := target.Warehouse.EmbeddedDir(); one && other {
		return usagef("both warehouses are embedded: use `dealhouse backup` and `dealhouse restore`")
	}
	if place(source) == place(target) {
		return usagef("both are the same warehouse: %s", place(source))
	}
	o := a.opener()
	w, err := o.WhenFree(ctx, source, o.ExistingToLoad)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	other, err := o.WhenFree(ctx, target, o.OrCreate)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close()) }()

	var doing atomic.Pointer[string]
	say := func(text string) { doing.Store(&text) }
	say("comparing both warehouses")
	done := a.showWaitingFor(func() string { return *doing.Load() })
	copied, err := w.CopyTo(ctx, other, warehouse.CopyOptions{
		Streams: configuredStreams(source), Wait: wait,
		Waiting: func(id warehouse.StreamID) {
			say(fmt.Sprintf("waiting for the run of %s of account %s to end", id.Stream, id.Account))
		},
		Copying: func(table string, copied uint64) {
			say(fmt.Sprintf("copying %s: %s so far", table, term.Plural(copied, "row")))
		},
	})
	done()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Copied %s to %s: %s in %s are equal at both ends, %s of them written now.\n"+
		"Next: set warehouse.dsn to it; the next sync there continues from the same watermarks.\n", place(source), place(target),
		term.Plural(copied.Rows, "row"), term.Plural(uint64(copied.Tables), "table"), term.Count(copied.Written))
	return err
}

// readWarehouseConfig reads the configuration with the warehouse that a flag names: "" is the configured one.
func (a *app) readWarehouseConfig(flag, name string) (*config.Config, error) {
	source := config.Source{Path: a.configPath, Env: a.env, Only: []string{"warehouse"}}
	switch {
	case strings.HasSuffix(name, ".toml"):
		source.Path = name
	case name != "":
		source.Env = append([]string{"DEALHOUSE_WAREHOUSE_DSN=" + name}, a.env...) // the first counts
	}
	cfg, warnings, err := config.Read(source)
	if flag == "--from" { // of the same file, they are the same
		a.warn(warnings)
	}
	if err != nil && name != "" {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return cfg, err
}

// configuredStreams are the streams of all accounts of a configuration.
func configuredStreams(cfg *config.Config) (streams []warehouse.StreamID) {
	for _, account := range cfg.Accounts {
		for _, s := range account.Streams {
			streams = append(streams, warehouse.StreamID{Account: account.Name, Stream: s.Name})
		}
	}
	return streams
}
