package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// A stream with a scope is read as several lists, one after the other, because a request takes one value of a filter.
// The scope is the union of these lists. Each list is a chain of pages of its own, and the union is whole if each chain
// is. No cursor leads from one list to another.
//
// The lists come from different moments, so a row that moves from a list that is still to be read to one that was
// already read is found in neither. It does not count as gone: what the union lacks is requested by its own address. It
// is gone if it is not there, if it has left the scope, or if it has not changed since before the lists were read and
// still belongs to the same lists (syncer-12). A row that is in several lists is loaded once, as it was read last.
//
// The scope (syncer-13) is what the rows say, not what the service gives: rows that are outside of it are left out, so
// that a service which does not know a filter, or knows it by another name, costs time and not correctness. A row
// without a value, because the service left it out, counts as inside.
//
// The state has the scope of the last complete list. Rows that are loaded and outside of the scope leave the views with
// the next complete list, as deletions do: guarded, and counted separately.

// scopeFilter is a column of a batch that a scope selects by, with the values that are in the scope.
type scopeFilter struct {
	*catalog.Filter
	field  int
	list   bool
	values []string
}

func scopeFilters(s *catalog.Stream, scope catalog.Scope) []scopeFilter {
	var all []scopeFilter
	for _, c := range scope {
		f := s.Filter(c.Filter)
		if f == nil { // a stored scope of another version
			continue
		}
		i := s.Field(f.Column)
		all = append(all, scopeFilter{f, i, s.Fields[i].Type.List(), c.Values})
	}
	return all
}

// valuesOf returns the values that a row has in the column of the filter, none if the service sent none.
func (f scopeFilter) valuesOf(b *decode.Batch, row int) []string {
	text := b.Columns[f.field].Strings[row]
	switch {
	case text == "":
		return nil
	case f.list:
		return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
	}
	return []string{text}
}

// has reports whether a row has one of the values of the filter. If unsaid is set, a row without a value counts too.
func (f scopeFilter) has(b *decode.Batch, row int, unsaid bool) bool {
	has := f.valuesOf(b, row)
	return unsaid && len(has) == 0 || slices.ContainsFunc(has,
		func(v string) bool { return slices.Contains(f.values, f.Normal(v)) })
}

// inScope reports whether a row is in the scope.
func inScope(filters []scopeFilter, b *decode.Batch, row int, unsaid bool) bool {
	return !slices.ContainsFunc(filters, func(f scopeFilter) bool { return !f.has(b, row, unsaid) })
}

// filtered returns the values that a row has in the columns of the filters, in the form of
// warehouse.PlannedDelete.Filtered.
func filtered(filters []scopeFilter, b *decode.Batch, row int) string {
	var text strings.Builder
	for _, f := range filters {
		text.WriteString(strings.Join(f.valuesOf(b, row), "\x00") + "\x00")
	}
	return text.String()
}

// leaveOut leaves out the rows of the batch in hand that are outside the scope, and the rejects of their fields.
func (d *pager) leaveOut() {
	b, r := d.batch, d.reader.run
	if len(d.filters) == 0 {
		return
	}
	out, kept := map[string]bool{}, map[string]bool{}
	for row := range b.Len() {
		if inScope(d.filters, b, row, true) {
			kept[b.Key(row)] = true
			continue
		}
		b.LeftOut = append(b.LeftOut, row)
		r.record.Totals.Sum -= warehouse.Sum(b.Sums[row])
		out[b.Key(row)] = true
		d.seen.outOfScope(d.filters, b, row)
	}
	rejects := len(b.Rejects)
	b.Rejects = slices.DeleteFunc(b.Rejects,
		func(x decode.Reject) bool { return x.Field != "" && out[x.Key] && !kept[x.Key] })
	r.record.Totals.Staged -= uint64(len(b.LeftOut))
	r.record.Totals.LeftOut += uint64(len(b.LeftOut))
	r.record.Totals.Rejected -= uint64(rejects - len(b.Rejects))
}

// outOfScope counts a row that was left out, and remembers for which filter and which value.
func (s *seen) outOfScope(filters []scopeFilter, b *decode.Batch, row int) {
	s.leftOut++
	for _, f := range filters {
		if f.has(b, row, true) {
			continue
		}
		if s.strangers[f.Name] == nil {
			s.strangers[f.Name] = map[string]bool{}
		}
		if len(s.strangers[f.Name]) < mostUnknown {
			s.strangers[f.Name][strings.Join(f.valuesOf(b, row), "+")] = true
		}
	}
}

// readLists reads each list of the scope. If the service refuses some lists, the run is incomplete. If it refuses
// all of them, the run fails.
func (d *pager) readLists(read func(*chain) error) error {
	lists := d.reader.session.job.Scope.Lists()
	var refused []string
	for _, d.filter = range lists {
		err := d.readList(read)
		switch {
		case err == nil:
		case d.filter == nil || !listRefused(err):
			return err
		case len(refused)+1 == len(lists):
			return fmt.Errorf("reading the part of the scope with %s: %w", nameList(d.filter), err)
		default:
			refused = append(refused, nameList(d.filter))
			d.reader.session.log.Error("the service refused a part of the scope", "list", nameList(d.filter), "error", err)
		}
	}
	if len(refused) > 0 {
		d.seen.gap = fmt.Sprintf("the service refused %d of the %d lists of its scope: %s", len(refused), len(lists),
			joinSome(refused))
	}
	return nil
}

// listRefused reports that the service has no list for a filter.
func listRefused(err error) bool {
	api, is := errors.AsType[*dealapi.Error](err)
	return is && !api.Cursor && (api.Kind == dealapi.KindBadRequest || api.Kind == dealapi.KindNotFound)
}

// readList reads the list of d.filter.
func (d *pager) readList(read func(*chain) error) error {
	c := newChain(d)
	err := read(c)
	d.seen.addChain(c)
	return err
}

// checkScope warns if the stored rows are of another scope than the one that the run reads. If the run reads that scope
// completely, the state has it from then on.
func (l *list) checkScope() error {
	r, now := l.run, l.session.job.Scope
	r.record.Scope = now.Encode()
	stored := l.session.lease.Scope()
	if stored == r.record.Scope {
		return nil
	}
	before, err := catalog.ParseScope(stored)
	if err != nil {
		return err
	}
	r.warn(fmt.Sprintf("the scope of the stream was changed from %s to %s: all of it is read", before.Or("all rows"),
		now.Or("all rows")))
	l.session.log.Info("the scope of the stream has changed: reading all of it", "before", before.Or("all rows"), "now",
		now.Or("all rows"))
	return nil
}

// scopeState adds the scope to the state that is stored once a list was read to its end.
func (l *list) scopeState() {
	if now := l.run.record.Scope; now != l.session.lease.Scope() {
		l.setState(warehouse.StateScope, now)
	}
}

// setState adds to the state that is stored when what is read is published.
func (l *list) setState(name, value string) {
	if l.state == nil {
		l.state = map[string]string{}
	}
	l.state[name] = value
}

// checkOutside is a check: it warns about rows that leave the scope, with their number.
func (l *list) checkOutside(_ context.Context, c *warehouse.Changes) error {
	if c.Outside > 0 {
		l.run.warn(fmt.Sprintf("%d rows are outside of the scope %s: they leave the views, whether the service has them or not", c.Outside, l.session.job.Scope))
	}
	return nil
}

// noticeStrangers warns about rows that were left out.
func (r *run) noticeStrangers(seen *seen) {
	if seen.leftOut == 0 {
		return
	}
	var parts []string
	for _, f := range catalog.Filters() {
		var values []string
		for v := range seen.strangers[f.Name] {
			values = append(values, fmt.Sprintf("%q", v))
		}
		if slices.Sort(values); len(values) > 0 {
			parts = append(parts, fmt.Sprintf("with %s %s, which was asked for with the parameter %q", f.Name, joinSome(values),
				r.session.job.Params.filter(f.Name)))
		}
	}
	r.warn(fmt.Sprintf("the service sent %d rows from outside of the scope, %s: they were left out. Where they belong to the stream, add their values to its scope; "+
		"where the parameter has another name, set it in account.params", seen.leftOut, strings.Join(parts, "; ")))
}
