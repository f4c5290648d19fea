// Package decode turns the bytes of a page, which the client has checked to be JSON, into column buffers, as the
// catalog describes them. It makes no map, no struct and no allocation for each record. Strings are slices of the
// page's bytes, so the caller must never reuse those bytes.
//
// Invariants, cited in the code as decode-N:
//
//  1. Money never passes through a float: a decimal is read from its digits, rounded half-even on the digits, and
//     refused if it does not fit.
//  2. If a value does not fit its column, the record is loaded without that value; the raw value is in Batch.Rejects.
//  3. A record without a usable key is not loaded, and nothing of it is in the columns. Its raw JSON is in
//     Batch.Rejects. The other records of the page are not affected.
//  4. A field that the catalog does not know is kept in Extra, unchanged, with the keys in alphabetical order, so that
//     the same content always gives the same text.
//  5. A page that fails to decode leaves the batch as it was.
//  6. A product has no identifier of its own. Its key is a hash of the first of these that it has: url with gtin; url
//     with mpn; url with sku; url with asin; url; asin; gtin; brand with mpn; brand with sku. The name of the rule is
//     hashed too, and stored beside the key. A product with none of these is a record without a usable key. The key
//     follows from the record alone, never from others or from their order. It is not changed by white space around a
//     value, by trackers in a url (utm_source), or by how a gtin is written (leading zeros, spaces, hyphens). A value
//     such as 0 or N/A counts as none.
//  7. A timestamp without a zone is in UTC, because an older version of the API wrote UTC in this way.
//  8. Numbers may come as strings, and a reference may not be a UUID: the record is loaded in both cases.
//  9. A date, number or boolean that is written in another way than the interface shows is read if it has one meaning
//     (forms.go). If it could have two, as 05.01.2026 or 1,234, it is rejected and never guessed.
//  10. What is private (Private) is hidden in the bytes of a page before any of them is read. So it is in no column, no
//     reject and no unknown field, at whatever depth a field of that name stands.
package decode
