package check

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/output"
	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/wording"
)

// checkAPI reads a page of each enabled stream, all in parallel: the user wants to know soon.
func (c *Checker) checkAPI(ctx context.Context, cfg *config.Config) []Finding {
	targets, err := service.Selection{}.Targets(cfg)
	if err != nil {
		return []Finding{warn("API", output.Message(err))}
	}
	api := c.options.Service.Clients(func(o *dealapi.Options) {
		o.NoRetry, o.MaxAttempts, o.MaxElapsed = false, 2, 10*time.Second
		o.MaxRetryAfter = 2 * time.Second
		o.Timeout = min(o.Timeout, 20*time.Second)
		o.Logger = nil // no log of retries: the verdict says what still fails
	})
	defer api.Close()
	done := c.options.ShowWaiting("asking the API for a page of each stream")
	defer done()
	found := make([]Finding, len(targets))
	var group sync.WaitGroup
	for i, t := range targets {
		name := "API: " + t.Account.Name + " " + t.Stream.Name
		client, err := api.Get(t)
		if err != nil {
			found[i] = failed(name, err)
			continue
		}
		group.Go(func() { found[i] = checkStream(ctx, name, client, t) })
	}
	group.Wait()
	return found
}

// checkStream asks for the first page of a stream.
func checkStream(ctx context.Context, name string, client *dealapi.Client, t service.Target) Finding {
	if len(t.Setting.Scope) > 0 {
		return checkScope(ctx, name, client, t)
	}
	for page, err := range client.Pages(ctx, syncer.FirstPage(t.Stream)) {
		if err != nil {
			return failedAs(name, reason(err), err)
		}
		detail := fmt.Sprintf("%s on the first page, in %s", wording.Plural(uint64(page.Records()), "record"),
			wording.Span(time.Since(page.SentAt)))
		switch {
		case page.Records() == 0:
			return warn(name, "the API answers but lists no records: is it the right key?")
		case page.ServerTime.IsZero():
			return warn(name, detail+"; without a usable Date header, so the local clock is used")
		}
		return ok(name, detail)
	}
	return failedAs(name, "the API gave no page at all")
}

// reason is why a request failed; the finding names the stream. Of an address that the API does not know it has the
// whole: most often a part of it is wrong. Values that may be secret are masked in it.
func reason(err error) string {
	if api, ok := errors.AsType[*dealapi.Error](err); ok {
		if api.Kind == dealapi.KindNotFound && api.URL != "" {
			return api.Reason() + " [GET " + api.URL + "]"
		}
		return api.Reason()
	}
	return err.Error()
}

// checkedLists is how many lists of a scope are requested: the user waits for the answer.
const checkedLists = 20

// checkScope requests the first page of each list of a stream's scope. A list without records may mean a misspelt
// value.
func checkScope(ctx context.Context, name string, client *dealapi.Client, t service.Target) Finding {
	names, queries := t.FirstPages()
	var empty, refused []string
	var causes []error
	records := 0
	for i, q := range queries[:min(len(queries), checkedLists)] {
		for page, err := range client.Pages(ctx, q) {
			if err != nil {
				refused = append(refused, names[i]+": "+reason(err))
				causes = append(causes, err)
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
		return failedAs(name, said+"; "+strings.Join(refused, "; "), causes...)
	case len(empty) > 0:
		return warn(name, said+"; the API lists nothing for "+strings.Join(empty, ", with ")+
			": is it spelled correctly?")
	}
	return ok(name, fmt.Sprintf("%s: %s on their first pages", said,
		wording.Plural(uint64(records), "record")))
}
