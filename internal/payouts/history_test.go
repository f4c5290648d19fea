package payouts

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// years fills the tables as years of syncs would have done, in one statement: sales are first read as pending, most are
// decided within 80 days, all are paid when they are due, and some change after that. Rows are as if they had been
// loaded when the service changed them.
const years = `INSERT INTO transactions_versions (account, id, sold_at, updated_at, currency_code, order_value, cashback, status, retailer_name, payout_id, synced_at, _hash, _version, _deleted, _run_id)
WITH number AS n, sipHash64(n, 3) AS h, toDateTime64('2024-01-01 00:00:00', 3, 'UTC') + toIntervalSecond(intDiv(n * {months} * 2600000, {sales})) AS sold,
    addMonths(toStartOfMonth(sold + toIntervalDay(90)), 1) AS due, toDateTime64(due, 3, 'UTC') + toIntervalSecond(1 + h % 200) AS stamped,
    multiIf(h % 8 = 0, 'DECLINED', h % 32 = 1, 'PENDING', 'CONFIRMED') AS decided, toDecimal64(1 + intDiv(h, 7) % 5000, 4) / 100 AS cashback,
    toInt64(toYear(due) * 100 + toMonth(due)) AS payout, sold + toIntervalDay(15 + intDiv(h, 11) % 65) AS decided_at,
    if(intDiv(h, 13) % 16 = 0, cashback + 1, if(intDiv(h, 13) % 16 = 1, cashback - toDecimal64(0.01, 4), cashback)) AS changed,
    arrayJoin(arrayFilter(v -> v.5 AND v.1 >= {after} AND v.1 < {until}, [
        (sold, 'PENDING', cashback, CAST(NULL, 'Nullable(Int64)'), true),
        (decided_at, decided, changed, CAST(NULL, 'Nullable(Int64)'), decided != 'PENDING' OR changed != cashback),
        (stamped, decided, changed, toNullable(payout), h % 64 != 7),
        (stamped + toIntervalDay(20), 'DECLINED', changed, toNullable(payout), h % 40 = 3),
        (stamped + toIntervalDay(40), 'CONFIRMED', changed + 2, toNullable(payout), h % 40 = 4)])) AS v
SELECT 'acme', reinterpretAsUUID(sipHash128(n, 3)), sold, v.1, ['EUR', 'USD', 'JPY'][1 + (h % 11 = 5) + 2 * (h % 97 = 50)], toDecimal64(h % 100000, 4) / 100, v.3, v.2,
    'Shop ' || toString(h % 20), v.4, v.1, sipHash128(n, v.1), bitOr(bitShiftLeft(toUInt128(toUnixTimestamp64Milli(v.1)), 64), toUInt128(n)), 0, generateUUIDv4()
FROM numbers({sales})`

// daily makes runs that succeeded, one a day, by the clock of the service.
const daily = `INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, finished_at, outcome, server_time)
SELECT 'acme', 'transactions', generateUUIDv4(), 'incremental', day, day + toIntervalSecond(1), 'success', day
FROM (SELECT toDateTime64('2024-01-01 23:00:00', 3, 'UTC') + toIntervalDay(number) AS day FROM numbers({days})) WHERE day >= {after} AND day < {until}`

// change makes further changes to some of the transactions, which are seen at a given time: their status, cashback and
// payout change at a time after their last change, which may be in a month that is closed.
const change = `INSERT INTO transactions_versions (account, id, sold_at, updated_at, currency_code, order_value, cashback, status, retailer_name, payout_id, synced_at, _hash, _version, _deleted, _run_id)
WITH sipHash64(id, {seed}) AS h, least(last + toIntervalSecond(1 + h % 5000000), {until} - toIntervalSecond(30 + h % 20)) AS at
SELECT account, id, sold, at, currency, 10, greatest(toDecimal64(0, 4), amount + intDiv(h, 3) % 9 - 4), ['PENDING', 'CONFIRMED', 'DECLINED'][1 + intDiv(h, 5) % 3], shop,
    multiIf(intDiv(h, 7) % 6 = 0, NULL, intDiv(h, 7) % 6 = 1, toNullable(toInt64(202403 + intDiv(h, 11) % 9)), payout), {until} - toIntervalSecond(20), sipHash128(id, at),
    bitOr(bitShiftLeft(toUInt128(toUnixTimestamp64Milli(at)), 64), toUInt128(7)), intDiv(h, 13) % 20 = 0, generateUUIDv4()
FROM
(
    SELECT account, id, argMax(sold_at, _version) AS sold, max(updated_at) AS last, argMax(currency_code, _version) AS currency, assumeNotNull(argMax(cashback, _version)) AS amount,
        argMax(retailer_name, _version) AS shop, argMax(tuple(payout_id), _version).1 AS payout
    FROM transactions_versions GROUP BY account, id
)
WHERE h % 40 = 0`

// late makes sales of months that are over, which are seen only now.
const late = `INSERT INTO transactions_versions (account, id, sold_at, updated_at, currency_code, order_value, cashback, status, retailer_name, synced_at, _hash, _version, _deleted, _run_id)
WITH sipHash64(number, {seed}) AS h, {until} - toIntervalSecond(30 + h % 9000000) AS sold
SELECT 'acme', reinterpretAsUUID(sipHash128(number, {seed}, 'late')), sold, sold, ['EUR', 'USD'][1 + h % 2], 10, toDecimal64(1 + h % 5000, 4) / 100, ['PENDING', 'CONFIRMED', 'DECLINED'][1 + intDiv(h, 5) % 3], 'Shop',
    {until} - toIntervalSecond(20), sipHash128(number), bitShiftLeft(toUInt128(toUnixTimestamp64Milli(sold)), 64), 0, generateUUIDv4()
FROM numbers(8)`

// past is a history of a number of sales in a number of months, from 2024 on.
type past struct {
	*world
	seed          uint64
	months, sales int
	now           time.Time // what happened until then is loaded
}

// lived returns a world with a history up to a time.
func lived(t *testing.T, seed uint64, months, sales int, until time.Time) *past {
	t.Helper()
	p := &past{newWorld(t, scripted()), seed, months, sales, time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)}
	p.live(t, until)
	return p
}

// live continues the history up to a time. more are SQL statements of what else happens.
func (p *past) live(t *testing.T, until time.Time, more ...string) {
	t.Helper()
	at := func(at time.Time) string { return fmt.Sprintf("fromUnixTimestamp64Milli(%d, 'UTC')", at.UnixMilli()) }
	fill := strings.NewReplacer("{seed}", fmt.Sprint(p.seed, "::UInt64"), "{months}", fmt.Sprint(p.months), "{sales}",
		fmt.Sprint(p.sales), "{days}", fmt.Sprint(31*p.months),
		"{after}", at(p.now), "{until}", at(until))
	for _, statement := range append([]string{years, daily}, more...) {
		p.exec(t, fill.Replace(statement))
	}
	p.complete(t, until)
	p.now = until
	p.seed += 1000 * uint64(min(1, len(more))) // changes the seed of what else happens; the sales stay the same
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
