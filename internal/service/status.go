package service

import (
	"slices"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// Statuses adds the configured streams that never ran to those that did. Streams are in the order of the configuration;
// accounts that are no longer configured come last. A stream that is no longer loaded does not show the result of its
// last run; but if the configuration has no account at all, it is that of a reader, and says nothing about what is
// loaded.
func Statuses(cfg *config.Config, ran []warehouse.StreamStatus) []warehouse.StreamStatus {
	var all []warehouse.StreamStatus
	for _, account := range cfg.Accounts {
		for _, name := range catalog.Names() {
			s := warehouse.StreamStatus{Account: account.Name, Stream: name, LastOutcome: "never ran"}
			if i := slices.IndexFunc(ran, func(s warehouse.StreamStatus) bool {
				return s.Account == account.Name && s.Stream == name
			}); i >= 0 {
				s = ran[i]
			}
			if setting, ok := account.Stream(name); ok && !setting.Enabled {
				s.LastOutcome, s.LastError = "disabled", ""
			}
			all = append(all, s)
		}
	}
	for _, s := range ran {
		if _, configured := cfg.Account(s.Account); !configured {
			if len(cfg.Accounts) > 0 {
				s.LastOutcome, s.LastError = "not configured", ""
			}
			all = append(all, s)
		}
	}
	return all
}

// LoadedScope says which part of a stream is loaded and, if it differs, which part is configured; "" is all of the
// stream.
func LoadedScope(cfg *config.Config, s warehouse.StreamStatus) string {
	loaded, err := catalog.ParseScope(s.Scope)
	if err != nil {
		return err.Error()
	}
	account, configured := cfg.Account(s.Account)
	setting, ok := account.Stream(s.Stream)
	if !configured || !ok || setting.Scope.Encode() == s.Scope {
		return loaded.String()
	}
	if s.LastSuccess == nil {
		return setting.Scope.Or("all rows") + ", not loaded yet"
	}
	return loaded.Or("all rows") + "; from the next complete list on " + setting.Scope.Or("all rows")
}
