// Package chdb runs ClickHouse inside the process: it finds or downloads
// libchdb, opens a data directory with it, and offers the engine to
// clickhouse-go as an [net/http.RoundTripper] and to curl and BI tools as an
// [net/http.Handler]. It knows SQL only as far as a transport must, and nothing
// of what the tables mean.
//
// # Model
//
// The library allows one data directory per process and any number of
// connections to it, each of which does one thing at a time. An [Engine] owns
// two pools of such connections (writers with every right, readers confined by
// the engine itself) and one more that only kills queries. A request borrows a
// connection, brings it to the database and settings that the request asks for,
// and gives it back when its result has been read to the end or closed.
//
// # Invariants
//
// Comments in the code cite these numbers.
//
//   - chdb-1: A connection serves one request at a time. Any call on a
//     connection with an open read stream would kill that stream silently.
//   - chdb-2: A connection goes back to its pool only in a known state: its
//     database and settings are those that the pool has on record, and nothing
//     of an earlier result is left in it. Whatever leaves this in doubt (SET, USE,
//     a temporary table, any error, a cancellation, a result that was not read to
//     its end) closes the connection instead.
//   - chdb-3: Requests share no session. What one request sets, another never sees.
//   - chdb-4: Large results stream: memory does not grow with the result, except
//     for output formats that have a frame around the rows, or nothing at all
//     around them, and those are bounded.
//   - chdb-5: An insert is acknowledged only after the engine has confirmed it,
//     and a body that ends in an error inserts nothing.
//   - chdb-6: Cancelling never blocks on the query that is cancelled: KILL QUERY is
//     ASYNC and runs on a connection of its own.
//   - chdb-7: A door allows, and refuses the rest. Before a stranger's statement runs, the engine's own lexer and parser
//     take it apart on a connection that runs nothing of it, and every function, table function, engine, format, setting,
//     system table and kind of statement in it must be on a list (the folder allow); where the parser's tree shows nothing,
//     as in the values of an INSERT or behind APPLY, only plain calls of listed functions may stand. No parameter becomes
//     a name, no text becomes a structure, and what the engine reads as a type or a time zone is written out. The
//     read-only door stands on two more locks: the statement is classified as a single read, and it runs on a reader
//     connection, whose role has no right to write or to reach files and network, and which never becomes a writer.
//     What the guard cannot see is data: an INSERT's own types, as in Native or Parquet, may name a time zone with
//     the prefix file:, which makes the engine open that file (and show nothing of it); only a sandbox prevents that.
//     A verdict is remembered only for the same text, rights and database, and only where it depends on no
//     definition; what stands outside the text is judged each time.
//   - chdb-8: No connection at all, not even a writer, may use table functions that read the host's files or the
//     network, change a setting that no list has, or read a system table that does something when it is read: those
//     are dropped while the engine is open. A door's writer makes only what the lists allow, so that it is allowed
//     too for whoever reads it later; definitions that are there already are judged once, before the first
//     statement, and what names one that is not allowed is refused, except to drop it. Values of an INSERT with data
//     have no expressions.
//   - chdb-9: A cached library is only loaded if its hash is the one pinned here:
//     it was hashed, and has not been written to since, or it is hashed again. What
//     the operator named is loaded with any hash. Neither is, nor are their
//     folders, anybody's to write to but the user's and root's. A cached file is
//     complete or absent.
//   - chdb-10: The C library's memory is used only between the call that made it
//     and the call that destroys it, and every result is destroyed once.
//   - chdb-11: No client of the door can keep others waiting by being slow: it has to
//     send and to read at a pace, what it has sent counts before it gets a turn, and
//     while another waits for a turn, one that is idle loses its own. Nor by asking for
//     much: who is expected to hold a turn for long, going by what the same statement,
//     connection or address has cost lately, is put off behind those that ask for little,
//     for half of the longest wait at most.
//
// # Process-wide state
//
// The C library forces a little of it: the loaded library and the one open
// data directory, which sit in one variable, guarded by a mutex; and TZ in the C
// environment, which the engine takes its time zone from and which becomes UTC.
//
// The build tag "noengine", like any system but Linux and macOS, leaves the
// engine out; with CGO_ENABLED=0 that gives a static binary, whose
// [Open] returns [ErrNotBuilt].
package chdb
