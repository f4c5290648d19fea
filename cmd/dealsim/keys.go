package main

import (
	"fmt"
	"strings"

	"dealhouse/internal/apisim"
)

// parseOrgs reads organizations ("acme" or "acme:EUR") and their keys
// ("acme=KEY" or "acme=KEY,PAYOUTS_KEY") from flags and the environment; flags
// win. Errors never show a key.
func parseOrgs(names, flagKeys []string, envKeys string) ([]apisim.Org, error) {
	var orgs []apisim.Org
	place := map[string]int{}
	for _, text := range names {
		name, currency, _ := strings.Cut(strings.TrimSpace(text), ":")
		place[name] = len(orgs)
		orgs = append(orgs, apisim.Org{Name: name, Currency: currency})
	}
	apply := func(source, text string) error {
		name, keys, ok := strings.Cut(strings.TrimSpace(text), "=")
		full, payouts, _ := strings.Cut(keys, ",")
		if !ok || full == "" {
			return fmt.Errorf("%s: want ORG=KEY[,PAYOUTS_KEY]", source)
		}
		i, known := place[name]
		if !known {
			return fmt.Errorf("%s: organization %q is not among --orgs", source, name)
		}
		orgs[i].Key, orgs[i].PayoutsKey = full, payouts
		return nil
	}
	for text := range strings.SplitSeq(envKeys, ";") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := apply("DEALSIM_KEYS", text); err != nil {
			return nil, err
		}
	}
	for _, text := range flagKeys {
		if err := apply("--keys", text); err != nil {
			return nil, err
		}
	}
	return orgs, nil
}
