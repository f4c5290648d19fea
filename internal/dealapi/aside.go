package dealapi

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-faster/jx"
)

// aside is what an envelope says beside its records and the next token.
type aside struct {
	doubt   string // the first member that says that the list is not whole, as it was sent; "" if none does
	notice  string // the same of a warning that is about the API and not about this answer
	more    string // the same of a member that says that there is another page; it counts on a last page alone
	total   int64  // records that the whole list has, by the smallest of the numbers that say so; -1: none does
	unknown []string
	records string // what the list has, by its path, in letters alone: it may have a total of these too
}

// meaning is what the name of a member says about its value. Names are compared without case and without anything but
// letters, so that has_more and hasMore are one name.
type meaning uint8

const (
	meansNothing  meaning = iota
	meansFault            // a value that is not empty is a fault: errors
	meansPartial          // true, or a value that is not empty, says that records are missing: incomplete_results
	meansWhole            // false says that records are missing: complete
	meansState            // a word or an HTTP status: status
	meansMore             // true, or a value that is not empty, says that there is another page: has_more, next
	meansLast             // false says the same: last
	meansTotal            // the number of records of the list: total_count
	meansEnvelope         // an object that has members of the envelope: meta
)

// words are the names that say a thing in full. Other names are known by what they contain (meaningOf).
var words = map[meaning][]string{
	meansWhole:    {"complete", "iscomplete", "allcomplete", "resultscomplete", "whole", "success", "successful", "ok"},
	meansState:    {"status", "statuscode", "code", "httpstatus", "httpcode", "state", "resultcode"},
	meansLast:     {"last", "islast", "lastpage", "islastpage", "endoflist"},
	meansMore:     {"more", "moreresults", "moreavailable", "next", "cursor", "continuation", "continuationtoken", "odatanextlink"},
	meansTotal:    {"count", "numfound", "numresults", "recordstotal", "itemstotal"},
	meansEnvelope: {"meta", "metadata", "pagination", "paging", "page", "pageinfo", "pager", "links", "link", "info", "result", "summary", "response", "header", "resultset", "extensions"},
}

// counted is what a list may be said to have a total of: totalItems, itemCount.
var counted = [...]string{"", "s", "count", "items", "itemcount", "results", "records", "recordcount", "elements", "rows", "rowcount", "hits", "entries",
	"number", "found", "objects", "documents", "available"}

// meaningOf returns what a member means. inside says that it is a member of an object that is no part of the envelope:
// there, a number or a next token is of something else.
func (a *aside) meaningOf(name string, inside bool) meaning {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
	}
	begins := func(p string) bool { return strings.HasPrefix(name, p) }
	switch {
	case has("error", "warning", "exception", "failure", "fault") && !has("default"), begins("failed"), name == "problems":
		return meansFault
	case has("incomplete", "partial", "truncat", "timedout", "timeout", "degraded", "missing", "skipped", "omitted", "dropped", "unavailable"):
		return meansPartial
	case slices.Contains(words[meansWhole], name), begins("exhaustive"):
		return meansWhole
	case slices.Contains(words[meansState], name):
		return meansState
	case inside:
		return meansNothing
	case begins("hasmore"), begins("hasnext"), slices.Contains(words[meansMore], name),
		begins("next") && has("page", "cursor", "token", "link", "url", "offset"):
		return meansMore
	case slices.Contains(words[meansLast], name):
		return meansLast
	case slices.Contains(words[meansTotal], name), begins("total") && (name == "total"+a.records || slices.Contains(counted[:], name[len("total"):])),
		strings.HasSuffix(name, "count") && slices.Contains(counted[:], strings.TrimSuffix(name, "count")+"s"):
		return meansTotal
	case slices.Contains(words[meansEnvelope], name):
		return meansEnvelope
	}
	return meansNothing
}

const (
	maxDepth   = 4   // how deep members are looked for
	maxUnknown = 100 // members of one answer that are reported
)

// add takes in a member of the envelope that is neither data nor the next token.
func (a *aside) add(name string, kind jx.Type, raw []byte) {
	if !a.take(name, kind, raw, false, 1) && len(a.unknown) < maxUnknown {
		a.unknown = append(a.unknown, name)
	}
}

// nextLink matches a link to the next page, as in RFC 8288.
var nextLink = regexp.MustCompile(`(?i)\brel\s*=\s*"?([^";,]*\s)?next\b`)

// addHeader takes in what the headers of an answer say. A bare array has no other place to say it. last says that there
// is no token of a next page.
func (a *aside) addHeader(h http.Header, last bool) {
	if links := strings.Join(h.Values("Link"), ", "); last && nextLink.MatchString(links) {
		first(&a.doubt, "Link: "+links)
	}
	if isStale(h) {
		first(&a.doubt, strings.TrimSpace("an old answer from a cache, Age: "+h.Get("Age")+" "+h.Get("Warning")))
	}
	for _, name := range []string{"X-Total-Count", "X-Total"} {
		a.addTotal(h.Get(name))
	}
}

func (a *aside) addTotal(digits string) {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= 0 && (a.total < 0 || n < a.total) {
		a.total = n
	}
}

// take reports whether it understands a member.
func (a *aside) take(name string, kind jx.Type, raw []byte, inside bool, depth int) bool {
	means := a.meaningOf(letters(name), inside)
	quoted := `"` + name + `": ` + string(raw[:min(len(raw), excerptWindow)])
	empty := isEmpty(kind, raw, maxDepth)
	switch {
	case means == meansFault && !empty && strings.Contains(letters(name), "warning") && isAboutAPI(kind, raw):
		first(&a.notice, quoted)
	case means == meansFault && !empty, means == meansPartial && !empty && (kind != jx.Number || !strings.Contains(letters(name), "time")),
		means == meansWhole && isFalse(kind, raw), means == meansState && isBad(kind, raw), means == meansEnvelope && kind == jx.String && isBadWord(raw):
		first(&a.doubt, quoted)
	case means == meansMore && !empty && kind != jx.Object, means == meansLast && isFalse(kind, raw):
		first(&a.more, quoted)
	case means == meansTotal && kind != jx.Object:
		a.addTotal(strings.Trim(string(raw), `"`))
	case kind == jx.Object && depth < maxDepth:
		own := means == meansEnvelope || means == meansMore || means == meansTotal
		_ = jx.DecodeBytes(raw).ObjBytes(func(d *jx.Decoder, key []byte) error { // it was checked
			name, kind := string(key), d.Next()
			raw, err := d.Raw()
			switch { // {"total": {"value": 85}}, {"next": {"href": "https://..."}}
			case means == meansTotal && name == "value":
				name = "total"
			case means == meansMore && (name == "href" || name == "url"):
				name = "next"
			}
			if err == nil {
				a.take(name, kind, raw, inside || !own, depth+1)
			}
			return err
		})
	}
	return means != meansNothing
}

func first(to *string, text string) {
	if *to == "" {
		*to = text
	}
}

// letters returns a name in lower case, without anything but letters.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return -1
	}, name)
}

// isEmpty reports whether a value says that there is nothing. It looks into lists and objects, but not deep: each
// level is read once more.
func isEmpty(kind jx.Type, raw []byte, depth int) bool {
	switch kind {
	case jx.Null:
		return true
	case jx.Bool:
		return raw[0] == 'f'
	case jx.Array, jx.Object:
		empty := depth > 0
		look := func(d *jx.Decoder) error {
			kind := d.Next()
			raw, err := d.Raw()
			empty = empty && err == nil && isEmpty(kind, raw, depth-1)
			return err
		}
		if !empty {
			return false
		}
		if kind == jx.Array {
			_ = jx.DecodeBytes(raw).Arr(look) // it was checked
		} else {
			_ = jx.DecodeBytes(raw).ObjBytes(func(d *jx.Decoder, _ []byte) error { return look(d) })
		}
		return empty
	}
	word := strings.ToLower(strings.Trim(string(raw), "\" \t"))
	return slices.Contains([]string{"", "0", "0.0", "false", "no", "none", "null", "ok", "success"}, word)
}

func isFalse(kind jx.Type, raw []byte) bool {
	return kind == jx.Bool && raw[0] == 'f' || kind == jx.String && strings.EqualFold(string(raw), `"false"`)
}

// isBad reports whether a state is that of an answer that failed or has only a part.
func isBad(kind jx.Type, raw []byte) bool {
	if status, err := strconv.Atoi(strings.Trim(string(raw), `"`)); err == nil {
		return status == 206 || status >= 400 && status < 600
	}
	return kind == jx.String && isBadWord(raw)
}

func isBadWord(raw []byte) bool {
	word := strings.ToLower(string(raw))
	return slices.ContainsFunc([]string{"error", "fail", "partial", "incomplete", "truncat", "degraded", "timeout", "timed"},
		func(w string) bool { return strings.Contains(word, w) })
}

// isAboutAPI reports whether all that a warning says is that something of the API will go away. Such a notice may come
// with each answer for years, so it does not make a list one of which rows were missed.
func isAboutAPI(kind jx.Type, raw []byte) bool {
	if kind != jx.Array {
		text := strings.ToLower(string(raw))
		return strings.Contains(text, "deprecat") || strings.Contains(text, "sunset")
	}
	all := true
	_ = jx.DecodeBytes(raw).Arr(func(d *jx.Decoder) error { // it was checked
		kind := d.Next()
		raw, err := d.Raw()
		all = all && err == nil && kind != jx.Array && isAboutAPI(kind, raw)
		return err
	})
	return all
}
