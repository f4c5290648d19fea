package config

// The texts of config.example.toml that belong to no single key. A line that begins with two spaces is kept as it is;
// the rest is wrapped.
const (
	docHeader = `The configuration of dealhouse. Copy it to dealhouse.toml, fill in the account, and run ` + "`dealhouse check`" + `.

What is commented out shows the default, unless its comment says otherwise: remove the # to change it. Unknown keys are errors, and every mistake is reported at once with its line.

The file is the one that --config names, else the one that DEALHOUSE_CONFIG names, else dealhouse.toml in the current directory. Relative paths in it start at the current directory.

An environment variable overrides any key: DEALHOUSE_ and the path of the key, in capitals, with _ for dots and dashes. An empty one counts as not set; an unknown one is an error.
  [warehouse] dsn                                  DEALHOUSE_WAREHOUSE_DSN
  [defaults] timeout                               DEALHOUSE_DEFAULTS_TIMEOUT
  [[account]] "acme": api_key                      DEALHOUSE_ACCOUNT_ACME_API_KEY
  "acme" [account.streams.payouts] api_key         DEALHOUSE_ACCOUNT_ACME_STREAMS_PAYOUTS_API_KEY
Without any account in a file, DEALHOUSE_BASE_URL and DEALHOUSE_API_KEY make one, called "default" or what DEALHOUSE_ACCOUNT says.

Durations are a number with its unit, in quotes: "500ms", "30s", "10m", "24h".`

	docWarehouse = `Where the data goes.`

	docDaemon = "The long-running worker, `dealhouse run`."

	docLineage = "OpenLineage events of runs, for catalogs of data such as Marquez or DataHub. Off unless someone is named."

	docFinance = "The reconciliation of payouts with their transactions, `dealhouse reconcile`."

	docDefaults = `Settings for every account. Each may be set again for one account, under [[account]]; those about streams also for one stream, under [account.streams.<stream>].`

	docAccount = `One account: an API key, and so one organization. Repeat this table, with all that belongs to it, for each further account.`

	docParams = `Names of query parameters that the interface of the service leaves open. The two that are filled in below are what a known live service of this kind uses. Remove the # if yours does too, or write what its documentation says; a wrong name for a date costs speed, not correctness.`

	docReceiver = "Who is told what happens: one message for each thing that begins or ends. Repeat this table for each further receiver. Messages wait in the warehouse until they are taken. `dealhouse notify test` tries receivers; deploy/README.md has examples. A variable such as DEALHOUSE_RECEIVER_OPS_URL sets a key of the receiver \"ops\"."

	docStreams = `The streams. Leave a table out to load its stream with the defaults.`
)
