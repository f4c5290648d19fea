package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/config"
)

// A plan changes nothing until it is in force (daemon-6); then limits that are the same stay, and what needs a restart
// is told.
func TestPlanIsAdopted(t *testing.T) {
	b := newBench(t)
	load := func(more string) *config.Config {
		t.Helper()
		cfg, _, err := config.Load(config.Source{Path: b.config, Env: append([]string{more}, b.env...), NeedAccounts: true})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	var log bytes.Buffer
	first := load("")
	p := newPlanner(&app{log: slog.New(slog.NewTextHandler(&log, nil))}, first)
	plan, err := p.plan(first)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	plan.Adopted()
	was := p.paces["acme"].limiter
	for _, change := range []string{"DEALHOUSE_DEFAULTS_REQUESTS_PER_SECOND=7", "DEALHOUSE_FINANCE_OVERDUE_AFTER=48h", "DEALHOUSE_WAREHOUSE_MAX_RETRY_ELAPSED=3s"} {
		plan, err := p.plan(load(change))
		if err != nil {
			t.Fatal(err)
		}
		defer plan.Close()
		if p.paces["acme"].limiter != was || p.overdueAfter() != first.Finance.OverdueAfter || log.Len() > 0 {
			t.Errorf("%s has an effect before it is in force: %s", change, log.String())
		}
		plan.Adopted()
		switch name, _, _ := strings.Cut(change, "="); name {
		case "DEALHOUSE_DEFAULTS_REQUESTS_PER_SECOND":
			if p.paces["acme"].limiter == was {
				t.Error("another rate has the limiter of the one before")
			}
		case "DEALHOUSE_FINANCE_OVERDUE_AFTER":
			if p.overdueAfter() != 48*time.Hour {
				t.Errorf("overdue after %s", p.overdueAfter())
			}
		default:
			if !strings.Contains(log.String(), "setting=warehouse.max_retry_elapsed") {
				t.Errorf("nothing says that the warehouse's settings need a restart: %s", log.String())
			}
		}
		first, was = p.inForce.Load(), p.paces["acme"].limiter
	}
}
