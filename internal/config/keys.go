package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/catalog"
)

// vocabulary has every key, in the order of config.example.toml. A key that differs from table to table has several
// rows. Nothing changes it.
var vocabulary = slices.Concat(warehouseKeys(), daemonKeys(), doorKeys(), lineageKeys(), financeKeys(), retentionKeys(),
	accountKeys(), paramKeys(), filterParamKeys(), runKeys(), streamKeys(), receiverKeys())

func warehouseKeys() []key {
	return []key{
		{
			name: "dsn", in: inWarehouse, standard: `"embedded:./dealhouse-data"`,
			value: of("a string such as \"embedded:./dealhouse-data\"", []nodeKind{aString},
				func(v *values) *dataSource { return &v.dsn }, referDSN),
			doc: `Which ClickHouse. "embedded:<folder>" runs a real ClickHouse inside this process and keeps
its data in the folder. A server or a cluster is named by URL:
  "clickhouse://user:password@host:9000/dealhouse"    native protocol; clickhouses:// for TLS
  "https://user:password@host:8443/dealhouse"         HTTP with TLS; http:// without
Separate replicas with commas, as in "clickhouse://a:9000,b:9000": one is used, and the next if it does not answer. Do
not write a password here: set DEALHOUSE_WAREHOUSE_DSN, or name a file that holds the URL with "file:<path>".`,
		},
		{
			name: "database", in: inWarehouse, standard: written(catalog.DefaultDatabase),
			value: checked("the name of a database", func(v *values) *string { return &v.warehouse.Database }, checkIdentifier),
			doc:   `The database for all tables and views. Not needed if the dsn names it.`,
		},
		{
			name: "views_database", in: inWarehouse, standard: `""`, example: `"dealhouse_views"`,
			value: checked("the name of a database", func(v *values) *string { return &v.warehouse.ViewsDatabase },
				checkViewsDatabase),
			doc: `A second database with only the views, for people and BI tools. Those with parameters are in one more, whose ` +
				`name ends in _with_parameters. Readers of them need no right on the tables. ` +
				"`dealhouse migrate` and every sync make them and keep them up to date. Empty: there are none.",
		},
		{
			name: "cluster", in: inWarehouse, standard: `""`,
			value: checked("the name of a cluster", func(v *values) *string { return &v.warehouse.Cluster }, checkCluster),
			doc: `The cluster, from system.clusters, on whose servers the tables are replicated. Empty:
a single server, or ClickHouse Cloud, which replicates by itself.`,
		},
		{
			name: "ca_file", in: inWarehouse, standard: `""`, example: `"/etc/dealhouse/warehouse-ca.crt"`,
			value: checked("a file", func(v *values) *string { return &v.warehouse.CAFile }, checkPath),
			doc:   `A PEM file with certificate authorities to trust in addition to those of the system, if the dsn uses TLS.`,
		},
		{
			name: "cert_file", in: inWarehouse, standard: `""`, example: `"/etc/dealhouse/warehouse.crt"`,
			value: checked("a file", func(v *values) *string { return &v.warehouse.CertFile }, checkPath),
			doc:   `The client certificate and its chain, in PEM, for a server that asks for one.`,
		},
		{
			name: "key_file", in: inWarehouse, standard: `""`, example: `"/etc/dealhouse/warehouse.key"`,
			value: checked("a file", func(v *values) *string { return &v.warehouse.KeyFile }, checkPath),
			doc:   `The private key of cert_file, in PEM.`,
		},
		{
			name: "signing_key_file", in: inWarehouse, standard: `""`, example: `"/etc/dealhouse/signing.pem"`,
			value: checked("a file", func(v *values) *string { return &v.warehouse.SigningKeyFile }, checkPath),
			doc: `A PEM file with an Ed25519 private key, by which each run signs its certificate, so that an auditor needs
no word of ours: "openssl genpkey -algorithm ed25519" makes one. "": they are not signed.`,
		},
		{
			name: "max_retry_elapsed", in: inWarehouse, standard: written(catalog.DefaultMaxStatementRetry),
			value: duration(func(v *values) *time.Duration { return &v.warehouse.MaxRetryElapsed }, 0, 24*time.Hour),
			doc: `How long a statement is retried while the warehouse cannot run it: a lost connection, too many parts, no
memory, a full disk. After that the run fails. "0s": no retry.`,
		},
	}
}

func financeKeys() []key {
	return []key{
		{
			name: "overdue_after", in: inFinance, standard: written(catalog.DefaultOverdueAfter),
			value: duration(func(v *values) *time.Duration { return &v.finance.OverdueAfter }, 24*time.Hour,
				10*366*24*time.Hour),
			doc: `How long after its sale a transaction should be in a payout; after that it is reported as overdue. The
default is 121 days: services pay after 90 days, and the next payout may be a month away.`,
		},
		{
			name: "tolerances", in: inFinance, standard: `""`,
			value: amounts(func(v *values) *map[string]int64 { return &v.finance.Tolerances }),
			doc: `How far a payout may differ from its transactions before somebody must look, by currency, in its
smallest unit: "EUR=5 USD=5 JPY=1" is 0.05 euros, 0.05 dollars and 1 yen. The absolute values of all differences of a
payout in a currency are added up. A difference within the tolerance is still shown, and marked.`,
		},
		{
			name: "settlements", in: inFinance, standard: `""`, example: `"bank.receipts"`,
			value: checked("the name of a table or a view",
				func(v *values) *string { return &v.finance.Settlements }, checkTable),
			doc: `A table or view of your own in the warehouse with what reached the bank: ` +
				"`dealhouse settlements import`" +
				` without
a file reads it. Its columns are those of the file: see ` + "`dealhouse settlements import --help`" + `. "": none.`,
		},
		{
			name: "bank_csv", in: inFinance, example: `["received_on = Date", "amount = Sum", "currency = EUR", "text = Info"]`,
			value: array(`["received_on = Date", "amount = Amount", "currency = EUR", "text = Details"]`, "if your bank sends no CSV",
				func(v *values, all []string) (err error) { v.finance.BankCSV, err = bankCSV(all); return err }, checkLine),
			doc: `How the CSV of your bank is read, for ` + "`dealhouse settlements import`" + `. Of columns: received_on; amount, or credit and
debit; currency (or the currency itself); text (several with +); and, if the bank has a unique one, reference. Of the form: delimiter
(tab is \t), decimal, date (of DD, MM, YY and YYYY), encoding (utf-8), skip (lines before the header), and side, as
"Kind = D" where the column Kind is D for what leaves the account.`,
		},
		journalKey("journal_pending", "cashback-pending", "pending cashback",
			func(j *Journal) *string { return &j.Pending }),
		journalKey("journal_confirmed", "cashback-confirmed", "confirmed cashback that is not paid out yet",
			func(j *Journal) *string { return &j.Confirmed }),
		journalKey("journal_after_payment", "after-payment",
			"what paid transactions are worth now, minus what was paid for them",
			func(j *Journal) *string { return &j.AfterPayment }),
		journalKey("journal_payouts", "payouts-in-transit", "payouts that have not reached the bank yet",
			func(j *Journal) *string { return &j.Payouts }),
		journalKey("journal_revenue", "cashback-revenue", "earned cashback",
			func(j *Journal) *string { return &j.Revenue }),
		journalKey("journal_bank", "bank", "money that reached the bank", func(j *Journal) *string { return &j.Bank }),
		journalKey("journal_fees", "bank-fees", "fees taken on the way to the bank",
			func(j *Journal) *string { return &j.Fees }),
		journalKey("journal_conversion", "currency-conversion", "conversions between currencies",
			func(j *Journal) *string { return &j.Conversion }),
		journalKey("journal_rounding", "rounding", "parts of a cent that are not booked or never arrive",
			func(j *Journal) *string { return &j.Rounding }),
	}
}

// journalKey returns the key for the code of an account of journal lines.
func journalKey(name, standard, about string, field func(*Journal) *string) key {
	return key{
		name: name, in: inFinance, standard: `"` + standard + `"`, example: "",
		value: checked("the code of an account", func(v *values) *string { return field(&v.finance.Journal) }, checkCode),
		doc:   "The account code of journal lines (`dealhouse journal`) for " + about + ".",
	}
}

// shared are the tables of a setting that a whole account has.
const shared = inDefaults | inAccount

func accountKeys() []key {
	return []key{
		{
			name: "name", in: inAccount, required: true, fixed: true, example: `"acme"`,
			value: checked("the name of the account", func(v *values) *string { return &v.account.Name }, checkAccountName),
			doc: `The name of the account in tables, metrics and logs: 1 to 63 of a-z, 0-9, _ and -. A renamed account is
a new one, and is loaded from the start.`,
		},
		{
			name: "base_url", in: inAccount, required: true, example: `"https://api.example.com"`,
			value: of("a string: the URL of the API", []nodeKind{aString},
				func(v *values) *string { return &v.account.BaseURL }, parseBaseURL),
			doc: `The origin of the API, without /v1 or /v2.`,
		},
		{
			name: "api_key", in: inAccount, required: true, example: `"env:DEALS_API_KEY"`,
			value: secret("api_key"),
			doc: `The API key: "env:NAME" reads an environment variable, "file:PATH" a file, such as
file:/run/secrets/deals, and "env-file:PATH#NAME" a variable in a file of NAME=value lines. You can change a key in a
file while the daemon runs: once the service refuses the old one, the file is read again. A changed environment variable
needs a restart. A key written here directly works too, with a warning.`,
		},
		{
			name: "passback", in: inAccount, standard: `"keep"`,
			value: checked(`"keep", "hash" or "drop"`, func(v *values) *string { return &v.account.Passback }, checkPassback),
			doc: `What becomes of passbackUid and passbackData, which often name a person: "keep" stores them as they
are; "hash" stores "hmac:" and their HMAC-SHA256 with passback_key, so that they can be joined with a table of your own
that has the same; "drop" stores nothing. It holds for rows, versions, rejects and unknown fields that are loaded from then
on; what was loaded before stays until its row changes or "sync transactions --full" reads it, and its earlier versions stay.`,
		},
		{
			name: "passback_key", in: inAccount, example: `"env:PASSBACK_KEY"`,
			value: secret("passback_key"),
			doc:   `The key of that hash, written like an api_key. Another key gives other values.`,
		},
		{
			name: "bank_senders", in: inAccount, example: `["Acme Deals Ltd"]`,
			value: array(`["Acme Deals Ltd"]`, "to import no statements of banks", func(v *values, all []string) error { v.account.BankSenders = all; return nil }, checkSenderWords),
			doc: `The words by which a bank statement shows the payouts of this account: the name of who sends them, or a part of
their text. Upper and lower case do not matter. ` + "`dealhouse settlements import`" + ` takes the entries with such words, and leaves all
others alone.`,
		},
		{
			name: "requests_per_second", in: shared, standard: written(catalog.DefaultRequestsPerSecond),
			value: number(func(v *values) *float64 { return &v.account.RequestsPerSecond }, 10_000, false),
			doc: `The highest number of requests per second for an account, all its streams together. 0.5 is one every two
seconds. Processes that load the account at the same time share it, by their leases in the warehouse; those of "probe",
"check" and "init" come on top.`,
		},
		{
			name: "timeout", in: shared, standard: written(catalog.DefaultTimeout),
			value: duration(func(v *values) *time.Duration { return &v.account.Timeout }, 100*time.Millisecond, time.Hour),
			doc:   `How long one request may take, including its body: 100ms to 1h.`,
		},
		{
			name: "max_body_size", in: shared, standard: writtenSize(catalog.DefaultMaxBodyBytes),
			value: size(func(v *values) *int64 { return &v.account.MaxBodyBytes }, 1<<10, 16<<30),
			doc: `The largest response that is read, after decompression: in KiB, MiB, GiB, or bytes. Responses above
16MiB are read one at a time and may need about twice this much memory; all others together use up to 128MiB.`,
		},
		{
			name: "max_retry_elapsed", in: shared, standard: written(catalog.DefaultMaxRetryElapsed),
			value: duration(func(v *values) *time.Duration { return &v.account.MaxRetryElapsed }, 0, 24*time.Hour),
			doc: fmt.Sprintf(`How long one request is retried before its run fails: this long, but at most %d attempts. If nothing
answers at all, these take about a minute. "0s": no retry.`, catalog.MaxAttempts),
		},
		{
			name: "batch_rows", in: shared, standard: written(catalog.DefaultBatchRows),
			value: integer(func(v *values) *int { return &v.account.BatchRows }, 1, 1_000_000),
			doc:   `Rows in one insert into ClickHouse, 1 to 1000000. More is faster and takes more memory.`,
		},
		{
			name: "allow_insecure", in: shared, standard: `false`,
			value: boolean(func(v *values) *bool { return &v.account.AllowInsecure }),
			doc: `Allow http:// in base_url for another machine, which sends the key unencrypted.
On this machine (localhost, 127.0.0.1, ::1) http:// is always allowed.`,
		},
	}
}

// paramKeys are the names of the parameters by which an API is asked.
func paramKeys() []key {
	return []key{
		{
			name: "updated_after", in: inParams, standard: written(catalog.DefaultUpdatedAfter),
			example: `"updatedAtGreaterThan"`,
			value:   checked("a parameter name", func(v *values) *string { return &v.account.Params.UpdatedAfter }, orEmpty(checkParam)),
			doc:     `Transactions changed after a time. "": there is no such filter, and each run reads the whole list.`,
		},
		{
			name: "updated_before", in: inParams, standard: written(catalog.DefaultUpdatedBefore),
			example: `"updatedAtLessThan"`,
			value: checked("a parameter name",
				func(v *values) *string { return &v.account.Params.UpdatedBefore }, orEmpty(checkParam)),
			doc: `Transactions changed before a time. "": there is no such filter. A backfill needs both.`,
		},
		{
			name: "page", in: inParams, standard: written(catalog.DefaultPage),
			value: checked("a parameter name", func(v *values) *string { return &v.account.Params.Page }, checkParam),
			doc:   `The next page of ` + streamsThat(nextPaged) + `; takes nextPage.`,
		},
		{
			name: "cursor", in: inParams, standard: written(catalog.DefaultCursor),
			value: checked("a parameter name", func(v *values) *string { return &v.account.Params.Cursor }, checkParam),
			doc:   `The next page of ` + streamsThat(cursored) + `; takes the cursor.`,
		},
	}
}

// runKeys are the settings of runs, which a whole account can have and each of its streams.
func runKeys() []key {
	return []key{
		{
			name: "max_delete_ratio", in: shared | inStream, standard: written(catalog.DefaultMaxDeleteRatio),
			value: number(func(v *values) *float64 { return &v.stream.MaxDeleteRatio }, 1, true),
			doc: `The share of a stream's rows, 0 to 1, that one run may delete. In a small list it may always delete one row,
and up to ` + fmt.Sprint(catalog.FewDeletes) + ` if half of the rows stay, unless this is 0. If there are more, or all rows are gone, nothing is
deleted until a person agrees to it. What is new or changed is loaded all the same, unless none of the loaded
rows is left: then the list may be that of another service, and nothing is changed.`,
		},
		{
			name: "max_rejected_ratio", in: shared | inStream, standard: written(catalog.DefaultMaxRejectedRatio),
			value: number(func(v *values) *float64 { return &v.stream.MaxRejectedRatio }, 1, true),
			doc: `The share of the records of a run, 0 to 1, that may be rejected, which means kept in rejected_records and
not loaded. A run that rejects more stops before it changes anything. A run that reads only changes counts as
if it had read at least 100 records, so that one bad record among few does not stop it.`,
		},
		{
			name: "run_timeout", in: shared | inStream, standard: written(catalog.DefaultRunTimeout),
			value: duration(func(v *values) *time.Duration { return &v.stream.RunTimeout }, 0, 31*24*time.Hour),
			doc: `How long one run of a stream may take before it is stopped and fails. The next run
continues a walk over all products. Backfills have no such limit. "0s": no limit.`,
		},
		{
			name: "confirm_deletes", in: shared | inStream, of: byID, standard: `false`,
			value: boolean(func(v *values) *bool { return &v.stream.ConfirmDeletes }),
			doc: `Keep a promotion, coupon or cashback offer that left the list for as long as its own address still
answers. This costs one request for each missing one, at most 1000 in a run; the rest waits for the next run.
With false, dealhouse only checks those that may be missing because the list changed while it was read.`,
		},
		{
			name: "delete_after_lists", in: shared | inStream, of: walked, standard: written(catalog.DefaultDeleteAfterLists),
			value: integer(func(v *values) *int { return &v.stream.DeleteAfterLists }, 1, 100),
			doc: `How many complete lists in a row, 1 to 100, must lack a product before it is deleted. A product has no
id to ask for, and a list that changes while it is read may leave out an existing one. A list of a single
page cannot change meanwhile: one is enough.`,
		},
		{
			name: "overlap", in: shared | inStream, of: incremental, standard: written(catalog.DefaultOverlap),
			value: duration(func(v *values) *time.Duration { return &v.stream.Overlap }, catalog.MinOverlap, catalog.MaxOverlap),
			doc: `How far before the newest loaded change the next run starts to read, at least "` +
				short(catalog.MinOverlap) +
				`". It
catches rows that changed while they were read. A change that is read twice is loaded once.`,
		},
		{
			name: "reference_limit", in: shared | inStream, of: (*catalog.Stream).NamesDeals,
			standard: written(catalog.DefaultReferenceLimit),
			value:    integer(func(v *values) *int { return &v.stream.ReferenceLimit }, 0, 10_000),
			doc: `Transactions may refer to promotions, coupons and cashback offers that are in no list. After each run of
transactions, up to this many of them are requested one by one. 0: none.`,
		},
		{
			name: "reference_retry", in: shared | inStream, of: (*catalog.Stream).NamesDeals,
			standard: written(catalog.DefaultReferenceRetry),
			value:    duration(func(v *values) *time.Duration { return &v.stream.ReferenceRetry }, 0, 366*24*time.Hour),
			doc: `How long to wait before such a deal is requested again if the service did not know it. "0s": after each
run.`,
		},
		{
			name: "resume_within", in: shared | inStream, of: walked, standard: written(catalog.DefaultResumeWithin),
			value: duration(func(v *values) *time.Duration { return &v.stream.ResumeWithin }, 0, 31*24*time.Hour),
			doc: `How old an interrupted walk over all products may be to be continued. An older one starts over. "0s":
always start over.`,
		},
	}
}

// streamKeys are the settings of a stream alone.
func streamKeys() []key {
	ownKey := secret("api_key")
	list := []key{{
		name: "enabled", in: inStream, standard: `true`,
		value: boolean(func(v *values) *bool { return &v.stream.Enabled }),
		doc:   `Load the stream. With false, the rows that were loaded before stay.`,
	}}
	for _, described := range catalog.All() {
		list = append(list, schedules(described)...)
	}
	list = append(list, filterKeys()...)
	return append(list,
		key{
			name: "initial_from", in: inStream, of: incremental, example: `"2024-01-01T00:00:00Z"`,
			value: moment(func(v *values) *time.Time { return &v.stream.InitialFrom }),
			doc: `The updatedAt, in RFC 3339, from which the first run reads, in parallel windows. Without it, the first
run reads everything as one list; so does "sync transactions --full" at any time.`,
		},
		key{name: "api_key", in: inStream, of: func(s *catalog.Stream) bool { return !s.OwnKey }, value: ownKey},
		key{
			name: "api_key", in: inStream, of: func(s *catalog.Stream) bool { return s.OwnKey }, value: ownKey,
			example: `"env:DEALS_PAYOUTS_KEY"`,
			doc: `A key for this stream only, written like that of the account. Any stream can have one. Payouts may need
one, because some services issue keys that can only read payouts.`,
		},
	)
}

// schedules returns the keys whose defaults differ from stream to stream.
func schedules(s *catalog.Stream) []key {
	of := func(other *catalog.Stream) bool { return other == s }
	//nolint:dupword // the fields of a schedule in their order: the day of the month, the month
	list := []key{{
		name: "schedule", in: inStream, of: of, standard: written(s.Schedule),
		value: checked("a schedule", func(v *values) *string { return &v.stream.Schedule }, checkSchedule),
		doc: `When the daemon loads the stream: minute, hour, day of month, month, day of week; or "@every 10m".
"CRON_TZ=Europe/Paris 30 4 * * *" sets a time zone; otherwise time_zone of [daemon] applies. "": only by hand.`,
	}}
	if s.Resync != "" {
		list = append(list, key{
			name: "resync", in: inStream, of: of, standard: written(s.Resync),
			value: checked("a schedule", func(v *values) *string { return &v.stream.Resync }, checkSchedule),
			doc: `When the daemon reads all transactions again, to find those that vanished at the service. Written like
schedule. "": never.`,
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

// written returns a default as it is written in TOML.
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

// writtenSize returns a default that is a number of whole mebibytes.
func writtenSize(bytes int64) string { return fmt.Sprintf(`"%dMiB"`, bytes>>20) }
