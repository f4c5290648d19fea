package warehouse

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

// selectAnySettlement says whether anything was imported, for one account or for any: it counts 1 row or none.
// Parameter: account.
const selectAnySettlement = "SELECT count() FROM (SELECT 1 FROM settlements_log WHERE {account:String} IN ('', account) LIMIT 1)"

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
    payout_amount, text, matched_by, payouts, shares, not_loaded, at, by
FROM settlements
WHERE {account:String} IN ('', account)$and
ORDER BY account, received_on DESC, reference`, parts{"and": and})
}

// unsettledThreeWay has the rows of payout_three_way while no settlement was imported.
var unsettledThreeWay = sql(`
(
    SELECT account, payout_id, currency_code, sum(p.earned) AS earned, sum(paid) AS paid_out,
        toDecimal128(0, 4) AS received, received AS fees, received AS converted, received AS rounding,
        paid_out AS outstanding, if(paid_out = 0, $nothing, $outstanding) AS state,
        CAST([], 'Array(String)') AS settlements, CAST(NULL, 'Nullable(Date)') AS last_received_on
    FROM payout_paid AS p
    GROUP BY account, payout_id, currency_code
)`, parts{"nothing": quote(ThreeWayNothingDue), "outstanding": quote(ThreeWayOutstanding)})

// selectThreeWays selects what payouts earned, paid out and brought, of one account or of all, the newest payout first.
// settled says that a settlement was imported. ofPayout says that only one payout is wanted. Parameters: account; with
// ofPayout, also payout.
func selectThreeWays(settled, ofPayout bool) string {
	from, and := "payout_three_way", ""
	if !settled {
		from = unsettledThreeWay
	}
	if ofPayout {
		and = " AND payout_id = {payout:Int64}"
	}
	return sql(`SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted, rounding,
    outstanding, state, settlements, last_received_on
FROM $from
WHERE {account:String} IN ('', account)$and
ORDER BY account, payout_id DESC, currency_code`, parts{"from": from, "and": and})
}

// selectPayoutsPaid selects what the payouts of an account paid, by currency. Parameter: account.
const selectPayoutsPaid = `SELECT payout_id, currency_code, paid FROM payout_paid WHERE account = {account:String} ORDER BY payout_id, currency_code`
