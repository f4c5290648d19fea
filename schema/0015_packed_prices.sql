-- The prices of a product travel with it, and are compared as one. Walks that an older version has begun are begun anew.

TRUNCATE TABLE IF EXISTS products_staging;

TRUNCATE TABLE IF EXISTS product_prices_staging;
