package test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"dealhouse/internal/config"
)

// pods are the templates of all pods, by the kind and name of what makes them.
func pods(objects []runtime.Object) map[string]corev1.PodTemplateSpec {
	all := map[string]corev1.PodTemplateSpec{}
	for _, d := range find[appsv1.Deployment](objects) {
		all["Deployment "+d.Name] = d.Spec.Template
	}
	for _, j := range find[batchv1.Job](objects) {
		all["Job "+j.Name] = j.Spec.Template
	}
	for _, c := range find[batchv1.CronJob](objects) {
		all["CronJob "+c.Name] = c.Spec.JobTemplate.Spec.Template
	}
	return all
}

// checkAdmitted holds pods against the level restricted of the pod security standards, as the cluster does that
// enforces it, and names and labels against what a cluster takes.
func checkAdmitted(t *testing.T, objects []runtime.Object) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, pod := range pods(objects) {
		level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
		if got := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec)); !got.Allowed {
			t.Errorf("%s is not restricted: %s", name, got.ForbiddenDetail())
		}
		checkNames(t, name, pod.ObjectMeta, validation.DNS1123SubdomainMaxLength)
	}
	seen := map[string]bool{}
	for _, o := range objects {
		m := o.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
		kind := o.GetObjectKind().GroupVersionKind().Kind
		if id := kind + " " + m.Name; seen[id] {
			t.Errorf("%s is there twice", id)
		} else {
			seen[id] = true
		}
		longest := validation.DNS1123LabelMaxLength
		if kind == "CronJob" {
			longest = 52 // the names of its jobs have a time behind it
		}
		checkNames(t, kind, *m, longest)
	}
}

func checkNames(t *testing.T, kind string, m metav1.ObjectMeta, longest int) {
	t.Helper()
	if m.Name != "" && (len(m.Name) > longest || len(validation.IsDNS1123Subdomain(m.Name)) > 0) {
		t.Errorf("%s: the name %s has %d characters, of at most %d, or others than a name may have", kind, m.Name,
			len(m.Name), longest)
	}
	for key, value := range m.Labels {
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
			t.Errorf("%s %s: the label %s=%s: %v", kind, m.Name, key, value, problems)
		}
	}
}

// Each overlay, with every component that fits it, is what a restricted namespace admits.
func TestOverlaysAreAdmitted(t *testing.T) {
	for overlay, components := range map[string][]string{
		"daemon": {"../../components/proxy", "../../components/openshift", "../../components/servicemonitor",
			"../../components/prometheusrule", "../../../grafana/dashboards"},
		"cronjobs": {"../../components/proxy", "../../components/openshift", "../../components/pushgateway",
			"../../components/prometheusrule", "../../../grafana/dashboards"},
		"migrate": {"../../components/proxy", "../../components/openshift"},
	} {
		checkAdmitted(t, build(t, overlay))
		dir := copied(t)
		objects, _ := buildIn(t, dir, overlay, components...)
		checkAdmitted(t, objects)
		for name, pod := range pods(objects) {
			if s := pod.Spec.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil || !*s.RunAsNonRoot {
				t.Errorf("%s asks for IDs of its own: %+v", name, s)
			}
		}
	}
}

// The time that the pods get to end is longer than what the program takes to (deploy/README.md, "The daemon").
func TestTimeToEnd(t *testing.T) {
	for _, overlay := range overlays {
		objects := build(t, overlay)
		for name, pod := range pods(objects) {
			grace := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
			longest := 20 * time.Second
			if overlay == "daemon" {
				longest += checkPod(t, objects, pod).Daemon.Grace
			}
			if grace < longest+10*time.Second {
				t.Errorf("%s gets %s to end, and may take %s", name, grace, longest)
			}
		}
	}
	d := find[appsv1.Deployment](build(t, "daemon"))[0]
	start := d.Spec.Template.Spec.Containers[0].StartupProbe
	if *d.Spec.ProgressDeadlineSeconds <= start.PeriodSeconds*start.FailureThreshold {
		t.Errorf("a rollout is given up after %d s, and a start may take %d times %d s", *d.Spec.ProgressDeadlineSeconds,
			start.FailureThreshold, start.PeriodSeconds)
	}
}

// The status page asks for a password, which is not in the configuration.
func TestLogin(t *testing.T) {
	objects := build(t, "daemon")
	cfg := checkPod(t, objects, find[appsv1.Deployment](objects)[0].Spec.Template)
	if cfg.Daemon.User != "ops" || cfg.Daemon.Password.Reveal() != "long-and-secret" {
		t.Errorf("user %q, password %d characters", cfg.Daemon.User, len(cfg.Daemon.Password.Reveal()))
	}
	for _, m := range find[corev1.ConfigMap](objects) {
		for _, value := range secrets {
			if strings.Contains(fmt.Sprint(m.Data), strings.TrimSpace(value)) {
				t.Errorf("a secret is in the ConfigMap %s", m.Name)
			}
		}
	}
}

// A change of the configuration or of a key gives the pods another template, so that they are made anew; nothing else
// does.
func TestChangesRollThePods(t *testing.T) {
	template := func(change string, add string) string {
		dir := copied(t)
		if change != "" {
			file := dir + "/kubernetes/overlays/daemon/" + change
			if err := write(file, read(t, file)+add); err != nil {
				t.Fatal(err)
			}
		}
		objects, _ := buildIn(t, dir, "daemon")
		return text(t, find[appsv1.Deployment](objects)[0].Spec.Template)
	}
	before := template("", "")
	for change, rolls := range map[string]bool{"dealhouse.toml": true, "secret/acme-api-key": true,
		"secret/warehouse-dsn": true, "service.yaml": false} {
		if got := template(change, "\n") != before; got != rolls {
			t.Errorf("a change of %s rolls the pods: %v", change, got)
		}
	}
}

// text is an object as YAML.
func text(t *testing.T, object any) string {
	t.Helper()
	all, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// The job that migrates has a user of its own, and no key of an account.
func TestMigrateJob(t *testing.T) {
	objects := build(t, "migrate")
	job := find[batchv1.Job](objects)[0]
	pod := job.Spec.Template.Spec
	if c := pod.Containers[0]; c.Args[0] != "migrate" || pod.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("it runs %v", c.Args)
	}
	if len(pod.Volumes) != 1 || !strings.HasPrefix(pod.Volumes[0].Secret.SecretName, "dealhouse-migrate-") {
		t.Errorf("it has another volume than its own Secret: %v", pod.Volumes)
	}
	// Applied beside the daemon, it replaces nothing of that.
	taken := map[string]bool{}
	for what := range specsOf(t, build(t, "daemon"), nil) {
		taken[what] = what != "Namespace dealhouse"
	}
	for what := range specsOf(t, objects, nil) {
		if taken[what] {
			t.Errorf("both have a %s", what)
		}
	}
	if !lets(objects, "10.1.2.3", "", 9440, corev1.ProtocolTCP) {
		t.Error("it may not reach the warehouse")
	}
	env, _ := inPod(t, objects, pod)
	cfg, warnings, err := config.Read(config.Source{Env: env})
	if err != nil || len(warnings) > 0 || !strings.Contains(cfg.Warehouse.DSN.Reveal(),
		"clickhouse.example:9000/dealhouse") {
		t.Errorf("%v, %v, %s", err, warnings, cfg.Warehouse.RedactedDSN())
	}
	if job.Spec.PodFailurePolicy == nil || job.Spec.ActiveDeadlineSeconds != nil { // rows may be moved for hours
		t.Errorf("%+v", job.Spec)
	}
	checkExitCodes(t, job.Name, job.Spec)
}

func policyNamed(t *testing.T, objects []runtime.Object, name string) *networkingv1.NetworkPolicy {
	t.Helper()
	for _, p := range find[networkingv1.NetworkPolicy](objects) {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("there is no network policy %s", name)
	return nil
}

// lets reports whether the policies let a pod out to an address, or with an empty one to a pod of a namespace.
func lets(objects []runtime.Object, address, namespace string, port int32, protocol corev1.Protocol) bool {
	for _, p := range find[networkingv1.NetworkPolicy](objects) {
		for _, rule := range p.Spec.Egress {
			if !slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool {
				return p.Port.IntVal == port &&
					*p.Protocol == protocol
			}) {
				continue
			}
			if len(rule.To) == 0 || slices.ContainsFunc(rule.To,
				func(to networkingv1.NetworkPolicyPeer) bool { return reaches(to, address, namespace) }) {
				return true
			}
		}
	}
	return false
}

func reaches(to networkingv1.NetworkPolicyPeer, address, namespace string) bool {
	if to.IPBlock == nil {
		selector, err := metav1.LabelSelectorAsSelector(to.NamespaceSelector)
		return err == nil && namespace != "" && selector.Matches(labelsOf{"kubernetes.io/metadata.name": namespace})
	}
	in := func(cidr string) bool {
		return address != "" && netip.MustParsePrefix(cidr).Contains(netip.MustParseAddr(address))
	}
	return in(to.IPBlock.CIDR) && !slices.ContainsFunc(to.IPBlock.Except, in)
}

type labelsOf map[string]string

func (l labelsOf) Has(key string) bool              { _, ok := l[key]; return ok }
func (l labelsOf) Get(key string) string            { return l[key] }
func (l labelsOf) Lookup(key string) (string, bool) { v, ok := l[key]; return v, ok }

// What the pods may reach, over IPv4 and IPv6: names, the API, ClickHouse, and nothing of the cloud's metadata.
func TestNetwork(t *testing.T) {
	objects, proxied := build(t, "daemon"), build(t, "daemon", "../../components/proxy")
	for _, c := range []struct {
		address, namespace string
		port               int32
		protocol           corev1.Protocol
		want               bool
	}{
		{"", "kube-system", 53, corev1.ProtocolUDP, true},
		{"", "kube-system", 53, corev1.ProtocolTCP, true},
		{"", "openshift-dns", 5353, corev1.ProtocolUDP, true},
		{"", "default", 53, corev1.ProtocolUDP, false},
		{"169.254.20.10", "", 53, corev1.ProtocolUDP, true}, // a cache on the node
		{"169.254.20.10", "", 53, corev1.ProtocolTCP, true},
		{"fd00:90::10", "", 53, corev1.ProtocolUDP, true},
		{"10.96.0.10", "", 53, corev1.ProtocolUDP, true}, // the cluster's DNS, which a cache on the node answers for
		{"172.20.0.10", "", 53, corev1.ProtocolTCP, true},
		{"34.118.224.10", "", 53, corev1.ProtocolUDP, true},
		{"10.96.0.10", "", 80, corev1.ProtocolTCP, false},
		{"169.254.169.254", "", 80, corev1.ProtocolTCP, false}, // metadata
		{"169.254.169.254", "", 443, corev1.ProtocolTCP, false},
		{"fd00:ec2::254", "", 443, corev1.ProtocolTCP, false},
		{"fd00:ec2::254", "", 80, corev1.ProtocolTCP, false},
		{"203.0.113.7", "", 443, corev1.ProtocolTCP, true}, // the API
		{"2001:db8::7", "", 443, corev1.ProtocolTCP, true},
		{"203.0.113.7", "", 80, corev1.ProtocolTCP, false},
		{"203.0.113.7", "", 53, corev1.ProtocolUDP, false},
		{"10.1.2.3", "", 9000, corev1.ProtocolTCP, true}, // ClickHouse
		{"2001:db8::8", "", 8443, corev1.ProtocolTCP, true},
		{"", "clickhouse", 9440, corev1.ProtocolTCP, true},
	} {
		if got := lets(objects, c.address, c.namespace, c.port, c.protocol); got != c.want {
			t.Errorf("%s%s port %d %s: %v", c.address, c.namespace, c.port, c.protocol, got)
		}
	}
	if lets(objects, "10.9.9.9", "", 3128, corev1.ProtocolTCP) ||
		!lets(proxied, "10.9.9.9", "", 3128, corev1.ProtocolTCP) {
		t.Error("the proxy's port is open without the component, or closed with it")
	}
	for _, overlay := range []string{"daemon", "cronjobs"} {
		if lets(build(t, overlay), "10.9.9.9", "", 8444, corev1.ProtocolTCP) ||
			!lets(uncommented(t, overlay, "patches"), "10.9.9.9", "", 8444, corev1.ProtocolTCP) {
			t.Errorf("%s: the port of the API is open without the patch in its comment, or closed with it", overlay)
		}
	}
	env := text(t, find[appsv1.Deployment](proxied)[0].Spec.Template.Spec.Containers[0].Env)
	if !strings.Contains(env, "HTTPS_PROXY") || strings.Contains(env, "http://") {
		t.Errorf("the proxy does not come from a Secret: %s", env)
	}
}

// uncommented builds an overlay with a part of its file that is a comment.
func uncommented(t *testing.T, overlay, part string) []runtime.Object {
	t.Helper()
	dir := copied(t)
	file := dir + "/kubernetes/overlays/" + overlay + "/kustomization.yaml"
	before, rest, ok := strings.Cut(read(t, file), "# "+part+":\n")
	comment, after, ended := strings.Cut(rest, "\n\n")
	if !ok || !ended {
		t.Fatalf("%s has no such comment", file)
	}
	if err := write(file, before+part+":\n"+strings.TrimPrefix(strings.ReplaceAll("\n"+comment, "\n# ", "\n"), "\n")+
		"\n\n"+after); err != nil {
		t.Fatal(err)
	}
	objects, _ := buildIn(t, dir, overlay)
	return objects
}

// What each overlay offers as components can be taken as it is written.
func TestComponentsOfTheComments(t *testing.T) {
	for _, overlay := range overlays {
		for name, pod := range pods(uncommented(t, overlay, "components")) {
			if pod.Spec.SecurityContext.RunAsUser != nil ||
				!strings.Contains(text(t, pod.Spec.Containers[0].Env), "HTTPS_PROXY") {
				t.Errorf("%s does not change %s", overlay, name)
			}
		}
	}
}

// Two instances in one namespace do not select each other's pods.
func TestTwoInstances(t *testing.T) {
	dir := copied(t)
	file := dir + "/kubernetes/overlays/daemon/kustomization.yaml"
	if err := write(file, strings.Replace(read(t, file), "app.kubernetes.io/instance: dealhouse",
		"app.kubernetes.io/instance: other", 1)+"\nnameSuffix: -other\n"); err != nil {
		t.Fatal(err)
	}
	other, _ := buildIn(t, dir, "daemon")
	checkAdmitted(t, other)
	one := build(t, "daemon")
	service, pod := find[corev1.Service](one)[0], find[appsv1.Deployment](other)[0].Spec.Template
	if matches(service.Spec.Selector, pod.Labels) ||
		matches(find[appsv1.Deployment](one)[0].Spec.Selector.MatchLabels, pod.Labels) {
		t.Errorf("one instance selects the pods of the other: %v", pod.Labels)
	}
	if find[corev1.Service](other)[0].Name == service.Name {
		t.Error("both have the same name")
	}
	checkPod(t, other, pod)
}

func matches(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}
