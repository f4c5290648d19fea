// Package recent has a map that remembers what was used lately and forgets the rest.
package recent
