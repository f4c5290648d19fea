package warehouse

import "dealhouse/internal/catalog"

// selectSettlementRevisions selects revisions of settlements, of one account or of all, in the order in which they were
// imported. chosen says that only those with some references are wanted. Parameters: account; with chosen, also
// references, as JSON.
func selectSettlementRevisions(chosen bool) string {
	and := ""
	if chosen {
		and = " AND has(JSONExtract({references:String}, 'Array(String)'), reference)"
	}
	return sql(`SELECT account, reference, revision, hash, received_on, currency_code, amount, fee, payout_currency,
    payout_amount, unit, payouts, text, at, id, source, line, by, note
FROM settlement_revisions
WHERE {account:String} IN ('', account)$and
ORDER BY at, account, reference, revision, hash`, parts{"and": and})
}

// countSettlements counts the settlements of an account. Parameter: account.
const countSettlements = "SELECT uniqExact(reference) FROM settlement_revisions WHERE account = {account:String}"

// selectSettlements selects what reached the bank, of one account or of all, the newest first. ofPayout says that only
// what settles one payout is wanted. Parameters: account; with ofPayout, also payout.
func selectSettlements(ofPayout bool) string {
	and := ""
	if ofPayout {
		and = " AND has(payouts, {payout:Int64})"
	}
	return sql(`SELECT account, reference, revision, received_on, currency_code, amount, fee, payout_currency,
    payout_amount, text, matched_by, payouts, shares, fees, not_loaded, at, by
FROM settlements
WHERE {account:String} IN ('', account)$and
ORDER BY account, received_on DESC, reference`, parts{"and": and})
}

// selectThreeWays selects what payouts earned, paid out and brought, of one account or of all, the newest payout first.
// ofPayout says that only one payout is wanted. Parameters: account; with ofPayout, also payout.
func selectThreeWays(ofPayout bool) string {
	and := ""
	if ofPayout {
		and = " AND payout_id = {payout:Int64}"
	}
	return sql(`SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted, rounding,
    outstanding, state, settlements, last_received_on
FROM payout_three_way
WHERE {account:String} IN ('', account)$and
ORDER BY account, payout_id DESC, currency_code`, parts{"and": and})
}

// selectPayoutsDue selects what the payouts of an account paid, by currency. Parameter: account.
var selectPayoutsDue = sql(`SELECT payout_id, toString(currency_code), paid, stamped, end_date
FROM payout_paid
LEFT JOIN (SELECT account, id AS payout_id, end_date FROM $latest FINAL) AS p USING (account, payout_id)
WHERE account = {account:String}
ORDER BY payout_id, currency_code`, parts{"latest": latestTable(catalog.Payouts())})

// selectPayoutsReadAt selects when the last run of payouts that succeeded began; the end of times if that was today, or
// if no run is known. Parameter: account.
var selectPayoutsReadAt = sql(`SELECT if(count() = 0 OR toDate(max(started_at)) >= toDate(now('UTC')), toDateTime64('2200-01-01 00:00:00', 3, 'UTC'), max(started_at))
FROM sync_runs WHERE account = {account:String} AND stream = $stream AND outcome = $success`,
	parts{"stream": quote(catalog.Payouts().Name), "success": quote(OutcomeSuccess)})

// selectSettlementMatches selects all matches of an account that were ever made, in that order. Parameter: account.
const selectSettlementMatches = `SELECT account, reference, revision, hash, at, toString(matched_by), payouts, shares, fees, rounding
FROM settlement_matches_log FINAL WHERE account = {account:String} ORDER BY at, reference`
