package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Selection names streams and accounts. An empty one means all that are enabled.
type Selection struct{ Accounts, Streams []string }

// Target is one stream of one account.
type Target struct {
	Account config.Account
	Setting config.Stream
	Stream  *catalog.Stream
}

func settingf(format string, args ...any) error { return SettingError{fmt.Errorf(format, args...)} }

// Targets returns the selected streams, at least one. Its errors are SettingErrors.
func (s Selection) Targets(cfg *config.Config) ([]Target, error) {
	accounts, err := s.chosenAccounts(cfg)
	if err != nil {
		return nil, err
	}
	streams, err := s.chosenStreams()
	if err != nil {
		return nil, err
	}
	var all []Target
	enabled := map[string]bool{}
	for _, account := range accounts {
		for _, stream := range streams {
			setting, ok := account.Stream(stream.Name)
			if ok && setting.Enabled {
				enabled[stream.Name] = true
				all = append(all, Target{account, setting, stream})
			}
		}
	}
	for _, name := range s.Streams {
		if name = StreamName(name); !enabled[name] {
			return nil, settingf("%s is disabled in the configuration: set enabled = true under [account.streams.%s]",
				name, name)
		}
	}
	if len(all) == 0 {
		return nil, settingf("every stream is disabled in the configuration, so there is nothing to do")
	}
	return all, nil
}

func (s Selection) chosenAccounts(cfg *config.Config) ([]config.Account, error) {
	names := AccountNames(cfg)
	for _, name := range s.Accounts {
		if !slices.Contains(names, name) {
			return nil, settingf("there is no account %q in the configuration: it has %s", name, term.List(names))
		}
	}
	if len(s.Accounts) == 0 {
		return cfg.Accounts, nil
	}
	return slices.DeleteFunc(slices.Clone(cfg.Accounts),
		func(a config.Account) bool { return !slices.Contains(s.Accounts, a.Name) }), nil
}

func (s Selection) chosenStreams() ([]*catalog.Stream, error) {
	var wanted []string
	for _, name := range s.Streams {
		stream, err := catalog.Find(StreamName(name))
		if err != nil {
			return nil, SettingError{err}
		}
		wanted = append(wanted, stream.Name)
	}
	if len(wanted) == 0 {
		return catalog.All(), nil
	}
	return slices.DeleteFunc(catalog.All(),
		func(stream *catalog.Stream) bool { return !slices.Contains(wanted, stream.Name) }), nil
}

// AccountNames are the configured accounts, in the order of the configuration.
func AccountNames(cfg *config.Config) []string {
	var names []string
	for _, a := range cfg.Accounts {
		names = append(names, a.Name)
	}
	return names
}

// UnknownAccount returns a SettingError if no account of that name is configured and the warehouse knows none either:
// an account that is no longer configured, or not on this machine, still has runs and rows. name may be empty.
func UnknownAccount(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, name string) error {
	unconfigured := Unconfigured(cfg, name)
	if unconfigured == nil {
		return nil
	}
	known, err := w.HasAccount(ctx, name)
	switch {
	case err != nil:
		return err
	case known:
		return nil
	}
	return settingf("%w, and the warehouse has no rows of a former account with that name", unconfigured)
}

// Unconfigured returns a SettingError if no account of that name is configured. name may be empty.
func Unconfigured(cfg *config.Config, name string) error {
	if _, configured := cfg.Account(name); configured || name == "" {
		return nil
	}
	names := AccountNames(cfg)
	if len(names) == 0 {
		names = []string{"none"}
	}
	return settingf("there is no account %q in the configuration: it has %s", name, term.List(names))
}

// StreamName is a stream's name with the hyphens that the API's paths have replaced.
func StreamName(name string) string { return strings.ReplaceAll(name, "-", "_") }
