package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"dealhouse/internal/apisim"
)

// Exit codes.
const (
	exitOK    = 0
	exitFault = 1
	exitUsage = 2
)

// usageError is a mistake in the command line or the environment.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// run is the command; it returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	cmd := newCommand(getenv, stderr)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "dealsim:", err)
	if usage := (usageError{}); errors.As(err, &usage) {
		fmt.Fprintln(stderr, "See dealsim --help.")
		return exitUsage
	}
	return exitFault
}

// flags are the command line.
type flags struct {
	listen    string
	speed     float64
	now       string
	advanceTo string
	orgs      []string
	keys      []string
	live      bool
	options   apisim.Options
	settings  apisim.Settings
	order     string
	cursor    string
	stamps    string
	nextPage  string
	rateLimit float64
	random    uint64

	unknownCursor string
}

const long = `dealsim serves the deals, transactions, payouts and product feed API from a
made-up world. Equal flags give equal answers, byte for byte.

The keys of the organizations are printed on stderr at the start. The world's
clock stands still until it is told to move, or runs with --speed. The paths
under /sim/ control it, from this machine only:

  POST   /sim/advance?by=72h             move the world's clock (or days=3)
  POST   /sim/touch?org=acme&share=0.1   give a share of transactions a new updatedAt
  POST   /sim/touch/STREAM?org=acme&id=ID   update one record now
  GET    /sim/truth/STREAM?org=acme      every record as it would be served, one a line
  GET    /sim/status                     clock, counts, requests and movement so far
  GET    /sim/settings                   the behaviours in force, as JSON
  POST   /sim/settings                   change some, e.g. {"pageSize":7,"latency":"50ms"},
                                         {"movement":{"perPage":2,"aim":0.3}}, {"cursor":"keyset"}
  PUT    /sim/records/STREAM?org=acme    add or replace the records in the body
  DELETE /sim/records/STREAM?org=acme&id=ID
  POST   /sim/fault                      e.g. {"kind":"status","status":503,"times":3}
  DELETE /sim/fault                      no more faults

STREAM is promotions, coupons, cashback_offers, transactions, payouts or products.

With --move the lists move while they are read: before each page, records of its
list are inserted, updated, deleted, or come back. What moves depends on the
seed and the requests alone. Unlike --speed, it moves the clock by milliseconds.`

//nolint:dupword // each line is a command
const example = `  dealsim
  dealsim --speed 3600 --transactions 1000000 --page-size 1000
  dealsim --advance-to now --speed 1
  dealsim --order updated-asc --move 1 --move-aim 0.2 --unknown-cursor empty
  dealsim --orgs acme --keys acme=secret,secret-for-payouts --live-params
  DEALSIM_KEYS='acme=secret;globex=other' dealsim --listen 127.0.0.1:9000
  curl -X POST '127.0.0.1:8080/sim/advance?days=1'`

func newCommand(getenv func(string) string, stderr io.Writer) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:     "dealsim [flags]",
		Short:   "Serve a simulated deals API",
		Long:    long,
		Example: example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unexpected argument %q", args[0])}
			}
			return nil
		},
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			sim, err := f.sim(getenv)
			if err != nil {
				return usageError{err}
			}
			return serve(cmd.Context(), sim, f.listen, f.speed, stderr)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f.bind(cmd)
	return cmd
}

func (f *flags) bind(cmd *cobra.Command) {
	p := cmd.Flags()
	p.SortFlags = false
	p.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address to serve on; port 0 chooses one")

	p.Uint64Var(&f.options.Seed, "seed", 0, "seed of the random world")
	p.StringVar(&f.now, "now", "2026-03-15T09:00:00Z", "the world's clock at the start, RFC 3339, or 'now'")
	p.StringVar(&f.advanceTo, "advance-to", "",
		"then move the clock on to this time, RFC 3339 or 'now': with the same flags, a restarted simulator continues where it was")
	p.Float64Var(&f.speed, "speed", 0, "seconds of the world for each real second; 0: only on demand")
	p.StringSliceVar(&f.orgs, "orgs", []string{"acme", "globex"}, "organizations; 'acme:EUR' sets the currency")
	p.StringArrayVar(&f.keys, "keys", nil, "API keys ORG=KEY[,PAYOUTS_KEY]; repeatable; also $DEALSIM_KEYS, separated by ';'")
	p.IntVar(&f.options.Retailers, "retailers", 1500, "number of retailers")
	p.IntVar(&f.options.Promotions, "promotions", 2000, "number of promotions")
	p.IntVar(&f.options.Coupons, "coupons", 3000, "number of coupons")
	p.IntVar(&f.options.CashbackOffers, "cashback-offers", 2500, "number of cashback offers")
	p.IntVar(&f.options.Transactions, "transactions", 40000, "transactions of each organization at the start")
	p.IntVar(&f.options.Products, "products", 5000, "number of products")
	p.IntVar(&f.options.HistoryDays, "history-days", 30, "days of history of each product")

	p.Uint64Var(&f.random, "random", 0, "`seed` of a random behaviour, instead of all flags below; 0: none")
	p.IntVar(&f.settings.PageSize, "page-size", 100, "items on a page, 1 to 10000")
	p.StringVar(&f.order, "order", "id", "order of the lists: id, updated-asc, updated-desc, shuffled (by no visible field), drifting (the same, but an update moves the item)")
	p.StringVar(&f.cursor, "cursor", "next-id",
		"what a cursor says: next-id, last-id (of the page before), offset, keyset; the latter two are opaque")
	p.StringVar(&f.unknownCursor, "unknown-cursor", "bad-request",
		"answer when the cursor's item is gone: bad-request, not-found, first-page, empty")
	p.BoolVar(&f.settings.CursorMustMatch, "cursor-must-match", false,
		"a cursor whose item no longer passes the filter is unknown")
	p.BoolVar(&f.settings.FeedOffsets, "feed-offsets", false,
		"nextPage of products counts products: a deletion shifts what follows")
	p.StringVar(&f.stamps, "timestamps", "zulu", "timestamps: zulu, no-zone, offset")
	p.StringVar(&f.nextPage, "next-page", "token", "nextPage of products: token, number, json-number, url")
	p.DurationVar(&f.settings.Latency, "latency", 0, "real time before each answer, e.g. 50ms")
	p.Float64Var(&f.rateLimit, "rate-limit", 0, "requests a second for each key, then 429; 0: no limit")
	p.BoolVar(&f.settings.Gzip, "gzip", false, "compress for clients that accept it")
	p.BoolVar(&f.settings.ExtraFields, "extra-fields", false, "add fields that the API's documentation does not name")
	p.BoolVar(&f.settings.PayoutsKeyRequired, "payouts-key-required", false, "refuse payouts to the full key")
	p.BoolVar(&f.settings.RejectUnknownParams, "reject-unknown-params", false, "400 for unknown query parameters")
	p.BoolVar(&f.settings.KeepExpired, "keep-expired", false, "deals whose time is over still answer at their own address")
	p.BoolVar(&f.options.DecidedInTime, "decided-in-time", false,
		"no transaction changes after its payout: payouts match their transactions")
	f.bindMovement(cmd)
	p.BoolVar(&f.live, "live-params", false,
		"parameter names of the live service: updatedAtGreaterThan, updatedAtLessThan, page")
	p.StringVar(&f.settings.Params.UpdatedAfter, "param-updated-after", "",
		"name of the after filter (default updatedAfter)")
	p.StringVar(&f.settings.Params.UpdatedBefore, "param-updated-before", "",
		"name of the before filter (default updatedBefore)")
	p.StringVar(&f.settings.Params.Page, "param-page", "", "name of the page parameter of products (default page)")
}

func (f *flags) bindMovement(cmd *cobra.Command) {
	p, m := cmd.Flags(), &f.settings.Movement
	p.Float64Var(&m.PerPage, "move", 0, "average number of changes to a list between two of its pages; 0: lists stand still")
	p.Uint64Var(&m.Seed, "move-seed", 0, "seed of the random changes")
	p.Float64Var(&m.Aim, "move-aim", 0, "share of the changes, 0 to 1, to the item that the last cursor named")
	p.Float64Var(&m.Insert, "move-insert", 0,
		"weight of new records; all kinds are equally frequent when no weight is given")
	p.Float64Var(&m.Update, "move-update", 0, "weight of updates")
	p.Float64Var(&m.Delete, "move-delete", 0, "weight of deletions")
	p.Float64Var(&m.Return, "move-return", 0, "weight of deleted records that come back")
	p.BoolVar(&m.ReturnOld, "move-return-old", false, "records come back with their old updatedAt")
	p.DurationVar(&m.Step, "move-step", 5*time.Millisecond,
		"average time of the world's clock between two changes; negative: the clock stands still")
	p.IntVar(&m.MaxEvents, "move-max", 0, "most changes in all; 0: no limit")
}

// sim makes the simulator that the flags describe.
func (f *flags) sim(getenv func(string) string) (*apisim.Sim, error) {
	o := f.options
	for _, n := range []*int{&o.Retailers, &o.Promotions, &o.Coupons, &o.CashbackOffers, &o.Transactions, &o.Products,
		&o.HistoryDays} {
		switch {
		case *n < 0:
			return nil, fmt.Errorf("a number of things is negative: %d", *n)
		case *n == 0:
			*n = -1 // in Options, 0 means the default
		}
	}
	if f.settings.PageSize == 0 {
		return nil, errors.New("--page-size: 0 is not in 1..10000")
	}
	if !(f.speed >= 0) {
		return nil, fmt.Errorf("--speed: %v is negative", f.speed)
	}
	var err error
	if o.Now, err = parseClock(f.now); err != nil {
		return nil, fmt.Errorf("--now: %w", err)
	}
	orgs, err := parseOrgs(f.orgs, f.keys, getenv("DEALSIM_KEYS"))
	if err != nil {
		return nil, err
	}
	o.Orgs = orgs
	set := f.settings
	if err := set.Order.UnmarshalText([]byte(f.order)); err != nil {
		return nil, fmt.Errorf("--order: %w", err)
	}
	if err := set.Cursor.UnmarshalText([]byte(f.cursor)); err != nil {
		return nil, fmt.Errorf("--cursor: %w", err)
	}
	if err := set.UnknownCursor.UnmarshalText([]byte(f.unknownCursor)); err != nil {
		return nil, fmt.Errorf("--unknown-cursor: %w", err)
	}
	if err := set.Timestamps.UnmarshalText([]byte(f.stamps)); err != nil {
		return nil, fmt.Errorf("--timestamps: %w", err)
	}
	if err := set.NextPage.UnmarshalText([]byte(f.nextPage)); err != nil {
		return nil, fmt.Errorf("--next-page: %w", err)
	}
	set.RateLimit.PerSecond = f.rateLimit
	if f.live {
		live := apisim.LiveParams()
		named := set.Params
		set.Params = live
		if named.UpdatedAfter != "" {
			set.Params.UpdatedAfter = named.UpdatedAfter
		}
		if named.UpdatedBefore != "" {
			set.Params.UpdatedBefore = named.UpdatedBefore
		}
		if named.Page != "" {
			set.Params.Page = named.Page
		}
	}
	if f.random != 0 {
		set = apisim.RandomSettings(f.random)
	}
	o.Settings = set
	sim, err := apisim.New(o)
	if err != nil {
		return nil, err
	}
	return sim, f.advance(sim)
}

// advance moves the clock on to the time that --advance-to names.
func (f *flags) advance(sim *apisim.Sim) error {
	if f.advanceTo == "" {
		return nil
	}
	to, err := parseClock(f.advanceTo)
	if err != nil {
		return fmt.Errorf("--advance-to: %w", err)
	}
	by := to.Sub(sim.Now())
	if by < 0 {
		return fmt.Errorf("--advance-to: the clock moves forward only, and --now is %s", sim.Now().Format(time.RFC3339))
	}
	sim.Advance(by)
	return nil
}

// parseClock reads a time of the world's clock.
func parseClock(text string) (time.Time, error) {
	if text == "now" {
		return time.Now(), nil
	}
	return time.Parse(time.RFC3339, text)
}
