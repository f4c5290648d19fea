package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/catalog"
)

// vocabulary is every key there is, in the order of config.example.toml. A key
// that differs from table to table has several rows. Nothing changes it.
var vocabulary = slices.Concat(warehouseKeys(), daemonKeys(), financeKeys(), accountKeys(), streamKeys())

func warehouseKeys() []key {
	return []key{
		{
			name: "dsn", in: inWarehouse, standard: `"embedded:./dealhouse-data"`,
			value: of("a string such as \"embedded:./dealhouse-data\"", []nodeKind{aString},
				func(v *values) *dataSource { return &v.dsn }, parseDSN),
			doc: `Which ClickHouse. "embedded:<folder>" runs a real ClickHouse inside this process and keeps
its data in the folder. A server or a cluster is named by URL:
  "clickhouse://user:password@host:9000/dealhouse"    native protocol; clickhouses:// for TLS
  "https://user:password@host:8443/dealhouse"         HTTP with TLS; http:// without
Rather than write a password here, set DEALHOUSE_WAREHOUSE_DSN.`,
		},
		{
			name: "database", in: inWarehouse, standard: `"dealhouse"`,
			value: checked("the name of a database", func(v *values) *string { return &v.database }, checkIdentifier),
			doc:   `The database that holds all tables and views. When the dsn names one, it need not be repeated here.`,
		},
		{
			name: "cluster", in: inWarehouse, standard: `""`,
			value: checked("the name of a cluster", func(v *values) *string { return &v.cluster }, checkCluster),
			doc:   `The cluster to make the tables on. This version takes no cluster: leave it empty.`,
		},
		{
			name: "max_retry_elapsed", in: inWarehouse, standard: `"2m"`,
			value: duration(func(v *values) *time.Duration { return &v.maxWarehouseRetry }, 0, 24*time.Hour),
			doc: `How long one statement is tried again when the warehouse cannot do it for the moment: a lost
connection, too many parts, no memory, a full disk. After that its run fails. "0s": no second attempt.`,
		},
	}
}

func financeKeys() []key {
	return []key{
		{
			name: "overdue_after", in: inFinance, standard: written(catalog.DefaultOverdueAfter),
			value: duration(func(v *values) *time.Duration { return &v.overdueAfter }, 24*time.Hour, 10*366*24*time.Hour),
			doc: `How long after its sale a transaction should be in a payout; older ones are reported as overdue.
The default is 121 days: the 90 after which services pay, and a month until the next payout.`,
		},
	}
}

// shared are the tables of a setting that a whole account has.
const shared = inDefaults | inAccount

func accountKeys() []key {
	return []key{
		{
			name: "name", in: inAccount, required: true, fixed: true, example: `"acme"`,
			value: checked("the name of the account", func(v *values) *string { return &v.name }, checkAccountName),
			doc: `The account in every table, metric and log line: 1 to 63 of a-z, 0-9, _ and -. To rename an
account is to begin a new one.`,
		},
		{
			name: "base_url", in: inAccount, required: true, example: `"https://api.example.com"`,
			value: of("a string: the URL of the API", []nodeKind{aString},
				func(v *values) *string { return &v.baseURL }, parseBaseURL),
			doc: `The origin of the API, without /v1 or /v2.`,
		},
		{
			name: "api_key", in: inAccount, required: true, example: `"env:DEALS_API_KEY"`,
			value: secret(func(v *values) *reference { return &v.apiKey }),
			doc: `The API key: "env:NAME" reads an environment variable, "file:PATH" a file, such as
file:/run/secrets/deals. A key written here as it is works too, with a warning.`,
		},
		{
			name: "requests_per_second", in: shared, standard: written(catalog.DefaultRequestsPerSecond),
			value: number(func(v *values) *float64 { return &v.requestsPerSecond }, 10_000, false),
			doc:   `The most requests a second that an account sends, all its streams together. 0.5 is one every two seconds.`,
		},
		{
			name: "timeout", in: shared, standard: written(catalog.DefaultTimeout),
			value: duration(func(v *values) *time.Duration { return &v.timeout }, 100*time.Millisecond, time.Hour),
			doc:   `The time one request may take, its body included: 100ms to 1h.`,
		},
		{
			name: "max_body_size", in: shared, standard: writtenSize(catalog.DefaultMaxBodyBytes),
			value: size(func(v *values) *int64 { return &v.maxBodySize }, 1<<10, 16<<30),
			doc: `The largest response that is read, after decompression: KiB, MiB, GiB, or a number of bytes. However many
are read at once, the whole process takes about twice this for those over 16MiB, one at a time, and 128MiB
for the others.`,
		},
		{
			name: "max_retry_elapsed", in: shared, standard: written(catalog.DefaultMaxRetryElapsed),
			value: duration(func(v *values) *time.Duration { return &v.maxRetryElapsed }, 0, 24*time.Hour),
			doc:   `How long one request is tried again before its stream's run fails. "0s": no second attempt.`,
		},
		{
			name: "batch_rows", in: shared, standard: written(catalog.DefaultBatchRows),
			value: integer(func(v *values) *int64 { return &v.batchRows }, 1, 1_000_000),
			doc:   `Rows in one insert into ClickHouse, 1 to 1000000. More is faster and takes more memory.`,
		},
		{
			name: "allow_insecure", in: shared, standard: `false`,
			value: boolean(func(v *values) *bool { return &v.allowInsecure }),
			doc: `Whether base_url may be http:// on another machine, which sends the key unencrypted.
On this machine (localhost, 127.0.0.1, ::1) http:// is always allowed.`,
		},
		{
			name: "updated_after", in: inParams, standard: written(catalog.DefaultUpdatedAfter), example: `"updatedAtGreaterThan"`,
			value: checked("a parameter name", func(v *values) *string { return &v.params.UpdatedAfter }, checkParam),
			doc:   `Transactions changed after a time.`,
		},
		{
			name: "updated_before", in: inParams, standard: written(catalog.DefaultUpdatedBefore), example: `"updatedAtLessThan"`,
			value: checked("a parameter name", func(v *values) *string { return &v.params.UpdatedBefore }, checkParam),
			doc:   `Transactions changed before a time.`,
		},
		{
			name: "page", in: inParams, standard: written(catalog.DefaultPage),
			value: checked("a parameter name", func(v *values) *string { return &v.params.Page }, checkParam),
			doc:   `The next page of ` + streamsThat(nextPaged) + `; takes nextPage.`,
		},
		{
			name: "cursor", in: inParams, standard: written(catalog.DefaultCursor),
			value: checked("a parameter name", func(v *values) *string { return &v.params.Cursor }, checkParam),
			doc:   `The next page of ` + streamsThat(cursored) + `; takes the cursor.`,
		},
	}
}

func streamKeys() []key {
	ownKey := secret(func(v *values) *reference { return &v.apiKey })
	list := []key{
		{
			name: "max_delete_ratio", in: shared | inStream, standard: written(catalog.DefaultMaxDeleteRatio),
			value: number(func(v *values) *float64 { return &v.maxDeleteRatio }, 1, true),
			doc: `The share of a stream's live rows, 0 to 1, that one run may delete. A run that would delete more,
or everything, stops before it changes anything, and a person must look.`,
		},
		{
			name: "max_rejected_ratio", in: shared | inStream, standard: written(catalog.DefaultMaxRejectedRatio),
			value: number(func(v *values) *float64 { return &v.maxRejectedRatio }, 1, true),
			doc: `The share of the records of a run, 0 to 1, that may be rejected: kept in rejected_records rather
than loaded. A run that rejects more stops before it changes anything. Where a run reads only what
changed, it is a share of at least 100 records: of so few, one says nothing.`,
		},
		{
			name: "run_timeout", in: shared | inStream, standard: written(catalog.DefaultRunTimeout),
			value: duration(func(v *values) *time.Duration { return &v.runTimeout }, 0, 31*24*time.Hour),
			doc: `How long one run of a stream may take before it is ended and fails. A walk over all products goes
on where it was in the next run. It does not hold for a backfill. "0s": no end.`,
		},
		{
			name: "confirm_deletes", in: shared | inStream, of: byID, standard: `false`,
			value: boolean(func(v *values) *bool { return &v.confirmDeletes }),
			doc: `Whether a promotion, coupon or cashback offer stays for as long as its own address answers, though
the list no longer has it. It costs a request for each that is missing, 1000 at most in a run; the
rest waits. Without it they are asked for only where the list may have moved while it was read.`,
		},
		{
			name: "delete_after_lists", in: shared | inStream, of: walked, standard: written(catalog.DefaultDeleteAfterLists),
			value: integer(func(v *values) *int64 { return &v.deleteAfterLists }, 1, 100),
			doc: `How many complete lists in a row, 1 to 100, must not have a product before it is deleted. A product
has no id to ask for it by, and a list that moves while it is read may leave out one that is there.
A list of a single page is believed at once.`,
		},
		{
			name: "overlap", in: shared | inStream, of: incremental, standard: written(catalog.DefaultOverlap),
			value: duration(func(v *values) *time.Duration { return &v.overlap }, catalog.MinOverlap, 31*24*time.Hour),
			doc: `How far before the newest change already loaded the next run asks again, at least "10s". It covers
rows that change while they are read; what is read twice changes nothing.`,
		},
		{
			name: "reference_limit", in: shared | inStream, of: (*catalog.Stream).NamesDeals, standard: written(catalog.DefaultReferenceLimit),
			value: integer(func(v *values) *int64 { return &v.referenceLimit }, 0, 10_000),
			doc: `How many promotions, coupons and cashback offers that transactions name, and that no list had, are
asked for by their own addresses after a load of transactions, one request for each. 0: none.`,
		},
		{
			name: "reference_retry", in: shared | inStream, of: (*catalog.Stream).NamesDeals, standard: written(catalog.DefaultReferenceRetry),
			value: duration(func(v *values) *time.Duration { return &v.referenceRetry }, 0, 366*24*time.Hour),
			doc:   `After which time one that the service did not know is asked for again; "0s": each time.`,
		},
		{
			name: "resume_within", in: shared | inStream, of: walked, standard: written(catalog.DefaultResumeWithin),
			value: duration(func(v *values) *time.Duration { return &v.resumeWithin }, 0, 31*24*time.Hour),
			doc: `How old a walk over all products that was cut short may be to be continued. After that it starts
over; "0s": always.`,
		},
		{
			name: "enabled", in: inStream, standard: `true`,
			value: boolean(func(v *values) *bool { return &v.enabled }),
			doc:   `Whether the stream is loaded. What was loaded before stays.`,
		},
	}
	for _, described := range catalog.All() {
		list = append(list, schedules(described)...)
	}
	return append(list,
		key{
			name: "initial_from", in: inStream, of: incremental, example: `"2024-01-01T00:00:00Z"`,
			value: moment(func(v *values) *time.Time { return &v.initialFrom }),
			doc: `The updatedAt, in RFC 3339, from which the first load reads, in windows side by side. Without it,
the first load reads everything there is in one go; so does "sync transactions --full" at any time.`,
		},
		key{name: "api_key", in: inStream, of: func(s *catalog.Stream) bool { return !s.OwnKey }, value: ownKey},
		key{
			name: "api_key", in: inStream, of: func(s *catalog.Stream) bool { return s.OwnKey }, value: ownKey, example: `"env:DEALS_PAYOUTS_KEY"`,
			doc: `A key for this stream alone, in the form of the account's; any stream may have one. Payouts may
need one: services give out keys that read payouts and nothing else.`,
		},
	)
}

// schedules are the keys whose defaults differ from stream to stream.
func schedules(s *catalog.Stream) []key {
	of := func(other *catalog.Stream) bool { return other == s }
	//nolint:dupword // the fields of a schedule in their order: the day of the month, the month
	list := []key{{
		name: "schedule", in: inStream, of: of, standard: written(s.Schedule),
		value: checked("a schedule", func(v *values) *string { return &v.schedule }, checkSchedule),
		doc: `When the daemon loads the stream: minute, hour, day of month, month, day of week; or "@every 10m".
"CRON_TZ=Europe/Paris 30 4 * * *" sets the time zone, else it is time_zone of [daemon]. "": never by itself.`,
	}}
	if s.Resync != "" {
		list = append(list, key{
			name: "resync", in: inStream, of: of, standard: written(s.Resync),
			value: checked("a schedule", func(v *values) *string { return &v.resync }, checkSchedule),
			doc: `When the daemon reads all transactions again, for what an update never shows: rows that vanished
upstream. In the form of schedule. "": never.`,
		})
	}
	return list
}

// The streams that have a setting.
func incremental(s *catalog.Stream) bool { return s.Kind == catalog.Incremental }
func walked(s *catalog.Stream) bool      { return s.Kind == catalog.Walk }
func byID(s *catalog.Stream) bool        { return s.ByID }
func cursored(s *catalog.Stream) bool    { return s.Paging == catalog.CursorPages }
func nextPaged(s *catalog.Stream) bool   { return s.Paging == catalog.NextPages }

// streamsThat lists streams for a sentence: "promotions, coupons and cashback offers".
func streamsThat(are func(*catalog.Stream) bool) string {
	var list []string
	for _, s := range catalog.All() {
		if are(s) {
			list = append(list, strings.ReplaceAll(s.Name, "_", " "))
		}
	}
	return joined(list, "and")
}

// written is a default as TOML has it.
func written[T string | int | float64 | time.Duration](value T) string {
	switch value := any(value).(type) {
	case string:
		return strconv.Quote(value)
	case time.Duration:
		return strconv.Quote(short(value))
	default:
		return fmt.Sprint(value)
	}
}

// writtenSize is a default of whole mebibytes.
func writtenSize(bytes int64) string { return fmt.Sprintf(`"%dMiB"`, bytes>>20) }
