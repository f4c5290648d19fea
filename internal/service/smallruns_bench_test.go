package service

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// Goals of a small run, in seconds of CPU.
const (
	quietGoal = 0.1
	smallGoal = 0.3
	flatGoal  = 1.2 // among many rows, of what it costs among few
)

// BenchmarkSmallRuns prints what a run of transactions costs that finds 0, 3 and 1,000 changed rows among few and many,
// with all that follows it: CPU seconds of the process beside the goal, and statements. The first sizes are small, so
// that it can run anywhere; SMALL_RUNS is the larger of the two. With -v it lists the statements of the last run of
// each.
func BenchmarkSmallRuns(b *testing.B) {
	many := 200_000
	if n, err := strconv.Atoi(os.Getenv("SMALL_RUNS")); err == nil {
		many = n
	}
	cost := map[int]map[int]float64{}
	for _, rows := range []int{20_000, many} {
		h := newHouse(b, rows)
		cost[rows] = map[int]float64{}
		for _, changed := range []int{0, 3, 1000} {
			goal := smallGoal
			if changed == 0 {
				goal = quietGoal
			}
			b.Run(fmt.Sprintf("rows=%d/changed=%d", rows, changed), func(b *testing.B) {
				for range 2 {
					h.change(b, changed)
					h.run(b, "transactions")
				}
				h.meter.drain()
				spent, statements := 0.0, 0
				var last []sent
				for b.Loop() {
					b.StopTimer()
					h.change(b, changed)
					h.meter.drain()
					began, served := cpu(), h.sim.spent.Load()
					b.StartTimer()
					h.run(b, "transactions")
					b.StopTimer()
					spent += (cpu() - began - time.Duration(h.sim.spent.Load()-served)).Seconds()
					last = h.meter.drain()
					statements += len(last)
					b.StartTimer()
				}
				n := float64(b.N)
				cost[rows][changed] = spent / n
				b.ReportMetric(spent/n, "cpu-s/run")
				b.ReportMetric(goal, "goal-cpu-s/run")
				b.ReportMetric(float64(statements)/n, "statements/run")
				if rows == many && cost[20_000][changed] > 0 {
					b.ReportMetric(spent/n/cost[20_000][changed], "x-of-20000-rows")
					b.ReportMetric(flatGoal, "goal-x-of-20000-rows")
				}
				for _, s := range last {
					if testing.Verbose() {
						b.Logf("%6.1f ms %.120s", s.cpu.Seconds()*1000, s.text)
					}
				}
			})
		}
	}
}
