package syncer

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// The children of the kill matrix are this test binary, running TestKillMatrixChild on a warehouse of their own.
const matrixCell = "DEALHOUSE_TEST_MATRIX_CELL" // stream/number of the cell

// killCell is one place to die: at a point of the seam, before or after it.
type killCell struct {
	step  matrixStep
	point string
	after bool
}

func killCells(stream string) []killCell {
	var cells []killCell
	for number, step := range append([]matrixStep{{name: "decode", point: "decode"}}, matrixSteps...) {
		for i, after := range []bool{false, true} {
			// Dying before the decoding is the same as dying after the body.
			if step.at(stream) != "" && (step.name == "decode" && after || step.name != "decode" &&
				inShortForm(slices.Index(kinds, stream), number, 2*i)) {
				cells = append(cells, killCell{step, step.at(stream), after})
			}
		}
	}
	return sampled(cells, slices.Index(kinds, stream))
}

// sampled returns all cells in a wide sample, else one of them: for a later kind, one that is later in the run.
func sampled(cells []killCell, kind int) []killCell {
	if enginetest.Wide() {
		return cells
	}
	return cells[kind*len(cells)/len(kinds):][:1]
}

// TestKillMatrix kills a worker, with SIGKILL, before and after every step of every kind of run. That is in a wide
// sample; else it kills once, in the middle of an incremental run. Each child first clears up after the one before it
// and compares the views with the truth; then the world changes, and it dies in the run that follows.
func TestKillMatrix(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	chosen := kinds
	if !enginetest.Wide() {
		chosen = []string{"transactions"}
	}
	for _, stream := range chosen {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			cells := killCells(stream)
			for i := range len(cells) + 1 {
				what := "the last one"
				if i < len(cells) {
					what = fmt.Sprintf("%s (after: %t)", cells[i].step.name, cells[i].after)
				}
				out, err := enginetest.Life(t.Context(), folder, "TestKillMatrixChild",
					matrixCell+"="+stream+"/"+strconv.Itoa(i)).CombinedOutput()
				if i < len(cells) && enginetest.Killed(err) {
					continue
				}
				if i < len(cells) || err != nil {
					t.Fatalf("child %d, which was to die at %s, ended with %v:\n%s", i, what, err, out)
				}
			}
		})
	}
}

// TestKillMatrixChild is one child of the kill matrix; by itself it does nothing.
func TestKillMatrixChild(t *testing.T) {
	cell := os.Getenv(matrixCell)
	if cell == "" {
		return
	}
	stream, number, _ := strings.Cut(cell, "/")
	life, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	cells := killCells(stream)
	const account = "acme"
	x := serve(t, tinyWorld(13, account))
	var before map[string]map[string]string
	for i := range life {
		if i == life-1 {
			before = truthRows(t, x, stream, account)
		}
		x.turn(t, account, i)
	}
	first, err := warehouse.Open(t.Context(), warehouse.Options{DSN: enginetest.DSN()})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close() //nolint:errcheck // the process ends
	if _, err := first.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := newWorker(t, x, "", account, clocks{})
	if life > 0 {
		got, killed := shownRows(t, first, stream, account), cells[life-1]
		if after := truthRows(t, x, stream, account); !cmp.Equal(got, before) &&
			(!killed.step.visible || !cmp.Equal(got, after)) {
			t.Errorf("killed at %s: readers see neither the old nor the new rows: %s", killed.step.name, cmp.Diff(before, got))
		}
	}
	if _, err := v.Run(t.Context(), v.job(t, account, stream)); err != nil {
		t.Fatal(err)
	}
	checkTruth(t, first, x, account, stream)
	checkTidy(t, first, account, stream)
	checkHistory(t, first, account, stream)
	if t.Failed() || life == len(cells) {
		return
	}
	x.turn(t, account, life)
	die := cells[life]
	v.seam.set(func(_ context.Context, step string, after bool) error {
		if step == die.point && after == die.after {
			return enginetest.Die()
		}
		return nil
	})
	if _, err := v.Run(t.Context(), v.job(t, account, stream)); err != nil {
		t.Error(err)
	}
}
