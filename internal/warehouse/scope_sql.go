package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

// scopeCondition returns the condition that stored rows are in a scope. A row without a value for a filter is not.
func scopeCondition(s *catalog.Stream, scope catalog.Scope) string {
	var conditions []string
	for _, c := range scope {
		f := s.Filter(c.Filter)
		normal := func(value string) string {
			switch {
			case f.Lower:
				return "lower(" + value + ")"
			case f.Upper:
				return "upper(" + value + ")"
			}
			return value
		}
		condition := sql("has($values, $value)", parts{"values": stringArray(c.Values), "value": normal(f.Column)})
		if s.Fields[s.Field(f.Column)].Type.List() {
			condition = sql("arrayExists(v -> has($values, $value), $column)",
				parts{"values": stringArray(c.Values), "value": normal("v"), "column": f.Column})
		}
		conditions = append(conditions, condition)
	}
	return strings.Join(conditions, " AND ")
}

// filtered returns the values by which the rows of a scope were selected, as one text (PlannedDelete.Filtered).
func filtered(s *catalog.Stream, scope catalog.Scope) string {
	values := []string{"''"}
	for _, c := range scope {
		f := s.Filter(c.Filter)
		value := "toString(" + f.Column + "), '\\0'"
		if s.Fields[s.Field(f.Column)].Type.List() {
			value = "arrayStringConcat(" + f.Column + ", '\\0'), '\\0'"
		}
		values = append(values, value)
	}
	if len(values) == 1 {
		return values[0]
	}
	return "concat(" + strings.Join(values, ", ") + ")"
}

// selectOutside selects the keys of the account's rows that are outside of the scope of the run. It has no parameters,
// since it is also part of a mutation.
func (x script) selectOutside() string {
	return x.render("SELECT $key FROM $latest FINAL WHERE account = $account AND NOT ($within)",
		parts{"account": quote(x.Account), "within": scopeCondition(x.Stream, x.Within)})
}

// countOutside counts the planned deletes that are outside of the scope of the run.
func (x script) countOutside() string {
	return x.render("SELECT count() FROM $changes WHERE $gone AND $key IN ($outside)",
		parts{"outside": x.selectOutside()})
}
