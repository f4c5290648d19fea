// Package decode turns the bytes of a page, which the client has checked to be JSON, into column buffers, by the
// catalog: no map, no struct and no allocation per record. Strings are slices of the page's bytes, which the caller
// therefore never reuses.
//
// Invariants, cited in the code as decode-N:
//
//  1. Money never passes through a float: a decimal is read from its digits, rounded half-even on the digits, and
//     refused when it does not fit.
//  2. A field that cannot be represented costs only that field; its raw value is in Batch.Rejects.
//  3. A record without a usable key costs only that record; its raw JSON is in Batch.Rejects, and nothing of it is in
//     the columns.
//  4. A field that the catalog does not know is kept in Extra, verbatim, with its keys in alphabetical order, so that
//     the same content is always the same text.
//  5. A page that fails to decode leaves the batch as it was.
//  6. A product has no identifier of its own. Its key is a hash of the first of these that it has: url; asin; gtin;
//     brand with mpn; brand with sku. The name of the rule is hashed with it and kept beside it. A product with none of
//     them is a record without a usable key.
//  7. A timestamp without a zone is in UTC: an older version of the API wrote them so.
//  8. Numbers may come as strings, and a reference may be no UUID: neither costs the record.
package decode
