package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
)

const rootLong = `dealhouse loads a retailer-deals API (promotions, coupons, cashback offers, transactions, payouts,
products) into ClickHouse and keeps the copy up to date: every record once, every amount exact.

Try it with nothing set up:        dealhouse demo
Set it up:                         dealhouse init URL --key env:NAME, then dealhouse check
Load everything, again and again:  dealhouse sync
Leave it running, by schedule:     dealhouse run

The configuration is the file that --config names, else the one that DEALHOUSE_CONFIG names, else
./dealhouse.toml when it is there. Environment variables override it.

Results go to stdout, logs and progress to stderr.`

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "dealhouse",
		Short:         "Load a retailer-deals API into ClickHouse",
		Long:          rootLong,
		SilenceUsage:  true,
		SilenceErrors: true,
		// misused adds suggestions to the message; cobra's would take several lines of it.
		DisableSuggestions:         true,
		SuggestionsMinimumDistance: 2,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			a.running = true
			a.fitTables()
			return a.startLogging()
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.configPath, "config", "",
		"configuration `file` (default $DEALHOUSE_CONFIG, else ./dealhouse.toml if it exists)")
	flags.Var(&a.logFormat, "log-format", "form of log lines on stderr: "+a.logFormat.list())
	flags.Var(&a.logLevel, "log-level", "log only messages of this level or above: "+a.logLevel.list())
	flags.BoolVar(&a.wide, "wide", false, "print tables in full, also where they are wider than the terminal")
	complete(root, "log-format", a.logFormat.allowed)
	complete(root, "log-level", a.logLevel.allowed)
	root.AddCommand(
		newDemo(a), newInit(a), newProbe(a), a.loads(newSync(a)), a.loads(newRun(a)), a.loads(newBackfill(a)), a.loads(newVerify(a)), newQuery(a), newStatus(a), newRuns(a),
		newRejects(a),
		newReconcile(a), newStatement(a), newSettlements(a), newJournal(a), newSchema(a), newMCP(a), newOperate(a), newNotify(a),
		newCheck(a), newMigrate(a), newForget(a), newBackup(a), newRestore(a), a.loads(newCopy(a)), newServeWarehouse(a), newHealthcheck(a), newVersion(a),
	)
	root.SetOut(a.stdout) // before the next line, which keeps it
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra's own shows its help for any word
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}

// misused is the error of a command line that was not understood. It names the help to read.
func misused(cmd *cobra.Command, args []string, err error) error {
	hint := ""
	if !cmd.HasParent() && len(args) > 0 {
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf("; did you mean %q?", near[0])
		}
	}
	return usageError{fmt.Errorf("%w%s; see `%s --help`", plainly(err), hint, cmd.CommandPath())}
}

// plainly is the error of a flag without the names of Go's functions.
func plainly(err error) error {
	invalid, is := errors.AsType[*pflag.InvalidValueError](err)
	if !is {
		return err
	}
	var want string
	switch flag := invalid.GetFlag(); flag.Value.Type() {
	case "int", "int64":
		want = "want a whole number"
	case "duration":
		want = "want a duration such as 30s, 15m or 24h"
	default:
		return err
	}
	return fmt.Errorf("--%s: %q: %s", invalid.GetFlag().Name, invalid.GetValue(), want)
}

// choice is a flag that takes one of a few words.
type choice[T ~string] struct {
	value   T
	allowed []T
}

// String is the value.
func (c *choice[T]) String() string { return string(c.value) }

// Type stands for the value in help texts.
func (c *choice[T]) Type() string { return "word" }

// Set accepts what is allowed.
func (c *choice[T]) Set(value string) error {
	if !slices.Contains(c.allowed, T(value)) {
		return fmt.Errorf("want %s", c.list())
	}
	c.value = T(value)
	return nil
}

// words are what is allowed.
func (c *choice[T]) words() []string {
	words := make([]string, len(c.allowed))
	for i, w := range c.allowed {
		words[i] = string(w)
	}
	return words
}

func (c *choice[T]) list() string {
	words := c.words()
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// outputFlag adds --output to a command that prints a table.
func outputFlag(cmd *cobra.Command, allowed ...term.Format) *choice[term.Format] {
	c := &choice[term.Format]{allowed[0], allowed}
	cmd.Flags().VarP(c, "output", "o", "form of the result: "+c.list())
	complete(cmd, "output", c.words())
	return c
}

// newGroup makes a command that only holds others: it names them where none is given.
func newGroup(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name())
	}
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return usagef("name one of the commands %s; see `%s --help`", term.List(names), cmd.CommandPath())
	}
	cmd.AddCommand(commands...)
	return cmd
}

// limitFlag adds --limit to a command that lists the last of something.
func limitFlag(cmd *cobra.Command, limit *int, standard int, of string) {
	cmd.Flags().IntVar(limit, "limit", standard, "how many "+of+" at most")
}

func checkLimit(limit int) error {
	if limit < 1 {
		return usagef("--limit: want 1 or more")
	}
	return nil
}

// knownStream says that there is no stream of a name, which the flag or argument gave; "" stands for all.
func knownStream(from, name string) error {
	if name == "" {
		return nil
	}
	if _, err := catalog.Find(name); err != nil {
		return usagef("%s%w", from, err)
	}
	return nil
}

// complete offers words for a flag to the shell.
func complete(cmd *cobra.Command, flag string, words []string) {
	completeWith(cmd, flag, func() []string { return words })
}

func completeWith(cmd *cobra.Command, flag string, words func() []string) {
	// The only error is a flag that does not exist: a mistake in this program that its tests would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeAccounts offers the configured accounts for a flag: a broken configuration completes to nothing.
func completeAccounts(cmd *cobra.Command, a *app) {
	completeWith(cmd, "account", func() []string {
		cfg, _, err := config.Read(config.Source{Path: a.configPath, Env: a.env})
		if err != nil {
			return nil
		}
		return service.AccountNames(cfg)
	})
}
