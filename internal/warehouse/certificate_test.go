package warehouse

import (
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// oddPages has a page of each stream with values of all types, missing ones, and what is hard to keep: bytes beyond
// ASCII, a zero byte, the largest numbers, times before 1970.
var oddPages = map[string]string{
	"promotions": `[{"id":"` + idA + `","name":"ä\u0000ö","updatedAt":"1969-12-31T23:59:59.999Z"},{"id":"` + idB + `"},
		{"id":"` + idC + `","validFrom":"2026-01-01T00:00:00.001Z","newField":{"a":[1,2]}}]`,
	"coupons":         "[" + coupon(idA, "a", day1) + "," + coupon(idB, "", day2) + `,{"id":"` + idC + `","tags":["x","ü",""]}]`,
	"cashback_offers": `[{"id":"` + idA + `","percentage":99999.9999,"countries":["DE","AT"]},{"id":"` + idB + `","countries":[]}]`,
	"transactions": sales(paidSale(1, "PENDING", day1), paidSale(2, "CONFIRMED", day2),
		`{"id":"`+idA+`","cashback":-0.01,"orderValue":99999999.99,"payoutId":9007199254740993}`),
	"payouts":  `[{"id":-1},{"id":9007199254740993,"currencyCode":"EUR"}]`,
	"products": `[{"url":"https://a.test/1","gtin":"4006381333931","history":[{"yearMonthDay":"2026-01-01","price":1.5}]},{"url":"https://a.test/2"}]`,
}

// TestSums holds the hashes that the decoder makes against those of the engine.
func TestSums(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, s := range catalog.All() {
		r := begin(t, w, s.Name)
		b := decode.NewBatch(s)
		must(t, decode.New(s).Page(b, []byte(oddPages[s.Name]), 1, r.StartedAt.UnixMicro()))
		_, err := w.Writer(r).Stage(t.Context(), 1, b)
		must(t, err)
		var want Set
		for _, sum := range b.Sums {
			want = want.And(Set{1, Sum(sum)})
		}
		if b.Len() < strings.Count(oddPages[s.Name], `{"`)-2 || b.Len() < 2 {
			t.Fatalf("%s: %d rows", s.Name, b.Len())
		}
		if got := staged(t, w, r); got != want {
			t.Errorf("%s: the engine has %+v, and the decoder %+v", s.Name, got, want)
		}
	}
}

// certifiedRun is a run that goes through all steps, with something done to its rows between two of them.
type certifiedRun struct {
	w     *Warehouse
	r     Run
	batch *decode.Batch
	sum   Set
	twice bool // the batch is sent again as another one
	lost  bool // it is not sent
	mode  string
}

// corruptions are what may become of rows on their way, by the step before which it happens.
var corruptions = []struct {
	name, before string
	batch        func(*certifiedRun)
	sql          string // with STAGING, CHANGES and DELTA
}{
	{"a row lost", "stage", func(c *certifiedRun) { c.batch.LeftOut = []int{1} }, ""},
	{"a batch lost", "stage", func(c *certifiedRun) { c.lost = true }, ""},
	{"a batch sent again", "stage", func(c *certifiedRun) { c.twice = true }, ""},
	{"a byte of an amount", "stage", func(c *certifiedRun) { ofField(c, "cashback").Ints[1] ^= 1 << 8 }, ""},
	{"a digit of an amount", "stage", func(c *certifiedRun) { ofField(c, "order_value").Ints[0]++ }, ""},
	{"two amounts swapped", "stage", func(c *certifiedRun) {
		v := ofField(c, "cashback").Ints
		v[0], v[1] = v[1], v[0]
	}, ""},
	{"two keys swapped", "stage", func(c *certifiedRun) {
		v := ofField(c, "id").UUIDs
		v[0], v[1] = v[1], v[0]
	}, ""},
	{"a key altered", "stage", func(c *certifiedRun) { ofField(c, "id").UUIDs[0][15] ^= 1 }, ""},
	{"a text altered", "stage", func(c *certifiedRun) { ofField(c, "status").Strings[0] = "CONFIRMEE" }, ""},
	{"a time altered", "stage", func(c *certifiedRun) { ofField(c, "sold_at").Ints[0] += 1000 }, ""},
	{"a value lost", "stage", func(c *certifiedRun) { c.batch.Nulls[0] |= 1 << 5 }, ""},
	{"an unknown field lost", "stage", func(c *certifiedRun) { c.batch.Extra[0] = "" }, ""},
	{"one row over another", "stage", func(c *certifiedRun) {
		for i := range c.batch.Columns {
			switch v := &c.batch.Columns[i]; {
			case len(v.Ints) > 0:
				v.Ints[0] = v.Ints[1]
			case len(v.Strings) > 0:
				v.Strings[0] = v.Strings[1]
			case len(v.UUIDs) > 0:
				v.UUIDs[0] = v.UUIDs[1]
			}
		}
	}, ""},
	{"a staged row lost", "plan", nil, "ALTER TABLE STAGING DELETE WHERE id = '" + idA + "'"},
	{"a staged amount altered", "plan", nil, "ALTER TABLE STAGING UPDATE cashback = cashback + 1 WHERE id = '" + idA + "'"},
	{"all staged rows lost", "plan", nil, "TRUNCATE TABLE STAGING"},
	{"a staged row lost after the comparison", "prepare", nil, "ALTER TABLE STAGING DELETE WHERE id = '" + idA + "'"},
	{"a staged amount altered after the comparison", "prepare", nil, "ALTER TABLE STAGING UPDATE cashback = cashback + 1 WHERE id = '" + idA + "'"},
	{"a planned change lost", "prepare", nil, "ALTER TABLE CHANGES DELETE WHERE change = 1"},
	{"a planned change doubled", "prepare", nil, "INSERT INTO CHANGES SELECT * FROM CHANGES WHERE change = 2"},
	{"a row of the delta lost", "inspect", nil, "ALTER TABLE DELTA DELETE WHERE cashback = 1"},
	{"a row of the delta doubled", "inspect", nil, "INSERT INTO DELTA SELECT * FROM DELTA WHERE cashback = 1"},
	{"an amount of the delta altered", "inspect", nil, "ALTER TABLE DELTA UPDATE cashback = 1.01 WHERE cashback = 1"},
	{"a text of the delta altered", "inspect", nil, "ALTER TABLE DELTA UPDATE retailer_name = 'x' WHERE cashback = 1"},
	{"a value of the delta lost", "inspect", nil, "ALTER TABLE DELTA UPDATE cashback = NULL WHERE cashback = 1"},
	{"a hash of the delta altered", "inspect", nil, "ALTER TABLE DELTA UPDATE _hash = reverse(_hash)::FixedString(16) WHERE cashback = 1"},
	{"a row of the delta made a deleted one", "inspect", nil, "ALTER TABLE DELTA UPDATE _deleted = 1 WHERE cashback = 1"},
	{"a row of the delta lost before it is attached", "publish", nil, "ALTER TABLE DELTA DELETE WHERE cashback = 1"},
	{"all of the delta lost before it is attached", "publish", nil, "TRUNCATE TABLE DELTA"},
}

func ofField(c *certifiedRun, name string) *decode.Column {
	return &c.batch.Columns[c.r.Stream.Field(name)]
}

// TestCorruptions alters, loses and doubles rows between any two steps of a run. Each stops the run before a reader
// sees anything of it, and the run after it loads what is right.
func TestCorruptions(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const begun, now = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
	sale := func(id, amount, status, at string) string {
		return `{"id":"` + id + `","cashback":` + amount + `,"orderValue":9,"status":"` + status + `","soldAt":"2026-01-01T10:00:00Z","new":1,"updatedAt":"` + at + `"}`
	}
	page := sales(sale(idA, "1", "CONFIRMED", now), sale(idB, "2", "CONFIRMED", now), sale(idC, "3", "PENDING", now))
	for i, test := range corruptions {
		if i%3 != 0 && !enginetest.Wide() {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			load(t, w, "transactions", Part, sales(sale(idA, "1", "PENDING", begun)))
			c := &certifiedRun{w: w, r: begin(t, w, "transactions")}
			err := c.goThrough(t, page, func(step string) {
				switch {
				case test.before != step:
				case test.batch != nil:
					test.batch(c)
				default:
					must(t, w.conn.Exec(clickhouse.Context(t.Context(), clickhouse.WithSettings(clickhouse.Settings{"mutations_sync": 2})),
						strings.NewReplacer("STAGING", stagingTable(c.r.Stream), "CHANGES", c.r.changes(), "DELTA", c.r.delta()).Replace(test.sql)))
				}
			})
			if err == nil {
				t.Error("the run went through")
			}
			wantRows(t, w, "SELECT status, cashback FROM transactions", "PENDING 1")
			load(t, w, "transactions", Part, page)
			wantRows(t, w, "SELECT status, cashback FROM transactions ORDER BY cashback", "CONFIRMED 1", "CONFIRMED 2", "PENDING 3")
		})
	}
}

// goThrough makes all steps of the run. between is called before each.
func (c *certifiedRun) goThrough(t *testing.T, page string, between func(step string)) error {
	t.Helper()
	x, ctx := c.w.Writer(c.r), t.Context()
	l, err := c.w.Acquire(ctx, c.r)
	must(t, err)
	defer func() { must(t, l.Release(ctx)) }()
	c.batch = decode.NewBatch(c.r.Stream)
	must(t, decode.New(c.r.Stream).Page(c.batch, []byte(page), 1, c.r.StartedAt.UnixMicro()))
	for _, sum := range c.batch.Sums {
		c.sum = c.sum.And(Set{1, Sum(sum)})
	}
	between("stage")
	for number := 1; number <= 2; number++ {
		if number == 1 && !c.lost || c.twice {
			_, err := x.Stage(ctx, number, c.batch)
			must(t, err)
		}
	}
	between("plan")
	scope := Part
	if ReadsWhole(c.mode) {
		scope = Whole
	}
	changes, err := x.Plan(ctx, scope, c.sum)
	if err != nil {
		return err
	}
	between("prepare")
	prepared, err := x.Prepare(ctx, changes, l.Begun())
	if err != nil {
		return err
	}
	between("inspect")
	written, err := x.Inspect(ctx, changes, prepared)
	if err != nil {
		return err
	}
	between("publish")
	return x.Publish(ctx, l, Intent{RunID: c.r.ID, MergedAt: l.Begun(), Prepared: prepared, Record: RunRecord{Account: "acme", Stream: "transactions",
		RunID: c.r.ID, StartedAt: l.Begun(), Outcome: OutcomeSuccess, Mode: c.mode, Changes: changes, Written: written,
		Totals: Totals{Read: c.sum.Rows, Staged: c.sum.Rows, Sum: c.sum.Sum}}})
}
