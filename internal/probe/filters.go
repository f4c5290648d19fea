package probe

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
)

// The names that are tried, those of the documents first. Each has its counterpart at the same place.
var (
	afterNames = []string{catalog.DefaultUpdatedAfter, "updatedAtGreaterThan", "updated_after", "updatedAtFrom", "updatedFrom",
		"updatedSince", "updated_since", "updatedAtGte", "updatedAtGt", "updatedAt[gt]", "updatedAt[gte]", "modifiedSince",
		"since", "from", "startDate", "dateFrom"}
	beforeNames = []string{catalog.DefaultUpdatedBefore, "updatedAtLessThan", "updated_before", "updatedAtTo", "updatedTo",
		"updatedUntil", "updated_until", "updatedAtLte", "updatedAtLt", "updatedAt[lt]", "updatedAt[lte]", "modifiedBefore",
		"until", "to", "endDate", "dateTo"}
)

// strictness is what the API does with a parameter that it does not know.
type strictness int

const (
	unclear strictness = iota // the answers differ for another reason: the list moves
	ignores
	rejects
)

// filter is what is known of the date filters of transactions.
type filter struct {
	strict        strictness
	after, before string // names that give no rows for a time that is far away; "": none is known
}

func iso(t time.Time) string { return t.UTC().Format(dealapi.TimeLayout) }

// The questions about filters.
const (
	askAfter    = "which parameter filters by updatedAt, from a time on"
	askBefore   = "which parameter filters by updatedAt, up to a time"
	askStrict   = "what becomes of an unknown parameter"
	askMeaning  = "what the date filters compare"
	askFrom     = "does the first filter take a row of exactly its time"
	askTo       = "does the second filter take a row of exactly its time"
	askForms    = "which forms of a time the filters take"
	askSurvival = "do filters hold on the pages after the first"
)

// findFilters looks for the date filters, and for what they mean.
func (p *prober) findFilters(ctx context.Context) {
	s := catalog.Transactions()
	first, read := p.first[s.Name]
	var why string
	switch {
	case !read:
		why = "transactions cannot be read"
	case !first.some():
		why = "there are no transactions"
	}
	if why != "" {
		for _, question := range []string{askStrict, askAfter, askBefore, askMeaning, askFrom, askTo, askForms, askSurvival} {
			p.unknown(question, "%s", why)
		}
		return
	}
	p.findStrict(ctx, first)
	far, past := iso(p.now().Add(48*time.Hour)), "2000-01-01T00:00:00.000Z"
	p.filter.after = p.search(ctx, afterNames, far, look.none)
	p.filter.before = p.search(ctx, counterparts(p.filter.after), past, look.none)
	p.findMeaning(ctx)
}

// counterparts are the names of the other filter, that of a known one first.
func counterparts(after string) []string {
	i := slices.Index(afterNames, after)
	if i < 0 {
		return beforeNames
	}
	return slices.Insert(slices.Delete(slices.Clone(beforeNames), i, i+1), 0, beforeNames[i])
}

// findStrict sends a parameter that nobody can know.
func (p *prober) findStrict(ctx context.Context, first look) {
	random := make([]byte, 4)
	_, _ = rand.Read(random) // it never fails
	name := "x" + hex.EncodeToString(random)
	l := p.list(ctx, catalog.Transactions(), url.Values{name: {iso(p.now())}}, "")
	switch {
	case l.refused():
		p.filter.strict = rejects
		p.found(askStrict, "it is refused", Sure, "HTTP %d for %s", l.status, name)
	case l.some() && l.shared(first) > 0.5:
		p.filter.strict = ignores
		p.found(askStrict, "it is ignored", Sure, "with %s the first page is the same", name)
	default:
		p.unknown(askStrict, "with %s another page came: the list moves", name)
	}
}

// search returns the first name whose parameter has the effect, "" if none has. Where unknown parameters are ignored,
// all are sent at once, and then halves of them.
func (p *prober) search(ctx context.Context, names []string, value string, effect func(look) bool) string {
	try := func(names []string) bool {
		params := url.Values{}
		for _, name := range names {
			params.Set(name, value)
		}
		return effect(p.list(ctx, catalog.Transactions(), params, ""))
	}
	if p.filter.strict != ignores {
		for _, name := range names {
			if try([]string{name}) {
				return name
			}
			if p.report.Ended != "" {
				break
			}
		}
		return ""
	}
	if !try(names) {
		return ""
	}
	for len(names) > 1 {
		half := names[:len(names)/2]
		if !try(half) {
			half = names[len(names)/2:]
		}
		names = half
	}
	if !try(names) { // only several of them together had the effect
		return ""
	}
	return names[0]
}

// now is the time of the API, as far as it tells.
func (p *prober) now() time.Time { return p.o.Clock().Add(p.clock.skew) }
