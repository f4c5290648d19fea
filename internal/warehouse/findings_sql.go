package warehouse

// selectAnyFinding says whether anything was ever found about the payouts of an account: it counts 1 row or none.
// Parameter: account.
const selectAnyFinding = "SELECT count() FROM (SELECT 1 FROM payout_findings_log WHERE account = {account:String} LIMIT 1)"

// selectOpenFindings selects the findings that are still true, the oldest first.
const selectOpenFindings = `SELECT account, kind, subject, detail, first_seen
FROM payout_findings
WHERE resolved_at IS NULL
ORDER BY first_seen, account, kind, subject, detail`

// selectOpenFindingsOf selects those of an account. Parameter: account.
const selectOpenFindingsOf = "SELECT account, kind, subject, detail, first_seen FROM payout_findings WHERE account = {account:String} AND resolved_at IS NULL"

// countOpenFindings counts the findings that are still true, by account.
const countOpenFindings = "SELECT account, count() FROM payout_findings WHERE resolved_at IS NULL GROUP BY account"
