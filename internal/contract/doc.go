// Package contract writes down what the warehouse promises to its users, in two formats that their tools read: the
// sources of a dbt project, and a data contract of the Open Data Contract Standard (ODCS).
//
// Both are derived from what exists already: views and columns from the comments in ClickHouse, as in the data
// dictionary, keys from the catalog of streams, and the maximum age of the data from the schedules. Nothing is written
// twice.
//
// Invariants, cited in the code as contract-N:
//
//  1. Every promise can be checked: each freshness, each test and each rule of quality is a query that the warehouse
//     answers, and a test sends them all.
//  2. Data is fresh if it is in step with the API, even if it has not changed lately: a list in which nothing changes
//     for a week is as fresh as its last run. So freshness is read from stream_freshness, and not from a column of the
//     rows.
//  3. A stream is as fresh as its oldest account. An account that was never loaded is not fresh.
//  4. A contract names hosts, ports and the database. It has no user, no password and no path of a machine.
package contract
