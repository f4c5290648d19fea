package syncer

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func TestZZPhases(t *testing.T) {
	x := serve(t, transactionsWorld(benchTransactions))
	w := open(t)
	var mu sync.Mutex
	last, start, c0 := Phase(""), time.Now(), cpu()
	s, _ := New(Options{Warehouse: w, Progress: func(p Progress) {
		mu.Lock(); defer mu.Unlock()
		if p.Phase != last { fmt.Println(last, time.Since(start), "cpu", cpu()-c0); last = p.Phase; start = time.Now(); c0 = cpu() }
	}})
	s.All(t.Context(), x.jobs(t, "acme", "transactions"))
	if os.Getenv("ZZ") == "" { return }
	ctx := t.Context()
	run := func(name, q string) {
		s, c := time.Now(), cpu()
		if err := w.Conn().Exec(ctx, q); err != nil { t.Log(name, err); return }
		fmt.Printf("%-30s wall %v cpu %v\n", name, time.Since(s).Round(time.Millisecond), (cpu()-c).Round(time.Millisecond))
	}
	cols := "id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id"
	n := 0
	copyTo := func(name, engine, settings, sel string) {
		n++
		tbl := fmt.Sprintf("cc%d", n)
		run("  create", "CREATE TABLE "+tbl+" "+engine)
		run(name, "INSERT INTO "+tbl+" "+sel+" SETTINGS "+settings)
		var parts uint64
		w.Conn().QueryRow(ctx, "SELECT count() FROM system.parts WHERE active AND table='"+tbl+"'").Scan(&parts)
		fmt.Println("   parts", parts)
	}
	_ = strings.Replace
	base := "max_insert_threads=1"
	as := "AS transactions_latest"
	copyTo("base", as, base, "SELECT * FROM transactions_latest")
	copyTo("65k blocks", as, base+", min_insert_block_size_rows=65536, min_insert_block_size_bytes=0", "SELECT * FROM transactions_latest")
	copyTo("250k blocks", as, base+", min_insert_block_size_rows=250000, min_insert_block_size_bytes=0", "SELECT * FROM transactions_latest")
	copyTo("250k blocks 2thr", as, "max_insert_threads=2, min_insert_block_size_rows=250000, min_insert_block_size_bytes=0", "SELECT * FROM transactions_latest")
	copyTo("wide part always", as+" SETTINGS min_bytes_for_wide_part=0", base, "SELECT * FROM transactions_latest")
	copyTo("compact part always", as+" SETTINGS min_bytes_for_wide_part=100000000000", base, "SELECT * FROM transactions_latest")
	copyTo("no order", "ENGINE=MergeTree ORDER BY tuple() AS transactions_latest", base, "SELECT * FROM transactions_latest")
	for _, c := range strings.Split(cols+", _hash, _version, _extra, account", ", ") {
		copyTo("only "+c, "ENGINE=MergeTree ORDER BY tuple() AS SELECT "+c+" FROM transactions_latest LIMIT 0", base, "SELECT "+c+" FROM transactions_latest")
	}
}
