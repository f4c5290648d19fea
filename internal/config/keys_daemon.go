package config

import (
	"fmt"
	"time"
)

func daemonKeys() []key {
	return []key{
		{
			name: "listen", in: inDaemon, standard: `"127.0.0.1:9464"`,
			value: checked("host:port", func(v *values) *string { return &v.daemon.Listen }, checkListen),
			doc:   `Host and port of metrics, health checks and the status page. ":9464" listens on every interface.`,
		},
		{
			name: "user", in: inDaemon, standard: `""`, example: `"ops"`,
			value: checked("a user name", func(v *values) *string { return &v.daemon.User }, checkUser),
			doc:   `The user name for HTTP basic authentication. "": everyone who can reach the port may read.`,
		},
		{
			name: "password", in: inDaemon, example: `"env:DAEMON_PASSWORD"`,
			value: secretOr("password", "the password"),
			doc: `The password of that user, written like an api_key. Only ` + "`dealhouse run`" + ` and ` +
				"`dealhouse check`" + ` need it.`,
		},
		{
			name: "public_url", in: inDaemon, standard: `""`, example: `"https://deals.example.com"`,
			value: checked("a URL", func(v *values) *string { return &v.daemon.PublicURL }, checkPublicURL),
			doc: `Where people open the status page: with it, notifications have links to its pages, also those of
` + "`dealhouse sync`" + `.`,
		},
		{
			name: "tls_cert", in: inDaemon, standard: `""`, example: `"/etc/dealhouse/tls.crt"`,
			value: checked("the path of a file", func(v *values) *string { return &v.daemon.TLSCert }, checkPath),
			doc:   `The certificate and its chain, in PEM. With it, the port uses HTTPS. "": HTTP.`,
		},
		{
			name: "tls_key", in: inDaemon, standard: `""`, example: `"/etc/dealhouse/tls.key"`,
			value: checked("the path of a file", func(v *values) *string { return &v.daemon.TLSKey }, checkPath),
			doc:   `The private key of that certificate, in PEM.`,
		},
		{
			name: "pprof", in: inDaemon, standard: `false`,
			value: boolean(func(v *values) *bool { return &v.daemon.Pprof }),
			doc:   `Serve profiles of the process at /debug/pprof/, to this machine only.`,
		},
		{
			name: "time_zone", in: inDaemon, standard: `"UTC"`,
			value: checked("a time zone", func(v *values) *string { return &v.daemon.TimeZone }, checkTimeZone),
			doc:   `The time zone of schedules that do not name one: "Europe/Paris", or "Local" for that of the machine.`,
		},
		{
			name: "jitter", in: inDaemon, standard: `"10s"`,
			value: duration(func(v *values) *time.Duration { return &v.daemon.Jitter }, 0, time.Hour),
			doc: `The longest delay of a run after its scheduled time, so that many accounts do not start at once. Each
stream has its own delay, which is always the same. "0s": none.`,
		},
		{
			name: "max_runs", in: inDaemon, standard: `32`,
			value: integer(func(v *values) *int { return &v.daemon.MaxRuns }, 1, 1000),
			doc: `The most streams that are loaded at once, also by ` + "`dealhouse sync`" + `; the others wait. Each takes about 2 MiB
of memory, and a connection to the API. Streams such as products, which are read for hours, take at most half.`,
		},
		{
			name: "grace", in: inDaemon, standard: `"10s"`,
			value: duration(func(v *values) *time.Duration { return &v.daemon.Grace }, 0, time.Hour),
			doc: `How long running loads may continue after SIGTERM before they are stopped. A run that is publishing
needs up to 20s more: the supervisor of the daemon must wait longer than both together.`,
		},
		{
			name: "retry", in: inDaemon, standard: `"1m 2m 5m 15m 30m"`,
			value: durations(func(v *values) *[]time.Duration { return &v.daemon.Retry }, time.Second, 24*time.Hour),
			doc: `How long a stream waits after a failed run before it is tried again: after the first failure, the second, and
so on; the last value repeats. Its next scheduled time counts if that is sooner. Failures that only a person can
mend, such as a refused key, use the last value at once. A run that a guard stopped is not tried again. "": streams
wait for their next scheduled time.`,
		},
	}
}

// Retention says how long the program keeps its own records and the earlier versions of deals; zero: forever. What is
// loaded is always kept.
type Retention struct {
	// Runs is how long runs are kept after they began.
	Runs time.Duration

	// Rejects is how long settled rejects of transactions are kept after they were last met.
	Rejects time.Duration

	// Findings is how long findings about payouts are kept after they were resolved.
	Findings time.Duration

	// DealVersions is how long versions of promotions, coupons and cashback offers are kept after a later one
	// replaced them.
	DealVersions time.Duration
}

const docRetention = "How long dealhouse keeps its own records. Loaded data and its history (but see deal_versions), acknowledgements, closed months and the actions of operators are kept for ever. See deploy/README.md."

// leastRetention is the shortest time for which something may be kept: what people look for after a holiday
// must be there.
const leastRetention = 30 * 24 * time.Hour

func retentionKeys() []key {
	return []key{
		{
			name: "runs", in: inRetention, standard: written(400 * 24 * time.Hour),
			value: kept(func(v *values) *time.Duration { return &v.retention.Runs }),
			doc: `Runs, counted from their start. Runs that are still needed, such as the last success of a stream, are kept
longer. The default is 400 days. "0s": for ever.`,
		},
		{
			name: "rejects", in: inRetention, standard: written(400 * 24 * time.Hour),
			value: kept(func(v *values) *time.Duration { return &v.retention.Rejects }),
			doc: `Rejected records of transactions that were loaded or replaced since, counted from when they were last met. Open
ones are kept; those of other streams are removed after 90 days. "0s": for ever.`,
		},
		{
			name: "findings", in: inRetention, standard: written(3 * 366 * 24 * time.Hour),
			value: kept(func(v *values) *time.Duration { return &v.retention.Findings }),
			doc:   `Findings about payouts, counted from when they were resolved. The default is three years. "0s": for ever.`,
		},
		{
			name: "deal_versions", in: inRetention, standard: written(time.Duration(0)),
			value: kept(func(v *values) *time.Duration { return &v.retention.DealVersions }),
			doc: `Earlier versions of promotions, coupons and cashback offers, after a later one replaced them. What is listed now, and
what was listed at any moment since then, is not affected. The default, "0s": they are kept for ever, as those of
transactions and payouts and the prices of products always are.`,
		},
	}
}

// kept takes a duration of retention: zero, which means forever, or one that is long enough.
func kept(field func(*values) *time.Duration) codec {
	c := duration(field, 0, 100*366*24*time.Hour)
	set := c.set
	c.set = func(v *values, text string) error {
		if err := set(v, text); err != nil {
			return err
		}
		if d := *field(v); d > 0 && d < leastRetention {
			return fmt.Errorf(`must be at least %s, or "0s" for ever; %s is not`, short(leastRetention), quote(text))
		}
		return nil
	}
	return c
}
