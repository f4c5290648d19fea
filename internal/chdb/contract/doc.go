// Package contract has the options, limits and errors that the engine and its users share. A binary without the engine
// contains it too, so it depends on no other package.
package contract
