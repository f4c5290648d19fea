// Package test holds the manifests, the compose file and the Dockerfile against the types of those who read them, and
// against the program's own configuration.
package test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
)

// decode reads a manifest into its type. A field that the API does not have is an error.
func decode(t *testing.T, manifest []byte) runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme,
		networkingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	object, _, err := decoder.Decode(manifest, nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
	return object
}

// secrets are the files that the user makes, with the last line break that an editor leaves.
var secrets = map[string]string{
	"warehouse-dsn":   "clickhouse://loader:password@clickhouse.example:9000/dealhouse\n",
	"acme-api-key":    "key-of-acme\n",
	"status-user":     "ops",
	"status-password": "long-and-secret\n",
}

// copied is deploy/ as a user has it, with the files that the user makes.
func copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deploy")
	for _, part := range []string{"kubernetes", "grafana/dashboards"} {
		root := filepath.Join("..", filepath.FromSlash(part))
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "secret": // that of whoever runs the test
				return fs.SkipDir
			case d.IsDir():
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			relative, err := filepath.Rel("..", path)
			if err != nil {
				return err
			}
			return write(filepath.Join(dir, relative), string(text))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, overlay := range overlays {
		for name, value := range secrets {
			if err := write(filepath.Join(dir, "kubernetes", "overlays", overlay, "secret", name), value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

var overlays = []string{"daemon", "cronjobs", "migrate"}

// build is what kubectl kustomize prints of an overlay with components, decoded.
func build(t *testing.T, overlay string, components ...string) []runtime.Object {
	t.Helper()
	objects, _ := buildIn(t, copied(t), overlay, components...)
	return objects
}

// buildIn is build in a copy. Objects whose types are not of Kubernetes come as their text.
func buildIn(t *testing.T, dir, overlay string, components ...string) (objects []runtime.Object, others [][]byte) {
	t.Helper()
	folder := filepath.Join(dir, "kubernetes", "overlays", overlay)
	if len(components) > 0 {
		file := filepath.Join(folder, "kustomization.yaml")
		if err := write(file, read(t, file)+"\ncomponents: ["+strings.Join(components, ", ")+"]\n"); err != nil {
			t.Fatal(err)
		}
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if name := r.GetNamespace(); name != "dealhouse" && r.GetKind() != "Namespace" {
			t.Errorf("%s: %s %s is in the namespace %q", overlay, r.GetKind(), r.GetName(), name)
		}
		if strings.Contains(r.GetApiVersion(), "monitoring.coreos.com") {
			others = append(others, text)
		} else {
			objects = append(objects, decode(t, text))
		}
	}
	return objects, others
}

// find returns the objects of a type.
func find[T any](objects []runtime.Object) (found []*T) {
	for _, o := range objects {
		if match, ok := o.(any).(*T); ok {
			found = append(found, match)
		}
	}
	return found
}

func TestDaemon(t *testing.T) {
	objects := build(t, "daemon")
	deployments := find[appsv1.Deployment](objects)
	if len(deployments) != 1 {
		t.Fatalf("%d deployments", len(deployments))
	}
	d := deployments[0]
	if *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("%d replicas, strategy %s", *d.Spec.Replicas, d.Spec.Strategy.Type)
	}
	cfg := checkPod(t, objects, d.Spec.Template)
	c := d.Spec.Template.Spec.Containers[0]
	if c.Args[0] != "run" {
		t.Errorf("the daemon is started with %v", c.Args)
	}
	port := c.Ports[0]
	if !strings.HasSuffix(cfg.Daemon.Listen, fmt.Sprintf(":%d", port.ContainerPort)) ||
		strings.HasPrefix(cfg.Daemon.Listen, "127.") {
		t.Errorf("the configuration listens on %s, the container on %d", cfg.Daemon.Listen, port.ContainerPort)
	}
	for _, p := range []struct {
		path  string
		probe *corev1.Probe
	}{{"/healthz", c.StartupProbe}, {"/healthz", c.LivenessProbe}, {"/readyz", c.ReadinessProbe}} {
		if p.probe == nil || p.probe.HTTPGet == nil || p.probe.HTTPGet.Path != p.path ||
			p.probe.HTTPGet.Port.StrVal != port.Name {
			t.Fatalf("the probe of %s is %+v", p.path, p.probe)
		}
	}
	// Nobody ends a daemon that changes a large schema, which it does before its port opens.
	if s := c.StartupProbe; time.Duration(s.PeriodSeconds*s.FailureThreshold)*time.Second < 5*cfg.Warehouse.MaxRetryElapsed {
		t.Errorf("the start may take %d times %d s", s.FailureThreshold, s.PeriodSeconds)
	}
	service := find[corev1.Service](objects)[0]
	if service.Spec.Ports[0].Port != port.ContainerPort || service.Spec.Ports[0].TargetPort.StrVal != port.Name ||
		service.Name != "dealhouse" {
		t.Errorf("the service is %+v", service.Spec)
	}
	for key, value := range service.Spec.Selector {
		if d.Spec.Template.Labels[key] != value {
			t.Errorf("the service selects %s=%s, which the pod has not", key, value)
		}
	}
	policy := policyNamed(t, objects, "dealhouse")
	if got := policy.Spec.Ingress[0].Ports[0].Port.IntVal; got != port.ContainerPort {
		t.Errorf("the network policy lets in to %d", got)
	}
}

func TestCronJobs(t *testing.T) {
	objects := build(t, "cronjobs")
	jobs := find[batchv1.CronJob](objects)
	loaded := map[string]bool{}
	for _, j := range jobs {
		spec, job := j.Spec, j.Spec.JobTemplate.Spec
		if spec.ConcurrencyPolicy != batchv1.ForbidConcurrent || spec.StartingDeadlineSeconds == nil ||
			spec.TimeZone == nil ||
			job.BackoffLimit == nil || job.ActiveDeadlineSeconds == nil ||
			job.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
			t.Errorf("%s leaves something open that must be said: %+v", j.Name, spec)
		}
		checkExitCodes(t, j.Name, job)
		checkPod(t, objects, job.Template)
		args := job.Template.Spec.Containers[0].Args
		if len(args) < 2 || args[0] != "sync" {
			t.Fatalf("%s runs %v", j.Name, args)
		}
		for _, arg := range args[1:] {
			if slices.Contains(catalog.Names(), arg) {
				loaded[arg] = true
			} else if !strings.HasPrefix(arg, "--") {
				t.Errorf("%s loads %q, which is no stream", j.Name, arg)
			}
		}
	}
	if len(loaded) != len(catalog.Names()) {
		t.Errorf("the jobs load %v only", loaded)
	}
}

// checkExitCodes holds a job to the exit codes of the program: what a retry may heal is repeated, and nothing else.
func checkExitCodes(t *testing.T, name string, job batchv1.JobSpec) {
	t.Helper()
	action := map[int32]batchv1.PodFailurePolicyAction{}
	for _, rule := range job.PodFailurePolicy.Rules {
		if rule.OnExitCodes == nil {
			continue
		}
		if *rule.OnExitCodes.ContainerName != job.Template.Spec.Containers[0].Name ||
			!slices.IsSorted(rule.OnExitCodes.Values) {
			t.Errorf("%s: a rule of the failure policy does not apply: %+v", name, rule.OnExitCodes)
		}
		for _, code := range rule.OnExitCodes.Values {
			action[code] = rule.Action
		}
	}
	for code, want := range map[int32]batchv1.PodFailurePolicyAction{
		1: "", 2: batchv1.PodFailurePolicyActionFailJob, 3: batchv1.PodFailurePolicyActionFailJob,
		4:   batchv1.PodFailurePolicyActionFailJob,
		130: batchv1.PodFailurePolicyActionIgnore, 143: batchv1.PodFailurePolicyActionIgnore,
	} {
		if action[code] != want {
			t.Errorf("%s: exit code %d is met with %q, want %q", name, code, action[code], want)
		}
	}
}

// checkPod holds a pod to what every pod must have, and loads its configuration as the program in it will.
func checkPod(t *testing.T, objects []runtime.Object, template corev1.PodTemplateSpec) *config.Config {
	t.Helper()
	pod := template.Spec
	c := pod.Containers[0]
	if !regexp.MustCompile(`^dealhouse(:\d|@sha256:[0-9a-f]{64}$)`).MatchString(c.Image) {
		t.Errorf("image %s", c.Image)
	}
	p, s := pod.SecurityContext, c.SecurityContext
	if !*p.RunAsNonRoot || *p.RunAsUser == 0 || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
		*s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
		!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the security contexts are %+v and %+v", p, s)
	}
	if *pod.EnableServiceLinks || *pod.AutomountServiceAccountToken || *pod.TerminationGracePeriodSeconds < 60 {
		t.Errorf("service links %v, token %v, grace %d s", *pod.EnableServiceLinks, *pod.AutomountServiceAccountToken,
			*pod.TerminationGracePeriodSeconds)
	}
	if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("the resources are %+v", c.Resources)
	}
	for _, policy := range find[networkingv1.NetworkPolicy](objects) {
		for key, value := range policy.Spec.PodSelector.MatchLabels {
			if template.Labels[key] != value {
				t.Errorf("the network policy %s selects %s=%s, which the pod has not", policy.Name, key, value)
			}
		}
	}

	env, files := inPod(t, objects, pod)
	return load(t, env, files)
}

// inPod are the variables and files of a pod, from the manifests.
func inPod(t *testing.T, objects []runtime.Object, pod corev1.PodSpec) (env []string, files map[string]string) {
	t.Helper()
	c := pod.Containers[0]
	data := map[string]map[string]string{}
	for _, m := range find[corev1.ConfigMap](objects) {
		data["config "+m.Name] = m.Data
	}
	for _, s := range find[corev1.Secret](objects) {
		data["secret "+s.Name] = map[string]string{}
		for name, value := range s.Data {
			data["secret "+s.Name][name] = string(value)
		}
		maps.Copy(data["secret "+s.Name], s.StringData)
	}
	files = map[string]string{}
	for _, mount := range c.VolumeMounts {
		for _, v := range pod.Volumes {
			var found map[string]string
			switch {
			case v.Name != mount.Name:
				continue
			case v.ConfigMap != nil:
				found = data["config "+v.ConfigMap.Name]
			case v.Secret != nil:
				found = data["secret "+v.Secret.SecretName]
				if *v.Secret.DefaultMode&0o007 != 0 {
					t.Errorf("everyone may read the keys: %o", *v.Secret.DefaultMode)
				}
			}
			if len(found) == 0 {
				t.Errorf("nothing makes what is mounted as %s", v.Name)
			}
			for name, text := range found {
				files[mount.MountPath+"/"+name] = text
			}
		}
	}
	for _, v := range c.Env {
		value := v.Value
		if v.ValueFrom != nil {
			ref := v.ValueFrom.SecretKeyRef
			if value = data["secret "+ref.Name][ref.Key]; value == "" {
				t.Errorf("%s comes from %s %s, which nothing makes", v.Name, ref.Name, ref.Key)
			}
		}
		env = append(env, v.Name+"="+value)
	}
	return env, files
}

// load reads the configuration as the image does: from its working directory, /etc/dealhouse.
func load(t *testing.T, env []string, files map[string]string) *config.Config {
	t.Helper()
	cfg, warnings, err := config.Read(config.Source{
		Env: env, NeedAccounts: true, NeedDaemon: true,
		ReadFile: func(path string) ([]byte, fs.FileMode, error) {
			if !filepath.IsAbs(path) {
				path = filepath.Join("/etc/dealhouse", path)
			}
			text, ok := files[path]
			if !ok {
				return nil, 0, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
			}
			return []byte(text), 0o440, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Errorf("warnings: %v", warnings)
	}
	if _, embedded := cfg.Warehouse.EmbeddedDir(); embedded || cfg.File == "" || len(cfg.Accounts) == 0 {
		t.Errorf("file %q, warehouse %s, %d accounts", cfg.File, cfg.Warehouse.RedactedDSN(), len(cfg.Accounts))
	}
	return cfg
}

func decodeFile[T any](t *testing.T, path string) *T {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	object, ok := decode(t, text).(any).(*T)
	if !ok {
		t.Fatalf("%s holds something else", path)
	}
	return object
}

// An example must not be mistaken for a secret, and has every key that the pods want.
func TestSecretIsAnExample(t *testing.T) {
	example := decodeFile[corev1.Secret](t, "../kubernetes/secret.example.yaml").StringData
	for key, value := range example {
		if !strings.Contains(value, "REPLACE") {
			t.Errorf("%s is not marked to be replaced", key)
		}
	}
	for _, overlay := range []string{"daemon", "cronjobs"} {
		for key := range find[corev1.Secret](build(t, overlay))[0].Data {
			if example[key] == "" {
				t.Errorf("%s: the example lacks %s", overlay, key)
			}
		}
	}
}
