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
//  10. A panic ends its run and nothing else, whichever goroutine of the run it comes from. It is recorded as a failure.
package syncer
