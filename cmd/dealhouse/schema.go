package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/config"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const schemaLong = `Explains every view and column of the warehouse: type, meaning, unit, where the value comes from (a field of
the API, or other columns), and how a missing value shows: NULL, empty, or never. It reads this from the
comments in ClickHouse, where BI tools find it too.

Name views to see only those.

--output dbt writes the sources.yml of a dbt project (dbt 1.10 or later). --output odcs writes a data
contract of the Open Data Contract Standard (v3.1.0). Both use the accounts and schedules of your
configuration to say how fresh each stream must be. Without an account in it, they use the default schedules
and all accounts in the warehouse.`

const schemaExample = `  dealhouse schema transactions
  dealhouse schema --output markdown > dictionary.md
  dealhouse schema --output json deals_active product_price_changes
  dealhouse schema --output dbt > models/staging/dealhouse/sources.yml
  dealhouse schema --output odcs > dealhouse.odcs.yaml`

// Formats that only a schema has.
const (
	asMarkdown term.Format = "markdown"
	asDBT      term.Format = "dbt"
	asODCS     term.Format = "odcs"
)

func newSchema(a *app) *cobra.Command {
	var format *choice[term.Format]
	cmd := &cobra.Command{
		Use:               "schema [VIEW...]",
		Short:             "Explain every view and column",
		Long:              schemaLong,
		Example:           schemaExample,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return explainSchema(cmd.Context(), a, args, format.value)
		},
	}
	format = outputFlag(cmd, term.Table, asMarkdown, term.JSONArray, asDBT, asODCS)
	return cmd
}

func explainSchema(ctx context.Context, a *app, names []string, format term.Format) error {
	return a.readWarehouse(ctx, func(cfg *config.Config, w *warehouse.Warehouse) error {
		views, err := w.Dictionary(ctx)
		if err != nil {
			return err
		}
		if len(views) == 0 {
			return warehouse.ErrSchemaOld
		}
		if views, err = chosen(views, names); err != nil {
			return err
		}
		switch format {
		case asDBT, asODCS:
			promised, err := newContract(cfg, views, time.Now())
			if err != nil {
				return err
			}
			if format == asDBT {
				return promised.WriteDBT(a.stdout)
			}
			return promised.WriteODCS(a.stdout)
		case term.JSONArray:
			enc := json.NewEncoder(a.stdout)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			return enc.Encode(views)
		case asMarkdown:
			return writeDictionary(a.stdout, views)
		}
		columns := []term.Column{{Name: "view"}, {Name: "column"}, {Name: "type"}, {Name: "absent"}, {Name: "unit"},
			{Name: "source"}, {Name: "meaning"}}
		var rows [][]any
		for _, v := range views {
			for _, c := range v.Columns {
				rows = append(rows, []any{v.Name, c.Name, c.Type, orNever(c.Absent), c.Unit, c.Source, c.Meaning})
			}
		}
		return term.Print(term.Table, a.stdout, columns, rows)
	})
}

// chosen are the views of those names, or all.
func chosen(views []warehouse.View, names []string) ([]warehouse.View, error) {
	if len(names) == 0 {
		return views, nil
	}
	var picked []warehouse.View
	var all []string
	for _, v := range views {
		all = append(all, v.Name)
		if slices.Contains(names, v.Name) {
			picked = append(picked, v)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, usagef("there is no view %q: the views are %s", name, term.List(all))
		}
	}
	return picked, nil
}

func orNever(absent string) string {
	if absent == "" {
		return "never"
	}
	return absent
}

// writeDictionary writes the views as Markdown.
func writeDictionary(w io.Writer, views []warehouse.View) error {
	var b strings.Builder
	b.WriteString("# Data dictionary\n\nEvery view of the warehouse and its columns, as `dealhouse schema --output markdown` reads them from ClickHouse.\n" +
		"`absent` says how a missing value shows.\n")
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, v := range views {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n| column | type | absent | unit | source | meaning |\n|---|---|---|---|---|---|\n",
			v.Name, v.Meaning)
		for _, c := range v.Columns {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", c.Name, cell.Replace(c.Type), orNever(c.Absent),
				cell.Replace(c.Unit), cell.Replace(c.Source), cell.Replace(c.Meaning))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
