package warehouse

import (
	"fmt"

	"dealhouse/internal/catalog"
)

// inspectDelta counts the rows that break each rule, with an example. known says that there are earlier versions of
// some rows. Parameters: account and server.
func (x script) inspectDelta(rules []rule, known bool) string {
	payouts := "toUInt64(0)"
	if f := x.Stream.Reference(catalog.Payouts()); f != nil {
		payouts = "countIf(" + f.Column + " IS NOT NULL)"
		if known {
			payouts += x.render(` + (SELECT uniqExact($key) FROM $versions
    WHERE account = {account:String} AND $named IS NOT NULL AND $key IN (SELECT $key FROM $delta WHERE $named IS NULL))`,
				parts{"named": f.Column})
		}
	}
	columns := []string{fmt.Sprintf("groupArrayIf(%d)(toString($key), _deleted = 0)", someKeys), payouts}
	for _, r := range rules {
		broken := "_deleted = 0 AND ifNull(" + r.broken + ", false)"
		columns = append(columns, "countIf("+broken+")", "anyIf(toString($key), "+broken+")")
	}
	return x.render("SELECT "+joined(columns)+"\nFROM $delta", nil)
}
