package machine

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// The limit of the heap follows the memory of the container, and a limit that somebody set stays.
func TestLimitHeap(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	const none = int64(math.MaxInt64)
	for name, test := range map[string]struct {
		set, machine, version2, version1 string
		want                             int64
	}{
		"256 MiB":         {version2: "268435456\n", want: 241591905},
		"2 GiB":           {version2: "2147483648\n", want: 1932735276},
		"tiny":            {version2: "1048576\n", want: 943713},
		"version 1":       {version1: "536870912\n", want: 483183819},
		"set":             {set: "100MiB", version2: "2147483648\n", want: none},
		"switched off":    {set: "off", version2: "2147483648\n", want: none},
		"no limit":        {machine: "MemTotal: 8388608 kB\n", version2: "max\n", want: 7730941131},
		"nothing known":   {want: none},
		"unreadable":      {version2: "much\n", want: none},
		"empty":           {version2: "", want: none},
		"zero":            {version2: "0\n", want: none},
		"more than there": {machine: "MemTotal: 1048576 kB\n", version2: "68719476736\n", want: 966367638},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetMemoryLimit(none)
			t.Setenv(heapVariable, test.set)
			root := t.TempDir()
			for path, text := range map[string]string{
				"proc/self/cgroup": "4:memory:/pod\n0::/\n", "proc/meminfo": test.machine,
				"sys/fs/cgroup/memory.max": test.version2, "sys/fs/cgroup/memory/pod/memory.limit_in_bytes": test.version1,
			} {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			limitHeap(root)
			if got := debug.SetMemoryLimit(-1); got != test.want {
				t.Errorf("the limit is %d, want %d", got, test.want)
			}
			if inherited := os.Getenv(heapVariable); (inherited == test.set) != (test.want == none) {
				t.Errorf("processes of this one get %q", inherited)
			}
		})
	}
}
