//go:build race

package enginetest

const underRace = true
