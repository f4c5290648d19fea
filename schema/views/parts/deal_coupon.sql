-- The columns of the views of deals, of a coupon.
account, 'coupon' AS kind, id, retailer_id, retailer_name, hostname, description, code AS code, '' AS category, [] AS countries,
    CAST(NULL, 'Nullable(Decimal(18, 9))') AS cashback_percentage, CAST(NULL, 'Nullable(Decimal(18, 4))') AS maximum_fixed_commission_fee,
    start_date AS start_date, end_date AS end_date, url, updated_at, synced_at
