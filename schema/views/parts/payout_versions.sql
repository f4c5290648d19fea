-- A payout as it is now, and how it was when it was first seen. Contents are texts in the
-- order of the names that altered_columns has.
SELECT account, id AS payout_id, argMax(_deleted, _version) AS deleted,
                    argMax((start_date, end_date, total_transactions, total_gmv, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv,
                        confirmed_cashback, declined_cashback, pending_cashback, aov), _version) AS reported,
                    minIf(synced_at, _deleted = 0) AS first_seen_at, argMinIf(content, _version, _deleted = 0) AS before, argMaxIf(content, _version, _deleted = 0) AS after,
                    groupArrayIf((content, synced_at), _deleted = 0) AS seen, length(arrayDistinct(arrayMap(v -> v.1, seen))) > 1 AS altered,
                    if(altered, toNullable(arrayMin(v -> if(v.1 = before, toDateTime64('2299-01-01 00:00:00', 3, 'UTC'), v.2), seen)), NULL) AS altered_at
                FROM
                (
                    SELECT account, id, start_date, end_date, total_transactions, total_gmv, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv,
                        pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, aov, synced_at, _version, _deleted,
                        arrayMap(x -> ifNull(x, ''), [toString(total_transactions), toString(total_gmv), toString(total_cashback), toString(confirmed_transactions), toString(declined_transactions),
                            toString(pending_transactions), toString(confirmed_gmv), toString(declined_gmv), toString(pending_gmv), toString(confirmed_cashback), toString(declined_cashback),
                            toString(pending_cashback), toString(aov), toString(start_date), toString(end_date)]) AS content
                    FROM payouts_versions
                )
                GROUP BY account, id
