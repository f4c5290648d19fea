package engine_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/enginetest"
)

// openDoor serves the shared engine over real HTTP. On a slow machine, a request that has to wait
// for a turn is not refused.
func openDoor(t testing.TB, o contract.HandlerOptions) *httptest.Server {
	t.Helper()
	o.MaxWait = patience
	srv := httptest.NewServer(shared.Handler(o))
	t.Cleanup(srv.Close)
	return srv
}

// secret makes a file that nobody may read through a door.
func secret(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(path, []byte("TOPSECRET\n"), 0o644))
	return path
}

// TestReadOnlyDoorRefuses sends hostile statements: each tries to write, to reach the host's files or
// network, or to undo a lock.
func TestReadOnlyDoorRefuses(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{})
	db := connect(t)
	execute(t, db, "CREATE TABLE r (a Int64) ENGINE = MergeTree ORDER BY a")
	execute(t, db, "INSERT INTO r VALUES (1)")
	name := "t" + hexName(t)
	file := secret(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, sql := range []string{
		// Writing.
		"INSERT INTO r VALUES (2)",
		"INSERT INTO r SELECT 2",
		"insert into r format CSV 2",
		"/* SELECT */ INSERT INTO r SELECT 2",
		"-- SELECT 1\nINSERT INTO r SELECT 2",
		"WITH 2 AS x INSERT INTO r SELECT x",
		"(INSERT INTO r SELECT 2)",
		"EXPLAIN ANALYZE INSERT INTO r SELECT 2",
		"CREATE TABLE r2 (a Int8) ENGINE = Memory",
		"CREATE TEMPORARY TABLE r2 (a Int8)",
		"CREATE FUNCTION leak AS (x) -> x",
		"ALTER TABLE r DELETE WHERE 1",
		"DELETE FROM r WHERE 1",
		"TRUNCATE TABLE r",
		"DROP TABLE r",
		"OPTIMIZE TABLE r",
		"ATTACH TABLE x",
		"CREATE DICTIONARY d (a Int8) PRIMARY KEY a SOURCE(FILE(path '" + file +
			"' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)",
		// Undoing the locks.
		"SET readonly = DEFAULT",
		"SET readonly = 0",
		"SET ROLE writer",
		"SET ROLE DEFAULT",
		"SET ROLE ALL",
		"SELECT 1 SETTINGS readonly = DEFAULT",
		"SELECT 1 SETTINGS readonly=0",
		"SELECT 1 SETTINGS `readonly` = DEFAULT, max_threads = 7",
		"SELECT 1 SETTINGS \"readonly\"/**/=/**/DEFAULT",
		"SELECT 1 SETTINGS max_block_size = 7, readonly\n=\nDEFAULT",
		"SELECT * FROM (SELECT 1 SETTINGS readonly = DEFAULT)",
		"EXPLAIN SELECT 1 SETTINGS readonly = DEFAULT",
		"SELECT 1 SETTINGS max_block_size = 7, async_insert_max_data_size = 1",
		"SELECT 1 SETTINGS additional_result_filter = '0'",
		"SELECT 1 SETTINGS dialect = 'prql'",
		"SELECT 1; SET readonly = DEFAULT",
		"SELECT 1; SELECT 2",
		"SELECT 1; INSERT INTO r SELECT 2",
		"SELECT 1;; DROP TABLE r (",
		"SET ROLE writer; SELECT 1; x(",
		"EXECUTE AS default SELECT 1",
		"USE system",
		"KILL QUERY WHERE 1 ASYNC",
		"SYSTEM SHUTDOWN",
		"SYSTEM FLUSH LOGS",
		"GRANT SELECT ON *.* TO default",
		"CREATE USER mallory",
		"BEGIN TRANSACTION",
		"BACKUP DATABASE default TO File('" + out + "')",
		// Files.
		"SELECT file('" + file + "')",
		"SELECT file/**/('" + file + "')",
		"SELECT `file`('" + file + "')",
		"SELECT \"file\"('" + file + "')",
		"SELECT “file”('" + file + "')",
		"SELECT `fil\\x65`('" + file + "')",
		"SELECT arrayMap(file, ['" + file + "'])",
		"SELECT arrayMap(x -> file(x), ['" + file + "'])",
		"SELECT * APPLY(file) FROM (SELECT '" + file + "')",
		"SELECT * APPLY file FROM (SELECT '" + file + "')",
		"WITH (SELECT file('" + file + "')) AS x SELECT x",
		"WITH x AS (SELECT file('" + file + "') AS y) SELECT y FROM x",
		"SELECT $a$'$a$, file('" + file + "'), $a$'$a$",
		"SELECT '\\'', file('" + file + "'), ''",
		"SELECT '' -- '\n, file('" + file + "')",
		"SELECT 1 ORDER BY file('" + file + "')",
		"SELECT throwIf(1, file('" + file + "'))",
		"SELECT count() FROM r WHERE file('" + file + "') != ''",
		"DESCRIBE (SELECT file('" + file + "'))",
		"EXPLAIN QUERY TREE SELECT file('" + file + "')",
		"EXPLAIN SYNTAX SELECT file('" + file + "')",
		"EXPLAIN SELECT * FROM view(SELECT file('" + file + "'))",
		"SELECT * FROM file('" + file + "', 'LineAsString')",
		"SELECT * FROM file('" + file + "', LineAsString, 'x String')",
		"DESCRIBE TABLE file('" + file + "')",
		"SELECT * FROM fileCluster('c', '" + file + "', 'LineAsString')",
		"SELECT * FROM filesystem('" + filepath.Dir(file) + "')",
		"SELECT * FROM sqlite('" + file + "', 't')",
		"SELECT * FROM icebergLocal('" + filepath.Dir(file) + "')",
		"SELECT * FROM deltaLakeLocal('" + filepath.Dir(file) + "')",
		"SELECT * FROM eval('SELECT fi' || 'le(\\'" + file + "\\')')",
		"SELECT * FROM executable('id', 'LineAsString', 'x String')",
		"SELECT * FROM viewExplain('EXPLAIN', '', (SELECT 1))",
		"SELECT catboostEvaluate('" + file + "', 1)",
		"SELECT 1 INTO OUTFILE '" + out + "'",
		"SELECT 1 INTO/**/OUTFILE/**/'" + out + "' TRUNCATE",
		"SELECT 1 into outfile '" + out + "' FORMAT CSV",
		"SHOW TABLES INTO OUTFILE '" + out + "'",
		"EXPLAIN SELECT 1 INTO OUTFILE '" + out + "'",
		"DESCRIBE r INTO OUTFILE '" + out + "'",
		"INSERT INTO r FROM INFILE '" + file + "' FORMAT CSV",
		"INSERT INTO FUNCTION file('" + out + "', 'CSV', 'x Int8') VALUES (1)",
		"SELECT 1 FORMAT Template SETTINGS format_template_row = '" + file + "'",
		"SELECT * FROM system.jemalloc_profile_text",
		"SELECT * FROM system.stack_trace",
		"SELECT count() FROM merge('system', 'stack_tr.*|jemalloc_prof.*')",
		// Network.
		"SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
		"DESCRIBE TABLE url('http://127.0.0.1:1/')",
		"EXPLAIN SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
		"SELECT * FROM urlCluster('c', 'http://127.0.0.1:1/')",
		"SELECT * FROM s3('https://bucket.example.invalid/key', 'CSV', 'x Int8')",
		"SELECT * FROM gcs('https://bucket.example.invalid/key', 'CSV', 'x Int8')",
		"SELECT * FROM hdfs('hdfs://127.0.0.1:1/x', 'CSV', 'x Int8')",
		"SELECT * FROM azureBlobStorage('http://127.0.0.1:1', 'c', 'b', 'a', 'a2V5', 'CSV', 'auto', 'x Int8')",
		"SELECT * FROM remote('127.0.0.1:1', system.one)",
		"SELECT * FROM remoteSecure('127.0.0.1:1', 'system', 'one')",
		"SELECT * FROM cluster('default', system.one)",
		"SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')",
		"SELECT * FROM postgresql('127.0.0.1:1', 'd', 't', 'u', 'p')",
		"SELECT * FROM mongodb('127.0.0.1:1', 'd', 'c', 'u', 'p', 'x Int8')",
		"SELECT * FROM redis('127.0.0.1:1', 'k', 'k String, v String')",
		"SELECT * FROM odbc('DSN=x', 'd', 't')",
		"SELECT * FROM jdbc('x', 'd', 't')",
		"SELECT * FROM view(SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString'))",
		"SELECT * FROM merge('system', 'one') WHERE 1 IN (SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString', 'x UInt8'))",
		"SELECT aiGenerate('x')",
	} {
		t.Run(sql, func(t *testing.T) {
			for _, v := range []url.Values{{}, {"max_result_rows": {"1"}}, {"limit": {"1"}, "offset": {"1"}}} {
				v.Set("database", name)
				status, body, h := post(t, srv, sql, v)
				if status == http.StatusOK || h.Get("X-ClickHouse-Exception-Code") == "" {
					t.Errorf("status %d, with %v: %s", status, v, body)
				}
				if strings.Contains(body, "TOPSECRET") {
					t.Errorf("it leaks: %s", body)
				}
			}
		})
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a file was written")
	}
	if got := cell(t, db, "SELECT count() FROM r"); got != "1" {
		t.Errorf("the table has %s rows", got)
	}
	// The door is still as before.
	if status, body, _ := post(t, srv, "SELECT getSetting('readonly')", nil); status != 200 || body != "1\n" {
		t.Errorf("afterwards: %d %s", status, body)
	}
	if got := cell(t, db, "SELECT getSetting('readonly')"); got != "0" {
		t.Errorf("inside, readonly is %s", got)
	}
}

// TestReaderLocksAreIndependent removes the first lock: even without classification and guard, a reader connection
// cannot write, nor leave its role for long.
func TestReaderLocksAreIndependent(t *testing.T) {
	t.Parallel()
	c, err := shared.ConnectReader()
	must(t, err)
	defer c.Close()
	for _, sql := range []string{
		"CREATE TABLE default.lock (a Int8) ENGINE = Memory",
		"SELECT * FROM file('/etc/passwd', 'LineAsString')",
		"SELECT 1 SETTINGS additional_result_filter = '0'",
		"SET max_threads = 7",
		"SELECT * FROM executable('id', 'TSV', 'x String')",
		"SELECT * FROM eval('SELECT 1')",
		"SELECT * FROM url('http://127.0.0.1:1/', LineAsString)",
	} {
		if err := c.Exec(sql); err == nil {
			t.Errorf("%s went through", sql)
		}
	}
	must(t, c.Exec(conn.Unlock))
	for _, sql := range []string{
		"CREATE TABLE default.lock (a Int8) ENGINE = Memory",
		"CREATE TEMPORARY TABLE lock (a Int8)",
		"SELECT * FROM file('/etc/passwd', 'LineAsString')",
		"SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
		"SELECT * FROM dictionary('x')",
		"SYSTEM FLUSH LOGS",
	} {
		wantCode(t, c.Exec(sql), exception.AccessDenied)
	}
	for _, name := range []string{
		"additional_result_filter", "additional_table_filters", "allow_experimental_ai_functions",
		"allow_experimental_eval_table_function",
		"allow_experimental_kusto_dialect", "allow_experimental_polyglot_dialect", "allow_experimental_prql_dialect",
		"dialect",
		"format_avro_schema_registry_url", "format_schema", "format_schema_source", "format_template_resultset",
		"format_template_resultset_format",
		"format_template_row", "format_template_row_format", "input_format_record_errors_file_path", "output_format_schema",
		"parallel_replicas_custom_key",
		"polyglot_dialect",
	} {
		if !slices.Contains(engine.FrozenSettings(), name) {
			t.Errorf("%s is not frozen", name)
		}
		value := "'1'"
		switch name {
		case "dialect":
			value = "'prql'"
		case "additional_table_filters":
			value = "{'t': '0'}"
		}
		wantCode(t, c.Exec("SELECT 1 SETTINGS "+name+" = "+value), 452)
	}
}

// TestWritersHaveNoSources: even the program's own connections cannot use the rights over SOURCES (chdb-8).
func TestWritersHaveNoSources(t *testing.T) {
	t.Parallel()
	db := connect(t)
	for _, sql := range []string{
		"SELECT * FROM file('/etc/passwd', 'LineAsString')",
		"SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
		"SELECT * FROM remote('127.0.0.1:1', system.one)",
		"INSERT INTO FUNCTION file('/tmp/never', 'CSV', 'x Int8') SELECT 1",
		"CREATE TABLE u (a Int8) ENGINE = URL('http://127.0.0.1:1/', 'CSV')",
		"CREATE TABLE u (a Int8) ENGINE = File('CSV', '/etc/passwd')",
		"CREATE DATABASE u ENGINE = Filesystem('/etc')",
		"CREATE DATABASE u ENGINE = MySQL('127.0.0.1:1', 'd', 'u', 'p')",
		"CREATE DICTIONARY u (a UInt64) PRIMARY KEY a SOURCE(EXECUTABLE(command 'id' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)",
		"CREATE VIEW u (x String) SQL SECURITY NONE AS SELECT * FROM url('http://127.0.0.1:1/', LineAsString, 'x String')",
		"CREATE NAMED COLLECTION u AS url = 'http://127.0.0.1:1/'",
		"SYSTEM SHUTDOWN",
	} {
		wantCode(t, db.Exec(context.Background(), sql), exception.AccessDenied)
	}
}

// TestEveryTableFunctionIsAccountedFor fails if a new release of the engine has a table function that is not named
// here: somebody must check first whether a reader can reach the host with it.
func TestEveryTableFunctionIsAccountedFor(t *testing.T) {
	t.Parallel()
	const known = " ytsaurus hudiCluster deltaLakeCluster paimonHDFSCluster paimonAzureCluster paimonS3Cluster icebergAzureCluster icebergS3Cluster deltaLakeAzure" +
		" paimonHDFS paimon icebergLocal icebergCluster icebergLocalCluster icebergAzure deltaLakeAzureCluster icebergS3 iceberg hdfsCluster paimonLocal" +
		" azureBlobStorageCluster icebergHDFSCluster s3Cluster hdfs oss gcs hudi cosn s3 azureBlobStorage prometheusQueryRange prometheusQuery timeSeriesSelector" +
		" timeSeriesMetrics timeSeriesTags timeSeriesSamples mergeTreeProjection format paimonAzure loop postgresql clusterAllReplicas viewIfPermitted view jdbc" +
		" mergeTreeTextIndex mergeTreeAnalyzeIndexesUUID numbers_mt filesystem mergeTreeIndex paimonS3 generateRandom dictionary fuzzQuery icebergHDFS" +
		" SQLStandardValues merge url zeros_mt executable fuzzJSON deltaLakeS3 urlCluster deltaLakeS3Cluster deltaLakeLocal eval fileCluster values file redis zeros" +
		" arrowstream mergeTreeAnalyzeIndexes input mysql viewExplain null odbc generateSeries mongodb generate_series deltaLake sqlite cluster primes paimonCluster" +
		" remoteSecure numbers remote timeSeriesData "
	db := connect(t)
	rows, err := db.Query(context.Background(), "SELECT name FROM system.table_functions")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		if !strings.Contains(known, " "+name+" ") {
			t.Errorf("%s is new: see whether a reader can use it to reach the host", name)
		}
	}
	must(t, rows.Err())
}

func TestReadOnlyDoorServes(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{})
	db := connect(t)
	execute(t, db, "CREATE TABLE s (a Int64, b String COMMENT 'it') ENGINE = MergeTree ORDER BY a")
	execute(t, db, "INSERT INTO s VALUES (1, 'file'), (2, 'outfile eval')")
	v := url.Values{"database": {"t" + hexName(t)}}
	for sql, want := range map[string]string{
		"SELECT a, b FROM s ORDER BY a":                             "1\tfile\n2\toutfile eval\n",
		"WITH 'file()' AS x SELECT count() FROM s WHERE b != x;":    "2\n",
		"(SELECT 1) UNION ALL (SELECT 1)":                           "1\n1\n",
		"FROM s SELECT max(a)":                                      "2\n",
		"SHOW TABLES":                                               "s\n",
		"EXISTS TABLE s":                                            "1\n",
		"DESCRIBE TABLE s FORMAT TSVRaw":                            "a\tInt64\t\t\t\t\t\nb\tString\t\t\tit\t\t\n",
		"EXPLAIN SYNTAX SELECT 1 FORMAT TSVRaw":                     "SELECT 1\nFROM system.one\n",
		"/* file */ SELECT 1 -- readonly = 0":                       "1\n",
		"SELECT name FROM system.columns WHERE table = 's' LIMIT 1": "a\n",
		"SELECT count() > 100 FROM information_schema.columns":      "1\n",
		"SELECT sum(number) FROM numbers(10)":                       "45\n",
		"SELECT $a$'$a$":                                            "\\'\n",
	} {
		if status, body, _ := post(t, srv, sql, v); status != http.StatusOK || body != want {
			t.Errorf("%s: %d %q, want %q", sql, status, body, want)
		}
	}
	// A client may change harmless settings.
	if status, body, _ := post(t, srv, "SELECT getSetting('max_threads'), getSetting('readonly')",
		url.Values{"max_threads": {"3"}, "readonly": {"2"}}); body != "3\t1\n" {
		t.Errorf("max_threads: %d %s", status, body)
	}
	for _, v := range []url.Values{
		{"readonly": {"0"}}, {"readonly": {"DEFAULT"}}, {"format_schema": {"/etc/passwd"}},
		{"output_format_schema": {"/tmp/x"}},
		{"additional_result_filter": {"1"}}, {"role": {"writer"}}, {"dialect": {"kusto"}}, {"compatibility": {"22.1"}},
		{"profile": {"x"}},
		{"max_memory_usage_for_user": {"1"}}, {"max_concurrent_queries_for_all_users": {"1"}},
		{"allow_experimental_eval_table_function": {"1"}}, {"readonly = DEFAULT, x": {"1"}},
		{"max_threads=1, readonly": {"0"}},
	} {
		if status, body, _ := post(t, srv, "SELECT 1", v); status == http.StatusOK {
			t.Errorf("%v was let through: %s", v, body)
		}
	}
}
