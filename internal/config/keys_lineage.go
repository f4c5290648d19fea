package config

import (
	"errors"
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// Lineage says where runs are reported as OpenLineage events.
type Lineage struct {
	// URL is the address that events are posted to, with its path. It has no user, password or query. Empty: none.
	URL string

	// Key is sent as a bearer credential. It is resolved when Source.NeedAccounts was set; unresolved: none is sent.
	Key Secret

	// File is the file that events are appended to. Empty: none. It is never set together with URL.
	File string

	// Namespace is that of the jobs. Default dealhouse.
	Namespace string

	// Parent is the run of another program that has started this one: namespace, job and the id of the
	// run. Empty: none.
	ParentNamespace, ParentJob, ParentRun string
}

// On says whether events are sent.
func (l Lineage) On() bool { return l.URL != "" || l.File != "" }

// Variables that all programs which send OpenLineage events have. They count if the configuration says nothing.
const (
	envLineageURL       = "OPENLINEAGE_URL"
	envLineagePath      = "OPENLINEAGE_ENDPOINT"
	envLineageKey       = "OPENLINEAGE_API_KEY"
	envLineageNamespace = "OPENLINEAGE_NAMESPACE"
	envLineageParent    = "OPENLINEAGE_PARENT_ID"
	envLineageOff       = "OPENLINEAGE_DISABLED"

	lineagePath      = "api/v1/lineage"
	lineageNamespace = "dealhouse"
)

func lineageKeys() []key {
	return []key{
		{
			name: "to", in: inLineage, standard: `""`, example: `"https://marquez:5000"`,
			value: of("a string: a URL, or file:<path>", []nodeKind{aString},
				func(v *values) *lineageTarget { return &v.lineageTo }, parseLineageTarget),
			doc: `Where events go when a run begins and ends: the URL of a receiver (/api/v1/lineage is added unless it
has a path), or "file:<path>" for a file that gets one line of JSON for each event. "": the variables OPENLINEAGE_URL and
OPENLINEAGE_ENDPOINT; without them, nowhere.`,
		},
		{
			name: "api_key", in: inLineage, example: `"env:LINEAGE_KEY"`,
			value: secret("api_key"),
			doc:   `The key of the receiver, written like the api_key of an account. Without it, OPENLINEAGE_API_KEY.`,
		},
		{
			name: "namespace", in: inLineage, standard: `""`, example: `"shop-warehouse"`,
			value: checked("a name", func(v *values) *string { return &v.lineage.Namespace }, checkPath),
			doc:   `The namespace of the jobs. "": the variable OPENLINEAGE_NAMESPACE; without it, dealhouse.`,
		},
	}
}

// lineageTarget is the destination of events: a URL, a file, or neither.
type lineageTarget struct{ url, file string }

// errLineageTarget does not show what was given: it may hold a password (config-3).
var errLineageTarget = errors.New(`must be a URL such as "https://marquez:5000", without user, password and query (the key belongs into api_key), or "file:<path>"`)

func parseLineageTarget(text string) (lineageTarget, error) {
	if text == "" {
		return lineageTarget{}, nil
	}
	if path, is := strings.CutPrefix(text, fromFile+":"); is && !strings.HasPrefix(path, "//") {
		if path == "" || checkPath(path) != nil {
			return lineageTarget{}, errors.New("file: needs the path of a file, such as file:/var/lib/dealhouse/lineage.jsonl")
		}
		return lineageTarget{file: path}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return lineageTarget{}, errLineageTarget
	}
	return lineageTarget{url: strings.TrimRight(text, "/")}, nil
}

// lineage returns what the table says. What the table leaves out is taken from the variables that all such
// programs have.
func (l *reader) lineage(v *values) Lineage {
	out := Lineage{Namespace: v.lineage.Namespace}
	target, at := v.lineageTo, v.at["to"]
	if text := l.env[envLineageURL]; target == (lineageTarget{}) && text != "" {
		var err error
		at = position{env: envLineageURL}
		if target, err = parseLineageTarget(text); err != nil {
			l.problem(at, "%s", err)
		}
	}
	if target == (lineageTarget{}) || strings.EqualFold(l.env[envLineageOff], "true") {
		return out
	}
	out.File, out.URL = target.file, target.url
	if u, err := url.Parse(out.URL); err == nil && out.URL != "" && u.Path == "" {
		path := l.env[envLineagePath]
		if path == "" || at.env == "" {
			path = lineagePath
		}
		out.URL += "/" + strings.Trim(path, "/")
	}
	if out.Namespace == "" {
		out.Namespace = l.env[envLineageNamespace]
	}
	if out.Namespace == "" {
		out.Namespace = lineageNamespace
	}
	// A program that starts this one names itself as namespace/job/run. What is not of that form is ignored.
	parts := strings.Split(l.env[envLineageParent], "/")
	if n := len(parts); n >= 3 && uuid.Validate(parts[n-1]) == nil {
		out.ParentNamespace, out.ParentJob, out.ParentRun = strings.Join(parts[:n-2], "/"), parts[n-2], parts[n-1]
	}
	if l.src.NeedAccounts && out.URL != "" {
		out.Key = l.lineageKey(v)
	}
	return out
}

func (l *reader) lineageKey(v *values) Secret {
	if _, given := v.secrets["api_key"]; !given {
		return NewSecret(l.env[envLineageKey])
	}
	l.warnLiteral(v, "api_key", "the key of [lineage]", "")
	return l.secret(v, "api_key", "", true)
}
