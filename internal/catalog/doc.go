// Package catalog describes the six streams as data: where each is read, how it is paged, when it is read, what its key
// is, and the name, type and meaning of each of its fields. Configuration, decoding, table definitions, the merge, the
// column comments and the pages are all derived from this description. So a new field is one line in streams.go, and a
// new stream is one entry.
//
// Invariants, cited in the code as catalog-N and held by catalog_test.go:
//
//  1. A stream has exactly one key: a field marked Key, or a rule that derives it (DerivedKey). A product has no
//     identifier. Its key is a hash of its url and what tells variants of it apart, or of other identifiers (decode-6).
//  2. A field's column is the snake_case of its JSON name and unique in its stream. Two columns of deals have other
//     names, because they name the retailer: name is retailer_name and logo is retailer_logo. No column starts with an
//     underscore or is called account or synced_at: those names belong to the warehouse.
//  3. A stream has at most 64 fields that can be absent, because their absence is stored as one bit each of a UInt64.
//     New fields are appended: the position of a field decides its bit, and a walk may continue with rows that an older
//     version has staged (testdata/order.golden).
//  4. Nothing here imports another package of this project, and nothing here is changed at run time.
//  5. No two streams share a name, a path or a view. A view of all known records (AllView) exists if records can be
//     read by their own address (ByID).
//  6. A field that refers to a stream has the type of that stream's key.
//  7. One stream has the payouts. One other stream, that of the sales, refers to them in a field: a payout adds up the
//     records of that stream. The tables of its sums and of its decisions have fixed names, so there cannot be two.
//  8. An Incremental stream has a Version field, from which its watermark comes, and a default Resync; no other stream
//     has a Resync. A Walk has pages with a token, which it needs to save its place.
//  9. The column by which a stream is counted by day is a Time or a Day of the stream's view or of its child's view.
//     The stream of the sales keeps its history and has a status, from which follows when a sale was confirmed or
//     declined. At most one stream has a child: the table of its changes of price has a fixed name.
//  10. The rows of a stream are ordered by one of its Times, and looked up by some of its strings. A stream that is
//     ordered in this way keeps its history, is never read record by record, and has no child.
//  11. The fields of an entry of a child have values of fixed width, and at most 8 of them can be absent: entries are
//     stored packed (Child.PackedSize). A change of these fields needs a migration that empties the stream's staging
//     table, because a walk would otherwise continue with entries that an older version has packed.
//  12. A stream with Filters is a Snapshot that is read by cursors, and its rows can be requested by their own address.
//     Each filter names a column, which is text or a list of text: its value decides whether a row that is not in the
//     lists is in the scope.
package catalog
