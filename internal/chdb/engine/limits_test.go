package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/enginetest"
)

// tooMuch is a query, the code of the error that it must end with, and the settings that it asks for.
type tooMuch struct {
	sql, code string
	v         url.Values
}

// endless is a query that takes days, but hardly uses the machine.
const endless = "SELECT sum(sleepEachRow(0.00001)) FROM numbers(1000000000000)"

// childLimits asks a limited engine for too much. The limit of time is tested in a separate engine, so that a slow
// machine has nothing else to do within that second.
func childLimits() error {
	const heavy = "SELECT groupArray(number) FROM numbers(100000000) FORMAT Null"
	limits := contract.Limits{QueryMemory: 60 << 20, Memory: 100 << 20, Time: time.Hour, ResultBytes: 20 << 20,
		ResultRows: 1_000_000, Threads: 2, Disk: 10 << 20}
	wrong := askTooMuch(limits, []tooMuch{
		{"SELECT 1", "", nil},
		{moderate, "241", nil},
		{heavy, "241", nil},
		{heavy, "241", url.Values{"max_memory_usage": {"0"}}},
		{heavy, "241", url.Values{"max_memory_usage": {"70000000000"}}},
		{heavy, "241", url.Values{"max_memory_usage": {"10G"}}},
		{heavy, "452", url.Values{"max_untracked_memory": {"100000000000"}}},
		{heavy, "452", url.Values{"max_memory_usage_for_user": {"0"}}},
		{heavy + " SETTINGS max_memory_usage = 0", "241", nil},
		{"SELECT * FROM (" + strings.TrimSuffix(heavy, " FORMAT Null") + " SETTINGS max_memory_usage = 0) FORMAT Null", "241", nil},
		{heavy + " SETTINGS max_memory_usage = DEFAULT", "241", nil},
		{heavy + " SETTINGS `max_memory_usage`=default", "241", nil},
		{heavy + " SETTINGS max_memory_usage =\u00a0DEFAULT", "241", nil},
		{heavy + " SETTINGS max_memory_usage/**/=\ufeff--x\n/*'*/DeFaUlT", "241", nil},
		{"SELECT groupArray(number), \u2018'\u2019 FROM numbers(100000000) FORMAT Null SETTINGS max_memory_usage = DEFAULT, log_comment = \u2018'\u2019", "241", nil},
		{"SELECT count() FROM system.tables WHERE database = 'default' SETTINGS max_threads = 1", "", nil},
		{"SELECT count() FROM system.one AS default WHERE default.dummy = 0 SETTINGS max_threads = 1", "", nil},
		{"SELECT * FROM (" + strings.TrimSuffix(heavy, " FORMAT Null") + " SETTINGS max_memory_usage = DEFAULT) FORMAT Null", "241", nil},
		{endless, "159", url.Values{"max_execution_time": {"0.1"}}},
		{"SELECT number FROM numbers(10000000) FORMAT JSONEachRow", "396", url.Values{"max_block_size": {"5000000"}}},
		{"SELECT 1", "", url.Values{"max_result_rows": {"0"}}},
		{"SELECT 1", "", url.Values{"max_threads": {"500"}, "max_execution_time": {"18446744073709551615"}, "max_subquery_depth": {"0"}}},
		// A query that asks to be broken off at its own limit is not broken off silently at a lower one.
		{"SELECT number FROM numbers(2000000) FORMAT TSV", "396", url.Values{"max_result_rows": {"9223372036854775807"},
			"result_overflow_mode": {"break"}, "max_block_size": {"5000000"}}},
		{"SELECT number FROM numbers(2000000) FORMAT TSV SETTINGS max_result_rows = 0, result_overflow_mode = 'break', max_block_size = 5000000",
			"396", nil},
		{"SELECT 1", "452", url.Values{"max_ast_depth": {"1000000"}}},
		{"SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000), "306", nil},
		{"SELECT 1" + strings.Repeat("+1", 40000), "167", nil},
		{"SELECT 1", "", url.Values{"max_memory_usage": {"50000000"}}},
		{heavy, "241", nil}, // nothing of the query before is left
	})
	limits.Time = time.Second
	if os.Getenv(childReaders) != "" {
		return wrong
	}
	return errors.Join(wrong, askTooMuch(limits, []tooMuch{{endless, "159", nil},
		{endless, "159", url.Values{"max_execution_time": {"0"}}},
		{endless, "159", url.Values{"max_execution_time": {"1000000"}}},
		{endless + " SETTINGS max_execution_time = 305", "159", nil},
	}))
}

// askTooMuch opens an engine with limits, and sends it each query as a writer and as a reader.
func askTooMuch(limits contract.Limits, all []tooMuch) error {
	e, err := openHouse(context.Background(), contract.Options{
		Dir: os.Getenv(childDir), Library: os.Getenv(childLib), Limits: limits, LimitReaders: os.Getenv(childReaders) != "",
	})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	srv := httptest.NewServer(e.Handler(contract.HandlerOptions{AllowWrites: true, MaxWait: patience}))
	defer srv.Close()
	var wrong []error
	if os.Getenv(childReaders) != "" { // what loads has no limits
		db := clickhouse.OpenDB(e.ClickHouseOptions("default"))
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(context.Background(), moderate); err != nil {
			wrong = append(wrong, err)
		}
	}
	for _, c := range all {
		for _, readonly := range []string{"0", "2"} {
			if readonly == "0" && os.Getenv(childReaders) != "" {
				continue
			}
			v := url.Values{"readonly": {readonly}}
			for k := range c.v {
				v[k] = c.v[k]
			}
			got, code, err := statusOf(srv.URL, c.sql, v)
			// A request for another limit may also be refused for that reason.
			asks := len(c.v) > 0 || strings.Contains(c.sql, "SETTINGS")
			if err != nil || code != c.code && (!asks || code != "164" && code != "452" && code != "497") {
				wrong = append(wrong, fmt.Errorf("%.80s %v: code %s, want %s: %.200s %w", c.sql, v, code, c.code, got, err))
			}
		}
	}
	return errors.Join(wrong...)
}

// moderate takes more memory than the limits allow, and no more than any machine has.
const moderate = "SELECT length(groupArray(number)) FROM numbers(20000000) FORMAT Null"

// childReaders asks for limits of readers alone.
const childReaders = "CHDB_TEST_READERS"

func statusOf(address, sql string, v url.Values) (body, code string, err error) {
	resp, err := plain.Post(address+"/?"+v.Encode(), "text/plain", strings.NewReader(sql))
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	b := make([]byte, 400)
	n, _ := resp.Body.Read(b)
	return string(b[:n]), resp.Header.Get("X-ClickHouse-Exception-Code"), nil
}

// TestLimitsHold asks for too much of everything, and to have the limits lifted.
func TestLimitsHold(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	for _, readers := range []string{"", "alone"} {
		out, err := child(t, "limits", childDir+"="+t.TempDir(), childReaders+"="+readers).CombinedOutput()
		if err != nil {
			t.Fatalf("readers %q: %v: %s", readers, err, out)
		}
	}
}
