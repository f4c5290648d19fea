package engine_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/allow"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/chdb/guard"
	"dealhouse/internal/enginetest"
)

// TestRemoteClients uses clickhouse-go like two processes would: it writes in parallel over real HTTP, and reads.
func TestRemoteClients(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{AllowWrites: true, User: "w", Password: "p"})
	local := connect(t)
	execute(t, local, "CREATE TABLE remote (who LowCardinality(String), i UInt64, at DateTime64(3, 'UTC')) ENGINE = MergeTree ORDER BY (who, i)")
	ctx := context.Background()
	open := func(method clickhouse.CompressionMethod, database string) clickhouse.Conn {
		db, err := clickhouse.Open(&clickhouse.Options{
			Protocol:    clickhouse.HTTP,
			Addr:        []string{strings.TrimPrefix(srv.URL, "http://")},
			Auth:        clickhouse.Auth{Username: "w", Password: "p", Database: database},
			Compression: &clickhouse.Compression{Method: method},
		})
		must(t, err)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	var wg sync.WaitGroup
	for who, method := range map[string]clickhouse.CompressionMethod{"none": clickhouse.CompressionNone,
		"lz4": clickhouse.CompressionLZ4, "gzip": clickhouse.CompressionGZIP} {
		db := open(method, "t"+hexName(t))
		wg.Go(func() {
			for n := range uint64(5) {
				b, err := db.PrepareBatch(ctx, "INSERT INTO remote (who, i, at)")
				if err != nil {
					t.Error(who, err)
					return
				}
				for i := range uint64(2000) {
					if err := b.Append(who, n*2000+i, int64(i)); err != nil {
						t.Error(who, err)
					}
				}
				if err := b.Send(); err != nil {
					t.Error(who, err)
				}
			}
			var count, sum uint64
			if err := db.QueryRow(ctx, "SELECT count(), sum(i) FROM remote WHERE who = {who:String}",
				clickhouse.Named("who", who)).Scan(&count, &sum); err != nil {
				t.Error(who, err)
			}
			if count != 10000 || sum != 49995000 {
				t.Errorf("%s: %d rows, sum %d", who, count, sum)
			}
			if err := db.Exec(ctx, "SELECT nothing"); !hasCode(err, 47) {
				t.Errorf("%s: got %v", who, err)
			}
			if err := db.Exec(ctx, "SELECT file('/etc/passwd')"); !hasCode(err, exception.AccessDenied) {
				t.Errorf("%s: got %v", who, err)
			}
			rows, err := db.Query(ctx, "SELECT throwIf(number = 3000000) FROM numbers(4000000) SETTINGS max_block_size = 10000")
			if err != nil {
				t.Error(who, err)
				return
			}
			for rows.Next() {
			}
			if err := rows.Err(); err == nil || who != "lz4" && !hasCode(err, 395) {
				t.Errorf("%s: a broken result: %v", who, err)
			}
		})
	}
	wg.Wait()
	if got := cell(t, local, "SELECT count() FROM remote"); got != "30000" {
		t.Errorf("%s rows", got)
	}
}

func hasCode(err error, code int32) bool {
	var ex *clickhouse.Exception
	return errors.As(err, &ex) && ex.Code == code
}

// TestInputFormats: data come in the formats of the list only, wherever the format is named. The others never reach
// the engine's parsers, one of which ends the process.
func TestInputFormats(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{AllowWrites: true})
	db := connect(t)
	own := "t" + hexName(t)
	execute(t, db, "CREATE TABLE f (a String) ENGINE = MergeTree ORDER BY a")
	rows, err := db.Query(t.Context(), "SELECT name FROM system.formats WHERE is_input ORDER BY name")
	must(t, err)
	defer rows.Close()
	refused := 0
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		if allow.All().Formats.Allows(name) {
			continue
		}
		refused++
		for _, spelled := range []string{name, strings.ToLower(name), "`" + name + "`", "/* CSV */" + name} {
			for _, sql := range []string{"INSERT INTO f FORMAT " + spelled, "INSERT INTO f SELECT a FROM input('a String') FORMAT " + spelled,
				"INSERT INTO f SELECT a FROM format(" + spelled + ", 'a String', 'x')"} {
				for _, text := range []bool{true, false} {
					v, body := url.Values{"database": {own}}, "x\n"
					if text {
						body = sql + "\n" + body
					} else {
						v.Set("query", sql)
					}
					if status, got, _ := post(t, srv, body, v); status == http.StatusOK {
						t.Errorf("%s, text %t: %s", sql, text, got)
					}
				}
			}
		}
		if status, got, _ := post(t, srv, "x\n", url.Values{"database": {own}, "query": {"INSERT INTO f FORMAT " + name}}); status != http.StatusForbidden ||
			!strings.Contains(got, "Code: 497") {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	if must(t, rows.Err()); refused < 10 {
		t.Errorf("only %d formats are refused", refused)
	}
	if got := cell(t, db, "SELECT count() FROM f"); got != "0" {
		t.Errorf("%s rows", got)
	}
}

func TestDoorWrites(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{AllowWrites: true, MaxQueryBytes: 2000})
	db := connect(t)
	v := func(more ...string) url.Values {
		u := url.Values{"database": {"t" + hexName(t)}}
		for i := 0; i < len(more); i += 2 {
			u.Set(more[i], more[i+1])
		}
		return u
	}
	execute(t, db, "CREATE TABLE w (a UInt64) ENGINE = MergeTree ORDER BY a")
	for _, c := range []struct {
		body string
		v    url.Values
		rows string
	}{
		{"1\n2\n", v("query", "INSERT INTO w FORMAT CSV"), "2"},
		{"INSERT INTO w FORMAT JSONEachRow {\"a\": 3}\n{\"a\": 4}", v(), "4"},
		{"INSERT INTO w VALUES (5), (2 * 3)", v(), "6"},
		{"(7), (8)", v("query", "INSERT INTO w (a) VALUES"), "8"},
		{"INSERT INTO w FORMAT TSV\n" + strings.Repeat("9\n", 20000), v(), "20008"},
		{"INSERT INTO w SELECT 10", v(), "20009"},
		{"", v("query", "INSERT INTO w SETTINGS async_insert = 0 FORMAT CSV"), "20009"},
	} {
		if status, body, _ := post(t, srv, c.body, c.v); status != 200 || body != "" {
			t.Errorf("%.60s: %d %s", c.body, status, body)
		}
		if got := cell(t, db, "SELECT count() FROM w"); got != c.rows {
			t.Fatalf("%.60s: %s rows", c.body, got)
		}
	}
	file := secret(t)
	for _, c := range []struct {
		body string
		v    url.Values
	}{
		{"INSERT INTO w VALUES (length(file('" + file + "')))", v()},
		{"(length(file('" + file + "')))", v("query", "INSERT INTO w VALUES")},
		{"INSERT INTO w SELECT length(file('" + file + "'))", v()},
		{"INSERT INTO w FROM INFILE '" + file + "' FORMAT CSV", v()},
		{"SELECT 1 INTO OUTFILE '" + file + "2'", v()},
		{"1\n", v("query", "INSERT INTO w FORMAT CSV", "readonly", "2")},
		{"SYSTEM SHUTDOWN", v()},
		{"CREATE VIEW leak AS SELECT file('" + file + "')", v()},
		{"CREATE FUNCTION leak AS x -> file(x)", v()},
		{"CREATE TABLE leak (a String) ENGINE = ExecutablePool('id', 'CSV')", v()},
		{"CREATE TABLE leak (a String) ENGINE = EmbeddedRocksDB(0, '" + file + "d') PRIMARY KEY a", v()},
		{"CREATE TABLE leak (query String) ENGINE = QueryRunner", v()},
		{"CREATE DICTIONARY leak (a UInt64) PRIMARY KEY a SOURCE(EXECUTABLE(command 'id' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)", v()},
	} {
		if status, body, _ := post(t, srv, c.body, c.v); status == 200 {
			t.Errorf("%s: %d %s", c.body, status, body)
		}
	}
	leak := "format(Values, 'a UInt64', $a$(length(file('" + file + "')))$a$)"
	const data = "Nobody looks for names in data, so that expressions are off there."
	for _, c := range []struct{ query, body, code, why string }{
		{"", "SELECT * FROM " + leak, "497", data},
		{"INSERT INTO w VALUES", "(length('ab'))", "344", data},
		{"INSERT INTO w FORMAT Values", "(length('ab'))", "344", data},
		{"INSERT INTO w SETTINGS " + guard.ValuesInterpret + " = 1 VALUES", "(length('ab'))", "497", data},
		{"INSERT INTO w SETTINGS " + guard.ValuesInterpret + " FORMAT Values", "(length('ab'))", "497", data},
		{"INSERT INTO w SETTINGS `" + guard.ValuesTemplates + "` = 1 VALUES", "(length('ab'))", "497", data},
		{"", "INSERT INTO w VALUES ((SELECT a FROM " + leak + "))", "497", "They are on here."},
		{"", "INSERT INTO w VALUES ((SELECT a FROM `Format`/**/" + leak[len("format"):] + "))", "497", "They are on here."},
		{"", "CREATE VIEW leak AS SELECT * FROM " + leak, "497", "They are on for some who read it."},
		{"", "CREATE TABLE leak AS " + leak, "497", "They are on for some who read it."},
		{"", "INSERT INTO w SELECT 1 PARALLEL WITH CREATE VIEW leak AS SELECT * FROM " + leak, "62", "It hides the view."},
		{"", "CREATE TABLE leak (a Int8) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local_blob_storage, path = '" + file + "d/')", "497", "A disk is a directory."},
		{"", "CREATE TABLE leak (a Int8) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = web, endpoint = 'http://127.0.0.1:1/')", "497", "A disk is an address."},
		{"", "CREATE DATABASE leak ENGINE = Atomic SETTINGS disk = disk(type = local_blob_storage, path = '" + file + "d/')",
			"497", "A disk is a directory."},
		{"", "CREATE DATABASE leak ENGINE = DataLakeCatalog('http://127.0.0.1:1') SETTINGS catalog_type = 'rest'", "497",
			"A catalog is an address."},
		{"", "BACKUP TABLE w TO S3('http://127.0.0.1:1/bucket/key')", "497", "Backups go to addresses."},
		{"", "RESTORE TABLE w FROM S3('http://127.0.0.1:1/bucket/key')", "497", "Backups come from addresses."},
		{"", "BACKUP TABLE w TO AzureBlobStorage('BlobEndpoint=http://127.0.0.1:1/x;', 'c', 'p')", "497",
			"Backups go to addresses."},
	} {
		u := v()
		if c.query != "" {
			u.Set("query", c.query)
		}
		if _, body, h := post(t, srv, c.body, u); h.Get("X-ClickHouse-Exception-Code") != c.code {
			t.Errorf("%s %s: want code %s, got %s. %s", c.query, c.body, c.code, body, c.why)
		}
	}
	if status, body, _ := post(t, srv, "SELECT format('{}', 1)", v()); body != "1\n" {
		t.Errorf("format() as a function: %d %s", status, body)
	}
	if got := cell(t, db, "SELECT count() FROM w"); got != "20009" {
		t.Errorf("%s rows", got)
	}
}

// TestClientGoesAway: if the client disconnects in the middle of an endless result, its connection becomes free.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	srv := openDoor(t, contract.HandlerOptions{})
	sql := "SELECT number, 'away' FROM system.numbers"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/?query="+url.QueryEscape(sql), nil)
	must(t, err)
	resp, err := plain.Do(req)
	must(t, err)
	_, err = io.ReadFull(resp.Body, make([]byte, 1<<20))
	must(t, err)
	cancel()
	_ = resp.Body.Close()
	srv.Close() // waits for the handler
	db := connect(t)
	for begin := time.Now(); ; runtime.Gosched() {
		got := cell(t, db, "SELECT count() FROM system.processes WHERE endsWith(query, '''away'' FROM system.numbers')")
		if got == "0" {
			return
		}
		if time.Since(begin) > patience {
			t.Fatalf("%s queries still run", got)
		}
	}
}
