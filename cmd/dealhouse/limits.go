package main

import (
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/spf13/cobra"

	"dealhouse/internal/chdb"
	"dealhouse/internal/machine"
)

// limits bound what others may use of this machine by querying the embedded warehouse.
type limits struct {
	memory, queryMemory, result, buffered, disk int64 // MiB
	seconds                                     int64
	rows                                        int64
	threads, queries                            int
}

// roomy is the memory, in MiB, above which the limits need not save memory: the engine itself takes about 200.
const roomy = 2048

// defaultLimits returns limits that fit the memory that this process may use.
func defaultLimits() *limits { return limitsFor(machine.Memory() >> 20) }

// limitsFor returns the limits for so many MiB of memory; 0 stands for what most machines have at least. The engine
// does not count the text of results that cannot be streamed. That text may be several times as long as the data that
// the limit counts.
func limitsFor(allowed int64) *limits {
	if allowed == 0 {
		allowed = roomy
	}
	l := &limits{memory: min(allowed/4, 4096), result: 4096, buffered: 16, disk: 1024, seconds: 300, rows: 100_000_000,
		threads: 4, queries: 8}
	if allowed < roomy {
		l.memory, l.buffered, l.threads, l.queries = max(allowed/8, 32), max(allowed/128, 2), 2, 4
	}
	l.queryMemory = l.memory / 2
	return l
}

// limitFlags adds flags for the limits to a command: for many queries, or for a single one.
func limitFlags(cmd *cobra.Command, many bool) *limits {
	l := defaultLimits()
	flags := cmd.Flags()
	flags.Int64Var(&l.memory, "max-memory", l.memory,
		"`MiB` of memory for all queries together; by default a quarter of the memory of the machine or container, at most 4096, or an eighth if it has less than 2 GiB")
	flags.Int64Var(&l.queryMemory, "max-query-memory", l.queryMemory,
		"`MiB` of memory for one query; by default half of --max-memory")
	flags.Int64Var(&l.seconds, "max-time", l.seconds, "`seconds` that one query may run")
	flags.Int64Var(&l.result, "max-result", l.result, "`MiB` that one result may have")
	flags.Int64Var(&l.rows, "max-result-rows", l.rows, "`rows` that one result may have")
	flags.Int64Var(&l.disk, "max-temporary", l.disk, "`MiB` of temporary files, for queries that do not fit into memory")
	flags.IntVar(&l.threads, "max-threads", l.threads, "`threads` that one query may use")
	if many {
		flags.IntVar(&l.queries, "max-queries", l.queries,
			"`queries` that may run at once; others wait for 5 seconds at most")
		flags.Int64Var(&l.buffered, "max-buffered", l.buffered,
			"`MiB` of a result that cannot be streamed: Parquet, Pretty and the like; by default 16, or less with less than 2 GiB of memory")
	}
	return l
}

// engine returns the limits that the engine enforces.
func (l *limits) engine() chdb.Limits {
	return chdb.Limits{
		QueryMemory: min(l.queryMemory, l.memory) << 20, Memory: l.memory << 20, Time: time.Duration(l.seconds) * time.Second,
		ResultBytes: l.result << 20, ResultRows: l.rows, Threads: l.threads, Disk: l.disk << 20,
	}
}

// settings returns the limits of one query, for an engine that enforces none itself.
func (l *limits) settings() clickhouse.Settings {
	return clickhouse.Settings{
		"max_memory_usage": min(l.queryMemory, l.memory) << 20, "max_execution_time": l.seconds,
		"max_result_bytes": l.result << 20, "max_result_rows": l.rows, "max_threads": l.threads,
	}
}

// validate refuses limits that would limit nothing.
func (l *limits) validate() error {
	for name, n := range map[string]int64{
		"max-memory": l.memory, "max-query-memory": l.queryMemory, "max-time": l.seconds, "max-result": l.result,
		"max-result-rows": l.rows,
		"max-temporary":   l.disk, "max-threads": int64(l.threads), "max-queries": int64(l.queries),
		"max-buffered": l.buffered,
	} {
		if n <= 0 {
			return usagef("--%s: want a number above 0", name)
		}
	}
	if l.result < l.buffered {
		return usagef("--max-result: want at least as much as --max-buffered, %d MiB", l.buffered)
	}
	return nil
}
