package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
)

// findBase looks for the address below which the paths of the interface are.
func (p *prober) findBase(ctx context.Context) {
	const question = "which base_url"
	s := catalog.All()[0]
	given := strings.TrimRight(p.o.BaseURL, "/")
	var l look
	tried := bases(given)
	for i, base := range tried {
		if err := p.connect(base); err != nil {
			continue
		}
		l = p.list(ctx, s, nil, "")
		p.first[s.Name] = l
		if l.err == nil || kindOf(l.err) == dealapi.KindAuth {
			answer := base
			if base != given {
				answer += fmt.Sprintf(", not %s", given)
			}
			p.based = true
			p.found(question, answer, Sure, "%s answers with HTTP %d", s.Path, l.status)
			return
		}
		if k := kindOf(l.err); i == 0 && k != dealapi.KindNotFound && k != dealapi.KindMalformed {
			break
		}
	}
	_ = p.connect(tried[0]) // it was accepted before
	p.unknown(question, "%s", reason(l.err))
}

// Base is an address without the path of an operation: people copy such addresses.
func Base(address string) string {
	cut := strings.TrimRight(address, "/")
	for {
		path := cut[strings.LastIndexByte(cut, '/')+1:]
		if path != "v1" && path != "v2" && path != "deals" && !slices.ContainsFunc(catalog.All(), func(s *catalog.Stream) bool {
			return strings.HasSuffix(s.Path, "/"+path)
		}) {
			return cut
		}
		cut = strings.TrimSuffix(cut, "/"+path)
	}
}

// bases are the addresses to try: some services stand below a folder.
func bases(given string) []string {
	cut := Base(given)
	all := []string{cut}
	if u, err := url.Parse(cut); err == nil && u.Host != "" {
		root := u.Scheme + "://" + u.Host
		for _, path := range []string{"", "/api"} {
			if base := root + path; !slices.Contains(all, base) {
				all = append(all, base)
			}
		}
	}
	return all
}

// findStreams asks for the first page of each stream.
func (p *prober) findStreams(ctx context.Context) {
	var authorized bool
	var last error
	for i, s := range catalog.All() {
		l, asked := p.first[s.Name]
		if i > 0 || !asked {
			l = p.list(ctx, s, nil, "")
		}
		if s.Payouts {
			l = p.tryPayoutsKey(ctx, s, l)
		}
		delete(p.first, s.Name)
		question := "may the key read " + s.Name
		switch kind := kindOf(l.err); {
		case l.err == nil:
			authorized = true
			p.first[s.Name] = l
			p.found(question, "yes", Sure, "%d records on the first page", l.rows.Records)
			continue
		case kind == dealapi.KindAuth || kind == dealapi.KindNotFound && p.based:
			p.found(question, "no", Sure, "%s", reason(l.err))
			p.report.Settings.Refused[s.Name] = reason(l.err)
		case p.report.Ended != "" && l.status != http.StatusTooManyRequests:
			p.unknown(question, "")
		default:
			p.found(question, "unknown", Unknown, "%s", reason(l.err))
		}
		last = cmp.Or(last, l.err)
	}
	const form, bearer = "which form of authorization", "Authorization: Bearer <key>"
	switch {
	case authorized:
		p.found(form, bearer, Sure, "it was accepted")
		return
	case kindOf(last) == dealapi.KindAuth:
		p.unknown(form, "%s, as the interface has it, was not accepted", bearer)
	default:
		p.unknown(form, "no stream could be read")
	}
	p.report.Err = last
}

// tryPayoutsKey asks for the payouts again, with their own key, if the other may not read them.
func (p *prober) tryPayoutsKey(ctx context.Context, s *catalog.Stream, l look) look {
	if kindOf(l.err) != dealapi.KindAuth || p.o.PayoutsKey == "" {
		return l
	}
	client, err := p.newClient(p.report.BaseURL, p.o.PayoutsKey)
	if err != nil {
		l.err = err
		return l
	}
	p.payouts = client
	again := p.list(ctx, s, nil, "")
	if again.err == nil {
		p.report.Settings.OwnPayoutsKey = true
		p.found("do payouts need a key of their own", "yes", Sure, "HTTP %d with the key of the account, HTTP %d with their own", l.status, again.status)
	}
	return again
}

// reason is an error without the address and the account, which are known.
func reason(err error) string {
	if err == nil {
		return "it was not asked"
	}
	if api, is := errors.AsType[*dealapi.Error](err); is {
		return api.Reason()
	}
	return err.Error()
}
