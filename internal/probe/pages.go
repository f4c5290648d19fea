package probe

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
)

// The names that are tried, those of the documents first.
var (
	cursorNames = []string{catalog.DefaultCursor, "after", "next", "pageToken", "starting_after", "nextCursor"}
	pageNames   = []string{catalog.DefaultPage, "nextPage", "cursor", "pageToken", "page_token", "next_page", "next", "token", "offset"}
	sizeNames   = []string{"limit", "pageSize", "page_size", "perPage", "per_page", "size", "count", "take"}
)

// The questions about parameters of pages.
const (
	askCursor = "which parameter takes the cursor"
	askPage   = "which parameter takes nextPage"
	askAgain  = "can a cursor be used again"
	askWalks  = "does a second walk give the same cursors"
)

// findEnvelope looks at how lists say that they go on: each by its own word, and none that says so in other words.
func (p *prober) findEnvelope() {
	const question = "how a list says that it goes on"
	goes := ""
	for _, s := range catalog.All() {
		l, read := p.first[s.Name]
		if !read {
			continue
		}
		if l.page.Doubt != "" {
			p.unknown(question, "%s say that they are not whole in words that dealhouse does not know, and so will their runs: %.200s", s.Name, l.page.Doubt)
			return
		}
		if goes == "" && s.Paging == catalog.CursorPages && l.page.Next != "" {
			goes = s.Name
		}
	}
	if goes == "" {
		p.unknown(question, "no list has a second page")
		return
	}
	p.found(question, "cursor, beside data", Sure, "the first page of %s has one", goes)
}

// findCursor looks for the parameter that takes the cursor. The transactions are asked if they have a second page,
// because later questions need it.
func (p *prober) findCursor(ctx context.Context) {
	lists := slices.DeleteFunc(catalog.All(), func(s *catalog.Stream) bool {
		first, read := p.first[s.Name]
		return s.Paging != catalog.CursorPages || !read || first.page.Next == "" || !first.some()
	})
	slices.SortStableFunc(lists, func(a, b *catalog.Stream) int { // transactions first
		return boolean(b.NamesPayouts()) - boolean(a.NamesPayouts())
	})
	if len(lists) == 0 {
		p.unknown(askCursor, "no list has a second page: %s is used, as in the interface", catalog.DefaultCursor)
		return
	}
	s := lists[0]
	walk := p.findParam(ctx, s, askCursor, cursorNames, &p.report.Settings.Cursor)
	if s.NamesPayouts() {
		p.walk = walk
	}
}

// findPage looks for the parameter that takes nextPage.
func (p *prober) findPage(ctx context.Context) {
	for _, s := range catalog.All() {
		if s.Paging != catalog.NextPages {
			continue
		}
		switch first, read := p.first[s.Name]; {
		case !read:
			p.unknown(askPage, "%s cannot be read", s.Name)
		case first.page.Next == "" || !first.some():
			p.unknown(askPage, "%s have one page: %s is used", s.Name, catalog.DefaultPage)
		case strings.Contains(first.page.Next, "://"):
			p.found(askPage, "none: it is an address", Sure, "nextPage begins with %.60q", first.page.Next)
		default:
			p.findParam(ctx, s, askPage, pageNames, &p.report.Settings.Page)
		}
	}
}

// walk is the beginning of a list, read twice.
type walk struct {
	second look // the page after the first
	first  look // the first page, asked for after that
	again  look // the second page, by the same token as before
}

// moves reports that the second page may have been the first one as it was then: the parameter had no effect, and the
// list moves.
func (w walk) moves(before look) bool {
	return w.first.err != nil || w.first.shared(before) < 0.5 || w.second.shared(w.first) >= 0.5 ||
		w.again.err == nil && w.again.shared(w.second) < 0.5
}

// findParam tries names for the parameter that takes the token of the next page, until one gives another page.
func (p *prober) findParam(ctx context.Context, s *catalog.Stream, question string, names []string, setting *string) walk {
	first := p.first[s.Name]
	var why string
	for _, name := range names {
		*setting = name
		l := p.list(ctx, s, nil, first.page.Next)
		if l.err == nil && l.page.Next != first.page.Next && l.shared(first) < 0.5 {
			w := walk{second: l, first: p.list(ctx, s, nil, ""), again: p.list(ctx, s, nil, first.page.Next)}
			if !w.moves(first) && p.goesOn(ctx, s, first, l) {
				p.found(question, name, Sure, "with %s, %s give another page: %d records, %.0f %% of which were on the first",
					name, s.Name, l.rows.Records, 100*l.shared(first))
				return w
			}
			why = cmp.Or(why, "the list moves while it is read")
		}
		switch {
		case l.err != nil && why == "":
			why = reason(l.err)
		case l.err == nil && why == "":
			why = "with " + name + " it gave the first page again"
		}
		if p.report.Ended != "" {
			break
		}
	}
	*setting = names[0]
	p.unknown(question, "none of %s works: %s", strings.Join(names, ", "), why)
	if p.report.Ended == "" {
		p.report.Settings.Refused[s.Name] = "the parameter for its second page is not known: set it in [account.params]"
	}
	return walk{}
}

// goesOn tells whether there is a third page that is none of the two before, and whether these stand still. Pages of
// very few records may be alike by chance where a list moves.
func (p *prober) goesOn(ctx context.Context, s *catalog.Stream, first, second look) bool {
	if first.rows.Records > 2 {
		return true
	}
	if second.page.Next == "" {
		return false
	}
	third := p.list(ctx, s, nil, second.page.Next)
	begun := p.list(ctx, s, nil, "")
	again := p.list(ctx, s, nil, first.page.Next)
	return third.err == nil && third.shared(first) == 0 && third.shared(second) == 0 &&
		begun.shared(first) == 1 && again.shared(second) == 1
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The least number of records, and of different times, from which an order is read.
const (
	orderRecords = 8
	orderTimes   = 4
)

// findOrder looks at the records that were read, in the order in which they came.
func (p *prober) findOrder() {
	for _, s := range catalog.All() {
		if s.Paging == catalog.CursorPages {
			p.findOrderOf(s)
		}
	}
}

func (p *prober) findOrderOf(s *catalog.Stream) {
	question := "how " + s.Name + " are ordered"
	first, read := p.first[s.Name]
	if !read {
		p.unknown(question, "they cannot be read")
		return
	}
	keys, times := p.inOrder(first)
	one := orderOf(keys, times)
	if s.NamesPayouts() && p.walk.second.some() {
		k, t := p.inOrder(p.walk.second)
		keys, times = append(keys, k...), append(times, t...)
	}
	different := len(slices.Compact(slices.Sorted(slices.Values(times))))
	switch both := orderOf(keys, times); {
	case len(keys) < orderRecords || different < orderTimes:
		p.unknown(question, "%d records with %d different times are too few to tell", len(keys), different)
	case one != unordered && both == unordered:
		p.unknown(question, "the first page is ordered %s, and the second does not go on like that: the list moves", one)
	default:
		p.found(question, both, Sure, "%d records in a row", len(keys))
	}
}

// unordered is the answer where no order is seen.
const unordered = "neither by id nor by updatedAt"

func orderOf(keys []string, times []int64) string {
	switch {
	case slices.IsSorted(times):
		return "by updatedAt, the oldest first"
	case slices.IsSortedFunc(times, func(a, b int64) int { return cmp.Compare(b, a) }):
		return "by updatedAt, the newest first"
	case slices.IsSorted(keys):
		return "by id"
	default:
		return unordered
	}
}

// inOrder returns the keys and the times of update of records, in milliseconds.
func (p *prober) inOrder(l look) (keys []string, times []int64) {
	version := l.rows.Stream.VersionField()
	for i := range l.rows.Len() {
		if l.rows.Present(version, i) {
			keys, times = append(keys, strings.ToLower(l.rows.Key(i))), append(times, l.rows.Columns[version].Ints[i])
		}
	}
	return keys, times
}

// findReuse looks at the pages that were asked for twice.
func (p *prober) findReuse() {
	const again, walks = askAgain, askWalks
	w := p.walk
	if !w.second.some() {
		p.unknown(again, "transactions have one page, or the second is not found")
		p.unknown(walks, "transactions have one page, or the second is not found")
		return
	}
	if w.again.err == nil {
		p.found(again, "yes", Sure, "the second page came twice, with %.0f %% of its records", 100*w.again.shared(w.second))
	} else {
		p.unknown(again, "the second time it was refused: it is used up, or its record is gone: %s", reason(w.again.err))
	}
	if w.first.page.Next == p.first[catalog.Transactions().Name].page.Next {
		p.found(walks, "yes", Sure, "the first page has the same cursor again")
	} else {
		p.found(walks, "no", Sure, "the first page has another cursor now")
	}
}

// largestPage is the number of records that is asked for to find the limit of a page.
const largestPage = 10_000

// findSize looks for the parameter that sets the size of a page, and for its limit.
func (p *prober) findSize(ctx context.Context) {
	const question, limit = "which parameter sets the size of a page", "how large a page can be"
	s := catalog.Transactions()
	first := p.first[s.Name]
	want := "2"
	if p.filter.strict == unclear || !first.some() || first.rows.Records < 3 {
		p.unknown(question, "it cannot be told from a first page of fewer than 3 transactions, or from one that moves")
		return
	}
	name := p.search(ctx, sizeNames, want, func(l look) bool { return l.err == nil && l.rows.Records == 2 })
	if name == "" {
		p.unknown(question, "none of %s changes it", strings.Join(sizeNames, ", "))
		return
	}
	l := p.list(ctx, s, url.Values{name: {fmt.Sprint(largestPage)}}, "")
	if l.err == nil && l.rows.Records < first.rows.Records && l.page.Next == "" {
		p.unknown(question, "with %s=2 there were 2 records, but the list has grown shorter too", name)
		return
	}
	p.found(question, name, Sure, "%s=2 gives 2 records, and %d come without it", name, first.rows.Records)
	switch {
	case l.refused():
		p.found(limit, fmt.Sprintf("less than %d", largestPage), Sure, "%s", reason(l.err))
	case l.err != nil:
		p.unknown(limit, "%s", reason(l.err))
	case l.page.Next == "":
		p.found(limit, fmt.Sprintf("%d or more", l.rows.Records), Sure, "%s=%d gives the whole list", name, largestPage)
	case l.rows.Records >= largestPage:
		p.found(limit, fmt.Sprintf("%d or more", l.rows.Records), Sure, "%s=%d gives as many", name, largestPage)
	default:
		p.found(limit, fmt.Sprint(l.rows.Records), Sure, "%s=%d gives %d, and a cursor", name, largestPage, l.rows.Records)
	}
}
