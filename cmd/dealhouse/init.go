package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/probe"
	"dealhouse/internal/term"
)

const initLong = `Writes a configuration for an API, from its address and a key. It asks the API what it does, as dealhouse
probe does, and writes each answer beside its setting. A file that exists is never changed.

The key itself is not written: say where it is, as env:NAME or file:PATH. On a terminal it asks for what
no flag says. It makes at most %d GET requests, %d a second: about half a minute.`

const initExample = `  dealhouse init https://api.example.com --key env:DEALS_API_KEY
  dealhouse init https://api.example.com --key file:key.txt --payouts-key env:PAYOUTS_KEY
  dealhouse init https://api.example.com --key env:DEALS_API_KEY --warehouse clickhouse://user:password@host:9000/dealhouse`

// initCommand is what its flags say.
type initCommand struct {
	url    string
	write  probe.Config
	most   int
	format *choice[term.Format]
}

func newInit(a *app) *cobra.Command {
	var c initCommand
	cmd := &cobra.Command{
		Use:     "init [URL]",
		Short:   "Write a configuration for an API, by asking it what it does",
		Long:    fmt.Sprintf(initLong, probe.DefaultMaxRequests, probe.DefaultPerSecond),
		Example: initExample,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.url = strings.Join(args, "")
			if in, is := a.stdin.(*os.File); is && term.IsTerminal(in) {
				if err := c.complete(in, a.console); err != nil {
					return err
				}
			}
			return c.run(cmd.Context(), a)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.write.Key, "key", "", "where the API key is: env:NAME or file:PATH (`reference`)")
	f.StringVar(&c.write.PayoutsKey, "payouts-key", "", "where the key for payouts is, if they have their own (`reference`)")
	f.StringVar(&c.write.Account, "account", "", "`name` of the account (default "+initAccount+")")
	f.StringVar(&c.write.DSN, "warehouse", "", "`address` of the warehouse (default "+initWarehouse+")")
	f.BoolVar(&c.write.AllowInsecure, "allow-insecure", false, "allow http to another machine: the key is then readable on the way")
	mostFlag(cmd, &c.most)
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.CSV)
	return cmd
}

// What is written if nothing else is said.
const (
	initAccount   = "main"
	initWarehouse = "embedded:./dealhouse-data"
)

// complete asks for what no flag has said. An empty answer takes the standard.
func (c *initCommand) complete(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for _, q := range []struct {
		text     string
		value    *string
		standard string
	}{
		{"Address of the API", &c.url, ""},
		{"Where the key is: env:NAME or file:PATH", &c.write.Key, "env:DEALS_API_KEY"},
		{"Where the key for payouts is, if they have their own", &c.write.PayoutsKey, ""},
		{"Name of the account", &c.write.Account, initAccount},
		{"Warehouse", &c.write.DSN, initWarehouse},
	} {
		if *q.value != "" {
			continue
		}
		if q.standard != "" {
			q.text += " [" + q.standard + "]"
		}
		fmt.Fprint(out, q.text+": ")
		if !lines.Scan() {
			return usagef("the questions were not answered: %w", cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
		}
		*q.value = cmp.Or(strings.TrimSpace(lines.Text()), q.standard)
	}
	return nil
}

func (c *initCommand) run(ctx context.Context, a *app) error {
	c.write.Account = cmp.Or(c.write.Account, initAccount)
	c.write.DSN = cmp.Or(c.write.DSN, initWarehouse)
	path := config.PathOf(config.Source{Path: a.configPath, Env: a.env})
	switch _, err := os.Lstat(path); {
	case c.url == "":
		return usagef("say the address of the API: dealhouse init URL --key env:NAME")
	case c.write.Key == "":
		return usagef("say where the API key is: --key env:NAME or --key file:PATH")
	case err == nil:
		return usagef("%s exists and is not changed: name another file with --config, or see what the API does with `dealhouse probe`", path)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return usagef("the configuration cannot be written: %w", err)
	}
	account, err := c.draft(a)
	if err != nil {
		return err
	}
	report, err := a.probe(ctx, account, c.most)
	if err != nil {
		return err
	}
	if err := term.Print(c.format.value, a.stdout, findingColumns(a), findingRows(report)); err != nil {
		return err
	}
	if report.Err != nil {
		return fmt.Errorf("no stream can be read, so no configuration was written: %w", report.Err)
	}
	c.write.At = time.Now()
	if err := writeNew(path, report.TOML(c.write)); err != nil {
		return err
	}
	unknown := 0
	for _, f := range report.Findings {
		if f.Confidence == probe.Unknown {
			unknown++
		}
	}
	a.log.Info("written: look at it, then `dealhouse sync`", "config", path, "answers", len(report.Findings)-unknown,
		"unknown", unknown, "streams_off", len(report.Settings.Refused))
	return nil
}

// draft reads the account of a configuration that says only what the flags do: so they are checked before anything is
// asked, and the key is found.
func (c *initCommand) draft(a *app) (config.Account, error) {
	for flag, text := range map[string]string{"key": c.write.Key, "payouts-key": c.write.PayoutsKey} {
		if scheme, _, found := strings.Cut(text, ":"); text != "" && (!found || !slices.Contains([]string{"env", "file", "env-file"}, scheme)) {
			return config.Account{}, usagef("--%s: say where the key is, not the key itself: env:NAME or file:PATH", flag)
		}
	}
	const name = "what the flags say"
	draft := &probe.Report{BaseURL: probe.Base(c.url), Settings: probe.Settings{OwnPayoutsKey: c.write.PayoutsKey != "",
		Cursor: catalog.DefaultCursor, Page: catalog.DefaultPage}}
	cfg, _, err := config.Read(config.Source{Path: name, Env: a.env, NeedAccounts: true,
		ReadFile: func(path string) ([]byte, fs.FileMode, error) {
			if path == name {
				return []byte(draft.TOML(c.write)), 0o600, nil
			}
			return config.ReadFile(path)
		}})
	if err != nil {
		return config.Account{}, err
	}
	return cfg.Accounts[0], nil
}

// writeNew writes a file that did not exist. It may hold the password of a warehouse.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists by now, and is not changed", path)
	}
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	return nil
}
