package report

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// years fills the tables as years of syncs would have, in one statement: sales are read pending, most are decided within
// 80 days, all are paid when they are due, and some change after that. Rows are as they would have been loaded when the
// service changed them.
const years = `INSERT INTO transactions_versions (account, id, sold_at, updated_at, currency_code, order_value, cashback, status, retailer_name, payout_id, synced_at, _hash, _version, _deleted, _run_id)
WITH number AS n, sipHash64(n, {seed}) AS h, toDateTime64('2024-01-01 00:00:00', 3, 'UTC') + toIntervalSecond(intDiv(n * {months} * 2600000, {sales})) AS sold,
    addMonths(toStartOfMonth(sold + toIntervalDay(90)), 1) AS due, toDateTime64(due, 3, 'UTC') + toIntervalSecond(1 + h % 200) AS stamped,
    multiIf(h % 8 = 0, 'DECLINED', h % 32 = 1, 'PENDING', 'CONFIRMED') AS decided, toDecimal64(1 + intDiv(h, 7) % 5000, 4) / 100 AS cashback,
    toInt64(toYear(due) * 100 + toMonth(due)) AS payout, sold + toIntervalDay(15 + intDiv(h, 11) % 65) AS decided_at,
    if(intDiv(h, 13) % 16 = 0, cashback + 1, if(intDiv(h, 13) % 16 = 1, cashback - toDecimal64(0.01, 4), cashback)) AS changed,
    arrayJoin(arrayFilter(v -> v.5 AND v.1 < {until}, [
        (sold, 'PENDING', cashback, CAST(NULL, 'Nullable(Int64)'), true),
        (decided_at, decided, changed, CAST(NULL, 'Nullable(Int64)'), decided != 'PENDING' OR changed != cashback),
        (stamped, decided, changed, toNullable(payout), h % 64 != 7),
        (stamped + toIntervalDay(20), 'DECLINED', changed, toNullable(payout), h % 40 = 3),
        (stamped + toIntervalDay(40), 'CONFIRMED', changed + 2, toNullable(payout), h % 40 = 4)])) AS v
SELECT 'acme', reinterpretAsUUID(sipHash128(n, {seed})), sold, v.1, ['EUR', 'USD', 'JPY'][1 + (h % 11 = 5) + 2 * (h % 97 = 50)], toDecimal64(h % 100000, 4) / 100, v.3, v.2,
    'Shop ' || toString(h % 20), v.4, v.1, sipHash128(n, v.1), bitOr(bitShiftLeft(toUInt128(toUnixTimestamp64Milli(v.1)), 64), toUInt128(n)), 0, generateUUIDv4()
FROM numbers({sales})`

// daily are runs that succeeded, one a day, by the clock of the service.
const daily = `INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, finished_at, outcome, server_time)
SELECT 'acme', 'transactions', generateUUIDv4(), 'incremental', day, day + toIntervalSecond(1), 'success', day
FROM (SELECT toDateTime64('2024-01-01 23:00:00', 3, 'UTC') + toIntervalDay(number) AS day FROM numbers({days})) WHERE day < {until}`

// lived is a world with a history of so many months from 2024 on, up to a time, of so many sales.
func lived(t *testing.T, seed uint64, months, sales int, until time.Time) *world {
	t.Helper()
	x := newWorld(t, scripted())
	x.live(t, seed, months, sales, until)
	return x
}

func (x *world) live(t *testing.T, seed uint64, months, sales int, until time.Time) {
	t.Helper()
	fill := strings.NewReplacer("{seed}", fmt.Sprint(seed), "{months}", fmt.Sprint(months), "{sales}", fmt.Sprint(sales), "{days}", fmt.Sprint(31*months),
		"{until}", fmt.Sprintf("fromUnixTimestamp64Milli(%d, 'UTC')", until.UnixMilli()))
	x.exec(t, fill.Replace(years))
	x.exec(t, fill.Replace(daily))
	x.complete(t, until)
}

// complete says that the transactions are loaded up to a time.
func (x *world) complete(t *testing.T, until time.Time) {
	t.Helper()
	x.exec(t, fmt.Sprintf(`INSERT INTO sync_state_log (account, stream, name, value, version) VALUES ('acme', 'transactions', 'watermark', '%s', %d)`, until.Format(time.RFC3339), until.UnixMicro()))
}

func (x *world) exec(t *testing.T, statement string) {
	t.Helper()
	if err := x.w.Conn().Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
