package apisim

import (
	"errors"
	"fmt"
	"time"
)

// Settings are the parts of the service's behaviour that the API's documentation leaves open. They can change while the
// simulator serves; one request sees one consistent set. The zero value is valid.
type Settings struct {
	PageSize int   `json:"pageSize"` // items on a page, 1 to 10,000; 100 by default
	Order    Order `json:"order"`    // of the cursor lists; products have their own order

	Latency     time.Duration  `json:"latency"`     // real time before each answer, in nanoseconds
	Gzip        bool           `json:"gzip"`        // only when the client accepts it
	ExtraFields bool           `json:"extraFields"` // adds unknown fields to generated records and envelopes
	Timestamps  TimestampStyle `json:"timestamps"`
	CompactDays bool           `json:"compactDays"` // yearMonthDay as 20260314, not 2026-03-14
	RateLimit   RateLimit      `json:"rateLimit"`

	DateSkew time.Duration `json:"dateSkew"` // added to the Date header, in nanoseconds
	OmitDate bool          `json:"omitDate"` // answers carry no Date header

	NextPage NextPageKind `json:"nextPage"`
	LastPage LastPageKind `json:"lastPage"`

	Params              Params `json:"params"`
	IgnoreDateFilters   bool   `json:"ignoreDateFilters"`   // the date parameters are accepted but have no effect
	IgnoreTextFilters   bool   `json:"ignoreTextFilters"`   // the same for hostname, name, category and country
	RejectUnknownParams bool   `json:"rejectUnknownParams"` // 400 instead of ignoring them

	Dates DateRules `json:"dates"` // of the date filters

	PageSizeParam string `json:"pageSizeParam"` // lets the client choose how many items a page has; "": it cannot
	PageSizeMost  int    `json:"pageSizeMost"`  // the most that it can choose; 1,000 by default
	BasePath      string `json:"basePath"`      // stands before the paths of all operations: "/api"
	ETags         bool   `json:"etags"`         // answers have an ETag, and If-None-Match is understood

	Cursor        CursorKind    `json:"cursor"`        // of the cursor lists
	UnknownCursor UnknownCursor `json:"unknownCursor"` // the answer when the cursor's item is gone
	// CursorMustMatch makes a cursor unknown if its item no longer passes the filter. By default such a cursor means
	// the place that the item would have.
	CursorMustMatch bool `json:"cursorMustMatch"`
	// FeedOffsets makes nextPage of the products count the listed products before the next page, so that a deletion
	// shifts the pages after it. By default nextPage is a position that stays valid.
	FeedOffsets bool `json:"feedOffsets"`

	Movement Movement `json:"movement"` // of the lists while they are read

	VanishedCursorNotFound bool `json:"vanishedCursorNotFound"` // 404 where UnknownCursor says 400
	KeepExpired            bool `json:"keepExpired"`            // a deal that has ended, but is not deleted, still has its own address
	PayoutsKeyRequired     bool `json:"payoutsKeyRequired"`     // the full key gets 403 on payouts
}

// RateLimit is a token bucket for each key. PerSecond 0 means no limit.
type RateLimit struct {
	PerSecond float64 `json:"perSecond"`
	Burst     int     `json:"burst"` // tokens of a full bucket; PerSecond rounded up by default
	// RetryAfterDate sends Retry-After as an HTTP date on the clock of the Date header, not as a number of seconds.
	RetryAfterDate bool `json:"retryAfterDate"`
}

// DateRules are how the date filters work. By the zero value both borders are exclusive, to the millisecond, and every
// form of a time is taken.
type DateRules struct {
	AfterInclusive  bool `json:"afterInclusive"`  // rows of exactly that time pass
	BeforeInclusive bool `json:"beforeInclusive"` // rows of exactly that time pass
	WholeSeconds    bool `json:"wholeSeconds"`    // times are compared without their milliseconds
	BySale          bool `json:"bySale"`          // against the contract, soldAt is compared
	EpochOnly       bool `json:"epochOnly"`       // only milliseconds since 1970 are taken
	NotAfterCursor  bool `json:"notAfterCursor"`  // a request with a cursor is not filtered
}

// Params are the query parameter names that the API's documentation leaves open.
type Params struct {
	UpdatedAfter  string `json:"updatedAfter"`
	UpdatedBefore string `json:"updatedBefore"`
	Page          string `json:"page"`
}

// LiveParams returns the names that a live service of this kind uses.
func LiveParams() Params {
	return Params{UpdatedAfter: "updatedAtGreaterThan", UpdatedBefore: "updatedAtLessThan", Page: "page"}
}

const (
	defaultPageSize = 100
	maxPageSize     = 10_000
)

func (s *Settings) setDefaults() {
	if s.PageSize == 0 {
		s.PageSize = defaultPageSize
	}
	if s.PageSizeMost == 0 {
		s.PageSizeMost = 1000
	}
	if s.Movement.Step == 0 {
		s.Movement.Step = defaultStep
	}
	name := func(p *string, def string) {
		if *p == "" {
			*p = def
		}
	}
	name(&s.Params.UpdatedAfter, "updatedAfter")
	name(&s.Params.UpdatedBefore, "updatedBefore")
	name(&s.Params.Page, "page")
}

func (s *Settings) validate() error {
	var errs []error
	if s.PageSize < 1 || s.PageSize > maxPageSize {
		errs = append(errs, fmt.Errorf("page size: %d is not in 1..%d", s.PageSize, maxPageSize))
	}
	if s.PageSizeMost < 1 || s.PageSizeMost > maxPageSize {
		errs = append(errs, fmt.Errorf("page size at most: %d is not in 1..%d", s.PageSizeMost, maxPageSize))
	}
	if s.Latency < 0 {
		errs = append(errs, fmt.Errorf("latency: %v is negative", s.Latency))
	}
	if !(s.RateLimit.PerSecond >= 0) || s.RateLimit.Burst < 0 {
		errs = append(errs, errors.New("rate limit: negative"))
	}
	if s.Params.UpdatedAfter == s.Params.UpdatedBefore {
		errs = append(errs, fmt.Errorf("params: updatedAfter and updatedBefore are both %q", s.Params.UpdatedAfter))
	}
	if err := s.Movement.validate(); err != nil {
		errs = append(errs, err)
	}
	if _, err := s.Order.MarshalText(); err != nil {
		errs = append(errs, err)
	}
	if _, err := s.Cursor.MarshalText(); err != nil {
		errs = append(errs, err)
	}
	if _, err := s.UnknownCursor.MarshalText(); err != nil {
		errs = append(errs, err)
	}
	if _, err := s.Timestamps.MarshalText(); err != nil {
		errs = append(errs, err)
	}
	if _, err := s.NextPage.MarshalText(); err != nil {
		errs = append(errs, err)
	}
	if _, err := s.LastPage.MarshalText(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Settings returns the present settings.
func (s *Sim) Settings() Settings {
	return *s.settings.Load()
}

// Update changes the settings. If the result is not valid, the error says why and the old settings stay. change must
// not call methods of the Sim.
func (s *Sim) Update(change func(*Settings)) error {
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	next := *s.settings.Load()
	change(&next)
	next.setDefaults()
	if err := next.validate(); err != nil {
		return fmt.Errorf("apisim: settings: %w", err)
	}
	if next.RateLimit != s.settings.Load().RateLimit {
		s.limiter.reset()
	}
	s.settings.Store(&next)
	return nil
}

// set does what Update does, for changes that are always valid.
func (s *Sim) set(change func(*Settings)) {
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	next := *s.settings.Load()
	change(&next)
	s.settings.Store(&next)
}

// SetPageSize sets the number of items on a page, 1 to 10,000.
func (s *Sim) SetPageSize(n int) error {
	if n == 0 {
		return errors.New("apisim: settings: page size: 0 is not in 1..10000")
	}
	return s.Update(func(t *Settings) { t.PageSize = n })
}

// SetOrder sets the order of the cursor lists.
func (s *Sim) SetOrder(o Order) error { return s.Update(func(t *Settings) { t.Order = o }) }

// SetLatency sets the real time before each answer. A negative time means none.
func (s *Sim) SetLatency(d time.Duration) { s.set(func(t *Settings) { t.Latency = max(d, 0) }) }

// SetGzip switches compression on or off, for clients that accept it.
func (s *Sim) SetGzip(on bool) { s.set(func(t *Settings) { t.Gzip = on }) }

// SetExtraFields switches fields on or off that the API's documentation does not name.
func (s *Sim) SetExtraFields(on bool) { s.set(func(t *Settings) { t.ExtraFields = on }) }

// SetTimestamps sets how timestamps are written.
func (s *Sim) SetTimestamps(style TimestampStyle) error {
	return s.Update(func(t *Settings) { t.Timestamps = style })
}

// SetRateLimit sets the rate limit and fills every key's bucket.
func (s *Sim) SetRateLimit(r RateLimit) error {
	return s.Update(func(t *Settings) { t.RateLimit = r })
}
