package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Filter is a query parameter of a list operation by which the service gives a part of the list. It takes one value a
// request.
type Filter struct {
	Name   string // the name of the parameter, unless the service has another
	Key    string // the key of the configuration, which takes several values
	Column string // of the rows that the filter selects by; a list, when one of its elements is to be the value
	Lower  bool   // values are alike whatever the case of their ASCII letters, and are sent in lower case
	Upper  bool   // the same, sent in upper case
	Words  string // what it is, for people
}

var (
	byHostname = Filter{Name: "hostname", Key: "hostnames", Column: "hostname", Lower: true, Words: "retailer hostname"}
	byRetailer = Filter{Name: "name", Key: "retailer_names", Column: "retailer_name", Words: "retailer name"}
	byCategory = Filter{Name: "category", Key: "categories", Column: "category", Words: "category"}
	byCountry  = Filter{Name: "country", Key: "countries", Column: "countries", Upper: true, Words: "country"}
)

// Filters are all filters there are, each once.
func Filters() []Filter { return []Filter{byHostname, byRetailer, byCategory, byCountry} }

// Filter is the filter of that name, nil when the stream has none.
func (s *Stream) Filter(name string) *Filter {
	if i := slices.IndexFunc(s.Filters, func(f Filter) bool { return f.Name == name }); i >= 0 {
		return &s.Filters[i]
	}
	return nil
}

// Field is the index of the field with that column, or -1.
func (s *Stream) Field(column string) int {
	return s.index(func(f Field) bool { return f.Column == column })
}

// Normal is the value as it is sent and compared.
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

// Condition is the values of a filter of which a row has one.
type Condition struct {
	Filter string   `json:"filter"`
	Values []string `json:"values"` // normal, sorted, none twice
}

// Scope is the part of a stream that is loaded: the rows for which each of its conditions holds. Without any it is all
// of the stream. Conditions are in the order of Stream.Filters, so that equal scopes are written alike.
type Scope []Condition

// NewScope is the scope of a stream by the values of its filters, by name. Filters without values are none.
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

// String is the scope for people: "hostname a.example or b.example, country DE".
func (s Scope) String() string {
	parts := make([]string, len(s))
	for i, c := range s {
		parts[i] = c.Filter + " " + strings.Join(c.Values, " or ")
	}
	return strings.Join(parts, ", ")
}

// Brief is String with no more than three values of a filter.
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

// Or is the scope for people, or other words where it is all of the stream.
func (s Scope) Or(everything string) string {
	if len(s) == 0 {
		return everything
	}
	return s.String()
}

// Lists are the lists whose union is the scope, each as a value by the name of a filter. All of a stream is one list
// without filters.
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

// Count is the number of Lists, cheap however many there are.
func (s Scope) Count() int {
	n := 1
	for _, c := range s {
		n *= len(c.Values)
	}
	return n
}
