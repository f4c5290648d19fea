-- Acknowledgements are only ever added.

CREATE OR REPLACE VIEW payout_acknowledgements
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    payout_id Int64 COMMENT 'Payout',
    kind LowCardinality(String) COMMENT 'expected_clawback, claimable, payout_error, not_loaded, vanished, missing, mismatched, altered or mixed_currency',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty where there are none',
    at DateTime64(3, 'UTC') COMMENT 'When it was acknowledged, by the clock of the warehouse [UTC]',
    id UUID COMMENT 'Identifies the acknowledgement; those that were made at once share it',
    amount Decimal(38, 4) COMMENT 'Paid minus worth now, as it was acknowledged [currency_code]',
    entries Array(String) COMMENT 'What it is made of: ids of transactions, or a reason in words',
    amounts Array(Decimal(38, 4)) COMMENT 'The amount of each entry [currency_code]',
    tolerance Decimal(38, 4) COMMENT 'By how much the amounts may move before it is open again [currency_code]',
    reason LowCardinality(String) COMMENT 'expected, disputed, claimed, settled, written_off or other',
    note String COMMENT 'In the words of who acknowledged it',
    by String COMMENT 'Who acknowledged it'
)
AS SELECT account, payout_id, kind, currency_code, at, id, amount, entries, amounts, tolerance, reason, note, by FROM payout_acknowledgements_log FINAL
COMMENT 'Acknowledgements of findings about payouts: who, when, why and for which amounts. For each payout, kind and currency, the last one counts';
