package warehouse

import "dealhouse/internal/catalog"

// Sales are summed up by day and by whatever else dashboards ask for, so that a look at years of sales reads thousands
// of rows and not millions. A second table has what is known of each retailer from its sales; not all of that is a sum.

// salesTable has sums of sales by everything that panels group by. Views: daily_sales, daily_cashback. Its key has no
// NULL, so that groups are found by IN: the columns dated and identified say whether there is a day and a retailer.
func salesTable() keyed {
	t := newKeyed("sales_latest", "Storage behind the views daily_sales and daily_cashback", "index_granularity = 1024",
		"sales = 0", []column{
			{"dated", "UInt8", "1 when the day of the sale is known"},
			{"day", "Date32", "Day of the sale [UTC]"},
			{"currency_code", "LowCardinality(String)", "Currency of the amounts"},
			{"retailer_name", "LowCardinality(String)", "Retailer name"},
			{"identified", "UInt8", "1 when the retailer has an identifier"},
			{"retailer_id", "UUID", "Retailer"},
			{"country", "LowCardinality(String)", "Country code"},
			{"status", "LowCardinality(String)", "Status as of now"},
		}, []column{
			{"sales", "Int64", "Transactions; 0: the row stands for none"},
			{"order_value", "Decimal(38, 4)", "Sum of the values of the orders"},
			{"cashback", "Decimal(38, 4)", "Sum of the cashback"},
			{"paid_transactions", "Int64", "Those of them that a payout includes, if they are not declined"},
			{"paid_cashback", "Decimal(38, 4)", "Cashback of those that a payout includes, if they are not declined"},
		})
	t.longest = true
	t.fill = func(x script, delta string, first bool) []string {
		return []string{t.changedSums(delta, saleSums(x.changedRows(first)+" AS t", "sign"), "", first)}
	}
	t.rebuild = func(x script, into string) []string {
		return []string{t.wholeSums(into, saleSums(x.render("$latest AS t FINAL", nil), "1")+
			" AND account = {account:String}")}
	}
	return t
}

// saleSums selects single sales in the form in which salesTable counts them.
func saleSums(from, sign string) string {
	return sql(`SELECT sold_at IS NOT NULL AS dated, toDate32(ifNull(t.sold_at, fromUnixTimestamp64Milli(0, 'UTC'))) AS day, currency_code, retailer_name,
        t.retailer_id IS NOT NULL AS identified, ifNull(t.retailer_id, toUUID('00000000-0000-0000-0000-000000000000')) AS retailer_id, country, status,
        toInt64($sign) AS sales, $sign * toDecimal128(ifNull(t.order_value, 0), 4) AS order_value, $sign * toDecimal128(ifNull(t.cashback, 0), 4) AS cashback,
        toInt64($sign * (payout_id IS NOT NULL AND status != $declined)) AS paid_transactions, if(payout_id IS NULL OR status = $declined, 0, $sign) * toDecimal128(ifNull(t.cashback, 0), 4) AS paid_cashback
    FROM $from
    WHERE _deleted = 0`, parts{"sign": sign, "from": from, "declined": quote(catalog.StatusDeclined)})
}

// saleRetailersTable has what is known of each retailer from its sales. View: retailers.
//
// A maximum follows from the stored one and the new rows, unless the row that held it is among those that change and no
// new row reaches it. Only then are the retailer's sales read again. Within a run, _lost marks these retailers.
func saleRetailersTable() keyed {
	t := newKeyed("sale_retailers_latest", "Storage behind the view retailers: what sales say of them",
		"allow_nullable_key = 1", "sales = 0", []column{
			{"retailer_name", "LowCardinality(String)", "Retailer name"},
			{"retailer_id", "Nullable(UUID)", "Retailer"},
		}, []column{
			{"sales", "Int64", "Transactions; 0: the row stands for none"},
			{"last_sold_at", "Nullable(DateTime64(3, 'UTC'))", "Time of the last sale [UTC]"},
			{"last_version", "UInt128", "The highest version of a sale"},
			{"logo", "String", "Logo URL of the newest sale that has one"},
			{"logo_version", "UInt128", "Version of that sale"},
			{"newest", "DateTime64(3, 'UTC')", "When a sale was last loaded new or changed [UTC]"},
			{"_lost", "UInt8", "Used within a run only: a maximum has to be read anew"},
		})
	t.fill = func(x script, delta string, first bool) []string {
		if first {
			return []string{t.insertAll(delta, retailerSums(x.names["delta"]+" WHERE _deleted = 0"))}
		}
		return []string{t.changedRetailers(x, delta)}
	}
	t.lacking = t.lostRetailers
	t.rebuild = func(x script, into string) []string {
		return []string{t.insertAll(into,
			retailerSums(x.render("$latest FINAL WHERE account = {account:String} AND _deleted = 0", nil)))}
	}
	return t
}

// retailerSums selects the rows of saleRetailersTable that follow from sales.
func retailerSums(from string) string {
	return sql(`SELECT retailer_name, retailer_id, toInt64(count()) AS sales, $latest AS last_sold_at, max(_version) AS last_version,
        argMaxIf(retailer_logo, _version, retailer_logo != '') AS logo, maxIf(_version, retailer_logo != '') AS logo_version,
        max(synced_at) AS newest, 0 AS _lost
    FROM $from
    GROUP BY retailer_name, retailer_id`,
		parts{"from": from, "latest": fromMillis("max(toUnixTimestamp64Milli(sold_at))")})
}

// fromMillis returns an expression for the time of a number of milliseconds. Aggregate functions compare times as such
// numbers: max, once the engine has compiled it, takes a time before 1970 for the latest of all.
func fromMillis(ms string) string { return "fromUnixTimestamp64Milli(" + ms + ", 'UTC')" }

// changedRetailers merges what is stored of the retailers with the rows of the run, old and new.
func (t keyed) changedRetailers(x script, delta string) string {
	// held says that the old rows held a maximum, and the new ones do not reach it.
	held := func(c string) string {
		return sql(`ifNull(maxOrNullIf($c, side = -1) >= maxOrNullIf($c, side = 0), 0)
        AND ifNull(maxOrNullIf($c, side = 1) < maxOrNullIf($c, side = -1), 1)`, parts{"c": c})
	}
	return t.inserted(delta) + x.sqlFile("changed_retailers", parts{
		"table": t.table, "next": versionAfter("max(stored)"),
		"last_sold": fromMillis("maxIf(sold, side >= 0)"),
		"sold":      held("sold"), "version": held("r.version"), "logo": held("r.logo_version"),
		"newest": held("r.newest"),
	})
}

// lostRetailers reads again the sales of the retailers of which a maximum is lost.
func (t keyed) lostRetailers(x script, delta string) (when, statement string) {
	when = sql("SELECT count() FROM $delta WHERE _lost", parts{"delta": delta})
	lost := sql(`retailer_name IN (SELECT retailer_name FROM $delta WHERE _lost)`, parts{"delta": delta})
	return when, t.inserted(delta) + x.render(`SELECT {account:String}, $columns, (SELECT max(version) FROM $retailers) + 1, {run:UUID}
FROM
(
    $rows
)
WHERE (retailer_name, retailer_id IS NULL, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')))
    IN (SELECT retailer_name, retailer_id IS NULL, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')) FROM $retailers WHERE _lost)`, parts{
		"columns": t.columns(), "retailers": delta, "rows": retailerSums(x.render(`
    (
        SELECT retailer_name, retailer_id, sold_at, retailer_logo, synced_at, _version FROM $latest FINAL
        WHERE account = {account:String} AND _deleted = 0 AND $lost AND $key NOT IN (SELECT $key FROM $delta)
        UNION ALL
        SELECT retailer_name, retailer_id, sold_at, retailer_logo, synced_at, _version FROM $delta
        WHERE _deleted = 0 AND $lost
    )`, parts{"lost": lost})),
	})
}
