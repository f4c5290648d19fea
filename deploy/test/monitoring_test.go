package test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"dealhouse/internal/catalog"
)

var update = flag.Bool("update", false, "write the PrometheusRule anew, of the rules of Prometheus")

// custom is what the tests read of objects whose types are not of Kubernetes.
type custom struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Groups   []any `json:"groups"`
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		Endpoints []struct {
			Port        string                              `json:"port"`
			Path        string                              `json:"path"`
			Interval    string                              `json:"interval"`
			BasicAuth   map[string]corev1.SecretKeySelector `json:"basicAuth"`
			Relabelings []map[string]string                 `json:"relabelings"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// ofKind decodes the one object of a kind. A field that is not listed above is an error.
func ofKind(t *testing.T, others [][]byte, kind string) custom {
	t.Helper()
	for _, manifest := range others {
		if strings.Contains(string(manifest), "kind: "+kind+"\n") {
			var c custom
			if err := yaml.UnmarshalStrict(manifest, &c); err != nil {
				t.Fatalf("%v\n%s", err, manifest)
			}
			return c
		}
	}
	t.Fatalf("there is no %s", kind)
	return custom{}
}

// Prometheus finds the service, and knows its password by the name that the Secret has after its content.
func TestServiceMonitor(t *testing.T) {
	objects, others := buildIn(t, copied(t), "daemon", "../../components/servicemonitor")
	checkMonitor(t, ofKind(t, others, "ServiceMonitor"), find[corev1.Service](objects)[0], find[corev1.Secret](objects)[0])
}

func checkMonitor(t *testing.T, monitor custom, service *corev1.Service, secret *corev1.Secret) {
	t.Helper()
	if !matches(monitor.Spec.Selector.MatchLabels, service.Labels) || len(monitor.Spec.Selector.MatchLabels) != 3 {
		t.Errorf("it selects %v, the service has %v", monitor.Spec.Selector.MatchLabels, service.Labels)
	}
	endpoint := monitor.Spec.Endpoints[0]
	if endpoint.Port != service.Spec.Ports[0].Name || endpoint.Path != "/metrics" {
		t.Errorf("it asks %+v", endpoint)
	}
	for part, key := range map[string]string{"username": "status-user", "password": "status-password"} {
		ref := endpoint.BasicAuth[part]
		_, have := secret.Data[ref.Key]
		if _, plain := secret.StringData[ref.Key]; ref.Name != secret.Name || ref.Key != key || !have && !plain {
			t.Errorf("the %s comes from %s %s, and the Secret is %s", part, ref.Name, ref.Key, secret.Name)
		}
	}
}

// Jobs that push may reach the Pushgateway.
func TestPushgateway(t *testing.T) {
	objects := build(t, "cronjobs", "../../components/pushgateway")
	for _, j := range find[batchv1.CronJob](objects) {
		if args := strings.Join(j.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args, " "); !strings.Contains(args,
			"--push-gateway=http://pushgateway.monitoring:9091") {
			t.Errorf("%s runs %s", j.Name, args)
		}
	}
	if !lets(objects, "", "monitoring", 9091, corev1.ProtocolTCP) {
		t.Error("the network policy does not let them")
	}
}

// The PrometheusRule has the groups of the rules of Prometheus, each once and in their order.
func TestPrometheusRule(t *testing.T) {
	const file = "../kubernetes/components/prometheusrule/prometheusrule.yaml"
	rules, err := filepath.Glob("../prometheus/rules/*.yml")
	if err != nil || len(rules) == 0 {
		t.Fatal(err)
	}
	var groups []any
	for _, path := range rules {
		var parsed custom
		if err := yaml.Unmarshal([]byte(`{"spec":`+toJSON(t, read(t, path))+`}`), &parsed); err != nil {
			t.Fatal(err)
		}
		groups = append(groups, parsed.Spec.Groups...)
	}
	want := text(t, map[string]any{
		"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
		"metadata": map[string]any{"name": "dealhouse", "labels": map[string]string{"app.kubernetes.io/name": "dealhouse"}},
		"spec":     map[string]any{"groups": groups},
	})
	want = "# Made of deploy/prometheus/rules by go generate ./...\n" + want
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, file) != want {
		t.Errorf("%s is not what deploy/prometheus/rules has: go generate ./... writes it anew", file)
	}
	_, others := buildIn(t, copied(t), "daemon", "../../components/prometheusrule")
	if got := ofKind(t, others, "PrometheusRule"); text(t, got.Spec.Groups) != text(t, groups) || len(groups) < 3 {
		t.Errorf("the component makes %d groups of %d, or other ones", len(got.Spec.Groups), len(groups))
	}
}

// settings are what the rules of an installation say that others do not: the address of the runbook, and by stream how
// old its last success may be.
func settings(t *testing.T, rule custom) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, group := range rule.Spec.Groups {
		for _, r := range group.(map[string]any)["rules"].([]any) {
			rule := r.(map[string]any)
			labels, _ := rule["labels"].(map[string]any)
			switch rule["record"] {
			case "dealhouse:runbook:info":
				all["runbook"] = labels["url"].(string)
			case "dealhouse:success_age_limit:seconds":
				all[labels["stream"].(string)] = rule["expr"].(string)
			}
		}
	}
	return all
}

// With Helm and with kustomize people set where their runbook is and how old data may be, for each stream.
func TestAlertSettings(t *testing.T) {
	const address = "https://wiki.example/dealhouse?page=RUNBOOK"
	want := map[string]string{"runbook": address}
	values := "prometheusRule: true\nalerts:\n  runbookUrl: " + address + "\n  maxAgeSeconds:\n"
	dir := copied(t)
	file := filepath.Join(dir, "kubernetes", "components", "prometheusrule", "kustomization.yaml")
	component := strings.Replace(read(t, file), "http://127.0.0.1:9090/user/RUNBOOK.md", address, 1)
	for i, stream := range catalog.Names() {
		limit := fmt.Sprint(1234567 + i)
		want[stream] = "vector(" + limit + ")"
		values += "    " + stream + ": " + limit + "\n"
		component = regexp.MustCompile(`vector\(\d+\)(\} # `+stream+`\n)`).ReplaceAllString(component, want[stream]+"$1")
	}
	_, charted := render(t, "dealhouse", existing+values)
	if err := write(file, component); err != nil {
		t.Fatal(err)
	}
	_, built := buildIn(t, dir, "daemon", "../../components/prometheusrule")
	for by, others := range map[string][][]byte{"Helm": charted, "kustomize": built} {
		if got := settings(t, ofKind(t, others, "PrometheusRule")); !maps.Equal(got, want) {
			t.Errorf("set by %s are %v, want %v", by, got, want)
		}
	}
	// Of one stream alone, the others stay as they were.
	_, others := render(t, "dealhouse", existing+"prometheusRule: true\nalerts: {maxAgeSeconds: {payouts: 200000}}\n")
	got := settings(t, ofKind(t, others, "PrometheusRule"))
	if got["payouts"] != "vector(200000)" || got["products"] != "vector(108000)" || len(got) != len(want) {
		t.Errorf("with another limit for payouts: %v", got)
	}
}

func toJSON(t *testing.T, manifest string) string {
	t.Helper()
	all, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// kubectl apply keeps a copy of what it applied in an annotation, which may have 256 KiB.
const mostApplied = 256 << 10

// Each dashboard is a ConfigMap that Grafana's sidecar finds, under a name that stays.
func TestDashboards(t *testing.T) {
	found := 0
	for _, m := range find[corev1.ConfigMap](build(t, "daemon", "../../../grafana/dashboards")) {
		if m.Labels["grafana_dashboard"] != "1" {
			continue
		}
		for name, dashboard := range m.Data {
			found++
			if dashboard != read(t, "../grafana/dashboards/"+name) ||
				m.Name != "dealhouse-dashboard-"+strings.TrimSuffix(name, ".json") {
				t.Errorf("%s has another %s", m.Name, name)
			}
		}
		if size := len(text(t, m)); size > mostApplied {
			t.Errorf("%s has %d bytes, too many to apply", m.Name, size)
		}
	}
	dashboards, err := filepath.Glob("../grafana/dashboards/*.json")
	if err != nil || found != len(dashboards) || found == 0 {
		t.Errorf("%d of %d dashboards, %v", found, len(dashboards), err)
	}
}

// What a pod is and how it runs does not depend on the components for monitoring.
func TestMonitoringLeavesThePods(t *testing.T) {
	plain := find[appsv1.Deployment](build(t, "daemon"))[0]
	with := find[appsv1.Deployment](build(t, "daemon", "../../components/servicemonitor",
		"../../components/prometheusrule", "../../../grafana/dashboards"))[0]
	if text(t, plain.Spec) != text(t, with.Spec) {
		t.Error("the Deployment is another one")
	}
}
