package warehouse

// hasNone says whether the account has no row at all, deleted ones included.
func (x script) hasNone() string {
	return x.render("SELECT count() = 0 FROM (SELECT 1 FROM $latest WHERE account = {account:String} LIMIT 1)", nil)
}

func countRows(table string) string { return sql("SELECT count() FROM $table", parts{"table": table}) }

// replaceDerived replaces the account's rows of one table by those of another, all at once.
func replaceDerived(table, from, account string) string {
	return sql("ALTER TABLE $table REPLACE PARTITION $account FROM $from",
		parts{"table": table, "from": from, "account": quote(account)})
}

func dropDerived(table, account string) string {
	return sql("ALTER TABLE $table DROP PARTITION $account", parts{"table": table, "account": quote(account)})
}

// compareDerived says whether a derived table has the account's rows that the other one has, except for the columns
// version and _run_id.
func compareDerived(t derived, other string) string {
	return sql(`SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM $table FINAL WHERE account = {account:String}$something))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM $other FINAL WHERE account = {account:String}$something))`,
		parts{"table": t.table, "other": other, "something": t.something()})
}

// something returns the condition for rows that do not mean the same as a missing one.
func (t derived) something() string {
	if t.nothing == "" {
		return ""
	}
	return " AND NOT (" + t.nothing + ")"
}
