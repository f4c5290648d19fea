package probe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
)

// The questions about what records are made of.
const (
	askFields  = "which fields differ from the interface"
	askWritten = "which values are written in another way than the interface shows"
)

// Behaviour is what was found out, by question, as far as it stays the same while the API does: no clock, no counts.
func (r *Report) Behaviour() map[string]string {
	all := map[string]string{}
	for _, f := range r.Findings {
		volatile := f.Question == askClock || f.Question == askAgain || f.Question == askWalks || strings.HasSuffix(f.Answer, " or more")
		if f.Confidence != Unknown && !volatile {
			all[f.Question] = f.Answer
		}
	}
	return all
}

// findFields compares the records with what the interface says of them.
func (p *prober) findFields() {
	var fields, forms []string
	records := 0
	for _, s := range catalog.All() {
		l, read := p.first[s.Name]
		if !read {
			continue
		}
		records += l.rows.Records
		for _, name := range l.page.Members {
			fields = append(fields, fmt.Sprintf("%s: %q beside the records", s.Name, name))
		}
		for _, name := range slices.Sorted(maps.Keys(l.rows.Unknown)) {
			fields = append(fields, fmt.Sprintf("%s.%s is not in it", s.Name, name))
		}
		fields = append(fields, misfits(s, l.rows)...)
		forms = append(forms, otherForms(s, l.page.Data)...)
	}
	p.several(askFields, fields, fmt.Sprintf("%d records of the first pages; fields that are not in it are kept in _extra, values that do not fit in rejected_records", records))
	p.several(askWritten, forms, fmt.Sprintf("%d records of the first pages; they are read all the same if they have one meaning", records))
}

// several adds a finding that is a list, of which 20 are named. None is likely and not sure: not all records were seen.
func (p *prober) several(question string, all []string, evidence string) {
	if len(all) == 0 {
		p.found(question, "none", Likely, "%s", evidence)
		return
	}
	const most = 20
	answer := strings.Join(all[:min(most, len(all))], "; ")
	if len(all) > most {
		answer += fmt.Sprintf("; and %d more", len(all)-most)
	}
	p.found(question, answer, Sure, "%s", evidence)
}

// misfits are the fields with values that cannot be loaded as they are.
func misfits(s *catalog.Stream, rows *decode.Batch) (all []string) {
	seen := map[string]bool{}
	for _, r := range rows.Rejects {
		seen[fmt.Sprintf("%s.%s: %s", s.Name, r.Field, r.Reason)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// otherForms are the fields whose values are of another type of JSON than the interface shows, or times without a zone.
func otherForms(s *catalog.Stream, data []byte) (all []string) {
	var records []map[string]json.RawMessage
	if json.Unmarshal(data, &records) != nil {
		return nil // misfits tells of them
	}
	for _, f := range s.Fields {
		seen := map[string]bool{}
		for _, r := range records {
			if form := otherForm(f, r[f.JSON]); form != "" {
				seen[fmt.Sprintf("%s.%s: %s", s.Name, f.JSON, form)] = true
			}
		}
		all = append(all, slices.Sorted(maps.Keys(seen))...)
	}
	return all
}

// otherForm says how a value is written, "" if it is as the interface shows it, or absent.
func otherForm(f catalog.Field, value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return ""
	}
	text := value[0] == '"'
	switch f.Type {
	case catalog.Money, catalog.Share, catalog.Quotient, catalog.Int:
		if text {
			return "a string and not a number"
		}
	case catalog.Bool:
		if value[0] != 't' && value[0] != 'f' {
			return "neither true nor false"
		}
	case catalog.Time:
		switch {
		case !text:
			return "a number and not a timestamp"
		case !zoned(string(value)):
			return "a time without a zone"
		}
	case catalog.UUID, catalog.Text, catalog.Label, catalog.Day:
		if !text {
			return "not a string"
		}
	case catalog.TextList, catalog.LabelList:
		if value[0] != '[' {
			return "not a list"
		}
	}
	return ""
}

// zoned tells whether a timestamp names its zone.
func zoned(value string) bool {
	_, clock, found := strings.Cut(strings.Trim(value, `"`), "T")
	return !found || strings.ContainsAny(clock, "Zz+-")
}
