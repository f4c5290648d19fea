// Package syncer decides what is fetched, in what order, and when state may move. A run goes one straight line: pages
// are fetched, decoded and staged; when the last one is staged, the staged rows are compared with the warehouse,
// guards have their say, and the difference is published at once.
//
// Invariants, cited in the code as syncer-N:
//
//  1. Nothing that readers see changes before the run's last page is staged and its guards have passed.
//  2. Rows are deleted only by a run that read the whole stream, and never more than Job.MaxDeleteRatio of them, or all
//     of them, without Job.AllowMassDelete.
//  3. The watermark becomes max(old, min(newest updatedAt seen, server's time when the run began)): it never moves
//     back, and never past the start of the run that read it.
//  4. A run that has lost its lease publishes nothing.
//  5. A batch number is used once: rows that come under a known deduplication token are dropped unseen.
//  6. A window of a backfill is staged in the state only after its rows are, and done only in the write that ends their
//     publication. The windows of a range cover each of its milliseconds.
//  7. A run that is told to stop reads no more at once. What it has read to its end it still publishes; a walk stages what
//     it has read, and its checkpoint says how far that is.
//  8. A rejected record that is loaded again counts as read when it was first read, and is loaded only while no later
//     read of the whole stream has succeeded: it replaces nothing newer, and revives nothing that is gone.
//  9. A row that was read by its own address is kept only where nothing was known of it, and never as one that is listed.
//
// 10. A panic ends its run and nothing else, whichever goroutine of the run it comes from. It is recorded as a failure.
//
// 11. A list that moved while it was read is not taken for whole. Each page that was asked for by a cursor begins with the
// item that the cursor names, and that item kept its place in between; then the pages have every item that did not change
// meanwhile, whatever the order of the list. What breaks a chain is read again, from the last page that can be found
// again. Where that does not help, the run is incomplete: what it read is published, nothing is deleted, the watermark
// stays and no window is done. Where cursors are not the ids of items, a list of transactions is whole if it reads the
// same twice; otherwise it is read in ranges of updatedAt that fit on a page, which is of one moment.
//
// 12. What a complete list does not have is deleted only when it cannot be there: the list was of one moment, or in the
// order of ids; or the row is not there at its own address, or is there and did not change, and so cannot have moved
// past the reader; or, for transactions, nothing with its id has its updatedAt, and all that changed meanwhile was read;
// or, for products, so many complete lists in a row did not have it (Job.DeleteAfterLists). Until then it stays.
package syncer
