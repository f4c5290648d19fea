-- What the transactions of payouts are read from is kept by each run. These views served to find it among all versions.

DROP VIEW IF EXISTS payout_changed_transactions;

DROP VIEW IF EXISTS payout_changed_keys;
