SELECT {account:String}, retailer_name, retailer_id, sum(n) AS sales,
    if(sales = 0, NULL, /*$last_sold{*/maxIf(sold, side >= 0)/*}*/) AS last_sold_at, if(sales = 0, 0, maxIf(version, side >= 0)) AS last_version,
    if(sales = 0, '', argMaxIf(r.logo, r.logo_version, side >= 0)) AS logo, if(sales = 0, 0, maxIf(r.logo_version, side >= 0)) AS logo_version,
    if(sales = 0, fromUnixTimestamp64Milli(0, 'UTC'), maxIf(r.newest, side >= 0)) AS newest,
    sales != 0 AND (/*$sold{*/(maxOrNullIf(sold, side = -1) >= 0)/*}*/ OR /*$version{*/(1)/*}*/ OR /*$logo{*/(1)/*}*/ OR /*$newest{*/(1)/*}*/) AS _lost,
    /*$next*/1, {run:UUID}
FROM
(
    SELECT retailer_name, retailer_id, toInt64(sign) AS n, toUnixTimestamp64Milli(sold_at) AS sold, _version AS version, retailer_logo AS logo,
        if(logo != '', _version, 0) AS logo_version, synced_at AS newest, sign AS side, toUInt64(0) AS stored
    FROM /*$changed*/run_changed WHERE _deleted = 0
    UNION ALL
    SELECT retailer_name, retailer_id, sales, toUnixTimestamp64Milli(last_sold_at), last_version, logo, logo_version, newest, 0, version
    FROM /*$table*/retailers_latest FINAL
    WHERE account = {account:String}
        AND retailer_name IN (SELECT retailer_name FROM /*$changed*/run_changed WHERE _deleted = 0)
) AS r
GROUP BY retailer_name, retailer_id
HAVING countIf(side != 0) > 0
