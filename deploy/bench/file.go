package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/chdb"
)

// insertFile has the engine read JSON itself, from one file: what no loader that reads the same JSON as text can be
// expected to beat by much, since there are no pages, no comparison and no state.
func insertFile(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("file", flag.ContinueOnError)
	path, dir := f.String("file", "", "with a transaction a line"), f.String("dir", "", "of the engine")
	if err := f.Parse(args); err != nil {
		return err
	}
	data, err := os.Open(*path)
	if err != nil {
		return err
	}
	defer data.Close() //nolint:errcheck // it is only read
	return withEngine(ctx, *dir, func(e *chdb.Engine, db driver.Conn) error {
		if err := db.Exec(ctx, plainTable); err != nil {
			return err
		}
		query := url.Values{
			"query": {"INSERT INTO transactions FORMAT JSONEachRow"}, "database": {"default"},
			"date_time_input_format": {"best_effort"}, "input_format_null_as_default": {"1"},
			"input_format_skip_unknown_fields": {"1"},
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://embedded/?"+query.Encode(), data)
		if err != nil {
			return err
		}
		resp, err := e.RoundTrip(req)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("the engine answered %s: %s", resp.Status, text)
		}
		return errors.Join(err, resp.Body.Close())
	})
}
