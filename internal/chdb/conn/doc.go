// Package conn has connections to the embedded engine, pools that lend them, and the connection that kills queries.
//
// # Invariants
//
// Comments in the code cite these numbers. The other packages below chdb have the numbers that are missing here.
//
//   - chdb-1: A connection serves one request at a time. Any call on a connection with an open read stream would end
//     that stream without an error.
//   - chdb-2: A connection goes back to its pool only in a known state: its database and settings are those that
//     the pool has recorded, and nothing of an earlier result is left in it. Anything that could change this
//     unnoticed (SET, USE, a temporary table, any error, a cancellation, a result that was not read to its end)
//     closes the connection instead.
package conn
