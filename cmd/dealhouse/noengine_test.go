//go:build noengine

package main

import "testing"

// A binary without the engine says so, and how to do without.
func TestNoEngine(t *testing.T) {
	call(t, nil, "demo").want(t, 2, "built without it")
	call(t, nil, "version").shows(t, "none in this build")
	b := newBench(t)
	b.call(t, "sync").want(t, 2, "built without the embedded engine", "clickhouse://")
}
