// Package syncer decides what is fetched, in what order, and when state may move.
//
// # How a run goes
//
// A session works on one stream of one account: it takes the lease, finishes what dead runs left, does its
// work, and releases the lease. The work is done by a source, which reads rows, stages them under the id of a
// run, and reports what it saw:
//
//   - list reads what the list operation returns: everything, or what changed after the watermark;
//   - backfill reads a range of time in windows, in parallel, each bundle of them under a run of its own;
//   - rejects reads, from the warehouse, what could not be loaded before;
//   - addresses reads single rows by their own addresses.
//
// No source publishes by itself. Each ends in a publication, which counts the staged rows, compares them with
// the warehouse, lets the guards check the difference, prepares it, checks the lease once more, and makes
// everything visible at once.
//
// Files, from the top down: all.go makes the runs of jobs. list.go, backfill.go, rejects.go and addresses.go are the
// sources; origin.go, clock.go, scope.go and confirm.go are what a list is asked before rows are deleted or replaced;
// publish.go has the guards. unchanged.go saves reading a list that is as it was. chain.go and sweep.go tell a whole
// list from one that moved while pages.go read it, in the parts of time that windows.go makes and plan.go hands out.
// session.go and run.go keep the lease and the record. syncer.go has their types.
//
// Some words have one meaning each here. To take is to get the lease of a stream. To begin is to create the row of a
// run in sync_runs. To load is to read, stage and publish. A run that ends with an error is abandoned.
//
// # Invariants
//
// They are cited in the code as syncer-N.
//
//  1. Nothing that readers see changes before the run's last page is staged and its guards have passed.
//  2. Rows are deleted only by a run that read the whole stream. Without Job.AllowMassDelete it never deletes
//     more than mayDelete allows, unless an operator has agreed to that many deletions (warehouse.Consent). Otherwise
//     the rows stay, and what is new or changed is loaded. If none of many rows is left, nothing is changed.
//  3. The watermark becomes max(old, min(newest updatedAt seen that the service's clock has reached, the service's time
//     when the run began)): it never moves back, and never past the start of the run that read it. The one exception is
//     one that lies beyond the service's present, since it was never true: then everything in doubt is read again,
//     and the watermark is brought back. An answer that is older than what is known is no reason for that, and nothing
//     of it is loaded (clock.go).
//  4. A run that has lost its lease publishes nothing.
//  5. A batch number is used once, because the warehouse drops rows that arrive again under a deduplication token that
//     it knows.
//  6. A window of a backfill counts as staged only after its rows are staged, and as done only in the write that ends
//     their publication. The windows of a range cover each of its milliseconds.
//  7. A run that is told to stop stops reading at once. It still publishes what it has read to the end. A walk stages
//     what it has read, and its checkpoint says how far that is.
//  8. A rejected record that is loaded again counts as read at the time when it was first read. It is loaded only if no
//     later read of the whole stream has succeeded. So it replaces nothing newer, and brings back nothing that is gone.
//  9. A row that was read by its own address is kept only if the warehouse had no such row, and never counts as listed.
//  10. A panic ends its run and nothing else, whichever goroutine of the run it comes from. The
//     run is recorded as failed.
//  11. A list that moved while it was read does not count as complete. It is complete when each page that was requested
//     by a cursor begins with the item that the cursor names, and that item kept its place in between. Then the pages
//     have every item that did not change meanwhile, whatever the order of the list. If a chain of pages breaks, it is
//     read again from the last page that can be found again. If that does not help, the run is incomplete: what it read
//     is published, nothing is deleted, the watermark stays and no window is done. The same holds for a list whose
//     answers say that it is not whole. If cursors are not the ids of items,
//     a list of transactions is complete if it reads the same twice; otherwise it is read in ranges of updatedAt that
//     fit on a page, because a page comes from one moment.
//  12. A row that a complete list does not have is deleted only when it cannot exist any more. That is so when the
//     list came from one moment, or was in the order of ids. Otherwise the row is requested by its own address: it is
//     gone when it is not there, or when it is there unchanged, because then it cannot have moved past the reader.
//     For transactions, the service must have no row with its id and its updatedAt, and everything that changed
//     meanwhile must have been read. For products, Job.DeleteAfterLists complete lists in a row must not have it.
//     Until then the row stays.
//  13. A stream with a scope has the rows whose values are in the scope, and no others, whatever the service returns.
//     Its lists come from different moments. So a row is gone if it meets what syncer-12 asks of a list that moved, or
//     if it has left the scope. The state has the scope of the last complete list, and gets it when that list is
//     published. Loaded rows outside of the scope leave with that publication; their deletion is guarded as syncer-2
//     says and counted separately.
//  14. Two batches of a list are inserted at the same time, and the later one may end first. Nothing is
//     concluded from a staged batch until all batches before it are staged too: the saved place of a walk is
//     never beyond a row that is not staged.
//  15. Nothing is published before the rows that were read are recognised as those of the service whose rows are
//     loaded (origin.go). Its identity is stored with what is published. Places of walks and windows of backfills count
//     only for the identity that they were read from.
//  16. A list that the service does not send again, because it has not changed, is taken for the one that is loaded
//     only if that came whole on one page, was read within a day, and the rows that readers see have its sum. Then
//     nothing is compared (unchanged.go).
//
// # What the service promises
//
// The code relies on these rules of the API:
//
//   - A list is an envelope of data and a cursor. The cursor is the id of the next item, and is absent on the last
//     page. Products have nextPage instead, which may be anything. Payouts are one bare array.
//   - Promotions, coupons and cashback offers can be asked for one by one, at the path of their list and their id.
//     Transactions, payouts and products cannot.
//   - Lists of deals can be filtered by the values of catalog.Filter, one value a request; several filters must all
//     match. The rows that they return are checked.
//   - Only transactions can be filtered by time. Both borders are left out: after t means later than t, before t means
//     earlier than t. The names of the parameters are not promised (Params), nor that the filters work, so the rows
//     that they return are checked.
//   - updatedAt has milliseconds. Many rows may share one. A row may be readable a little after its updatedAt.
//   - The order of a list is not promised, nor that it stays the same while it is read.
//   - The service's clock is the Date header of its answers. updatedAt is compared with it, never with the local clock.
package syncer
