package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
)

// Defaults of Options.
const (
	DefaultMaxRequests = 60
	DefaultPerSecond   = 2
	DefaultTimeout     = 3 * time.Minute
)

// Options say what is asked. BaseURL and Key are required.
type Options struct {
	Account string // for messages
	BaseURL string
	Key     string
	// PayoutsKey is tried where the key may not read the payouts; "": there is none.
	PayoutsKey    string
	AllowInsecure bool   // http to another machine
	UserAgent     string // default: that of the client

	MaxRequests int           // default: DefaultMaxRequests
	PerSecond   float64       // requests; default: DefaultPerSecond
	Timeout     time.Duration // of the whole probe; default: DefaultTimeout

	// Transport makes the round trips; nil: one of its own.
	Transport http.RoundTripper
	// Clock is the local clock; nil: time.Now.
	Clock func() time.Time
	// Asking is told the question before its requests are made; nil: nobody is.
	Asking func(question string)
}

// Confidence says how far an answer can be relied on.
type Confidence string

// The confidences.
const (
	Sure    Confidence = "sure"    // no other behaviour would have given these answers
	Likely  Confidence = "likely"  // others are possible
	Unknown Confidence = "unknown" // it was not asked, or the answers allow no conclusion
)

// Finding is the answer to a question about the API.
type Finding struct {
	Question   string
	Answer     string
	Evidence   string
	Confidence Confidence
}

// Report is what a probe found.
type Report struct {
	BaseURL  string // the one that answered
	Findings []Finding
	Requests int
	Settings Settings
	// Ended says why the probe ended early; "": it did not.
	Ended string
	// Err is why no stream could be read; nil: one could.
	Err error
}

// Settings are what a configuration needs to know.
type Settings struct {
	// Cursor and Page are names of parameters.
	Cursor string
	Page   string
	// UpdatedAfter and UpdatedBefore are names of parameters; "": none is known to filter by updatedAt.
	UpdatedAfter  string
	UpdatedBefore string
	// Refused are the streams that cannot be read, and why.
	Refused map[string]string
	// OwnPayoutsKey says that payouts are read by Options.PayoutsKey.
	OwnPayoutsKey bool
}

// Difference is a setting that is not as it was found.
type Difference struct{ Key, Configured, Found string }

// Differences compares settings with what was found. What is unknown differs from nothing.
func (r *Report) Differences(configured Settings) (all []Difference) {
	for _, d := range []struct {
		Difference
		question string
	}{
		{Difference{"updated_after", configured.UpdatedAfter, r.Settings.UpdatedAfter}, askAfter},
		{Difference{"updated_before", configured.UpdatedBefore, r.Settings.UpdatedBefore}, askBefore},
		{Difference{"cursor", configured.Cursor, r.Settings.Cursor}, askCursor},
		{Difference{"page", configured.Page, r.Settings.Page}, askPage},
	} {
		known := slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return f.Question == d.question && f.Confidence != Unknown
		})
		if known && d.Configured != d.Found {
			all = append(all, d.Difference)
		}
	}
	return all
}

// prober asks the questions.
type prober struct {
	o       Options
	tap     *tap
	limiter *dealapi.Limiter
	client  *dealapi.Client
	payouts *dealapi.Client // nil: the client reads them
	report  *Report
	first   map[string]look // the first page of each stream that can be read
	based   bool            // an address is known below which streams answer
	walk    walk            // of the transactions; zero: they have one page, or the second is not known
	filter  filter
	clock   clockSeen
}

// Run asks all questions. Its error says that the options cannot work; what the API does is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.MaxRequests = cmp.Or(o.MaxRequests, DefaultMaxRequests)
	o.PerSecond = cmp.Or(o.PerSecond, DefaultPerSecond)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Asking == nil {
		o.Asking = func(string) {}
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	p := &prober{
		o: o, limiter: dealapi.NewLimiter(o.PerSecond), first: map[string]look{},
		report: &Report{Settings: Settings{Cursor: catalog.DefaultCursor, Page: catalog.DefaultPage, Refused: map[string]string{}}},
	}
	p.tap = newTap(o.Transport, o.MaxRequests)
	defer p.tap.close()
	if err := p.connect(o.BaseURL); err != nil {
		return nil, err
	}
	defer func() { p.client.Close() }()
	p.ask(ctx)
	if p.payouts != nil {
		p.payouts.Close()
	}
	p.report.Requests = p.tap.made
	return p.report, nil
}

// ask asks the questions in an order in which each can use what the ones before it have shown.
func (p *prober) ask(ctx context.Context) {
	p.o.Asking("which address and which streams answer")
	p.findBase(ctx)
	p.findStreams(ctx)
	if len(p.first) == 0 {
		return
	}
	p.o.Asking("how the next page is asked for")
	p.findEnvelope()
	p.findCursor(ctx)
	p.findPage(ctx)
	p.o.Asking("which parameters filter by date")
	p.findFilters(ctx)
	p.o.Asking("how lists are ordered and paged")
	p.findOrder()
	p.findReuse()
	p.findSize(ctx)
	p.o.Asking("clocks, times and what else the answers show")
	p.findClock()
	p.findZone()
	p.findTransfer(ctx)
	p.findFields()
}

// found adds a finding.
func (p *prober) found(question, answer string, c Confidence, evidence string, args ...any) {
	p.report.Findings = append(p.report.Findings,
		Finding{Question: question, Answer: answer, Confidence: c, Evidence: fmt.Sprintf(evidence, args...)})
}

// unknown adds a finding without an answer. If the probe has ended early, that is the reason.
func (p *prober) unknown(question, evidence string, args ...any) {
	if p.report.Ended != "" {
		evidence, args = "not asked: %s", []any{p.report.Ended}
	}
	p.found(question, "unknown", Unknown, evidence, args...)
}

// connect makes the client of an address.
func (p *prober) connect(base string) error {
	client, err := p.newClient(base, p.o.Key)
	if err != nil {
		return err
	}
	if p.client != nil {
		p.client.Close()
	}
	p.client, p.report.BaseURL = client, base
	return nil
}

func (p *prober) newClient(base, key string) (*dealapi.Client, error) {
	return dealapi.New(dealapi.Options{
		Account: p.o.Account, BaseURL: base, Key: key, UserAgent: p.o.UserAgent, AllowInsecure: p.o.AllowInsecure,
		NoRetry: true, Timeout: 20 * time.Second, MaxBodyBytes: 32 << 20, Limiter: p.limiter, Transport: p.tap,
		Clock: p.o.Clock,
	})
}

// look is an answer of a list.
type look struct {
	page   *dealapi.Page
	rows   *decode.Batch
	status int
	head   http.Header
	err    error
}

// some reports an answer that has records.
func (l look) some() bool { return l.err == nil && l.rows != nil && l.rows.Records > 0 }

// none reports an answer without any record.
func (l look) none() bool { return l.err == nil && l.rows != nil && l.rows.Records == 0 }

// refused reports that the API took the request for a wrong one.
func (l look) refused() bool { return kindOf(l.err) == dealapi.KindBadRequest }

// keys are those of the records that have one.
func (l look) keys() map[string]bool {
	keys := map[string]bool{}
	if l.rows == nil {
		return keys
	}
	for i := range l.rows.Len() {
		keys[l.rows.Key(i)] = true
	}
	return keys
}

// shared is the share of the records of l, 0 to 1, that the other answer has too.
func (l look) shared(other look) float64 {
	mine, theirs := l.keys(), other.keys()
	same := 0
	for key := range mine {
		if theirs[key] {
			same++
		}
	}
	return float64(same) / float64(max(1, len(mine)))
}

func kindOf(err error) dealapi.Kind {
	if e, is := errors.AsType[*dealapi.Error](err); is {
		return e.Kind
	}
	return 0
}
