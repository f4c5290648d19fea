package warehousetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// Shards is the number of shards of OpenShards. The engine of the tests must have as many (enginetest.Options).
const Shards = 2

var divided atomic.Int64

// OpenShards gives the test a migrated warehouse of several shards of its own, which is dropped when the test ends. It
// has a database of views, whose name ends in _public.
func OpenShards(t testing.TB) *warehouse.Warehouse {
	t.Helper()
	name := fmt.Sprintf("divided_%d", divided.Add(1))
	w := ShardsIn(t, name, warehouse.Options{ViewsDatabase: name + "_public"})
	t.Cleanup(func() {
		for _, database := range append(shardsOf(name), name, name+"_shard", name+"_public", name+"_public_with_parameters") {
			if err := w.Conn().Exec(context.Background(), "DROP DATABASE IF EXISTS "+database+" SYNC"); err != nil {
				t.Error(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// ShardsIn opens a migrated warehouse of several shards, and makes it where there is none of that name. Each shard is a
// database of the one engine. What the cluster of the engine asks of a shard goes to a database of views, each of which
// reads the database of the shard that is asked; everything else is as on several servers. DSN, Database and Shards of
// the options are set here. The caller closes it.
func ShardsIn(t testing.TB, name string, o warehouse.Options) *warehouse.Warehouse {
	t.Helper()
	o.DSN, o.Database, o.Shards = enginetest.DSN(), name, shardsOf(name)
	w, err := warehouse.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	makeDatabases(t, name)
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func shardsOf(name string) (shards []string) {
	for i := range Shards {
		shards = append(shards, fmt.Sprintf("%s_%d", name, i+1))
	}
	return shards
}

// makeDatabases makes the database of views in which the cluster finds each shard.
func makeDatabases(t testing.TB, name string) {
	t.Helper()
	shards := shardsOf(name)
	for _, database := range shards {
		alone, err := warehouse.Open(t.Context(), warehouse.Options{DSN: enginetest.DSN(), Database: database})
		if err != nil {
			t.Fatal(err)
		}
		defer alone.Close() //nolint:errcheck // the engine stays open
		if _, err := alone.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: enginetest.DSN(), Database: "default"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // the engine stays open
	var names, engines []string
	if err := w.Conn().QueryRow(t.Context(),
		"SELECT groupArray(name), groupArray(engine) FROM system.tables WHERE database = '"+shards[0]+
			"' AND NOT match(name, '_[0-9a-f]{32}$')").Scan(&names, &engines); err != nil {
		t.Fatal(err)
	}
	statements := []string{"CREATE DATABASE IF NOT EXISTS " + name + "_shard"}
	for i, table := range names {
		statements = append(statements, "CREATE OR REPLACE VIEW "+name+"_shard."+table+" AS "+
			overAll(shards, table, engines[i]))
	}
	for _, statement := range statements {
		if err := w.Conn().Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// overAll reads of all databases the one of the shard that is asked.
func overAll(shards []string, table, engine string) string {
	// They have a parameter: they are made over all shards from what they read, and not read here.
	if table == "deals_active" || table == "transactions_by_passback_uid" || strings.HasSuffix(table, "_as_of") {
		return "SELECT 1 AS one"
	}
	final := ""
	if engine == "ReplacingMergeTree" {
		final = " FINAL"
	}
	var each []string
	for i, database := range shards {
		each = append(each, fmt.Sprintf("SELECT * FROM %s.%s%s WHERE shardNum() IN (0, %d)", database, table, final, i+1))
	}
	return strings.Join(each, " UNION ALL ")
}
