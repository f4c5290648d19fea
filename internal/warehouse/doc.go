// Package warehouse holds all SQL: it opens a ClickHouse (a server, or the embedded engine), makes the schema, stages
// rows, compares them with what is there, publishes the difference, and keeps the state of the streams.
//
// A run's rows go through three tables. <stream>_staging takes them as they arrive, a partition a run; nobody reads
// it. <stream>_changes_<run> has the keys that are new, changed or gone, by comparison of key, version and hash.
// <stream>_delta_<run> has the complete rows of those keys; its parts are then attached to <stream>_versions and
// <stream>_latest, behind which are the views that people query.
//
// Invariants, cited in the code as warehouse-N:
//
//  1. Readers see all of a run or nothing of it: its rows are merged into one part, which is attached in one step, and
//     nothing else writes to the tables behind the views. Only a child table (the price history), whose rows do not
//     replace each other, may be attached in several parts.
//  2. Before the first part is attached, an intent is durable that says all that is left to do; whoever finds it
//     finishes the work (Recover), and every step of the work can be repeated.
//  3. The watermark is its own version, so that a lower one can never replace a higher one.
//  4. What a run stages is counted before it is compared: a row that got lost on the way must not look deleted.
//  5. Times that two processes compare are the warehouse's. Its clock may be set, and may differ between replicas: see 9.
//  6. A version of a row is never 0: the upstream's time of change in the high 64 bits, no later than the service's clock
//     when it was read, and the time of reading in the low. A staged row replaces a stored one when it changed later
//     upstream, or at the same time and was read later, and gets a version that is higher than the stored one. When the
//     stored row changed is the lowest of what its version, its updatedAt and the service's clock say: a version may have
//     been lifted, and an updatedAt may be dated ahead. What a complete list says, and what is read over a row that is
//     dated ahead, is held to be at least as new upstream as what is stored, so that the time of reading decides; a read
//     of a part never replaces a newer state by an older one, and counts what it left for that reason (Changes.Older).
//  7. A statement is tried again only where doing it twice, with the answer to the first time lost, is as doing it once:
//     staged batches by their token and equal bytes, the bookkeeping by the versions of its rows, INSERT ... SELECT
//     together with the making of the table that it fills, an attachment that may have been made after a look at what
//     is there.
//  8. What the server refuses for its content costs the rows that it refuses, not their batch (Stage).
//  9. A clock that was wrong costs nothing for longer than a minute. What replaces rows of the bookkeeping has a version
//     above theirs, whatever the clock says (timeAfter); a lease ends when it was not renewed for its time to live, whatever
//     time it has (sightings); and a stored time of reading that lies more than a minute ahead is before any other.
//  10. What a run that died had begun to publish is finished when a warehouse is opened for writing (RecoverAll), and
//     before the next run of its stream.
//  11. A value that is rejected is one row of rejected_records, however many runs meet it. Which reading of it counts, and
//     whether it is settled, is told by versions that only rise; the last reading of a run under way stays with it, since
//     Plan asks which records it could not load. How many runs met it is exact for runs one after the other.
//  12. A view reads one table of a stream: <stream>_latest or <stream>_versions, never both. A run is attached to a table in
//     one step (warehouse-1), and a query takes one snapshot of a table however often it reads it
//     (enable_shared_storage_snapshot_in_query, the default of ClickHouse 25.12 and later). So a view shows each stream as
//     it was before a run or after it, also between the two attachments, and for as long as a killed run is not finished.
//     The newest version in _versions is the current one; a view that needs both takes it from there.
//  13. Ages are measured by one clock, the service's (service_clock); none is below 0.
//
// Deleted rows stay in _latest with their last content, as versions that the views leave out: the merge has to know
// their versions, and later joins their content. A row that was read by its own address, because a transaction names it
// and no list had it, is kept in the same way; a list that has it makes it live. That is why the tables have no is_deleted parameter, with which FINAL
// would hide them from the merge as well.
package warehouse
