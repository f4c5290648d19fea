package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Filter is a query parameter of a list operation with which the service returns a part of the list. It takes one value
// in each request.
type Filter struct {
	Name   string // the name of the parameter, unless the service has another
	Key    string // the key of the configuration, which takes several values
	Column string // the column that the filter selects by; if it is a list, one of its elements must be the value
	Lower  bool   // the case of ASCII letters does not matter, and values are sent in lower case
	Upper  bool   // the same, sent in upper case
	Words  string // what it is, for people

	Example string // values of the key, as the configuration has them
	Doc     string // of the key
}

var (
	byHostname = Filter{
		Name: "hostname", Key: "hostnames", Column: "hostname", Lower: true, Words: "retailer hostname",
		Example: `["shop.example", "www.other.example"]`,
		Doc: `Load only the rows of these retailers, with hostnames as the service writes them. Each value is requested as a list
of its own; together these lists are the stream. With several filters, a row must match all of them. Loaded rows that do
not match leave the view with the next complete list; many at once need consent, like any mass delete.`,
	}
	byRetailer = Filter{
		Name: "name", Key: "retailer_names", Column: "retailer_name", Words: "retailer name",
		Example: `["Shop", "Other Shop"]`,
		Doc:     `Only offers of retailers with exactly these names.`,
	}
	byCategory = Filter{
		Name: "category", Key: "categories", Column: "category", Words: "category",
		Example: `["Travel"]`,
		Doc:     `Only offers of exactly these categories.`,
	}
	byCountry = Filter{
		Name: "country", Key: "countries", Column: "countries", Upper: true, Words: "country",
		Example: `["DE", "FR"]`,
		Doc:     `Only offers that are available in one of these countries, by their ISO 3166-1 alpha-2 codes.`,
	}
)

// Filters returns all filters, each once.
func Filters() []Filter { return []Filter{byHostname, byRetailer, byCategory, byCountry} }

// Filter returns the filter of that name, or nil if the stream has none.
func (s *Stream) Filter(name string) *Filter {
	if i := slices.IndexFunc(s.Filters, func(f Filter) bool { return f.Name == name }); i >= 0 {
		return &s.Filters[i]
	}
	return nil
}

// Field returns the index of the field with that column, or -1.
func (s *Stream) Field(column string) int {
	return s.index(func(f Field) bool { return f.Column == column })
}

// Normal returns the value as it is sent and compared.
func (f Filter) Normal(value string) string {
	switch {
	case f.Lower:
		return mapASCII(value, 'A', 'Z', 'a'-'A')
	case f.Upper:
		return mapASCII(value, 'a', 'z', 'A'-'a')
	}
	return value
}

func mapASCII(s string, from, to rune, by rune) string {
	return strings.Map(func(r rune) rune {
		if r >= from && r <= to {
			return r + by
		}
		return r
	}, s)
}

// Condition is a filter with its values. A row must have one of these values.
type Condition struct {
	Filter string   `json:"filter"`
	Values []string `json:"values"` // normal, sorted, each once
}

// Scope is the part of a stream that is loaded: the rows for which each of its conditions is true. Without conditions
// it is all of the stream. Conditions are in the order of Stream.Filters, so that equal scopes are written alike.
type Scope []Condition

// NewScope returns the scope of a stream that the values of its filters make. They are given by the names of the
// filters. A filter without values is left out.
func NewScope(s *Stream, values map[string][]string) Scope {
	var scope Scope
	for _, f := range s.Filters {
		var normal []string
		for _, v := range values[f.Name] {
			normal = append(normal, f.Normal(v))
		}
		slices.Sort(normal)
		if normal = slices.Compact(normal); len(normal) > 0 {
			scope = append(scope, Condition{f.Name, normal})
		}
	}
	return scope
}

// Encode writes a scope for storage: JSON, or "" for all of the stream.
func (s Scope) Encode() string {
	if len(s) == 0 {
		return ""
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic("catalog: a scope is strings: " + err.Error())
	}
	return string(text)
}

// ParseScope reads what Encode wrote.
func ParseScope(text string) (scope Scope, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &scope); err != nil {
		return nil, fmt.Errorf("reading the scope of a stream: %w", err)
	}
	return scope, nil
}

// String returns the scope for people: "hostname a.example or b.example, country DE".
func (s Scope) String() string {
	parts := make([]string, len(s))
	for i, c := range s {
		parts[i] = c.Filter + " " + strings.Join(c.Values, " or ")
	}
	return strings.Join(parts, ", ")
}

// Brief returns the same as String, with at most three values of each filter.
func (s Scope) Brief() string {
	const most = 3
	short := slices.Clone(s)
	for i, c := range short {
		if n := len(c.Values) - most; n > 0 {
			short[i].Values = append(slices.Clone(c.Values[:most]), fmt.Sprintf("%d more", n))
		}
	}
	return short.String()
}

// Or returns the scope for people, or the given words if it is all of the stream.
func (s Scope) Or(everything string) string {
	if len(s) == 0 {
		return everything
	}
	return s.String()
}

// Lists returns the lists whose union is the scope. Each is given by a value for each filter, by the name of the
// filter. All of a stream is one list without filters.
func (s Scope) Lists() []map[string]string {
	lists := []map[string]string{nil}
	for _, c := range s {
		var longer []map[string]string
		for _, list := range lists {
			for _, v := range c.Values {
				with := map[string]string{c.Filter: v}
				for name, value := range list {
					with[name] = value
				}
				longer = append(longer, with)
			}
		}
		lists = longer
	}
	return lists
}

// Count returns the number of Lists, without making them.
func (s Scope) Count() int {
	n := 1
	for _, c := range s {
		n *= len(c.Values)
	}
	return n
}
