// Package engine opens a data directory with libchdb, once per process, and runs queries and inserts on it.
//
// # Invariants
//
// Comments in the code cite these numbers; the other rooms of chdb have the others.
//
//   - chdb-3: Requests share no session. What one request sets, another never sees.
//   - chdb-4: Large results stream: memory does not grow with the result. The exceptions are output formats with a
//     frame around the rows, or with nothing at all around them; those are limited in size. A result that was not read
//     to its end in time is an error, and never taken as complete.
//   - chdb-5: An insert is acknowledged only after the engine has confirmed it, and a body that ends in an error
//     inserts nothing.
//   - chdb-6: Cancelling never waits for the query that is cancelled: KILL QUERY is ASYNC and runs on a connection of
//     its own.
//   - chdb-8: No connection at all, not even a writer, may use table functions that read the host's files or the
//     network, change a setting that no list has, or read a system table that does something when it is read: those
//     are dropped while the engine is open. A door's writer makes only what the lists allow, so that it is allowed
//     too for whoever reads it later; definitions that are there already are judged once, before the first
//     statement, and what names one that is not allowed is refused, except to drop it. Values of an INSERT with data
//     have no expressions.
//
// Its tests are those of the whole engine with its doors: they need what only this package can show them.
package engine
