package warehouse

import (
	"testing"
)

func TestMigrateTwice(t *testing.T) {
	w := open(t)
	again, err := w.Migrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(again) != 0 {
		t.Errorf("the second migration ran %d statements, first: %s", len(again), again[len(again)-1])
	}
	if err := w.CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
}
