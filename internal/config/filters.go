package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"dealhouse/internal/catalog"
)

// mostLists is how many lists a stream may be read in: one for each combination of the values of its filters.
const mostLists = 1000

// filterKeys are the keys of the filters of streams, and of the names of their parameters.
func filterKeys() []key {
	var list []key
	for _, f := range catalog.Filters() {
		list = append(list, key{
			name: f.Key, in: inStream, of: func(s *catalog.Stream) bool { return s.Filter(f.Name) != nil },
			value: texts(f), example: f.Example, doc: f.Doc,
		})
	}
	return list
}

func filterParamKeys() []key {
	var list []key
	for _, f := range catalog.Filters() {
		list = append(list, key{
			name: f.Name, in: inParams, standard: written(f.Name),
			value: codec{want: "a string: a parameter name", kinds: []nodeKind{aString}, set: func(v *values, s string) error {
				err := checkParam(s)
				if err == nil {
					v.account.Params.Filters[f.Name] = s
				}
				return err
			}},
			doc: `The filter for a ` + f.Words + `, for streams that have ` + f.Key + `.`,
		})
	}
	return list
}

// texts takes the values of a filter.
func texts(f catalog.Filter) codec {
	c := array(f.Example, "to load everything", func(v *values, all []string) error { v.filters[f.Name] = all; return nil },
		func(s string) error { return checkFilterValue(f, s) })
	c.zero = func(v *values) { delete(v.filters, f.Name) }
	return c
}

// array takes an array of strings or, in an environment variable, such an array as JSON, or values with commas between
// them. without says what the key is left out for.
func array(example, without string, put func(*values, []string) error, check func(string) error) codec {
	want := "an array of strings such as " + example
	return codec{want: want, kinds: []nodeKind{anArray}, set: func(v *values, text string) error {
		var all []string
		if strings.HasPrefix(strings.TrimSpace(text), "[") {
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				return errors.New("must be " + want)
			}
		} else {
			for word := range strings.SplitSeq(text, ",") {
				all = append(all, strings.TrimSpace(word))
			}
		}
		if len(all) == 0 {
			return errors.New("has no value: leave the key out " + without)
		}
		for _, one := range all {
			if err := check(one); err != nil {
				return err
			}
		}
		return put(v, all)
	}}
}

var (
	hostnamePattern = regexp.MustCompile(`^[^\s/?#@\\:,]+(:[0-9]{1,5})?$`)
	countryPattern  = regexp.MustCompile(`^[A-Za-z]{2}$`)
)

func checkFilterValue(f catalog.Filter, value string) error {
	const longest = 300 // bytes, so that servers accept the address
	switch {
	case value == "" || strings.TrimSpace(value) != value:
		return fmt.Errorf("%s is empty, or has a space before or after it", quote(value))
	case len(value) > longest || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Errorf("%s is not a %s", quote(value), f.Words)
	case f.Lower && !hostnamePattern.MatchString(value):
		return fmt.Errorf("%s is not a hostname: write it as the service does, such as shop.example, without https:// and without a path", quote(value))
	case f.Upper && !countryPattern.MatchString(value):
		return fmt.Errorf("%s is not a country: write its two letters, such as DE", quote(value))
	}
	return nil
}

// scopeOf returns the scope of a stream that its filters make.
func (l *reader) scopeOf(s *catalog.Stream, v *values) catalog.Scope {
	scope := catalog.NewScope(s, v.filters)
	if n := scope.Count(); n > mostLists {
		l.problem(v.at[s.Filter(scope[0].Filter).Key],
			"the filters of %s make %d lists, one for each combination of their values, and %d are read at most",
			s.Name, n, mostLists)
	}
	return scope
}

// arrayText returns an array of strings as JSON, or false if it holds something else.
func arrayText(n *node) (string, bool) {
	all := make([]string, len(n.items))
	for i, item := range n.items {
		if item.kind != aString {
			return "", false
		}
		all[i] = item.text
	}
	text, err := json.Marshal(all)
	return string(text), err == nil
}
