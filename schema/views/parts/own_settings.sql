-- What keeps the meaning of a view whatever its reader has set: under these settings, an aggregation without rows is NULL
-- or has no row, and a JOIN needs one more word.
SETTINGS aggregate_functions_null_for_empty = 0, empty_result_for_aggregation_by_empty_set = 0, join_default_strictness = 'ALL'
