package warehouse

import (
	"dealhouse/internal/catalog"
)

// decidedTable has the times at which sales were decided.
var decidedTable = catalog.Transactions().Name + "_decided"

var createDecisions = sqlFile("create_decisions",
	parts{"table": decidedTable})

// decisions returns the table of when transactions were decided. This follows from all versions of a transaction, so a
// run computes it again for those that it changes. A materialized view could not: it does not see what is attached to a
// table. A new transaction has one version, and nothing to compute.
func decisions() derived {
	return derived{
		table: decidedTable, create: createDecisions,
		fill: func(x script, delta string, first bool) []string {
			if first {
				return nil // each has one version
			}
			return []string{x.insertDecisions(delta)}
		},
		touched: script.countStored,
		rebuild: func(x script, into string) []string {
			return []string{x.render(insertAllDecisions, decisionParts(parts{"into": into}))}
		},
	}
}

// countStored counts the changed rows that have stored versions: a new transaction has no time of a decision.
func (x script) countStored(Changes) []string { return []string{"countIf(sign = -1)"} }

// decisionParts adds the parts that the statements for decisions have in common. A transaction that vanished upstream
// gets no times of decisions.
func decisionParts(more parts) parts {
	return parts{
		"columns":   "account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at, version, _run_id",
		"pending":   quote(catalog.StatusPending),
		"confirmed": quote(catalog.StatusConfirmed),
		"declined":  quote(catalog.StatusDeclined),
	}.with(more)
}

// insertDecisions computes the decisions of the transactions in the delta of a run, from their stored versions and
// those in the delta. Each time is that of the earliest version with the status. The stored versions or the delta may
// lack such a version.
func (x script) insertDecisions(delta string) string {
	return x.sqlFile("insert_decisions", decisionParts(parts{"decisions": delta}))
}

// insertAllDecisions computes the decisions of all transactions of an account, from all their versions. If the newest
// version of a transaction is not the current one, it belongs to a run that is about to be published, which brings its
// own decisions. Parameter: account.
const insertAllDecisions = `INSERT INTO $into ($columns)
SELECT account, v.id, row.1, row.2, row.3, row.4, if(confirmed > pending AND NOT gone, confirmed, NULL),
    if(declined > pending AND NOT gone, declined, NULL), newest, row.5
FROM
(
    SELECT account, id, argMax((retailer_id, currency_code, clicked_at, sold_at, _run_id), _version) AS row,
        max(_version) AS newest, argMax(_deleted, _version) AS gone,
        minIf(updated_at, status = $pending) AS pending, minIf(updated_at, status = $confirmed) AS confirmed, minIf(updated_at, status = $declined) AS declined
    FROM $versions
    WHERE account = {account:String}
    GROUP BY account, id
) AS v
INNER JOIN (SELECT id, _version FROM $latest FINAL WHERE account = {account:String}) AS l ON v.id = l.id
WHERE newest = l._version AND (confirmed > pending OR declined > pending)`
