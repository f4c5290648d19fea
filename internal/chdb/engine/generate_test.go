package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/chdb/allow"
)

func columnOf(t testing.TB, db driver.Conn, sql string) []string {
	t.Helper()
	rows, err := db.Query(context.Background(), sql)
	must(t, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		must(t, rows.Scan(&s))
		all = append(all, s)
	}
	must(t, rows.Err())
	return all
}

// generated makes attacks from the names in the engine's own catalogues.
func generated(t testing.TB, db driver.Conn) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Generated from the catalogues of the engine: go test ./internal/chdb -run TestGenerated -update-attacks\n")
	each := func(head, sql string, forms ...string) {
		fmt.Fprintf(&b, "# %s\n", head)
		for i, name := range columnOf(t, db, sql) {
			// Each name gets one of the forms, in turns.
			form := strings.ReplaceAll(forms[i%len(forms)], "{NAME}", name)
			b.WriteString(form + "\n")
		}
	}
	each("functions: the name, called, given to another function, applied, hidden",
		"SELECT name FROM system.functions WHERE NOT is_aggregate AND origin = 'System' ORDER BY lower(name), name",
		"SELECT {NAME}('{FILE}')", "SELECT arrayMap({NAME}, ['{FILE}'])", "SELECT * APPLY({NAME}) FROM (SELECT '{FILE}')",
		"SELECT `{NAME}`/**/('{FILE}', 'LineAsString')", "?param_f={NAME} SELECT arrayMap({f:Identifier}, ['{FILE}'])")
	each("aggregate functions", "SELECT name FROM system.functions WHERE is_aggregate AND origin = 'System' ORDER BY lower(name), name",
		"SELECT {NAME}('{FILE}')", "SELECT arrayReduce('{NAME}', ['{FILE}'])")
	for _, form := range []string{
		"SELECT * FROM {NAME}('{FILE}')",
		"SELECT * FROM `{NAME}`('http://{ADDR}/', 'LineAsString', 'x String')",
		"DESCRIBE TABLE {NAME}('{ADDR}', 'a', 'b', 'u', 'p')",
		"SELECT 1 WHERE '' IN {NAME}('{FILE}', 'a String, b String ALIAS file(\\'{FILE}\\')')",
		"INSERT INTO FUNCTION {NAME}('{DIR}/out', 'CSV', 'x Int8') SELECT 1",
		"CREATE TABLE guard_g AS {NAME}('{FILE}', 'LineAsString')",
	} {
		each("table functions", "SELECT name FROM system.table_functions ORDER BY lower(name), name", form)
	}
	for _, form := range []string{
		"CREATE TABLE guard_{NAME} (a String) ENGINE = {NAME}('{FILE}') ;;; SELECT * FROM guard_{NAME}",
		"CREATE TABLE guard_{NAME}2 (a String, b String ALIAS file(a)) ENGINE = {NAME}('http://{ADDR}/', 'CSV')",
	} {
		each("table engines", "SELECT name FROM system.table_engines ORDER BY lower(name), name", form)
	}
	each("database engines", "SELECT name FROM system.database_engines ORDER BY name",
		"CREATE DATABASE guard_d_{NAME} ENGINE = {NAME}('{DIR}', '{ADDR}', 'a', 'b')")
	each("formats, of results and of data", "SELECT name FROM system.formats ORDER BY lower(name), name",
		"?format_schema={FILE}:M&format_template_row={FILE} SELECT '{FILE}' FORMAT {NAME}")
	each("formats, of a table function", "SELECT name FROM system.formats ORDER BY lower(name), name",
		"SELECT * FROM format({NAME}, 'a String, b String DEFAULT file(\\'{FILE}\\')', '{FILE}')")
	each("settings, in the URL and in the text", "SELECT name FROM system.settings ORDER BY name",
		"?{NAME}=file('{FILE}') SELECT * FROM guard_w", "SELECT * FROM guard_w SETTINGS {NAME} = '{FILE}'",
		"?{NAME}={FILE} SELECT * FROM guard_w",
		"SET {NAME} = 'file(\\'{FILE}\\')'")
	each("settings of tables", "SELECT name FROM system.merge_tree_settings ORDER BY name",
		"CREATE TABLE guard_s (a Int8) ENGINE = MergeTree ORDER BY a SETTINGS {NAME} = '{DIR}/out'",
		"ALTER TABLE guard_w MODIFY SETTING {NAME} = '{FILE}'")
	each("types", "SELECT name FROM system.data_type_families ORDER BY lower(name), name",
		"SELECT CAST('{FILE}', '{NAME}(file(\\'{FILE}\\'))')")
	b.WriteString("# system tables, those too that the engine had before they were dropped\n")
	for _, name := range strings.Fields(systemTableNames) {
		for _, form := range []string{"SELECT * FROM system.{NAME} LIMIT 1000",
			"CREATE TABLE guard_m_{NAME} ENGINE = Merge('system', '^{NAME}$')"} {
			b.WriteString(strings.ReplaceAll(form, "{NAME}", name) + "\n")
		}
	}
	b.WriteString("# sources and layouts of dictionaries\n")
	for _, source := range strings.Fields("FILE EXECUTABLE EXECUTABLE_POOL HTTP LIBRARY MYSQL POSTGRESQL MONGODB REDIS CASSANDRA ODBC JDBC CLICKHOUSE YAMLREGEXPTREE YTSAURUS NULL") {
		fmt.Fprintf(&b, "CREATE DICTIONARY guard_l_%s (a UInt64, b String) PRIMARY KEY a SOURCE(%s(path '{FILE}' command 'id' url 'http://{ADDR}/' host '127.0.0.1' format 'LineAsString')) LAYOUT(FLAT()) LIFETIME(0)\n", source, source)
	}
	return b.String()
}

// systemTableNames are the tables of the database "system" of a fresh engine.
const systemTableNames = `aggregate_function_combinators asynchronous_inserts asynchronous_loader azure_queue_metadata_cache
azure_queue_settings background_schedule_pool backups build_options certificates clusters codecs collations columns
completions constraints contributors current_roles dashboards data_skipping_index_types data_skipping_indices
data_type_families database_engines database_replicas databases detached_parts detached_tables dictionaries
dictionary_layouts dictionary_sources dimensional_metrics disk_types disks distributed_ddl_queue distribution_queue
dns_cache documentation dropped_tables dropped_tables_parts enabled_roles errors events fail_points filesystem_cache
filesystem_cache_settings formats functions grants graphite_retentions histogram_metrics hypothetical_indexes
iceberg_files iceberg_history jemalloc_bins jemalloc_profile_text jemalloc_stats kafka_consumers keywords licenses
macros masking_policies merge_tree_settings merges metrics models moves mutations named_collections numbers
numbers_mt one part_moves_between_shards parts parts_columns primes privileges processes projection_parts
projection_parts_columns projections query_cache query_condition_cache quota_limits quota_usage quotas quotas_usage
remote_data_paths replicas replicated_fetches replicated_merge_tree_settings replication_queue resources rocksdb
role_grants roles row_policies s3_queue_settings s3queue_metadata_cache scheduler schema_inference_cache
server_settings settings settings_changes settings_profile_elements settings_profiles stack_trace storage_policies
symbols table_engines table_functions tables time_zones tokenizers unicode user_defined_functions user_directories
user_processes users view_refreshes warnings workloads zeros zeros_mt`

// TestGeneratedAttacks: the file is up to date with the engine's catalogues.
func TestGeneratedAttacks(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "attacks", "generated.txt")
	want := generated(t, connect(t))
	if *updateAttacks {
		must(t, os.WriteFile(path, []byte(want), 0o644))
	}
	have, err := os.ReadFile(path)
	must(t, err)
	if string(have) != want {
		a, b := strings.Split(string(have), "\n"), strings.Split(want, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("line %d is %q, now %q", i+1, a[i], b[i])
				break
			}
		}
		t.Error("the engine's catalogues have changed: look at the difference after -update-attacks")
	}
}

// TestListsAreComplete fails if the engine has a name that is not on its list, or has dropped one that is.
func TestListsAreComplete(t *testing.T) {
	t.Parallel()
	db, l := connect(t), allow.All()
	for _, c := range []struct {
		file string
		list allow.List
		sql  string
	}{
		{"functions", l.Functions, "SELECT name FROM system.functions WHERE NOT is_aggregate AND origin = 'System'"},
		{"aggregates", l.Aggregates, "SELECT name FROM system.functions WHERE is_aggregate"},
		{"table_functions", l.TableFunctions, "SELECT name FROM system.table_functions"},
		{"engines", l.Engines, "SELECT name FROM system.table_engines UNION DISTINCT SELECT name FROM system.database_engines"},
		{"formats", l.Formats, "SELECT name FROM system.formats"},
		{"settings", l.Settings, "SELECT name FROM system.settings"},
		{"merge_tree_settings", l.MergeTree, "SELECT name FROM system.merge_tree_settings"},
		{"system_tables", l.SystemTables, "SELECT name FROM system.tables WHERE database = 'system'"},
	} {
		have := map[string]bool{}
		for _, name := range columnOf(t, db, c.sql) {
			have[strings.ToLower(name)] = true
			if _, ok := c.list[strings.ToLower(name)]; !ok {
				t.Errorf("%s is new: see what it can reach, and put it into allow/%s.txt", name, c.file)
			}
		}
		for name := range c.list {
			if !have[name] {
				t.Errorf("%s is gone: take it out of allow/%s.txt", name, c.file)
			}
		}
	}
	suffixes := columnOf(t, db, "SELECT lower(name) FROM system.aggregate_function_combinators")
	slices.Sort(suffixes)
	mine := slices.Sorted(slices.Values(allow.Combinators))
	if !slices.Equal(suffixes, mine) {
		t.Errorf("the allow.Combinators are %v, and here %v", suffixes, mine)
	}
}
