-- The days on which prices moved are kept beside the prices from here on (product_price_changes_latest, which is made and
-- filled with the tables of the streams). No older binary publishes prices any more that the table would lack: it finds no
-- staging table, which has another name now. Walks that an older version has begun are begun anew.

DROP TABLE IF EXISTS products_staging;
