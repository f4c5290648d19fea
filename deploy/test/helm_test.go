package test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// render is what helm template prints, decoded. Values are YAML over those of the chart. Objects whose types are not of
// Kubernetes come as their text.
func render(t *testing.T, release, values string) (objects []runtime.Object, others [][]byte) {
	t.Helper()
	objects, others, err := tryRender(t, release, values)
	if err != nil {
		t.Fatal(err)
	}
	return objects, others
}

// theChart is read once: Helm says of each link, at each reading, that it follows it.
var theChart = sync.OnceValues(func() (*chart.Chart, error) { return loader.Load("../helm/dealhouse") })

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := theChart()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryRender(t *testing.T, release, values string) (objects []runtime.Object, others [][]byte, err error) {
	t.Helper()
	c := loadChart(t)
	over, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, over,
		chartutil.ReleaseOptions{Name: release, Namespace: "dealhouse", IsInstall: true}, nil)
	if err != nil {
		return nil, nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, manifest := range strings.Split("\n"+files[name], "\n---\n") {
			switch {
			case strings.HasSuffix(name, ".tpl") || !strings.Contains(manifest, "kind:"):
			case strings.Contains(manifest, "apiVersion: monitoring.coreos.com"):
				others = append(others, []byte(manifest))
			default:
				objects = append(objects, decode(t, []byte(manifest)))
			}
		}
	}
	return objects, others, nil
}

const existing = "secret: {existing: dealhouse}\n"

// same compares two objects as YAML.
func same(t *testing.T, what, chart, overlay string) {
	t.Helper()
	g, w := strings.Split(chart, "\n"), strings.Split(overlay, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("%s: line %d is %q in the chart and %q in the overlay; around it:\n%s", what, i+1, g[i], w[i],
				strings.Join(g[max(0, i-3):min(len(g), i+3)], "\n"))
			return
		}
	}
	if len(g) != len(w) {
		t.Errorf("%s has %d lines in the chart and %d in the overlay", what, len(g), len(w))
	}
}

// withHash is a name as kustomize makes it of another.
var withHash = regexp.MustCompile(`^(.*)-[2456789bcdfghkmt]{10}$`)

// hashed are the names with a hash in an overlay, and the same without.
func hashed(objects []runtime.Object) map[string]string {
	names := map[string]string{}
	for _, o := range objects {
		name := o.(metav1.ObjectMetaAccessor).GetObjectMeta().GetName()
		if m := withHash.FindStringSubmatch(name); m != nil {
			names[name] = m[1]
		}
	}
	return names
}

// sameAsOverlay are the settings of the chart and the components of an overlay that mean the same.
var sameAsOverlay = map[string]struct {
	overlay, values string
	components      []string
}{
	"daemon":   {"daemon", "mode: daemon\n", nil},
	"cronjobs": {"cronjobs", "mode: cronjobs\n", nil},
	"daemon with all": {
		"daemon", "proxy: {secret: dealhouse-proxy}\nrunAs: null\nserviceMonitor: true\nprometheusRule: true\ndashboards: true\n",
		[]string{"../../components/proxy", "../../components/openshift", "../../components/servicemonitor",
			"../../components/prometheusrule", "../../../grafana/dashboards"},
	},
	"cronjobs with all": {
		"cronjobs", "mode: cronjobs\nproxy: {secret: dealhouse-proxy}\nrunAs: null\npushgateway: true\nprometheusRule: true\ndashboards: true\n",
		[]string{"../../components/pushgateway", "../../components/proxy", "../../components/openshift",
			"../../components/prometheusrule", "../../../grafana/dashboards"},
	},
}

// The chart and the overlays make the same objects, which say the same to the field: pods, services, network and jobs.
// What only Helm has are labels and annotations of its own. The namespace and a Secret that is there it leaves to
// others.
func TestChartEqualsOverlays(t *testing.T) {
	for name, c := range sameAsOverlay {
		t.Run(name, func(t *testing.T) {
			want, wantOthers := buildIn(t, copied(t), c.overlay, c.components...)
			got, gotOthers := render(t, "dealhouse", existing+c.values)
			names := hashed(want)
			plain(t, got)
			specs := specsOf(t, got, gotOthers)
			for what, spec := range specsOf(t, want, wantOthers) {
				for hash, name := range names {
					what, spec = strings.ReplaceAll(what, hash, name), strings.ReplaceAll(spec, hash, name)
				}
				if strings.HasPrefix(what, "Namespace ") || strings.HasPrefix(what, "Secret ") {
					continue
				}
				if strings.HasPrefix(what, "CronJob ") {
					what = strings.Replace(what, "CronJob ", "CronJob dealhouse-", 1)
				}
				if what == "ConfigMap dealhouse" {
					checkConfig(t, specs[what], spec, c.overlay)
				} else {
					same(t, what, specs[what], spec)
				}
				delete(specs, what)
			}
			if len(specs) > 0 {
				t.Errorf("only the chart has %v", slices.Sorted(maps.Keys(specs)))
			}
		})
	}
}

// The configuration of the chart is that of the daemon, but for comments.
func checkConfig(t *testing.T, chart, overlay, mode string) {
	t.Helper()
	if mode != "daemon" {
		return
	}
	bare := regexp.MustCompile(`(?m)^ *#.*\n`).ReplaceAllString(overlay, "")
	same(t, "dealhouse.toml", chart, bare)
}

// The job that migrates is the same, but for when it runs, and whose account it takes: that of the chart is made later.
func TestMigrateHook(t *testing.T) {
	want := build(t, "migrate")
	got, _ := render(t, "dealhouse", existing+"migrate: {secret: dealhouse-migrate}\n")
	one, other := find[batchv1.Job](got)[0], find[batchv1.Job](want)[0]
	if one.Annotations["helm.sh/hook"] != "pre-install,pre-upgrade" {
		t.Errorf("the job that migrates is no hook: %v", one.Annotations)
	}
	plain(t, got)
	other.Spec.Template.Spec.ServiceAccountName = ""
	spec := strings.ReplaceAll(text(t, other.Spec), "instance: dealhouse-migrate", "instance: dealhouse")
	for hash, name := range hashed(want) {
		spec = strings.ReplaceAll(spec, hash, name)
	}
	same(t, "Job", text(t, one.Spec), spec)
}

// specsOf are objects without what names them, as YAML, by kind and name.
func specsOf(t *testing.T, objects []runtime.Object, others [][]byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	add := func(manifest []byte) {
		var o map[string]any
		if err := yaml.Unmarshal(manifest, &o); err != nil {
			t.Fatal(err)
		}
		name := o["metadata"].(map[string]any)["name"]
		delete(o, "metadata")
		all[fmt.Sprintf("%s %s", o["kind"], name)] = text(t, o)
	}
	for _, o := range objects {
		add([]byte(text(t, o)))
	}
	for _, o := range others {
		add(o)
	}
	return all
}

// plain takes away what only Helm adds to pods, which it must.
func plain(t *testing.T, objects []runtime.Object) {
	t.Helper()
	take := func(pod *corev1.PodTemplateSpec) {
		configured := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil })
		if configured && (pod.Annotations["checksum/config"] == "" || pod.Annotations["checksum/secret"] == "") {
			t.Errorf("a change of the configuration does not roll the pods: %v", pod.Annotations)
		}
		pod.Annotations = nil
		pod.Spec.Containers[0].ImagePullPolicy = ""
	}
	for _, d := range find[appsv1.Deployment](objects) {
		take(&d.Spec.Template)
	}
	for _, c := range find[batchv1.CronJob](objects) {
		take(&c.Spec.JobTemplate.Spec.Template)
	}
	for _, j := range find[batchv1.Job](objects) {
		take(&j.Spec.Template)
	}
}
