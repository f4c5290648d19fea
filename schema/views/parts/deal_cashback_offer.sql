-- The columns of the views of deals, of a cashback offer.
account, 'cashback_offer' AS kind, id, retailer_id, retailer_name, hostname, description, '' AS code, category AS category, countries AS countries,
    cashback_percentage AS cashback_percentage, maximum_fixed_commission_fee AS maximum_fixed_commission_fee,
    CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS start_date, CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS end_date, url, updated_at, synced_at
