package probe

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/catalog"
)

// sample is a row by whose times filters are tried.
type sample struct {
	key           string
	updated, sold time.Time // sold is zero if it has none
}

// pick returns a row whose updatedAt is shared by as few as possible, and differs from soldAt by more than 4 seconds.
func (p *prober) pick(l look) (best sample, ok bool) {
	s := catalog.Transactions()
	version, order := s.VersionField(), s.OrderField()
	times := map[int64]int{}
	for _, t := range l.rows.Columns[version].Ints {
		times[t]++
	}
	fewest := l.rows.Len() + 1
	for i := range l.rows.Len() {
		at := l.rows.Columns[version].Ints[i]
		one := sample{key: strings.ToLower(l.rows.Key(i)), updated: time.UnixMilli(at)}
		if !l.rows.Present(version, i) || times[at] >= fewest {
			continue
		}
		if l.rows.Present(order, i) {
			if one.sold = time.UnixMilli(l.rows.Columns[order].Ints[i]); one.updated.Sub(one.sold).Abs() < 4*time.Second {
				continue
			}
		}
		best, fewest, ok = one, times[at], true
	}
	return best, ok
}

// mostPages is how many pages of a narrow window are read to find a row.
const mostPages = 3

// between asks for the rows between two times, and tells whether the sample is among them, as it was, and whether all
// rows are within, give or take a second.
func (p *prober) between(ctx context.Context, x sample, after, before time.Time, form func(time.Time) string) (has, within bool, err error) {
	s := catalog.Transactions()
	params := url.Values{}
	if p.filter.after != "" {
		params.Set(p.filter.after, form(after))
	}
	if p.filter.before != "" {
		params.Set(p.filter.before, form(before))
	}
	within = true
	token := ""
	for range mostPages {
		l := p.list(ctx, s, params, token)
		if l.err != nil {
			return has, within, l.err
		}
		keys, times := p.inOrder(l)
		for i, at := range times {
			t := time.UnixMilli(at)
			has = has || keys[i] == x.key && t.Equal(x.updated)
			if t.Before(after.Add(-time.Second)) && p.filter.after != "" || t.After(before.Add(time.Second)) && p.filter.before != "" {
				within = false
			}
		}
		if token = l.page.Next; token == "" || has || !within {
			break
		}
	}
	return has, within, nil
}

// findMeaning finds out what the filters compare, by a row whose times are known, and uses them only if it is
// updatedAt.
func (p *prober) findMeaning(ctx context.Context) {
	f := &p.filter
	if f.after == "" && f.before == "" {
		for _, question := range []string{askAfter, askBefore} {
			p.unknown(question, "none of %d names gives no rows for a time that no row has", len(afterNames))
		}
		for _, question := range []string{askMeaning, askFrom, askTo, askForms, askSurvival} {
			p.unknown(question, "no filter is known")
		}
		return
	}
	x, ok := p.pick(p.first[catalog.Transactions().Name])
	var compared string
	var unit time.Duration
	var err error
	if ok {
		compared, unit, err = p.compare(ctx, x)
	}
	use := compared == "updatedAt"
	p.name(askAfter, f.after, use, &p.report.Settings.UpdatedAfter)
	p.name(askBefore, f.before, use, &p.report.Settings.UpdatedBefore)
	switch {
	case err != nil:
		p.unknown(askMeaning, "%s", reason(err))
	case compared == "":
		p.unknown(askMeaning, "a row was not found by its updatedAt, nor by its soldAt")
	default:
		answer := compared
		if unit == time.Second && use {
			answer += ", in whole seconds"
		}
		p.found(askMeaning, answer, p.both(), "a window of a few %s around its %s gives row %s", words(unit), compared, x.key)
	}
	if !use {
		for _, question := range []string{askFrom, askTo, askForms, askSurvival} {
			p.unknown(question, "what the filters compare is not updatedAt, or not known")
		}
		return
	}
	p.findBorders(ctx, x)
	p.findForms(ctx, x)
	p.findSurvival(ctx)
}

func words(unit time.Duration) string {
	if unit == time.Second {
		return "seconds"
	}
	return "milliseconds"
}

// both is how far a window can be relied on: one with a single border may give a row for another reason.
func (p *prober) both() Confidence {
	if p.filter.after == "" || p.filter.before == "" {
		return Likely
	}
	return Sure
}

// name adds the finding about a name, and sets it if it is to be used.
func (p *prober) name(question, name string, use bool, setting *string) {
	switch {
	case name == "":
		p.unknown(question, "none of %d names gives no rows for a time that no row has", len(afterNames))
	case use:
		*setting = name
		p.found(question, name, p.both(), "it gives no rows for a time that no row has, and a row by its own")
	default:
		p.unknown(question, "%s filters by a time, but is not seen to be updatedAt: it is not used", name)
	}
}

// compare tells by which time the filters find a row, and with which precision.
func (p *prober) compare(ctx context.Context, x sample) (compared string, unit time.Duration, err error) {
	// A window with one border has the row also if another, earlier or later time of it is compared.
	outside := func(unit time.Duration) bool {
		has, _, e := p.between(ctx, x, x.updated.Add(unit), x.updated.Add(-unit), iso)
		err = cmp.Or(err, e)
		return has
	}
	around := func(unit time.Duration) bool {
		has, within, e := p.between(ctx, x, x.updated.Add(-unit), x.updated.Add(unit), iso)
		err = cmp.Or(err, e)
		return has && within && (p.both() == Sure || !outside(unit))
	}
	switch {
	case around(time.Millisecond):
		return "updatedAt", time.Millisecond, err
	case around(time.Second):
		// The row may have been out of its place the first time. It was not if it is there before and after.
		if around(time.Millisecond) || !around(time.Second) {
			return "updatedAt", time.Millisecond, err
		}
		return "updatedAt", time.Second, err
	case err != nil || x.sold.IsZero():
		return "", 0, err
	}
	has, _, err := p.between(ctx, x, x.sold.Add(-time.Second), x.sold.Add(time.Second), iso)
	if has {
		return "soldAt", time.Second, err
	}
	return "", 0, err
}

// findBorders asks for windows that begin, and that end, exactly at a row.
func (p *prober) findBorders(ctx context.Context, x sample) {
	f := &p.filter
	if f.after == "" || f.before == "" {
		p.unknown(askFrom, "it takes both filters to tell")
		p.unknown(askTo, "it takes both filters to tell")
		return
	}
	around := func(after, before time.Duration) (has, within bool) {
		var err error
		if has, within, err = p.between(ctx, x, x.updated.Add(after), x.updated.Add(before), iso); err != nil {
			within = false
		}
		return has, within
	}
	const away = 2 * time.Second
	from, only := around(0, away)
	to, only2 := around(-away, 0)
	if again, only3 := around(-away, away); !again || !only || !only2 || !only3 {
		p.unknown(askFrom, "the list moves, or a filter does not hold")
		p.unknown(askTo, "the list moves, or a filter does not hold")
		return
	}
	p.found(askFrom, yesNo(from), Sure, "%s set to the updatedAt of row %s", f.after, x.key)
	p.found(askTo, yesNo(to), Sure, "%s set to the updatedAt of row %s", f.before, x.key)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// findForms tries other ways to write a time. A form is understood if the row is found and nothing else.
func (p *prober) findForms(ctx context.Context, x sample) {
	if p.both() != Sure {
		p.unknown(askForms, "it takes both filters to tell")
		return
	}
	forms := []struct {
		name  string
		write func(time.Time) string
	}{
		{"an offset", func(t time.Time) string {
			return t.In(time.FixedZone("", 2*60*60)).Format("2006-01-02T15:04:05.000-07:00")
		}},
		{"no zone, as UTC", func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000") }},
		{"milliseconds since 1970", func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }},
	}
	yes, no := []string{"UTC with Z"}, []string{}
	for _, form := range forms {
		has, within, err := p.between(ctx, x, x.updated.Add(-2*time.Second), x.updated.Add(2*time.Second), form.write)
		switch {
		case p.report.Ended != "":
			p.unknown(askForms, "")
			return
		case err == nil && has && within:
			yes = append(yes, form.name)
		default:
			no = append(no, form.name)
		}
	}
	if has, _, err := p.between(ctx, x, x.updated.Add(-2*time.Second), x.updated.Add(2*time.Second), iso); err != nil || !has {
		p.unknown(askForms, "the row has changed meanwhile")
		return
	}
	p.found(askForms, strings.Join(yes, "; "), Sure, "the same window in each form; not taken: %s", orNone(no))
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, "; ")
}

// findSurvival compares the page that follows with a filter and without. It tells something if the latter has rows that
// the filter leaves out.
func (p *prober) findSurvival(ctx context.Context) {
	s := catalog.Transactions()
	if !p.walk.second.some() {
		p.unknown(askSurvival, "transactions have one page")
		return
	}
	name, value, fails := p.cut()
	if name == "" {
		p.unknown(askSurvival, "no row of the second page can be left out")
		return
	}
	var err error
	params := url.Values{name: {iso(value)}}
	begun := p.list(ctx, s, params, "")
	if begun.err != nil || begun.page.Next == "" {
		p.unknown(askSurvival, "with a filter there is one page")
		return
	}
	out := func(params url.Values) map[string]bool {
		l := p.list(ctx, s, params, begun.page.Next)
		err = cmp.Or(err, l.err)
		if l.err != nil {
			return nil
		}
		keys := map[string]bool{}
		all, times := p.inOrder(l)
		for i, t := range times {
			if fails(time.UnixMilli(t)) {
				keys[all[i]] = true
			}
		}
		return keys
	}
	// Only a row that is there before and after is left out by the filter.
	before, with, after := out(nil), out(params), out(nil)
	maps.DeleteFunc(before, func(key string, _ bool) bool { return !after[key] })
	switch {
	case len(with) > 0:
		p.found(askSurvival, "no", Sure, "the second page has %d rows that %s leaves out", len(with), name)
	case err != nil:
		p.unknown(askSurvival, "%s", reason(err))
	case len(before) > 0:
		p.found(askSurvival, "yes", Sure, "without %s the second page has %d rows that are not there with it", name, len(before))
	default:
		p.unknown(askSurvival, "the second page is the same with the filter and without")
	}
}

// cut returns a filter that leaves out about half of the second page, and which rows fail it.
func (p *prober) cut() (name string, value time.Time, fails func(time.Time) bool) {
	_, times := p.inOrder(p.walk.second)
	if len(times) < 2 {
		return "", time.Time{}, nil
	}
	_, earlier := p.inOrder(p.first[catalog.Transactions().Name])
	sorted := slices.Sorted(slices.Values(times))
	middle := time.UnixMilli(sorted[len(sorted)/2])
	// Where the oldest come first, an upper border keeps the first page; else a lower one does, or half of it.
	if p.filter.before != "" && len(earlier) > 0 && slices.Max(earlier) <= sorted[0] {
		return p.filter.before, middle, func(t time.Time) bool { return t.After(middle.Add(time.Second)) }
	}
	if p.filter.after == "" {
		return "", time.Time{}, nil
	}
	return p.filter.after, middle, func(t time.Time) bool { return t.Before(middle.Add(-time.Second)) }
}
