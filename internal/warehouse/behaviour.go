package warehouse

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// CheckBehaviour is the check that an API does what it did when it was asked before.
const CheckBehaviour = "api_unchanged"

// stateBehaviour has what is known of an API: JSON of answers by question.
const stateBehaviour = "behaviour"

// KeepBehaviour keeps what an API was found to do, by question, and returns in words what it did otherwise before. An
// answer of several parts, with "; " between them, has changed if a part is new. What was not found out this time stays
// as it is known. The check CheckBehaviour of the transactions has the outcome.
func (w *Warehouse) KeepBehaviour(ctx context.Context, account string, found map[string]string) (changed []string, err error) {
	stream := catalog.Transactions().Name
	stored, err := w.state(ctx, account, stream, stateBehaviour)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	if stored.value != "" {
		if err := json.Unmarshal([]byte(stored.value), &known); err != nil {
			return nil, fmt.Errorf("reading what is known of the API of account %s: %w", account, err)
		}
	}
	for _, question := range slices.Sorted(maps.Keys(found)) {
		before, was := known[question]
		if was && news(before, found[question]) {
			changed = append(changed, fmt.Sprintf("%s: %s, and before %s", question, found[question], before))
		}
	}
	maps.Copy(known, found)
	value, err := json.Marshal(known)
	if err != nil {
		return nil, fmt.Errorf("writing down what is known of the API of account %s: %w", account, err)
	}
	detail := strings.Join(changed, "; ")
	if detail != "" {
		detail += "; compare the configuration with `dealhouse probe`"
	}
	// The check is written first: if this is broken off between the two, the next time says it again.
	check := Check{Account: account, Stream: stream, RunID: uuid.New(), Name: CheckBehaviour, OK: len(changed) == 0,
		Found: uint64(len(changed)), Detail: detail}
	_, at, err := w.timeAfter(ctx, newestTime("checked_at"),
		"quality_checks_log WHERE account = {account:String} AND stream = {stream:String}",
		named("account", account), named("stream", stream))
	if err != nil {
		return nil, err
	}
	if err := w.saveChecks(ctx, []Check{check}, at); err != nil {
		return nil, err
	}
	return changed, w.saveStates(ctx, account, stream, stateRow{name: stateBehaviour, value: string(value)})
}

// news tells whether an answer has a part that the one before did not have.
func news(before, now string) bool {
	parts := strings.Split(before, "; ")
	return slices.ContainsFunc(strings.Split(now, "; "), func(part string) bool {
		return part != "none" && !slices.Contains(parts, part)
	})
}
