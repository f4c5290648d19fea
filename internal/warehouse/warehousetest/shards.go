package warehousetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// Shards is the number of shards of OpenShards. The engine of the tests must have as many (enginetest.Options).
const Shards = 2

var divided atomic.Int64

// OpenShards gives the test a migrated warehouse of several shards of its own. Each shard is a database of the one
// engine. What the cluster of the engine asks of a shard goes to a database of views, each of which reads the database
// of the shard that is asked; everything else is as on several servers.
func OpenShards(t testing.TB) *warehouse.Warehouse {
	t.Helper()
	name := fmt.Sprintf("divided_%d", divided.Add(1))
	o := warehouse.Options{Database: name}
	for i := range Shards {
		o.Shards = append(o.Shards, fmt.Sprintf("%s_%d", name, i+1))
	}
	for _, shard := range o.Shards {
		if err := migrate(t, warehouse.Options{DSN: enginetest.DSN(), Database: shard}); err != nil {
			t.Fatal(err)
		}
	}
	stand(t, name, o.Shards)
	return AgainShards(t, o)
}

// AgainShards opens shards as another process would.
func AgainShards(t testing.TB, o warehouse.Options) *warehouse.Warehouse {
	t.Helper()
	o.DSN = enginetest.DSN()
	w, err := warehouse.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func migrate(t testing.TB, o warehouse.Options) error {
	t.Helper()
	w, err := warehouse.Open(t.Context(), o)
	if err != nil {
		return err
	}
	_, err = w.Migrate(t.Context())
	return errors.Join(err, w.Close())
}

// stand makes the database of views in which the cluster finds each shard.
func stand(t testing.TB, name string, shards []string) {
	t.Helper()
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: enginetest.DSN(), Database: "default"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, database := range append(slices.Clone(shards), name, name+"_shard") {
			if err := w.Conn().Exec(context.Background(), "DROP DATABASE IF EXISTS "+database+" SYNC"); err != nil {
				t.Error(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	exec := func(statement string) {
		if err := w.Conn().Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	exec("CREATE DATABASE " + name + "_shard")
	var names, engines []string
	if err := w.Conn().QueryRow(t.Context(), "SELECT groupArray(name), groupArray(engine) FROM system.tables WHERE database = '"+shards[0]+"'").Scan(&names, &engines); err != nil {
		t.Fatal(err)
	}
	for i, table := range names {
		final := ""
		if engines[i] == "ReplacingMergeTree" {
			final = " FINAL"
		}
		var each []string
		for n, shard := range shards {
			each = append(each, fmt.Sprintf("SELECT * FROM %s.%s%s WHERE shardNum() IN (0, %d)", shard, table, final, n+1))
		}
		if table == "deals_active" { // has a parameter, and is made over all shards from what it reads
			exec("CREATE VIEW " + name + "_shard." + table + " AS SELECT 1 AS one")
			continue
		}
		exec("CREATE VIEW " + name + "_shard." + table + " AS " + strings.Join(each, " UNION ALL "))
	}
}
