// Package chdb runs ClickHouse inside the process: it finds or downloads libchdb, opens a data directory with it, and
// offers the engine to clickhouse-go as an [net/http.RoundTripper] and to curl and BI tools as an [net/http.Handler].
// It knows only as much SQL as a transport needs, and nothing about the meaning of the tables.
//
// # Model
//
// The library allows one data directory per process and any number of connections to it, each of which does one thing
// at a time. An [Engine] owns two pools of such connections (writers with every right, readers confined by the engine
// itself), a few that look at statements before they run, and one more that only kills queries. A request borrows a
// connection, gives it the database and settings that the request asks for, and returns it when its result has been
// read to the end or closed.
//
// # Rooms
//
// The work is done in packages below this one, the rooms. Other packages import only this one. Each room uses only
// those above it in this list, and its doc.go states the invariants that it keeps.
//
//   - contract: options, limits and errors, the same with the engine and without it.
//   - exception: errors in the form of ClickHouse's own.
//   - allow: the lists of what a stranger's statement may name.
//   - recent: a map that remembers what was used lately.
//   - library: finds, downloads and verifies libchdb, and calls it (chdb-9, chdb-10).
//   - conn: one connection, and pools of them (chdb-1, chdb-2).
//   - guard: judges strangers' statements by the lists (chdb-7).
//   - engine: opens the data directory and runs queries and inserts (chdb-3, chdb-4, chdb-5,
//     chdb-6, chdb-8).
//   - door: the two ways in, HTTP and clickhouse-go (chdb-11).
//   - share: lets other processes of the same user work with an open engine (share-1 to share-4).
//
// # Process-wide state
//
// The C library requires a little of it: the loaded library and the one open data directory, which sit in one variable
// of the package engine, guarded by a mutex; and TZ in the C environment, from which the engine takes its time zone,
// and which Open sets to UTC.
//
// # Without the engine
//
// The build tag "noengine" leaves the engine out, and so does any system but Linux and macOS. The files embedded.go and
// absent.go make this choice. With CGO_ENABLED=0 that gives a static binary, whose [Open] returns [ErrNotBuilt].
package chdb
