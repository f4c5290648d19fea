#!/usr/bin/env bash
# Runs the benchmarks that have a goal, and prints each figure beside its goal. It says what is not reached and does not
# fail for it: a busy machine is no fault of the program's. A benchmark that does not run to its end is one.
#
#   deploy/bench/ratios.sh                                     all, small, in a few minutes
#   READING_ROWS=10000000 deploy/bench/ratios.sh Reading       one of them, at the size of its goals
#
# A figure with a goal is a metric beside another whose unit is the same after "goal-": the most that it is to be. The
# script keeps what go test printed, and the table, in the folder of its results.
set -euo pipefail
cd "$(dirname "$0")/../.."

kept=$(pwd)/dist/bench
mkdir -p "$kept"
export COMPARISON_OUTPUT=${COMPARISON_OUTPUT:-$kept}
files=$(grep -rlE --include='*_test.go' '"goal-' .)
# shellcheck disable=SC2086 # one word a file
{
    packages=$(dirname $files | sort -u)
    benchmarks=$(grep -hoE '^func Benchmark\w+' $files deploy/*_bench_test.go | sed 's/^func Benchmark//' | paste -sd '|')
}
failed=0
# shellcheck disable=SC2086 # one word a package
go test -run '^$' -bench "${1:-^Benchmark($benchmarks)\$}" -benchtime "${BENCHTIME:-1x}" -timeout 60m $packages >"$kept/ratios.txt" 2>&1 || failed=$?
awk '
    /^Benchmark/ {
        name = $1
        sub(/^Benchmark/, "", name)
        sub(/-[0-9]+$/, "", name)
        split("", figures)
        for (i = 3; i < NF; i += 2) figures[$(i + 1)] = $i
        for (i = 3; i < NF; i += 2) {
            unit = $(i + 1)
            if (!(("goal-" unit) in figures)) continue
            if (!lines++) printf "%-100s %12s %12s\n", "benchmark", "measured", "at most"
            late = $i + 0 > figures["goal-" unit] + 0
            missed += late
            printf "%-100s %12s %12s%s\n", name " " unit, $i, figures["goal-" unit], late ? "  not reached" : ""
        }
    }
    END {
        printf "\n%d figures have a goal, and %d of them are not reached. Goals are for the sizes in deploy/bench/README.md.\n", lines, missed
        if (!lines) exit 1
    }
' "$kept/ratios.txt" | tee "$kept/goals.txt"
[ "$failed" = 0 ] || { grep -vE '^(Benchmark|ok|goos|goarch|pkg|cpu|PASS)' "$kept/ratios.txt" >&2; exit 1; }
