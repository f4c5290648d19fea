package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/decode"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const rejectsLong = `Lists what could not be loaded as it was sent, the latest first. Nothing is dropped: a record without a
usable key is kept whole; if one value does not fit its column, the record is loaded without it and the
value is kept. What several runs met is listed once, with the number of runs. The view rejected_records in
the warehouse has all of them.

Reasons for a whole record: missing_key, unusable_key, not_an_object, other_key (the service sent another
record than the one asked for), or refused (by ClickHouse itself). For a single field: wrong_type, not_text
(half of a surrogate pair, or bytes that are not UTF-8), not_a_uuid, not_a_timestamp, not_a_day or
out_of_range. For an amount that was loaded with fewer decimals than were sent: rounded.

The state says what happened to it since:
  open         not loaded; dealhouse rejects retry loads it if this version can read it
  unpublished  its run failed or was stopped by a guard, and published nothing; a later run reads it again
  loaded       a retry has loaded it
  superseded   replaced by something read later: a newer state of the record, or a complete list
The last two are listed only with --all or --run. The state is as of the last run that published what it
read: a later run that failed changes nothing.

With --output jsonl or json, raw is the JSON exactly as it was sent; jq -c .raw prints only that. Tables
shorten it and show control characters as text.`

const rejectsExample = `  dealhouse rejects
  dealhouse rejects --stream transactions --since 24h
  dealhouse rejects --run 01a1fe08-dca3-79ec-bed8-71b795ac564f
  dealhouse rejects --reason missing_key --limit 1000 --output jsonl | jq -c .raw
  dealhouse rejects retry --dry-run`

// rejectChoice is what the flags of both commands say.
type rejectChoice struct {
	account, stream, runID, reason, field, since string
}

func (c *rejectChoice) flags(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.account, "account", "", "only this `account`")
	flags.StringVar(&c.stream, "stream", "", "only this `stream`")
	flags.StringVar(&c.runID, "run", "", "only what the run with this `ID` found and no later run did")
	flags.StringVar(&c.reason, "reason", "", "only what was rejected for this `reason`")
	flags.StringVar(&c.field, "field", "", "only values of this `field`, by its JSON name")
	flags.StringVar(&c.since, "since", "", "only what was found since this `time`: 2024-01-31, 2024-01-31T15:04:05Z, or 36h for that long ago")
	completeAccounts(cmd, a)
	complete(cmd, "stream", catalog.Names())
	complete(cmd, "reason", reasons)
}

// reasons are all that --reason can name.
var reasons = []string{
	decode.ReasonMissingKey, decode.ReasonUnusableKey, decode.ReasonNotAnObject, decode.ReasonOtherKey,
	decode.ReasonRefused,
	decode.ReasonWrongType, decode.ReasonNotText, decode.ReasonNotUUID, decode.ReasonNotTime, decode.ReasonNotDay,
	decode.ReasonOutOfRange, decode.ReasonRounded,
}

// filter checks the flags. A --since that is a duration is left to the code that knows the clock of the warehouse.
func (c *rejectChoice) filter() (f warehouse.RejectFilter, ago time.Duration, err error) {
	f = warehouse.RejectFilter{Account: c.account, Stream: service.StreamName(c.stream), Reason: c.reason, Field: c.field}
	if err := knownStream("--stream: ", f.Stream); err != nil {
		return f, 0, err
	}
	if f.Reason != "" && !slices.Contains(reasons, f.Reason) {
		return f, 0, usagef("--reason: there is no reason %q: the reasons are %s", c.reason, term.List(reasons))
	}
	if c.runID != "" {
		if f.RunID, err = uuid.Parse(c.runID); err != nil {
			return f, 0, usagef("--run: %q is not a run ID; `dealhouse runs --output json` shows them as run_id", c.runID)
		}
	}
	if c.since == "" {
		return f, 0, nil
	}
	if ago, err = time.ParseDuration(c.since); err == nil && ago > 0 {
		return f, ago, nil
	}
	if f.Since, err = parseTime(c.since); err != nil {
		return f, 0, usagef("--since: %q is neither a time nor a duration: write 2024-01-31, 2024-01-31T15:04:05Z or 36h",
			c.since)
	}
	return f, 0, nil
}

// open opens the warehouse, and completes the filter by its clock.
func (c *rejectChoice) open(ctx context.Context, a *app, source config.Source,
	open service.Opening) (*warehouse.Warehouse, *config.Config, warehouse.RejectFilter, error) {
	f, ago, err := c.filter()
	if err != nil {
		return nil, nil, f, err
	}
	cfg, err := a.readConfigAs(source)
	if err != nil {
		return nil, nil, f, err
	}
	w, err := open(ctx, cfg)
	if err != nil {
		return nil, nil, f, err
	}
	if ago > 0 {
		now, err := w.Now(ctx)
		if err != nil {
			return nil, nil, f, errors.Join(err, w.Close())
		}
		f.Since = now.Add(-ago)
	}
	return w, cfg, f, nil
}

// rejectsCommand is what its flags say.
type rejectsCommand struct {
	rejectChoice
	all    bool
	limit  int
	format *choice[term.Format]
}

func newRejects(a *app) *cobra.Command {
	var c rejectsCommand
	cmd := &cobra.Command{
		Use:     "rejects",
		Short:   "List what could not be loaded; retry loads what this version can read",
		Long:    rejectsLong,
		Example: rejectsExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), a)
		},
	}
	c.flags(a, cmd)
	cmd.Flags().BoolVar(&c.all, "all", false, "include what is loaded or superseded")
	limitFlag(cmd, &c.limit, 50, "rejected records and values")
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.JSONLines, term.CSV)
	cmd.AddCommand(a.loads(newRejectsRetry(a)))
	return cmd
}

func (c *rejectsCommand) run(ctx context.Context, a *app) (err error) {
	if err := checkLimit(c.limit); err != nil {
		return err
	}
	w, cfg, f, err := c.open(ctx, a, config.Source{}, a.opener().Existing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.CheckSchema(ctx); err != nil {
		return err
	}
	f.Unsettled, f.Limit = !c.all && c.runID == "", c.limit
	found, err := w.RejectedRecords(ctx, f)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if err := service.UnknownAccount(ctx, cfg, w, f.Account); err != nil {
			return err
		}
		if !c.all && c.runID == "" {
			a.log.Info("there is nothing to list; --all also lists what is loaded or superseded")
		}
	}
	return printRejects(a.stdout, c.format.value, found)
}

// widestRaw bounds what a table shows of a record.
const widestRaw = 100

func printRejects(to io.Writer, format term.Format, found []warehouse.Rejected) error {
	columns := []term.Column{
		{Name: "read_at"}, {Name: "account"}, {Name: "stream"}, {Name: "key"}, {Name: "field"}, {Name: "reason"},
		{Name: "state"}, {Name: "raw"},
	}
	if format == term.Table {
		columns[0] = term.Column{Name: "read", Human: term.TimeCell}
		columns[7].Human = func(v any) string { return term.Cut(term.Plain(v), widestRaw) }
		columns = slices.Insert(columns, 7, term.CountColumn("times"))
	} else {
		columns = append(columns, term.Column{Name: "run_id"}, term.Column{Name: "page"}, term.Column{Name: "seen_at"},
			term.Column{Name: "settled_at"}, term.Column{Name: "times"},
			term.Column{Name: "first_seen_at"}, term.Column{Name: "last_run_id"})
	}
	var rows [][]any
	for _, x := range found {
		row := []any{term.Time(x.ReadAt), x.Account, x.Stream, x.Key, x.Field, x.Reason, string(x.State), x.Raw}
		if format == term.Table {
			row = slices.Insert(row, 7, any(x.Times))
		} else {
			row = append(row, x.RunID.String(), uint64(x.Page), term.Time(x.SeenAt), term.TimeAt(x.SettledAt), x.Times,
				term.Time(x.FirstSeen), x.LastRunID.String())
		}
		if raw := json.RawMessage(x.Raw); format != term.Table && format != term.CSV && json.Valid(raw) {
			row[7] = raw
		}
		rows = append(rows, row)
	}
	if err := term.Print(format, to, columns, rows); err != nil {
		return fmt.Errorf("printing the rejected records: %w", err)
	}
	return nil
}
