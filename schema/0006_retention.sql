-- What would grow without end. A list that is read whole brings its rejected records again each time, and says so anew;
-- transactions are read once, so theirs are kept.

ALTER TABLE rejected_records_log MODIFY TTL toDateTime(seen_at) + toIntervalDay(90) DELETE WHERE stream != 'transactions';

ALTER TABLE quality_checks_log MODIFY TTL toDateTime(checked_at) + toIntervalDay(400);
