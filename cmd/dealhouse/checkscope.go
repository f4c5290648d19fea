package main

import (
	"context"
	"fmt"
	"strings"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/service"
	"dealhouse/internal/wording"
)

// checkedLists is how many lists of a scope are requested: the user waits for the answer.
const checkedLists = 20

// checkScope requests the first page of each list of a stream's scope. A list without records may mean a misspelt
// value.
func checkScope(ctx context.Context, name string, client *dealapi.Client, t service.Target) finding {
	names, queries := t.FirstPages()
	var empty, refused []string
	records, worstCode := 0, exitOK
	for i, q := range queries[:min(len(queries), checkedLists)] {
		for page, err := range client.Pages(ctx, q) {
			if err != nil {
				refused = append(refused, names[i]+": "+cause(err))
				worstCode = worst(worstCode, faultCode(err))
				break
			}
			if records += page.Records(); page.Records() == 0 {
				empty = append(empty, names[i])
			}
			break
		}
		if ctx.Err() != nil {
			break
		}
	}
	said := fmt.Sprintf("only %s, in %s", t.Setting.Scope.Brief(), wording.Plural(uint64(len(queries)), "list"))
	if len(queries) > checkedLists {
		said += fmt.Sprintf(", the first %d of which were asked for", checkedLists)
	}
	switch {
	case len(refused) > 0:
		return finding{name, verdictFailed, said + "; " + strings.Join(refused, "; "), worstCode}
	case len(empty) > 0:
		return finding{name, verdictWarn, said + "; the API lists nothing for " + strings.Join(empty, ", with ") +
			": is it spelled correctly?", exitOK}
	}
	return finding{name, verdictOK, fmt.Sprintf("%s: %s on their first pages", said,
		wording.Plural(uint64(records), "record")), exitOK}
}
