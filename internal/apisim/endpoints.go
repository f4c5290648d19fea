package apisim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The names of the streams for Truth, Count, Put and Delete.
const (
	StreamPromotions     = "promotions"
	StreamCoupons        = "coupons"
	StreamCashbackOffers = "cashback_offers"
	StreamTransactions   = "transactions"
	StreamPayouts        = "payouts"
	StreamProducts       = "products"
)

// endpoint is one list of the API. Everything that the simulator knows about a list is in its entry below. To add a
// list, add an entry and the function that writes its records.
type endpoint struct {
	stream string
	path   string
	serve  func(*call) *answer // answers the list
	byID   bool                // path/{id} answers one record
	texts  []string            // the parameters that filter by text
	dates  bool                // it can be filtered by the time of update
	// payouts says that a key only for payouts can read this list. It can read no other.
	payouts bool

	count func(*Options) *int // the option that says how many records there are; nil: there is no such option
	usual int                 // how many there are by default

	// One of these says which list of a moment it is.
	deals  *dealKind            // a list made by this kind, for all organizations
	common func(*world) list    // another list for all organizations
	own    func(*orgWorld) list // a list of each organization

	// key returns the text that identifies a record, or "" if nothing does. An id may be a UUID, in which upper and
	// lower case are the same.
	key func(fields map[string]json.RawMessage) string
	// revise returns a record with other content, drawn from h, and with now as its updatedAt if it has one.
	revise func(raw []byte, h uint64, now int64, st *style) []byte
	// rename returns a revised record with new keys, so that it is a new record. Both functions are nil if
	// the records never change.
	rename func(raw []byte, h uint64, now int64, st *style) []byte
	// undated says that records have no updatedAt: a record that comes back is unchanged.
	undated bool
}

// endpoints returns the lists in the order in which they are shown.
func endpoints() []*endpoint {
	return []*endpoint{
		{
			stream: StreamPromotions, path: "/v1/deals/promotions", serve: (*call).cursorPage, byID: true,
			texts: []string{"hostname"},
			count: func(o *Options) *int { return &o.Promotions }, usual: 2000,
			deals: &dealKind{salt: 1000, stay: 1, write: (*deals).promotion},
			key:   idOf, revise: reviseDeal, rename: renameID,
		},
		{
			stream: StreamCoupons, path: "/v1/deals/coupons", serve: (*call).cursorPage, byID: true,
			texts: []string{"hostname"},
			count: func(o *Options) *int { return &o.Coupons }, usual: 3000,
			deals: &dealKind{salt: 1001, stay: 1, write: (*deals).coupon},
			key:   idOf, revise: reviseDeal, rename: renameID,
		},
		{
			stream: StreamCashbackOffers, path: "/v1/deals/cashback-offers", serve: (*call).cursorPage, byID: true,
			texts: []string{"hostname", "name", "category", "country"},
			count: func(o *Options) *int { return &o.CashbackOffers }, usual: 2500,
			// Offers have no end of their own and stay three times as long.
			deals: &dealKind{salt: 1002, stay: 3, write: (*deals).offer},
			key:   idOf, revise: reviseDeal, rename: renameID,
		},
		{
			stream: StreamTransactions, path: "/v1/deals/transactions", serve: (*call).cursorPage, dates: true,
			count: func(o *Options) *int { return &o.Transactions }, usual: 40000,
			own: func(o *orgWorld) list { return o.transactions },
			key: idOf, revise: reviseSale, rename: renameSale,
		},
		{
			stream: StreamPayouts, path: "/v1/deals/payouts", serve: (*call).array, payouts: true,
			own: func(o *orgWorld) list { return o },
			key: numberOf,
		},
		{
			stream: StreamProducts, path: "/v2/products", serve: (*call).feedPage,
			count: func(o *Options) *int { return &o.Products }, usual: 5000,
			common: func(w *world) list { return w.feed },
			key:    urlOf, revise: reviseProduct, rename: renameProduct, undated: true,
		},
	}
}

// Streams returns the names of the streams.
func Streams() (names []string) {
	for _, e := range endpoints() {
		names = append(names, e.stream)
	}
	return names
}

// OfOrganizations reports whether each organization has records of its own in a stream.
func OfOrganizations(stream string) bool {
	return slices.ContainsFunc(endpoints(), func(e *endpoint) bool { return e.stream == stream && e.own != nil })
}

// number returns how many records the options ask for, after setDefaults.
func (e *endpoint) number(o *Options) int {
	if e.count == nil {
		return e.usual
	}
	return *e.count(o)
}

// label names the stream in a sentence.
func (e *endpoint) label() string { return strings.ReplaceAll(e.stream, "_", " ") }

func (st *stage) endpoint(stream string) (*endpoint, error) {
	for _, e := range st.endpoints {
		if e.stream == stream {
			return e, nil
		}
	}
	return nil, fmt.Errorf("stream %q: %w", stream, ErrUnknown)
}

// list is what an endpoint serves, at a moment: a listing, the feed, or the payouts of an organization.
type list interface {
	count(order Order) int
	// each calls f for each listed record, with a function that renders it, until f returns false.
	each(order Order, st *style, f func(record func(dst []byte) []byte) bool)
	// target returns what Put, Append, Delete and Restore change.
	target() target
	// ground returns the list as it can move, or nil if its records never change.
	ground() ground
}

// list returns the list of a stream, and of an organization if each has its own.
func (w *world) list(stream, org string) (list, error) {
	e, err := w.endpoint(stream)
	if err != nil {
		return nil, err
	}
	switch {
	case e.deals != nil:
		return w.deals[stream], nil
	case e.own == nil:
		return e.common(w), nil
	}
	if i := w.org(org); i >= 0 {
		return e.own(w.orgs[i]), nil
	}
	return nil, fmt.Errorf("%s: organization %q: %w", stream, org, ErrUnknown)
}
