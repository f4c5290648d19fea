// Package contract is what whoever opens an embedded engine and the engine agree on: options, limits and errors. A
// binary without the engine has it too, so that it depends on nothing.
package contract
