package warehouse

// selectUnknownFields selects the fields that the service sends and dealhouse does not know.
const selectUnknownFields = "SELECT account, stream, field, first_seen FROM unknown_fields ORDER BY account, stream, field"

// selectNotedFields selects those of a stream. Parameters: account and stream.
const selectNotedFields = "SELECT field FROM unknown_fields WHERE account = {account:String} AND stream = {stream:String}"

// selectVanishedFields selects the fields that the service used to send and no longer sends.
const selectVanishedFields = "SELECT account, stream, field, missing_since FROM vanished_fields ORDER BY account, stream, field"

// selectPresence is a subquery for what is known of the fields of a stream. It is part of a larger statement, so that a
// quiet run needs no statement for it alone. Times are in milliseconds, 0 for a field that is not missing.
const selectPresence = `SELECT groupArray((field, scope, usual, ifNull(toUnixTimestamp64Milli(missing_since), 0)))
    FROM field_presence_log FINAL WHERE account = {account:String} AND stream = {stream:String}`
