package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/chdb"
)

// question is about the transactions of a folder: where they are, and how its columns are called.
type question struct {
	dir, table, orderValue string
}

// found is what is in a table. Rows are those that its readers see, and Distinct how many ids they have.
type found struct {
	Rows, Distinct int64
	Merged         int64 // rows with FINAL, as a careful reader would see them
	Exact          map[string][2]string
}

// askAlone answers in a process of its own: a process opens one folder.
func askAlone(ctx context.Context, o options, q question) (f found, err error) {
	cmd := exec.CommandContext(ctx, o.self, "ask", "--dir", q.dir, "--table", q.table, "--order-value", q.orderValue) //nolint:gosec // this program
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("looking at what was loaded: %w", err)
	}
	return f, json.Unmarshal(text, &f)
}

func ask(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("ask", flag.ContinueOnError)
	dir, table, orderValue := f.String("dir", "", ""), f.String("table", "", ""), f.String("order-value", "", "")
	if err := f.Parse(args); err != nil {
		return err
	}
	return withEngine(ctx, *dir, func(_ *chdb.Engine, db driver.Conn) error {
		a := found{Exact: map[string][2]string{}}
		var exists uint8
		if err := db.QueryRow(ctx, "EXISTS "+*table).Scan(&exists); err != nil || exists == 0 {
			return errors.Join(err, json.NewEncoder(os.Stdout).Encode(a))
		}
		if err := db.QueryRow(ctx, "SELECT toInt64(count()), toInt64(uniqExact(id)) FROM "+*table).Scan(&a.Rows,
			&a.Distinct); err != nil {
			return err
		}
		a.Merged = a.Rows
		if *table == "transactions" { // not a view, which needs no FINAL
			if err := db.QueryRow(ctx, "SELECT toInt64(count()) FROM "+*table+" FINAL").Scan(&a.Merged); err != nil {
				return err
			}
		}
		rows, err := db.Query(ctx, fmt.Sprintf("SELECT toString(id), toString(%s), toString(cashback) FROM %s WHERE startsWith(toString(id), '%s')", *orderValue, *table, exactPrefix))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var values [2]string
			if err := rows.Scan(&id, &values[0], &values[1]); err != nil {
				return err
			}
			a.Exact[id] = values
		}
		return errors.Join(rows.Err(), json.NewEncoder(os.Stdout).Encode(a))
	})
}
