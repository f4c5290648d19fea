// Package engine opens a data directory with libchdb, once per process, and runs queries and inserts on it.
//
// # Invariants
//
// Comments in the code cite these numbers. The other packages below chdb have the numbers that are missing here.
//
//   - chdb-3: Requests share no session. No request ever sees what another one has set.
//   - chdb-4: Large results stream: memory does not grow with the result. The exceptions are output formats whose
//     pieces cannot be put together, such as Parquet; such results are limited in size. A result that was
//     not read to its end in time is an error, and is never taken as complete.
//   - chdb-5: An insert is acknowledged only after the engine has confirmed it, and a body that ends in an error
//     inserts nothing.
//   - chdb-6: Cancelling never waits for the query that is cancelled: KILL QUERY is ASYNC and runs
//     on a separate connection.
//   - chdb-8: No connection at all, not even a writer, may use table functions that read the host's files or the
//     network, change a setting that the list refuses, or read a system table that has an effect when it is read: such
//     tables are dropped while the engine is open. Through a door, a writer can make only objects that the lists allow,
//     so anyone may read them later. Definitions that exist already are judged once, when a statement first names them
//     (chdb-7). A statement that needs one that is not allowed is refused, except to drop it. In the data that an
//     INSERT sends, expressions are off.
//   - chdb-12: Some calls of the library hear neither a KILL nor a clock. Close does not wait for them for ever, and a
//     process that keeps its engine for others is told of them ([contract.Options].Stuck), so that it can end.
//
// The tests in this package test the whole engine with its doors. They are here because they need
// internals of this package.
package engine
