package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/library"
)

// The engine merges limitsFile into the configuration of users, and totalFile into the main one.
const (
	limitsFile = "users.d/limits.xml"
	totalFile  = "config.d/limits.xml"
)

// ownMemory is the most bytes of memory that the engine itself uses. A bound on the total counts them
// like the memory of queries.
const ownMemory = 256 << 20

// fixedLimits are limits that nobody needs to change. Parsing must not overflow a stack, and memory that is not counted
// must stay small. A query may not set limits that also count the queries of others.
var fixedLimits = []setting{
	{"max_untracked_memory", "1048576"},
	{"memory_usage_overcommit_max_wait_microseconds", "200000"},
	{"max_parser_depth", "1000"},
	{"max_parser_backtracks", "1000000"},
	{"max_ast_depth", "1000"},
	{"max_ast_elements", "50000"},
	{"max_expanded_ast_elements", "500000"},
	{"max_subquery_depth", "100"},
	{"max_pipeline_depth", "1000"},
	{"max_recursive_cte_evaluation_depth", "1000"},
	{"max_temporary_columns", "10000"},
	{"max_concurrent_queries_for_user", "0"},
	{"max_memory_usage_for_user", "0"},
	{"max_temporary_data_on_disk_size_for_user", ""},
}

type setting struct{ name, value string }

// valueOf is the value of a fixed limit; one of them is not fixed.
func (s setting) valueOf(l contract.Limits) string {
	if s.name == "max_temporary_data_on_disk_size_for_user" {
		return strconv.FormatInt(l.Disk, 10)
	}
	return s.value
}

// limitReader returns the statements that give a read-only connection its limits. A profile brings only its
// constraints: the values that a query may choose are in the settings of each query (Settle), and the others are set
// here.
func limitReader(l contract.Limits) []string {
	var values []string
	for _, s := range fixedLimits {
		if !allow.All().Settings.Allows(s.name) {
			values = append(values, s.name+" = "+s.valueOf(l))
		}
	}
	return []string{"SET " + strings.Join(values, ", "), "SET profile = '" + readersProfile + "'"}
}

func isFixedLimit(name string) bool {
	return slices.ContainsFunc(fixedLimits, func(s setting) bool { return s.name == name })
}

// writeLimits writes the limits beside the configuration of users, or removes those that an earlier start left there.
func writeLimits(dir string, l contract.Limits, readers bool) error {
	profile, total := "default", totalXML(l)
	if readers {
		profile, total = readersProfile, totalXML(contract.Limits{})
	}
	for name, text := range map[string]string{limitsFile: limitsXML(profile, l), totalFile: total} {
		path := filepath.Join(dir, "engine", name)
		if l == (contract.Limits{}) {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := library.ReplaceFile(path, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// totalXML returns the configuration that bounds the memory of all queries together. It bounds the memory of the whole
// engine, not the engine's count for its user. That count goes wrong if the memory of a result is freed after its query
// has ended: it grows for as long as any query runs, until no memory seems to be left even for the smallest query.
func totalXML(l contract.Limits) string {
	if l.Memory == 0 {
		return "<clickhouse/>\n"
	}
	return fmt.Sprintf("<clickhouse>\n  <max_server_memory_usage>%d</max_server_memory_usage>\n  <memory_worker_use_cgroup>0</memory_worker_use_cgroup>\n</clickhouse>\n", l.Memory+ownMemory)
}

// readersProfile has the limits that are for read-only connections alone.
const readersProfile = "readers"

// limitsXML returns the configuration that has the limits.
func limitsXML(profile string, l contract.Limits) string {
	var values, constraints strings.Builder
	set := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&values, "      <%[1]s>%[2]s</%[1]s>\n", name, value)
		}
	}
	// A query may ask for less. Zero would mean no limit, so the least value is 1.
	most := func(name, value, least string) {
		if value != "0" {
			set(name, value)
			fmt.Fprintf(&constraints, "        <%[1]s><min>%[3]s</min><max>%[2]s</max></%[1]s>\n", name, value, least)
		}
	}
	decimal := func(n int64) string { return strconv.FormatInt(n, 10) }
	most("max_memory_usage", decimal(l.QueryMemory), "1")
	most(maxExecutionTime, decimal(int64(l.Time.Seconds())), "0.001")
	most("max_execution_time_leaf", decimal(int64(l.Time.Seconds())), "0.001")
	most(maxResultBytes, decimal(l.ResultBytes), "1")
	most("max_result_rows", decimal(l.ResultRows), "1")
	most("max_threads", decimal(int64(l.Threads)), "1")
	for _, s := range fixedLimits {
		s.value = s.valueOf(l)
		if allow.All().Settings.Allows(s.name) {
			most(s.name, s.value, "1")
			continue
		}
		set(s.name, s.value)
		fmt.Fprintf(&constraints, "        <%[1]s><const/></%[1]s>\n", s.name)
	}
	inherited := ""
	if profile == readersProfile {
		inherited = "      <profile>default</profile>\n"
	}
	return "<clickhouse>\n  <profiles>\n    <" + profile + ">\n" + inherited + values.String() + "      <constraints>\n" +
		constraints.String() +
		"      </constraints>\n    </" + profile + ">\n  </profiles>\n</clickhouse>\n"
}
