package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

func cpu() time.Duration {
	var u, c syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	syscall.Getrusage(syscall.RUSAGE_CHILDREN, &c)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano() + c.Utime.Nano() + c.Stime.Nano())
}

type slow struct{ driver.Conn }

var tracing bool

func (s slow) Exec(ctx context.Context, q string, args ...any) error {
	t0, c0 := time.Now(), cpu()
	err := s.Conn.Exec(ctx, q, args...)
	if tracing {
		fmt.Printf("    %5.0f ms %6.3f cpu %.100s\n", float64(time.Since(t0).Microseconds())/1000, (cpu() - c0).Seconds(), strings.ReplaceAll(q, "\n", " "))
	}
	return err
}

func run(ctx context.Context, w *warehouse.Warehouse, n string) {
	rows, err := w.Conn().Query(ctx, `SELECT toJSONString(map('id', toString(id), 'status', if(status = 'PENDING', 'CONFIRMED', 'PENDING'), 'updatedAt', formatDateTime(now64(3), '%Y-%m-%dT%H:%i:%SZ'),
 'soldAt', formatDateTime(sold_at, '%Y-%m-%dT%H:%i:%SZ'), 'country', country, 'currencyCode', currency_code, 'retailerId', toString(retailer_id), 'retailerName', retailer_name, 'retailerLogo', retailer_logo)) AS m,
 concat(substring(m, 1, length(m) - 1), ',"orderValue":', toString(order_value), ',"cashback":', toString(cashback), if(payout_id IS NULL, '', concat(',"payoutId":', toString(payout_id))), '}')
 FROM transactions WHERE sold_at > toDateTime64('2026-08-01 00:00:00', 3, 'UTC') ORDER BY cityHash64(id, now()) LIMIT `+n)
	if err != nil {
		panic(err)
	}
	var all []string
	for rows.Next() {
		var m, s string
		if err := rows.Scan(&m, &s); err != nil {
			panic(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		panic(err)
	}
	s, _ := catalog.Find("transactions")
	r := warehouse.Run{ID: uuid.New(), Attempt: uuid.New(), Account: "acme", Stream: s}
	l, err := w.Acquire(ctx, r)
	if err != nil {
		panic(err)
	}
	r.StartedAt = l.Begun()
	x := w.Writer(r)
	b := decode.NewBatch(s)
	if err := decode.New(s).Page(b, []byte("["+strings.Join(all, ",")+"]"), 1, r.StartedAt.UnixMicro()); err != nil {
		panic(err)
	}
	t0, c0 := time.Now(), cpu()
	lap := func(what string) {
		fmt.Printf("[%6.0f ms %5.2f cpu] RUN %s %s\n", float64(time.Since(t0).Microseconds())/1000, (cpu() - c0).Seconds(), n, what)
		t0, c0 = time.Now(), cpu()
	}
	if _, err := x.Stage(ctx, 1, b); err != nil {
		panic(err)
	}
	lap("stage")
	c, err := x.Plan(ctx, warehouse.Part, uint64(len(all)))
	if err != nil {
		panic(err)
	}
	lap(fmt.Sprintf("plan %+v", c))
	now, _ := w.Now(ctx)
	tracing = os.Getenv("TRACE") != ""
	if err := x.Prepare(ctx, c, now); err != nil {
		panic(err)
	}
	lap("prepare")
	rec := warehouse.RunRecord{Account: "acme", Stream: "transactions", RunID: r.ID, StartedAt: r.StartedAt, FinishedAt: now, Outcome: warehouse.OutcomeSuccess, Changes: c}
	if err := x.Publish(ctx, l, warehouse.Intent{RunID: r.ID, MergedAt: now, Record: rec}); err != nil {
		panic(err)
	}
	lap("publish")
	tracing = false
	if err := l.Release(ctx); err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	w, err := warehouse.Open(ctx, warehouse.Options{DSN: "embedded:" + os.Args[1], Wrap: func(c driver.Conn) driver.Conn { return slow{c} }})
	if err != nil {
		panic(err)
	}
	defer w.Close()
	if _, err := w.Migrate(ctx); err != nil {
		fmt.Println("migrate:", err)
	}
	in := bufio.NewReader(os.Stdin)
	var text strings.Builder
	in.WriteTo(&text)
	for _, st := range strings.Split(text.String(), ";\n") {
		st = strings.TrimSpace(st)
		if st == "" {
			continue
		}
		if st == "REBUILD" || st == "CHECK" {
			t0, c0 := time.Now(), cpu()
			rebuild(ctx, w, st == "CHECK")
			fmt.Printf("[%6.0f ms %5.2f cpu] %s\n", float64(time.Since(t0).Microseconds())/1000, (cpu() - c0).Seconds(), st)
			continue
		}
		if rest, ok := strings.CutPrefix(st, "RUN "); ok {
			run(ctx, w, rest)
			continue
		}
		n := 1
		if rest, ok := strings.CutPrefix(st, "TIME "); ok {
			st, n = rest, 4
		}
		for i := range n {
			t0, c0 := time.Now(), cpu()
			show := n == 1
			up := strings.ToUpper(st)
			if strings.HasPrefix(up, "SELECT") || strings.HasPrefix(up, "EXPLAIN") || strings.HasPrefix(up, "SHOW") || strings.HasPrefix(up, "WITH") {
				q := st
				if !strings.HasPrefix(up, "EXPLAIN") && !strings.HasPrefix(up, "SHOW") {
					q = "SELECT toString(tuple(*)) FROM (" + st + ")"
				}
				rows, err := w.Conn().Query(ctx, q)
				if err != nil {
					fmt.Println("ERR", err, st)
					break
				}
				k := 0
				for rows.Next() {
					var s string
					if err := rows.Scan(&s); err != nil {
						fmt.Println(err)
					}
					if k++; show && k < 60 {
						fmt.Println("  ", s)
					}
				}
				if err := rows.Err(); err != nil {
					fmt.Println("ERR", err)
				}
				rows.Close()
			} else if err := w.Conn().Exec(ctx, st); err != nil {
				fmt.Println("ERR", err, st)
				break
			}
			if i == 0 && n > 1 {
				continue
			}
			fmt.Printf("[%6.0f ms %5.2f cpu] %.90s\n", float64(time.Since(t0).Microseconds())/1000, (cpu() - c0).Seconds(), strings.ReplaceAll(st, "\n", " "))
		}
	}
}
