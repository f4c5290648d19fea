// Package probe finds out how a retailer-deals API behaves where its interface leaves that open: which parameters
// filter by date and what they mean, how pages are asked for, what a key may read. It asks the API and compares the
// answers. What it found is a Report, which can be written as a configuration.
//
// # Invariants
//
//   - Measured or unknown: an answer follows from what the API sent, and the evidence is beside it. A parameter that
//     seems to filter is used only after a row was found by its own updatedAt. Else it is left out: a run that reads
//     too much is slow, and one that filters by something else loses rows.
//   - Polite: every request is a GET, counted before it is sent, redirects too; no more than Options.MaxRequests are,
//     at Options.PerSecond. A 429 ends the probe. What was not asked is unknown.
//   - Safe: requests are made by the client of the API, so that the key stays with its origin and every answer has
//     limits. Nothing is written anywhere.
package probe
