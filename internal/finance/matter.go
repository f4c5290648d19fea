package finance

import "github.com/shopspring/decimal"

// Matter is something about a payout that a person may acknowledge: the items of one kind in one currency, or a remark
// without an amount.
type Matter struct {
	Kind, Currency string
	Entries        map[string]decimal.Decimal // the amount of each transaction, or of each reason
}

// Amount returns the sum of the entries.
func (m Matter) Amount() decimal.Decimal {
	sum := decimal.Zero
	for _, amount := range m.Entries {
		sum = sum.Add(amount)
	}
	return sum
}

// Matters returns the matters of the payout that have an amount, by currency and kind.
func (e *Explanation) Matters() []Matter {
	var all []Matter
	for _, l := range e.Lines {
		for _, kind := range Kinds() {
			m := Matter{Kind: string(kind), Currency: l.Currency, Entries: map[string]decimal.Decimal{}}
			for _, item := range l.Items {
				if item.Kind == kind {
					name := item.name()
					m.Entries[name] = m.Entries[name].Add(item.Amount)
				}
			}
			if len(m.Entries) > 0 {
				all = append(all, m)
			}
		}
	}
	return all
}

// name identifies an entry of a matter.
func (i Item) name() string {
	if i.Transaction != nil {
		return i.Transaction.ID.String()
	}
	return string(i.Reason)
}

// Since compares a matter with what was acknowledged. It returns whether the matter is open again, and by how
// much its sum has moved. Each entry counts by itself: changes up and down do not cancel out. A remark is open
// again if it says something else.
func (m Matter) Since(acknowledged Matter, tolerance decimal.Decimal) (open bool, moved decimal.Decimal) {
	way := decimal.Zero
	for name, amount := range m.Entries {
		before, known := acknowledged.Entries[name]
		way = way.Add(amount.Sub(before).Abs())
		open = open || !known && amount.IsZero()
	}
	for name, amount := range acknowledged.Entries {
		if _, still := m.Entries[name]; !still {
			way = way.Add(amount.Abs())
		}
	}
	return open || way.GreaterThan(tolerance), m.Amount().Sub(acknowledged.Amount())
}
