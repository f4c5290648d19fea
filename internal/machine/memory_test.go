package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// The memory that a process may have is the least that the machine, its control group and those around it allow, as
// both versions of control groups tell it, inside of containers and outside.
func TestMemory(t *testing.T) {
	t.Parallel()
	const gib = int64(1) << 30
	const machine, unlimited = "MemTotal:        8388608 kB\nMemFree: 1 kB\n", "9223372036854771712\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known": {nil, 0},
		"machine":       {map[string]string{"proc/meminfo": machine}, 8 * gib},
		"no number":     {map[string]string{"proc/meminfo": "MemTotal: much kB\n"}, 0},
		"container, version 2": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, gib / 2},
		"unit of systemd": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/system.slice/dealhouse.service\n",
			"sys/fs/cgroup/system.slice/memory.max":                   "4294967296\n",
			"sys/fs/cgroup/system.slice/dealhouse.service/memory.max": "1073741824\n",
		}, gib},
		"slice with less than its unit": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/memory.max": "1073741824\n", "sys/fs/cgroup/a.slice/b.service/memory.max": "max\n",
		}, gib},
		"more than the machine has": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "68719476736\n",
		}, 8 * gib},
		"group outside of what is mounted": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "0::/../../other\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, gib},
		"version 1": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/user/1\n1:name=systemd:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":        unlimited,
			"sys/fs/cgroup/memory/user/memory.limit_in_bytes":   "2147483648\n",
			"sys/fs/cgroup/memory/user/1/memory.limit_in_bytes": unlimited,
		}, 2 * gib},
		"container, version 1": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "4:memory:/docker/0a1b\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
		}, gib / 2},
		"unknown machine": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"},
			gib / 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for path, text := range test.files {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := memory(root); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
