// Package warehouse holds all SQL. It opens a ClickHouse, which is a server or the embedded engine. It makes the
// schema, stages rows, compares them with what is there, publishes the difference, and keeps the state of the streams.
//
// The rows of a run go through three tables. <stream>_staging takes them as they arrive, in one partition for each run;
// nobody reads it. <stream>_changes_<run> has the keys that are new, changed or gone, which are found by comparing key,
// version and hash. In a large first load there is nothing to compare with, and this table is empty.
// <stream>_delta_<run> has the complete rows of those keys. Its parts are then attached to <stream>_versions and
// <stream>_latest, the tables behind the views that people query.
//
// Where to look: a Reader only reads. A Writer writes for one run: Stage, Plan, Prepare, Publish, Discard, Recover. A
// Lease is the right to run a stream. Migrate makes and upgrades the schema. A dialect decides how tables are made:
// another kind of server needs a dialect of its own.
//
// The texts of the statements are constants and pure functions, the long ones files in sql/, and testdata/*.sql shows
// each as it is sent. They stand beside the code that sends them; template.go and script.go render them. ddl.go has
// the tables and views of a stream, and hash.go the hash of its rows. certificate.go has what a run
// proves, and audit.go holds what is stored against it. derived*.go has the tables that follow from a
// stream (warehouse-15), each with how it is filled and made again. migrate*.go and migrations.go compare what is there
// with what should be, and have what changes it. dialect.go has what depends on the kind of server, public.go the
// database that has only the views for people, and shards_union.go what is over all shards. warehouse.go has the types
// that all of these share.
//
// Invariants, cited in the code as warehouse-N:
//
//  1. Readers see all of a run or nothing of it. Its rows are merged into one part, which is attached in one step, and
//     nothing else writes to the tables behind the views. Only a child table (the price history), whose rows do not
//     replace each other, may be attached in several parts. A stream that is ordered by a time has a part for each
//     month (months.go). All months of a run are attached by one statement, which a server shows at once. Where it
//     does not, because the servers replicate, there are no months. A server that is killed within this statement may
//     come back with some of the months. In an embedded warehouse the run is then finished before anybody reads
//     (FinishInterrupted); on a server, as soon as the worker reaches it again.
//  2. Before the first part is attached, an intent is stored durably. It says all that is left to do. Whoever finds it
//     finishes the work (Recover), and every step of the work can be repeated.
//  3. The watermark is its own version, so a lower one never replaces a higher one. Only one that was never true is
//     replaced by a lower one (Intent.Corrected); later ones then have versions that are as much higher.
//  4. What a run has staged is counted before it is compared: a row that got lost on the way must not look deleted.
//  5. Times that two processes compare come from the warehouse's clock. Somebody may set that clock, and it may differ
//     between replicas: see warehouse-9.
//  6. The version of a row is never 0. Its high 64 bits are the upstream's time of change, no later than the service's
//     clock when the row was read. Its low 64 bits are the time of reading. A staged row replaces a stored one if it
//     changed later upstream, or at the same time and was read later. It then gets a version above the stored one. A
//     stored row counts as changed at the earliest of the times that its version, its updatedAt and the service's
//     clock give: its version may have been raised, and its updatedAt may be in the future. A staged row counts as at
//     least as new upstream as the stored one if it comes from a complete list, or if the stored one is dated in the
//     future. Then the time of reading decides. A run that reads only a part never replaces a newer state by an older
//     one. It counts what it left for that reason (Changes.Older).
//  7. A statement is tried again only if doing it twice, with the answer to the first attempt lost, has the effect of
//     doing it once. Staged batches have a token and equal bytes. Rows of the bookkeeping have versions. INSERT ...
//     SELECT is repeated together with the statement that makes the table which it fills. An attachment that may have
//     been made is repeated only after a look at what is there.
//  8. A row whose content the server refuses is left out and kept as a reject. The other rows of its batch are
//     staged (Stage).
//  9. A clock that was wrong does harm for a minute at most. A row of the bookkeeping that replaces others has a
//     version above theirs, whatever the clock says (timeAfter). A lease ends when it was not renewed for its time to
//     live, whatever its expiry says (sightings). A stored time of reading that is more than a minute in the future
//     counts as older than any other.
//  10. When a run dies while it publishes, its work is finished when a warehouse is next opened for writing
//     (RecoverAll), or an embedded one for reading (FinishInterrupted), and before the next run of its stream.
//  11. A value that is rejected is one row of rejected_records, however many runs meet it. Versions that only rise
//     decide which reading of it counts, and whether it is settled. While a run is under way, its last reading stays
//     with the value, since Plan asks which records the run could not load. How many runs met the value is exact if
//     the runs come one after the other.
//  12. A view reads one table of a stream: <stream>_latest, <stream>_versions, or one that follows from them
//     (warehouse-15). A run is attached to a table in one step (warehouse-1), and a query takes one snapshot of a
//     table however often it reads it (enable_shared_storage_snapshot_in_query, the default of ClickHouse 25.12 and
//     later). So a view shows each stream as it was before a run or after it, even between two attachments, and for
//     as long as a killed run is not finished. The newest version in _versions is the current one; a view that needs
//     both takes it from there. There are three exceptions. stream_counts has the number of transactions from the
//     state, which follows a moment later. confirmation_funnel has columns from two tables: its counts, and the times
//     of decisions. A view as of a time takes from _latest which rows there are and which have changed since that
//     time. From _versions it takes only what these were before, which no run under way changes.
//  13. Ages are measured by one clock, the service's (service_clock). None is below 0.
//  14. A run deletes no row that another run has loaded since the deleting run began.
//  15. Some tables follow from the rows of a stream or of its child (derivedTables: keys, counts, sums, decisions,
//     changes of price). The run that changes the rows changes these tables, too: under its intent, by rows that
//     replace those of the same key. So attaching them again changes nothing. The rows are the same as if the table
//     were made again (rebuild). A run leaves a table alone that it does not concern, and its intent says which these
//     are. A run of a binary that does not know one of these tables leaves it out of the state "derived". The next
//     holder of the lease makes that table again before anything else. It does the same if a run died while it
//     published, and cannot be finished.
//  16. What is published is counted: the rows of each delta before it is attached, and those of the table after. The
//     state moves only if both are what was prepared. Otherwise the intent stays, and whoever finds it publishes
//     again. If what was prepared is no longer there, everything is read again.
//  17. One process at a time changes the schema (turn). Tables and views that follow from the catalog have a
//     generation, which rises with every change of them (schema.Generation). A binary replaces only those of a lower
//     generation than its own. So two versions side by side never undo each other's views. The older one works with
//     the views of the newer one, or is refused if their tables differ (ErrSchemaNew).
//  18. In a cluster of several shards, each shard is a whole warehouse, in a database of its own. An account lives on
//     one of them: on the shard that has anything of it, or else on the one that follows from its name (At). So all
//     of the above holds on each shard, and no run touches two. The database that is configured has a table over all
//     shards for each view, which can only be read. A view of one account is a view of one shard. A view of several
//     accounts may show each of them at another moment.
//  19. A backup is a copy of one moment: it is made while the leases of all streams and the turn are held (Hold). What
//     is removed because of its age is removed in an order in which no older row comes back (Retire).
//  20. One worker at a time publishes a stream. All see the same holder of its lease: the newest version of the lease
//     counts. What a holder writes to keep or end its lease is dated as of the time when it last read the lease, so
//     that it never replaces the lease of another worker. A worker reads the lease again when its intent is durable,
//     and before each attachment. A worker that takes a stream over looks for intents after it has taken the lease.
//     If it finds the intent of a dead run, it writes that intent once more, then reads the lease again, and only
//     then carries the intent out. If a worker finds an intent that was written after it had found the stream free,
//     another worker took the stream at the same moment: it waits for that one. One gap is left: a worker may lose
//     the lease on one replica while its statement still attaches rows on another. The next run that reads everything
//     puts that right.
//  21. Rows are compared by the hash of their content, so all rows of a stream, staged and stored, have the same kind
//     of hash: that of the columns which the catalog has now. A migration that changes it computes the stored hashes
//     again, while nobody publishes. Each table says in the comment of _hash which kind it has.
//  22. A run whose process died stays running in sync_runs until the next holder of the lease marks it. Whoever shows
//     runs through this package shows it as killed before that, if the process that holds its lease is certainly gone:
//     it was on this machine and no longer exists, or nobody else can have the embedded engine that this process has
//     open. A clock proves nothing, and neither does a lease that has run out: its worker may only be slow. So a run
//     that died on another machine is shown as running until then.
//  23. A run is certified before its state moves (Certificate). What was decoded is what is staged, and what the plan
//     writes is what is prepared. The rows that readers see are those of the certificate before, and what the run has
//     changed. Each certificate names the one before it. All sums are made of rowSum.
//
// Deleted rows stay in _latest with their last content, as versions that the views leave out: the merge needs their
// versions, and later joins need their content. A row that was read by its own address, because a transaction names it
// and no list had it, is kept in the same way; a list that has it makes it live. This is why the tables have no
// is_deleted parameter: with it, FINAL would hide such rows from the merge as well.
package warehouse
