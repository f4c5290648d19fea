-- What transactions name and the service does not give.

CREATE OR REPLACE VIEW reference_misses
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream of the record that was asked for',
    id UUID COMMENT 'Key that a transaction names (from transactions.promotion_id, coupon_id, cashback_offer_id)',
    reason LowCardinality(String) COMMENT 'not_found: the service does not know it; refused: it refused the request; unusable: what it gave is no record with this key',
    asked_at DateTime64(3, 'UTC') COMMENT 'When it was asked for last, by the clock of the warehouse; it is asked for again after reference_retry [UTC]'
)
AS SELECT account, stream, id, reason, asked_at FROM reference_misses_log FINAL
COMMENT 'Deals that transactions name and the service did not give when they were last asked for; one that became known since stays here';
