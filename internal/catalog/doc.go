// Package catalog describes the six streams as data: where each is read, how it is paged, when, what its key is, and
// what each of its fields is called, typed and means. Configuration, decoding, table definitions, the merge, the column
// comments and the pages all follow from this one description: a field is one line in streams.go, and a stream one
// entry.
//
// Invariants, cited in the code as catalog-N and held by catalog_test.go:
//
//  1. A stream has exactly one key: a field marked Key, or a rule that derives it (DerivedKey). A product has no
//     identifier. Its key is a hash of its url, else of its asin, its gtin, its brand and mpn, or its brand and sku.
//  2. A field's column is the snake_case of its JSON name and unique in its stream. Two columns of deals have other
//     names, since they name the retailer: name is retailer_name and logo is retailer_logo. No column starts with an
//     underscore or is called account or synced_at: those names belong to the warehouse.
//  3. A stream has at most 64 fields that can be absent: their absence travels as one bit each of a UInt64. New fields
//     are appended, since the position of a field decides its bit, and a walk may go on with rows that an older version
//     has staged (testdata/order.golden).
//  4. Nothing here imports another package of this project, and nothing here is changed at run time.
//  5. No two streams share a name, a path or a view. A view of all known records (AllView) is there where records can
//     be read by their own address (ByID).
//  6. A field that refers to a stream has the type of that stream's key.
//  7. One stream has payouts, and one other names them in a field: its records are what payouts add up.
//  8. An Incremental stream has a Version field, since its watermark comes from there, and a default Resync; no other
//     stream has a Resync. A Walk has pages with a token, since it saves its place.
//  9. What is counted by day is a Time or a Day of the stream's view or of its child's. A stream that tracks decisions
//     keeps its history and has a status.
//  10. What orders the rows of a stream is one of its Times, and what they are looked up by are strings of it. Such a
//     stream keeps its history and is never read record by record, and has no child.
//  11. The fields of an entry of a child have values of fixed width, and at most 8 of them can be absent: entries
//     travel packed (Child.PackedSize). Whoever changes these fields empties the stream's staging table in a migration,
//     since a walk would go on with entries that an older version has packed.
//  12. A stream with Filters is a Snapshot that is read by cursors, and its rows can be asked for by their own address:
//     what is outside of the lists is judged by the column of each filter, which is text or a list of it.
package catalog
