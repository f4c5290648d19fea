package deploy_test

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// queries are the PromQL of the operations dashboard by panel, with the variables as Grafana fills them in.
func queries(t *testing.T) map[string][]string {
	t.Helper()
	fill := strings.NewReplacer("$account", ".*", "$stream", ".*", "$__rate_interval", "1m0s")
	all := map[string][]string{}
	for _, p := range readDashboard(t, "operations.json").Panels {
		for _, target := range p.Targets {
			query := fill.Replace(target.Expr)
			if query == "" || strings.Contains(query, "$") {
				t.Errorf("%s: a variable is left in %q", p.Title, query)
			}
			all[p.Title] = append(all[p.Title], query)
		}
	}
	return all
}

var metricName = regexp.MustCompile(`\bdealhouse_[a-z0-9_]+`)

// exported are the metrics of the daemon: the table in METRICS.md, which is held against the registry by a test of the
// daemon.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(dealhouse_[a-z0-9_]+)` \\| (\\w+) ").FindAllStringSubmatch(readFile(t,
		"METRICS.md"), -1) {
		names[m[1]] = true
		if m[2] == "histogram" {
			names[m[1]+"_bucket"], names[m[1]+"_sum"], names[m[1]+"_count"] = true, true, true
		}
	}
	if len(names) < 20 {
		t.Fatalf("the table of metrics has %d only", len(names))
	}
	return names
}

// Nothing is drawn or alerted on that nobody measures, and nothing is measured that nobody sees.
func TestMetricsExist(t *testing.T) {
	names, used := exported(t), map[string]bool{}
	look := func(where, text string) {
		for _, name := range metricName.FindAllString(text, -1) {
			used[strings.TrimSuffix(name, "_bucket")] = true
			if !names[name] {
				t.Errorf("%s asks for %s, which is not exported", where, name)
			}
		}
	}
	for title, all := range queries(t) {
		look(title, strings.Join(all, "\n"))
	}
	for _, v := range readDashboard(t, "operations.json").Templating.List {
		if v.Type == "query" {
			look("the variable "+v.Name, string(v.Query))
		}
	}
	rules := readFile(t, "prometheus/rules/recording.yml") + readFile(t, "prometheus/rules/alerts.yml")
	look("a rule", rules)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if strings.HasSuffix(name, "_bucket") || strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count") {
			continue
		}
		// The lag says the same as the watermark, and the reload's time says when the reload's success was.
		if !used[name] && name != "dealhouse_watermark_timestamp_seconds" &&
			name != "dealhouse_config_last_reload_timestamp_seconds" {
			t.Errorf("%s is on no dashboard and in no rule", name)
		}
	}
	// Recorded series are named only where they are recorded.
	recorded := regexp.MustCompile(`record: (\S+)`).FindAllStringSubmatch(rules, -1)
	for _, name := range regexp.MustCompile(`\bdealhouse:[a-z0-9_:]+`).FindAllString(rules+readFile(t,
		"grafana/dashboards/operations.json"), -1) {
		if !slices.ContainsFunc(recorded, func(m []string) bool { return m[1] == name }) {
			t.Errorf("%s is not recorded", name)
		}
	}
}

// runbookPrefix is how each runbook_url begins: the address is set once, in recording.yml.
const runbookPrefix = `runbook_url: '{{ query "dealhouse:runbook:info" | first | label "url" }}#`

// Every alert leads to the section of the runbook that says what to do, and is tried by a unit test: once where it
// fires, and once where it does not.
func TestAlerts(t *testing.T) {
	alerts := readFile(t, "prometheus/rules/alerts.yml")
	runbook, tests := readFile(t, "RUNBOOK.md"), readFile(t, "prometheus/tests/alerts_test.yml")
	rules := strings.Split(alerts, "- alert: ")[1:]
	if len(rules) < 10 {
		t.Fatalf("%d alerts were found", len(rules))
	}
	for _, rule := range rules {
		name, rule, _ := strings.Cut(rule, "\n")
		if !strings.Contains(rule, runbookPrefix+strings.ToLower(name)+"'\n") {
			t.Errorf("%s has no link to its section of the runbook", name)
		}
		if !regexp.MustCompile(`(?m)^## ` + name + "\n\n\\S").MatchString(runbook) {
			t.Errorf("the runbook has no section %s", name)
		}
		fires := strings.Contains(tests, "alertname: "+name+"\n        exp_alerts:\n          - exp_labels")
		silent := strings.Contains(tests, "alertname: "+name+"\n        exp_alerts: []\n")
		if !fires || !silent {
			t.Errorf("%s: tested to fire %v, tested not to fire %v", name, fires, silent)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (Dealhouse\w+)$`).FindAllStringSubmatch(runbook, -1) {
		if !strings.Contains(alerts, "- alert: "+m[1]+"\n") {
			t.Errorf("the runbook is about %s, which is no alert", m[1])
		}
	}
}

// The address of the runbook is absolute, and in compose it is where Prometheus serves the file of this folder.
func TestRunbookAddress(t *testing.T) {
	m := regexp.MustCompile(`record: dealhouse:runbook:info\n +expr: vector\(1\)\n +labels: \{url: "([^"]+)"\}`).FindAllStringSubmatch(readFile(t, "prometheus/rules/recording.yml"), -1)
	if len(m) != 1 {
		t.Fatalf("the address of the runbook is set %d times", len(m))
	}
	address, err := url.Parse(m[0][1])
	if err != nil || !address.IsAbs() || address.Host == "" {
		t.Fatalf("%s is not absolute: %v", m[0][1], err)
	}
	compose := readFile(t, "compose.yaml")
	name, served := strings.CutPrefix(address.Path, "/user/")
	folder := regexp.MustCompile(`--web\.user-assets=(\S+)`).FindStringSubmatch(compose)
	if !served || folder == nil || !strings.Contains(compose, "- ./"+name+":"+folder[1]+"/"+name+":ro") ||
		!strings.Contains(compose, `"`+address.Host+`:`) {
		t.Errorf("compose does not serve %s", address)
	}
}
