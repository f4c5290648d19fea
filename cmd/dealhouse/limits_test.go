package main

import "testing"

// The limits that nobody gives fit the memory, and are valid whatever it is.
func TestLimitsFitTheMemory(t *testing.T) {
	t.Parallel()
	for allowed, want := range map[int64]limits{
		64:        {memory: 32, queryMemory: 16, buffered: 2, threads: 2, queries: 4},
		512:       {memory: 64, queryMemory: 32, buffered: 4, threads: 2, queries: 4},
		1024:      {memory: 128, queryMemory: 64, buffered: 8, threads: 2, queries: 4},
		2047:      {memory: 255, queryMemory: 127, buffered: 15, threads: 2, queries: 4},
		2048:      {memory: 512, queryMemory: 256, buffered: 16, threads: 4, queries: 8},
		0:         {memory: 512, queryMemory: 256, buffered: 16, threads: 4, queries: 8},
		8192:      {memory: 2048, queryMemory: 1024, buffered: 16, threads: 4, queries: 8},
		1_000_000: {memory: 4096, queryMemory: 2048, buffered: 16, threads: 4, queries: 8},
	} {
		got := limitsFor(allowed)
		if err := got.validate(); err != nil {
			t.Errorf("%d MiB: %v", allowed, err)
		}
		want.result, want.disk, want.seconds, want.rows = got.result, got.disk, got.seconds, got.rows
		if *got != want {
			t.Errorf("%d MiB: got %+v, want %+v", allowed, *got, want)
		}
	}
}
