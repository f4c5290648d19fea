//go:build !linux

package main

// handicap is for Linux.
func handicap() error { return nil }
