package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const lineageRun = "01890a5d-ac96-774b-bcce-b302099a8057"

// TestLineage reads who receives events about runs, from the file and from the variables that other programs have too.
func TestLineage(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		env  []string
		want Lineage
	}{
		"nobody":     {"", nil, Lineage{}},
		"only a key": {"", []string{"OPENLINEAGE_API_KEY=k", "OPENLINEAGE_NAMESPACE=n"}, Lineage{}},
		"the file": {"[lineage]\nto = \"http://marquez:5000/\"\n", nil,
			Lineage{URL: "http://marquez:5000/api/v1/lineage", Namespace: "dealhouse"}},
		"a path": {"[lineage]\nto = \"https://h/datahub/openapi\"\n", []string{"OPENLINEAGE_ENDPOINT=other"},
			Lineage{URL: "https://h/datahub/openapi", Namespace: "dealhouse"}},
		"a local file": {"[lineage]\nto = \"file:/var/log/l.jsonl\"\nnamespace = \"shop\"\n", nil,
			Lineage{File: "/var/log/l.jsonl", Namespace: "shop"}},
		"variables": {"", []string{"OPENLINEAGE_URL=https://h:8443", "OPENLINEAGE_ENDPOINT=/api/v2/events/",
			"OPENLINEAGE_API_KEY=k", "OPENLINEAGE_NAMESPACE=n", "OPENLINEAGE_PARENT_ID=air/flow/dag.task/" + lineageRun},
			Lineage{URL: "https://h:8443/api/v2/events", Key: NewSecret("k"), Namespace: "n", ParentNamespace: "air/flow",
				ParentJob: "dag.task", ParentRun: lineageRun}},
		"the file counts": {"[lineage]\nto = \"https://a\"\napi_key = \"env:KEY\"\n",
			[]string{"KEY=mine", "OPENLINEAGE_URL=https://b", "OPENLINEAGE_API_KEY=k"},
			Lineage{URL: "https://a/api/v1/lineage", Key: NewSecret("mine"), Namespace: "dealhouse"}},
		"our variable": {"", []string{"DEALHOUSE_LINEAGE_TO=https://a", "OPENLINEAGE_URL=https://b"},
			Lineage{URL: "https://a/api/v1/lineage", Namespace: "dealhouse"}},
		"switched off": {"[lineage]\nto = \"https://a\"\n", []string{"OPENLINEAGE_DISABLED=True"}, Lineage{}},
		"no run of a parent": {"[lineage]\nto = \"https://a\"\n", []string{"OPENLINEAGE_PARENT_ID=air/flow/no-uuid"},
			Lineage{URL: "https://a/api/v1/lineage", Namespace: "dealhouse"}},
		"a key is not needed": {"[lineage]\nto = \"file:l\"\napi_key = \"env:NOT_THERE\"\n", nil,
			Lineage{File: "l", Namespace: "dealhouse"}},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(c.text+acme, append(c.env, acmeKey)...)
			src.NeedAccounts = true
			if d := cmp.Diff(c.want, mustLoad(t, src).Lineage); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLineageProblems(t *testing.T) {
	const secret = "hunter2"
	for text, want := range map[string]string{
		"[lineage]\nto = \"https://u:" + secret + "@h\"\n":                       "2:6: to: must be a URL",
		"[lineage]\nto = \"https://h/?token=" + secret + "\"\n":                  "2:6: to: must be a URL",
		"[lineage]\nto = \"marquez:5000\"\n":                                     "2:6: to: must be a URL",
		"[lineage]\nto = \"file:\"\n":                                            "2:6: to: file: needs the path of a file",
		"[lineage]\nto = \"https://h\"\napi_key = \"env:NOT_THERE\"\n":           "3:11: api_key: environment variable NOT_THERE is not set",
		"[lineage]\nto = \"https://h\"\napi_key = \"Bearer " + secret + "\"\n":   "3:11: api_key: begins with \"Bearer \"",
		"[lineage]\nurl = \"https://h\"\n":                                       "2:1: unknown key \"url\"",
		"[lineage]\nto = \"ftp://h\"\n":                                          "2:6: to: must be a URL",
		"[lineage]\nto = 5\n":                                                    "2:6: to must be a string",
		"[lineage]\nto = \"https://h\"\nnamespace = \"a\\u0007b\"\n" /* bell */ : "3:13: namespace: must be",
	} {
		src := source(text+acme, acmeKey)
		src.NeedAccounts = true
		got := problems(t, src)
		if !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
		if strings.Contains(strings.Join(got, " "), secret) {
			t.Error("a secret is shown")
		}
	}
	src := source(acme, acmeKey, "OPENLINEAGE_URL=https://u:"+secret+"@h")
	src.NeedAccounts = true
	if got := problems(t, src); len(got) != 1 ||
		!strings.HasPrefix(got[0], "environment variable OPENLINEAGE_URL: must be a URL") {
		t.Errorf("%q", got)
	}
}
