// Package contract writes down what the warehouse promises to those who build on it, in two forms that their tools
// read: the sources of a dbt project, and a data contract of the Open Data Contract Standard (ODCS).
//
// Both follow from what is there already: views and columns from the comments in ClickHouse, as the data dictionary has
// them, keys from the catalog of streams, and how old the data may be from the schedules. Nothing is written twice.
//
// Invariants, cited in the code as contract-N:
//
//  1. What is promised can be asked: each freshness, each test and each rule of quality is a query that the warehouse
//     answers, and a test sends them all.
//  2. Fresh is what is in step with the API, and not what was changed lately: a list in which nothing changes for a
//     week is as fresh as its last run. So freshness is read from stream_freshness, and not from a column of the rows.
//  3. A stream is as fresh as that of its accounts which is behind most. An account that was never loaded is not fresh.
//  4. A contract names hosts, ports and the database. It has no user, no password and no path of a machine.
package contract
