-- What reached the bank, with every correction.

CREATE OR REPLACE VIEW settlement_revisions
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    reference String COMMENT 'By which the bank knows it; one of an account is one settlement',
    revision UInt32 COMMENT '1 as it was first imported, and one more for each correction',
    hash String COMMENT 'SHA-256 of what was imported, in hexadecimal digits: equal hashes are the same settlement',
    received_on Date COMMENT 'Day on which it reached the bank',
    currency_code LowCardinality(String) COMMENT 'Currency that reached the bank',
    amount Decimal(38, 4) COMMENT 'What reached the bank, after fees; below zero: it was taken back [currency_code]',
    fee Decimal(38, 4) COMMENT 'What the bank, or one before it, kept [currency_code]',
    payout_currency LowCardinality(String) COMMENT 'Currency in which it was sent',
    payout_amount Decimal(38, 4) COMMENT 'What was sent: amount and fee, or before it was converted [payout_currency]',
    unit Decimal(38, 4) COMMENT 'Smallest unit of payout_currency: payouts are rounded to it when they are sent [payout_currency]',
    payouts Array(Int64) COMMENT 'Payouts that it settles, as whoever imported it says; empty: not said',
    text String COMMENT 'In the words of the bank',
    at DateTime64(3, 'UTC') COMMENT 'When it was imported, by the clock of the warehouse [UTC]',
    id UUID COMMENT 'Identifies the import',
    source String COMMENT 'File or table that it was imported from',
    line UInt32 COMMENT 'Line of the file, or row of the table',
    by String COMMENT 'Who imported it',
    note String COMMENT 'Of a correction: why, in the words of who made it'
)
AS SELECT account, reference, revision, hash, received_on, currency_code, amount, fee, payout_currency, payout_amount, unit, payouts, text, at, id, source, line, by, note
FROM settlements_log FINAL
COMMENT 'Every revision of a settlement that was ever imported: what reached the bank, who said so, and when';
