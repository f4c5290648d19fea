//go:build noengine

package main

// removeShared has nothing to remove: without the engine there is nothing to share.
func removeShared() error { return nil }
