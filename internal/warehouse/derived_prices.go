package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

// priceChangesTable has the days on which the price of a product changed: a few days of a history that has a row for
// each day. View: product_price_changes. It is sorted for questions about the last days.
//
// A change joins a day with the day before it that has a price in the same currency. So when a day is corrected, the
// change on the next day may be different too, and a run looks at the whole history of each product of which it changes
// an entry. Most have had a single price, and then there is nothing to look at.
func priceChangesTable(s *catalog.Stream) keyed {
	t := newKeyed("product_price_changes_latest", "Storage behind the view product_price_changes",
		"index_granularity = 1024", "price = previous_price", []column{
			{"day", "Date", "First day of the new price"},
			keyColumns(s)[0],
		}, []column{
			{"currency_code", "LowCardinality(String)", "Currency of the prices"},
			{"price", "Decimal(18, 4)", "New price; equal to the old one: the row stands for no change"},
			{"previous_day", "Date", "Last day of the old price of which there is a record"},
			{"previous_price", "Decimal(18, 4)", "Old price"},
			{"views", "Nullable(Int64)", "Views on the first day of the new price"},
			{"previous_views", "Nullable(Int64)", "Views on previous_day"},
		})
	t.ofChild = true
	t.fill = func(x script, delta string, first bool) []string {
		if first {
			return []string{t.insertAll(delta,
				x.priceChanges(x.render("$child_delta WHERE price IS NOT NULL AND $moving",
					parts{"moving": x.moving(x.names["child_delta"])})))}
		}
		return []string{t.changedPrices(x, delta)}
	}
	t.touched = func(x script, _ Changes) []string { return []string{"(" + countRows(x.names["child_delta"]) + ")"} }
	t.rebuild = func(x script, into string) []string {
		return []string{t.insertAll(into, x.priceChanges(x.render(
			"$child_latest FINAL WHERE account = {account:String} AND price IS NOT NULL AND $moving",
			parts{"moving": x.moving(x.render("$child_latest WHERE account = {account:String}", nil))})))}
	}
	return t
}

// moving returns a condition for the products that have two prices among the entries. Entries that are no longer
// current do no harm.
func (x script) moving(entries string) string {
	return x.render("$key IN (SELECT $key FROM $entries GROUP BY $key HAVING min(price) != max(price))",
		parts{"entries": entries})
}

// priceChanges selects the changes of price among entries that have a price.
func (x script) priceChanges(entries string) string {
	return "\n" + x.sqlFile("price_changes", parts{"entries": entries}) + "\n"
}

// onlyAppends is a condition on all entries of a product, the fresh ones of the run and the stored ones. It is true if
// the run only adds days after the last stored one, at the price of that day, so that no change is made or altered.
// Nearly every product is like this every day.
const onlyAppends = `minIf(day, fresh) > maxIf(day, NOT fresh) AND min(cityHash64(currency_code)) = max(cityHash64(currency_code))
                    AND minIf(price, fresh) = maxIf(price, fresh) AND minIf(price, fresh) = argMaxIf(price, day, NOT fresh)`

// changedPrices fills the delta with the changes that the run makes or alters. A change that the run takes back becomes
// a row that means no change. To find these, the changes that follow from the entries of its products are compared with
// the stored ones.
func (t keyed) changedPrices(x script, delta string) string {
	known := x.render(`
            (
                SELECT account, day, $key, currency_code, price, views, _version, false AS fresh FROM $child_latest FINAL
                WHERE account = {account:String} AND $key IN (SELECT $key FROM $child_delta)
                UNION ALL
                SELECT account, day, $key, currency_code, price, views, _version, true FROM $child_delta
            )`, nil)
	altered := x.render(`$key IN
            (
                SELECT $key FROM $known
                GROUP BY $key
                HAVING min(price) != max(price) AND NOT ifNull($only_appends, false)
            )`, parts{"known": known, "only_appends": onlyAppends})
	entries := x.render(`
        (
            SELECT *, leadInFrame(true) OVER (PARTITION BY account, $key, day ORDER BY _version ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS replaced
            FROM $known
            WHERE $altered
        )
        WHERE NOT replaced AND price IS NOT NULL`, parts{"known": known, "altered": altered})
	var values, becomes []string
	for _, c := range t.values {
		values = append(values, c.name)
		becomes = append(becomes, "anyIf(r."+c.name+", becomes)")
	}
	return t.inserted(delta) + x.sqlFile("changed_prices", parts{
		"becomes": strings.Join(becomes, ", "), "values": strings.Join(values, ", "), "columns": t.columns(),
		"changes": x.priceChanges(entries), "next": versionAfter("max(stored)"), "table": t.table, "nothing": t.nothing,
		"altered": altered,
	})
}
