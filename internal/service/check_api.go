package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
	"dealhouse/internal/term"
)

// checkAPI reads the first pages of each enabled stream, all in parallel: the user wants to know soon.
func (c *Checker) checkAPI(ctx context.Context, cfg *config.Config) []Finding {
	targets, err := Selection{}.Targets(cfg)
	if err != nil {
		return []Finding{warn("API", term.Message(err))}
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

// checkedLists is how many lists of a scope are requested: the user waits for the answer.
const checkedLists = 20

// checkStream asks for the first page of each list of a stream, for a second page, and for dates that no row has. A
// list of a scope without records may mean a misspelt value.
func checkStream(ctx context.Context, name string, client *dealapi.Client, t Target) Finding {
	names, queries := t.FirstPages()
	var s survey
	for i, q := range queries[:min(len(queries), checkedLists)] {
		if s.look(ctx, client, names[i], q); ctx.Err() != nil {
			break
		}
	}
	if names := t.Account.Params; t.Stream.NamesPayouts() && names.UpdatedAfter == "" {
		s.ignored = append(s.ignored, "account.params.updated_after is empty, so each run reads the whole list: dealhouse probe looks for the filter")
	}
	if len(s.causes) == 0 {
		for _, probe := range t.Probes(cmp.Or(s.server, time.Now())) {
			s.try(ctx, client, probe)
		}
	}
	detail := fmt.Sprintf("%s on the first page, in %s", term.Plural(uint64(s.records), "record"), term.Span(s.took))
	scoped := len(t.Setting.Scope) > 0
	if scoped {
		detail = fmt.Sprintf("only %s, in %s", t.Setting.Scope.Brief(), term.Plural(uint64(len(queries)), "list"))
		if len(queries) > checkedLists {
			detail += fmt.Sprintf(", the first %d of which were asked for", checkedLists)
		}
	}
	switch {
	case len(s.causes) > 0 && scoped:
		return failedAs(name, detail+"; "+strings.Join(s.refused, "; "), s.causes...)
	case len(s.causes) > 0:
		return failedAs(name, strings.Join(s.refused, "; "), s.causes...)
	case len(s.ignored) > 0:
		return warn(name, detail+"; "+strings.Join(s.ignored, "; "))
	case scoped && len(s.empty) > 0:
		return warn(name, detail+"; the API lists nothing for "+strings.Join(s.empty, ", with ")+": is it spelled correctly?")
	case scoped:
		return ok(name, fmt.Sprintf("%s: %s on their first pages", detail, term.Plural(uint64(s.records), "record")))
	case s.records == 0:
		return warn(name, "the API answers but lists no records: is it the right key?")
	case s.doubt != "":
		return warn(name, detail+"; the API says that the list is not whole: "+s.doubt)
	case s.server.IsZero():
		return warn(name, detail+"; without a usable Date header, so the local clock is used")
	}
	return ok(name, detail)
}

// survey is what the lists of a stream have shown.
type survey struct {
	records int           // on the first pages
	took    time.Duration // of the first page of a list
	server  time.Time     // of its clock
	second  bool          // a second page was asked for
	doubt   string        // why a list is not whole, in words of the API
	empty   []string      // lists
	ignored []string      // date filters, with what to do
	refused []string      // what went wrong, in words
	causes  []error       // of that
}

// look asks for the first page of a list, and for the second one if none was asked for before.
func (s *survey) look(ctx context.Context, client *dealapi.Client, list string, q dealapi.Query) {
	var first *dealapi.Page
	for page, err := range client.Pages(ctx, q) {
		switch {
		case err != nil:
			s.refuse(list, err)
		case first == nil:
			first = page
			s.records += page.Records()
			s.took, s.server, s.doubt = time.Since(page.SentAt), page.ServerTime, cmp.Or(s.doubt, page.Doubt)
			if page.Records() == 0 {
				s.empty = append(s.empty, list)
			}
			if page.Next != "" && !s.second {
				s.second = true
				continue
			}
		case bytes.Equal(first.Data, page.Data):
			s.refuse(list, SettingError{Err: fmt.Errorf("the second page is the first one again: the parameter %s may have another name: set %s", q.PageParam, q.Settings[q.PageParam])})
		}
		return
	}
}

// try makes a probe. A service that refuses it may refuse dates so far away.
func (s *survey) try(ctx context.Context, client *dealapi.Client, p syncer.Probe) {
	for page, err := range client.Pages(ctx, p.Far) {
		if api, is := errors.AsType[*dealapi.Error](err); is && api.Kind == dealapi.KindBadRequest {
			for _, err = range client.Pages(ctx, p.Near) {
				break
			}
		}
		switch {
		case err != nil:
			s.refuse("", err)
		case page != nil && page.Records() > 0:
			s.ignored = append(s.ignored, fmt.Sprintf("a date in the parameter %s changes nothing: if the API has another name for it, which dealhouse probe looks for, set %s; until then runs read more than they need, and a backfill may fail", p.Param, p.Setting))
		}
		return
	}
}

// refuse notes an error. The finding names the account and the stream.
func (s *survey) refuse(list string, err error) {
	text := err.Error()
	if api, is := errors.AsType[*dealapi.Error](err); is {
		text = api.Found()
	}
	if list != "" {
		text = list + ": " + text
	}
	s.refused, s.causes = append(s.refused, text), append(s.causes, err)
}
