package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/spf13/cobra"

	"dealhouse/internal/launch"
	"dealhouse/internal/service"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const queryLong = `Runs one SQL statement in the warehouse and prints the result. It is read-only.

Start with the views promotions, coupons, cashback_offers, transactions, payouts, products and
product_prices: they have one row for each current record. coupons_history and the like have every version,
with valid_from and valid_to. sync_runs, sync_state and rejected_records describe the loading.
dealhouse schema explains all views and columns.

Amounts are exact decimals in every format; times are UTC. Tables cut long texts at 64 characters; json,
jsonl and csv have them whole, and are streamed, so a large result does not fill the memory. NULL is NULL in
tables, null in JSON and an empty field in CSV.

Characters that could control the terminal or are invisible are written like \u001b in every format; in
JSON that is the same value. In CSV, text that looks like a formula gets an apostrophe in front. Use JSON if
every character matters.`

const queryExample = `  dealhouse query "SELECT account, status, count() FROM transactions GROUP BY ALL ORDER BY ALL"
  dealhouse query "SELECT currency_code, sum(cashback) FROM transactions GROUP BY ALL" --output json
  dealhouse query "SELECT * FROM products" --output csv > products.csv
  dealhouse query "SHOW TABLES"
  dealhouse query - < report.sql`

// queryCommand is what its flags say.
type queryCommand struct {
	format         *choice[term.Format]
	withoutSandbox bool
	limits         *limits
}

func newQuery(a *app) *cobra.Command {
	var c queryCommand
	cmd := &cobra.Command{
		Use:     `query "SQL"`,
		Short:   "Run SQL in the warehouse, read-only",
		Long:    queryLong,
		Example: queryExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New(`want one argument: the SQL in quotes, or - to read it from stdin`)
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), a, args[0])
		},
	}
	c.format = outputFlag(cmd, term.Table, term.JSONArray, term.JSONLines, term.CSV)
	cmd.Flags().BoolVar(&c.withoutSandbox, "without-sandbox", false, withoutSandboxHelp)
	c.limits = limitFlags(cmd, false)
	return cmd
}

func (c queryCommand) run(ctx context.Context, a *app, sql string) (err error) {
	if err := c.limits.validate(); err != nil {
		return err
	}
	if sql == "-" {
		text, err := io.ReadAll(a.stdin)
		if err != nil {
			return fmt.Errorf("reading the SQL from stdin: %w", err)
		}
		sql = string(text)
	}
	if sql, err = statement(sql); err != nil {
		return err
	}
	cfg, err := a.readOnly("warehouse")
	if err != nil {
		return err
	}
	query := queryTask{SQL: sql, Output: c.format.value}
	dir, embedded := cfg.Warehouse.EmbeddedDir()
	if !embedded {
		w, err := a.opener().Existing(ctx, cfg)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		return query.run(ctx, a, w)
	}
	if err := service.MustExist(dir); err != nil {
		return err
	}
	if w, err := a.opener().Join(ctx, cfg); w != nil || err != nil {
		if err != nil {
			return err
		}
		// A shared engine also does the work of its own process, and sets no limits itself.
		ctx := clickhouse.Context(ctx, clickhouse.WithSettings(c.limits.settings()))
		return errors.Join(query.run(ctx, a, w), w.Close())
	}
	job, err := a.launcher().NewJob(ctx, launch.JobOptions{Dir: dir, WithoutSandbox: c.withoutSandbox})
	if err != nil {
		return err
	}
	t := task{Database: cfg.Warehouse.Database, Limits: c.limits.engine(), Query: &query}
	return t.launch(ctx, a, job, nil)
}

// queryTask is one query and how its result is printed.
type queryTask struct {
	SQL    string
	Output term.Format
}

func (q queryTask) run(ctx context.Context, a *app, w *warehouse.Warehouse) error {
	printed, err := printQuery(ctx, w, a.stdout, q.Output, q.SQL)
	if err == nil && q.Output == term.Table { // the other formats are for programs
		a.logEmpty(printed, "the statement gave no rows")
	}
	if e, ok := errors.AsType[*clickhouse.Exception](err); ok && w.Embedded() && warehouse.IsDenied(err) {
		return usagef("the embedded warehouse refused the statement: %s (code %d)", e.Message,
			e.Code) // it has no credentials
	}
	return err
}

// formatClause finds the formats that people know from ClickHouse's own clients.
var formatClause = regexp.MustCompile(`(?i)\sFORMAT\s+(JSON|CSV|TSV|TabSeparated|Pretty|Vertical|Markdown|Values|Native|Parquet|Arrow|XML|RowBinary|Null)\w*\s*$`)

// statement returns the SQL without the parts that are only for clients.
func statement(sql string) (string, error) {
	sql = strings.TrimRight(strings.TrimSpace(sql), "; \t\r\n")
	switch {
	case sql == "":
		return "", usagef("the SQL is empty")
	case formatClause.MatchString(sql):
		return "", usagef("the statement has a FORMAT clause: leave it out, and say --output json, jsonl or csv")
	}
	return sql, nil
}

// printQuery runs a statement on a read-only connection and prints its rows as they come. It returns their number.
func printQuery(ctx context.Context, w *warehouse.Warehouse, out io.Writer, format term.Format, sql string) (printed int,
	err error) {
	rows, err := w.ReadOnly().Query(ctx, sql)
	if err != nil {
		return 0, sqlError(w, sql, err)
	}
	defer func() {
		if closing := rows.Close(); err == nil && closing != nil {
			err = sqlError(w, sql, closing)
		}
	}()
	types := rows.ColumnTypes()
	columns := make([]term.Column, len(types))
	for i, t := range types {
		columns[i] = queryColumn(t.Name(), t.DatabaseTypeName())
	}
	p := term.NewPrinter(format, out, columns)
	into := make([]any, len(types))
	for i, t := range types {
		into[i] = reflect.New(t.ScanType()).Interface()
	}
	values := make([]any, len(types))
	for rows.Next() {
		if err := scan(rows, types, into, values); err != nil {
			return printed, err
		}
		if err := p.Row(values); err != nil {
			return printed, fmt.Errorf("printing the result: %w", err)
		}
		printed++
	}
	if err := rows.Err(); err != nil {
		return printed, sqlError(w, sql, err)
	}
	if len(columns) == 0 && format == term.Table {
		if columns = describe(ctx, w, sql); len(columns) > 0 {
			p = term.NewPrinter(format, out, columns)
		}
	}
	if len(columns) == 0 { // a statement without a result
		return 0, nil
	}
	if err := p.Close(); err != nil {
		return printed, fmt.Errorf("printing the result: %w", err)
	}
	return printed, nil
}

func queryColumn(name, typ string) term.Column {
	return term.Column{Name: name, Right: term.Numeric(typ), Uncut: strings.Contains(typ, "Date")}
}

// describe returns the columns of a query without rows: over HTTP, which is how the embedded engine is asked, such a
// result does not name them. It returns none for other statements than a SELECT.
func describe(ctx context.Context, w *warehouse.Warehouse, sql string) (columns []term.Column) {
	rows, err := w.ReadOnly().Query(ctx, "DESCRIBE TABLE (\n"+sql+"\n)")
	if err != nil {
		return nil
	}
	defer func() { _ = rows.Close() }()          // the result is complete without the names
	about := make([]string, len(rows.Columns())) // the name, the type, and more
	into := make([]any, len(about))
	for i := range about {
		into[i] = &about[i]
	}
	for rows.Next() {
		if len(about) < 2 || rows.Scan(into...) != nil {
			return nil
		}
		columns = append(columns, queryColumn(about[0], about[1]))
	}
	if rows.Err() != nil {
		return nil
	}
	return columns
}

func scan(rows driver.Rows, types []driver.ColumnType, into, values []any) error {
	for i, t := range types {
		// A pointer that was set by the row before must not be shared with this one.
		reflect.ValueOf(into[i]).Elem().Set(reflect.Zero(t.ScanType()))
	}
	if err := rows.Scan(into...); err != nil {
		return fmt.Errorf("reading the result: %w", err)
	}
	for i, t := range types {
		values[i] = term.Value(reflect.ValueOf(into[i]).Elem(), t.DatabaseTypeName())
	}
	return nil
}

// asOfView finds a view that takes a time as its parameter.
var asOfView = regexp.MustCompile(`(?i)\b\w+_as_of\b`)

// Codes of ClickHouse that a query fails with at a limit, or at a view without its parameter.
const (
	codeNoColumns   = 51 // EMPTY_LIST_OF_COLUMNS_QUERIED
	codeTimeout     = 159
	codeMemoryLimit = 241
	codeResultLimit = 396 // TOO_MANY_ROWS_OR_BYTES
)

// limitAdvice says which flag raises the limit that a query has reached. Only an embedded warehouse has such flags.
func limitAdvice(code int32) string {
	switch code {
	case codeTimeout:
		return "read less, or raise --max-time"
	case codeMemoryLimit:
		return "read or group less, or raise --max-query-memory (and --max-memory, if it is lower)"
	case codeResultLimit:
		return "select less, or raise --max-result and --max-result-rows"
	}
	return ""
}

// sqlError makes the error of a statement that the warehouse does not run to its end. Whatever is not a fault that may
// pass lies with the statement: ClickHouse has hundreds of codes for mistakes in statements, and few for faults.
func sqlError(w *warehouse.Warehouse, sql string, err error) error {
	e, ok := errors.AsType[*clickhouse.Exception](err)
	if !ok {
		return fmt.Errorf("asking the warehouse: %w", err)
	}
	advice := w.Advice(err)
	if w.Embedded() {
		advice = cmp.Or(limitAdvice(e.Code), advice)
	}
	switch {
	case warehouse.IsMissing(err):
		return usagef("the warehouse has no such table: %s (code %d); `dealhouse query \"SHOW TABLES\"` lists what there is, `dealhouse migrate` makes the schema", e.Message, e.Code)
	case e.Code == codeMemoryLimit && w.Embedded():
		// The limit is the one of this query, so it is reached again.
	case warehouse.IsAuth(err), warehouse.MayPass(err):
		if advice != "" {
			return fmt.Errorf("asking the warehouse: %w; %s", err, advice)
		}
		return fmt.Errorf("asking the warehouse: %w", err)
	case e.Code == codeNoColumns && asOfView.MatchString(sql):
		advice = fmt.Sprintf("a view that ends in _as_of needs a time in UTC, such as %s(at = '2026-01-31 12:00:00')",
			asOfView.FindString(sql))
	}
	if advice != "" {
		return usagef("the warehouse refused the statement: %s (code %d); %s", e.Message, e.Code, advice)
	}
	return usagef("the warehouse refused the statement: %s (code %d)", e.Message, e.Code)
}
