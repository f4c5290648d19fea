// Package contract has what the engine and its users share: options, limits and errors. It is also part of a binary
// without the engine, so it depends on nothing.
package contract
