package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// What people set, and what their clusters have: each is rendered, admitted, and refers to nothing that is not there.
func TestChartValues(t *testing.T) {
	long := strings.Repeat("a", 53) // what a release may have
	for name, c := range map[string]struct{ release, values string }{
		"defaults":          {"dealhouse", existing},
		"another name":      {"deals", existing},
		"long name":         {long, existing + "mode: cronjobs\nmigrate: {secret: m}\n"},
		"all monitoring":    {"dealhouse", existing + "serviceMonitor: true\nprometheusRule: true\ndashboards: true\n"},
		"secret of its own": {"dealhouse", "secret: {data: {warehouse-dsn: 'https://u:p%40%22@h/d', acme-api-key: \"{{k}}:'\\n\", status-user: ops, status-password: '123'}}\n"},
		"OpenShift":         {"dealhouse", existing + "runAs: null\n"},
		"air-gapped": {"dealhouse", existing +
			"image: {repository: 'registry.internal:5000/a/dealhouse', digest: 'sha256:" + strings.Repeat("0a", 32) +
			"'}\nimagePullSecrets: [{name: registry}]\n"},
		"ARM": {"dealhouse", existing +
			"nodeSelector: {kubernetes.io/arch: arm64}\ntolerations: [{key: arm, operator: Exists}]\n"},
		"proxy": {"dealhouse", existing +
			"proxy: {secret: proxy, port: 8888}\nnetworkPolicy: {apiPorts: [443, 8443], dnsNamespaces: [dns]}\n"},
		"Ingress": {"dealhouse", existing + "ingress: {host: deals.example.com, className: nginx, tlsSecret: deals-tls, annotations: {a/b: c}}\n" +
			"serviceAccount: {annotations: {eks.amazonaws.com/role-arn: r}}\n"},
		"no policy": {"dealhouse", existing + "networkPolicy: {enabled: false}\n"},
		"large numbers": {"dealhouse", existing +
			"mode: cronjobs\njobs: [{name: a, schedule: '@daily', args: [sync], startingDeadlineSeconds: 2000000, activeDeadlineSeconds: 20000000}]\n"},
		"more in pods": {"dealhouse", existing +
			"env: [{name: TZ, value: UTC}]\npodAnnotations: {a/b: 'true'}\naffinity: {nodeAffinity: {}}\n"},
		"indented text": {"dealhouse", existing + "config: \"\\n  # mine\\n  [daemon]\\n    listen = ':9464'\\n\""},
		"Windows text":  {"dealhouse", existing + "config: \"[[account]]\\r\\nname = 'acme'\\r\\n\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, others := render(t, c.release, c.values)
			checkAdmitted(t, objects)
			for what, pod := range pods(objects) {
				for _, p := range find[networkingv1.NetworkPolicy](objects) {
					if !matches(p.Spec.PodSelector.MatchLabels, pod.Labels) {
						t.Errorf("the network policy %s does not select %s", p.Name, what)
					}
				}
			}
			checkChart(t, name, objects, others)
		})
	}
}

func checkChart(t *testing.T, name string, objects []runtime.Object, others [][]byte) {
	t.Helper()
	deployments := find[appsv1.Deployment](objects)
	switch name {
	case "long name":
		one := find[batchv1.CronJob](objects)[0].Name
		again, _ := render(t, strings.Repeat("a", 52)+"b", existing+"mode: cronjobs\n")
		if other := find[batchv1.CronJob](again)[0].Name; one == other {
			t.Errorf("two releases have the same %s", one)
		}
	case "all monitoring":
		secret := &corev1.Secret{Data: map[string][]byte{"status-user": nil, "status-password": nil}}
		secret.Name = "dealhouse"
		checkMonitor(t, ofKind(t, others, "ServiceMonitor"), find[corev1.Service](objects)[0], secret)
		component := ofKind(t, [][]byte{[]byte(read(t, "../kubernetes/components/prometheusrule/prometheusrule.yaml"))},
			"PrometheusRule")
		if text(t, ofKind(t, others, "PrometheusRule").Spec.Groups) != text(t, component.Spec.Groups) {
			t.Error("the chart has other rules than the component")
		}
		dashboards := 0
		for _, m := range find[corev1.ConfigMap](objects) {
			for file, dashboard := range m.Data {
				if m.Labels["grafana_dashboard"] == "1" {
					dashboards++
					if strings.TrimSpace(dashboard) != strings.TrimSpace(read(t, "../grafana/dashboards/"+file)) {
						t.Errorf("%s is not the dashboard", file)
					}
				}
			}
		}
		if dashboards != 2 {
			t.Errorf("%d dashboards", dashboards)
		}
	case "secret of its own":
		cfg := checkPod(t, objects, deployments[0].Spec.Template)
		if cfg.Daemon.Password.Reveal() != "123" || cfg.Accounts[0].Key.Reveal() != "{{k}}:'" {
			t.Errorf("the password is %q, the key %q", cfg.Daemon.Password.Reveal(), cfg.Accounts[0].Key.Reveal())
		}
	case "OpenShift":
		if s := deployments[0].Spec.Template.Spec.SecurityContext; s.RunAsUser != nil || s.FSGroup != nil {
			t.Errorf("it asks for IDs of its own: %+v", s)
		}
	case "air-gapped":
		if got := deployments[0].Spec.Template.Spec.Containers[0].Image; got != "registry.internal:5000/a/dealhouse@sha256:"+
			strings.Repeat("0a", 32) {
			t.Errorf("image %s", got)
		}
	case "proxy":
		if !lets(objects, "10.0.0.1", "", 8888, corev1.ProtocolTCP) ||
			!lets(objects, "10.0.0.1", "", 8443, corev1.ProtocolTCP) ||
			lets(objects, "", "kube-system", 53, corev1.ProtocolUDP) {
			t.Error("the network policy is another one")
		}
	case "Ingress":
		made := find[networkingv1.Ingress](objects)
		if len(made) != 1 || made[0].Annotations["a/b"] != "c" || *made[0].Spec.IngressClassName != "nginx" ||
			made[0].Spec.TLS[0].Hosts[0] != made[0].Spec.Rules[0].Host ||
			made[0].Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name != find[corev1.Service](objects)[0].Name {
			t.Errorf("the Ingress is %+v", made)
		}
		if got := find[corev1.ServiceAccount](objects)[0].Annotations["eks.amazonaws.com/role-arn"]; got != "r" {
			t.Errorf("the annotation of the account is %q", got)
		}
		if from := find[networkingv1.NetworkPolicy](objects)[0].Spec.Ingress[0].From; len(from) != 2 {
			t.Errorf("the policy lets in %+v", from)
		}
	case "defaults":
		if !lets(objects, "203.0.113.7", "", 587, corev1.ProtocolTCP) || !lets(objects, "203.0.113.7", "", 465, corev1.ProtocolTCP) ||
			!lets(objects, "", "monitoring", 4317, corev1.ProtocolTCP) || lets(objects, "203.0.113.7", "", 25, corev1.ProtocolTCP) ||
			lets(objects, "169.254.169.254", "", 587, corev1.ProtocolTCP) {
			t.Error("the network policy keeps mail or traces from being sent, or lets more out")
		}
	case "indented text":
		if got := find[corev1.ConfigMap](objects)[0].Data["dealhouse.toml"]; got != "\n  # mine\n  [daemon]\n    listen = ':9464'\n" {
			t.Errorf("the configuration is %q", got)
		}
	case "large numbers":
		if got := *find[batchv1.CronJob](objects)[0].Spec.JobTemplate.Spec.ActiveDeadlineSeconds; got != 20000000 {
			t.Errorf("a deadline of %d s", got)
		}
	}
}

// The values that the README gives work, beside a Secret with the keys that it names.
func TestValuesOfTheReadme(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "../README.md"), "\n### Helm\n")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	values, rest, ok := strings.Cut(rest, "\n```")
	if !ok {
		t.Fatal("the README gives no values")
	}
	objects, _ := render(t, "dealhouse", values)
	checkAdmitted(t, objects)
	secret := &corev1.Secret{StringData: map[string]string{}}
	secret.Name = "dealhouse"
	for key, value := range secrets {
		if strings.Contains(rest, "--from-file="+key) {
			secret.StringData[key] = value
		}
	}
	pod := find[appsv1.Deployment](objects)[0].Spec.Template
	env, files := inPod(t, append(objects, secret), pod.Spec)
	if cfg := load(t, env, files); cfg.Daemon.User != "ops" || cfg.Accounts[0].Key.Reveal() != "key-of-acme" {
		t.Errorf("the user is %q, the accounts %v", cfg.Daemon.User, cfg.Accounts)
	}
}

// Two releases in one namespace have nothing in common.
func TestTwoReleases(t *testing.T) {
	one, _ := render(t, "dealhouse", existing)
	other, _ := render(t, "dealhouse-two", existing)
	names := map[string]bool{}
	for _, objects := range [][]runtime.Object{one, other} {
		for what := range pods(objects) {
			if names[what] {
				t.Errorf("both have the %s", what)
			}
			names[what] = true
		}
	}
	for _, d := range find[appsv1.Deployment](other) {
		if matches(find[corev1.Service](one)[0].Spec.Selector, d.Spec.Template.Labels) ||
			matches(find[appsv1.Deployment](one)[0].Spec.Selector.MatchLabels, d.Spec.Template.Labels) {
			t.Errorf("one release selects the pods of the other: %v", d.Spec.Template.Labels)
		}
	}
}

// What is misspelt, or cannot work, is refused before anything is installed.
func TestChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"":                           "secret.existing",
		existing + "mode: job\n":     "mode",
		existing + "modus: daemon\n": "modus",
		existing + "image: {digest: sha256:abc}\n":                         "digest",
		existing + "image: {digest: '" + strings.Repeat("0a", 32) + "'}\n": "digest",
		existing + "mode: cronjobs\nserviceMonitor: true\n":                "serviceMonitor",
		existing + "pushgateway: true\n":                                   "pushgateway",
		existing + "networkPolicy: {dnsAddresses: [10.0.0.1]}\n":           "dnsAddresses",
		existing + "networkPolicy: {apiPorts: [0]}\n":                      "apiPorts",
		existing + "networkPolicy: {apiPorts: []}\n":                       "apiPorts",
		existing + "ingress: {host: 'https://deals.example.com'}\n":        "host",
		"secret: {data: {acme-api-key: k, status-user: u}}\n":              "secret.data lacks warehouse-dsn",
		"secret: {data: {warehouse-dsn: x}}\n":                             "secret.data lacks status-user",
		existing + "proxy: {port: 70000}\n":                                "port",
		existing + "terminationGracePeriodSeconds: 10\n":                   "terminationGracePeriodSeconds",
		existing + "runAs: {runAsUser: 0}\n":                               "runAs",
		existing + "alerts: {runbookUrl: RUNBOOK.md}\n":                    "runbookUrl",
		existing + "alerts: {maxAgeSeconds: {coupon: 3600}}\n":             "coupon",
		existing + "alerts: {maxAgeSeconds: {coupons: 3h}}\n":              "coupons",
		existing + "alerts: {maxAgeSeconds: {coupons: null}}\n":            "coupons",
		"secret: {existing: Not_A_Name}\n":                                 "existing",
		existing + "mode: cronjobs\njobs: [{name: " + strings.Repeat("a", 21) +
			", schedule: x, args: [sync], startingDeadlineSeconds: 60, activeDeadlineSeconds: 60}]\n": "name",
	} {
		if _, _, err := tryRender(t, "dealhouse", values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is refused with: %v", values, err)
		}
	}
}

// The chart says which version of the program it is for, the overlays run the same, and each value is described.
func TestChartVersion(t *testing.T) {
	c := loadChart(t)
	if err := c.Validate(); err != nil || c.Metadata.Version != c.Metadata.AppVersion {
		t.Errorf("version %s of the chart is for %s: %v", c.Metadata.Version, c.Metadata.AppVersion, err)
	}
	for _, overlay := range overlays {
		if file := read(t, "../kubernetes/overlays/"+overlay+"/kustomization.yaml"); !strings.Contains(file,
			`newTag: "`+c.Metadata.AppVersion+`"`) {
			t.Errorf("%s runs another version than the chart, %s", overlay, c.Metadata.AppVersion)
		}
	}
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := yaml.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for key := range c.Values {
		if schema.Properties[key] == nil {
			t.Errorf("values.schema.json does not have %s", key)
		}
	}
	// Of what the chart shares with the repository it has no copy, and all of it.
	for link, folder := range map[string]string{"rules": "../prometheus/rules/*.yml",
		"dashboards": "../grafana/dashboards/*.json"} {
		shared, err := filepath.Glob(folder)
		if err != nil || len(shared) == 0 {
			t.Fatal(err)
		}
		for _, file := range shared {
			path := filepath.Join("../helm/dealhouse/files", link, filepath.Base(file))
			if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 || read(t, path) != read(t, file) {
				t.Errorf("%s is no link to %s: %v", path, file, err)
			}
		}
	}
}
