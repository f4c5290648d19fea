// Package catalog describes the six streams as data: where each is read, how it is paged, what its key is and what
// each of its fields is called, typed and means. Decoding, table definitions, the merge and the column comments all
// follow from this one description, so adding a field is one line in streams.go.
//
// Invariants, cited in the code as catalog-N:
//
//  1. A stream has exactly one key: a field marked Key, or a rule that derives it (products).
//  2. A field's column name is unique in its stream and never starts with an underscore: those names belong to the
//     warehouse.
//  3. A stream has at most 64 fields that can be absent: their absence travels as one bit each of a UInt64. New
//     fields are appended, since the position of a field decides its bit.
//  4. Nothing here imports another package of this project, and nothing here is changed at run time.
package catalog
