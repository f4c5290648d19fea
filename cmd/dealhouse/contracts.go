package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/contract"
	"dealhouse/internal/daemon"
	"dealhouse/internal/warehouse"
	"dealhouse/schema"
)

// newContract makes the data contract of the views under a configuration. If that has no account, the contract takes
// the defaults and covers all accounts that the warehouse knows.
func newContract(cfg *config.Config, views []warehouse.View, now time.Time) (contract.Contract, error) {
	generation, _, err := schema.Generation()
	if err != nil {
		return contract.Contract{}, err
	}
	c := contract.Contract{Database: cfg.Warehouse.Database, Version: generation, Views: views}
	host, port := cfg.Warehouse.Address()
	c.Server.Host = host
	c.Server.Port, _ = strconv.Atoi(port) // 0 for an embedded warehouse
	zone, err := time.LoadLocation(cfg.Daemon.TimeZone)
	if err != nil {
		return c, fmt.Errorf("daemon.time_zone: %w", err)
	}
	for _, stream := range catalog.All() {
		p := contract.Promise{Stream: stream}
		add := func(text string) error {
			schedule, err := daemon.ParseSchedule(text, zone)
			if err != nil {
				return err
			}
			late := schedule.LateAfter(now, cfg.Daemon.Jitter)
			if late > 0 && !slices.Contains(p.Schedules, text) {
				p.Schedules = append(p.Schedules, text)
			}
			p.LateAfter = max(p.LateAfter, late)
			return nil
		}
		if len(cfg.Accounts) == 0 {
			err = add(stream.Schedule)
		}
		for _, account := range cfg.Accounts {
			// A stream without a schedule may be of any age.
			if setting, _ := account.Stream(stream.Name); setting.Enabled && setting.Schedule != "" && err == nil {
				p.Accounts = append(p.Accounts, account.Name)
				err = add(setting.Schedule)
			}
		}
		if err != nil {
			return c, err
		}
		c.Streams = append(c.Streams, p)
	}
	return c, nil
}
