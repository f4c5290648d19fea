package machine

import (
	"bufio"
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Memory returns how much memory this process may use, in bytes: the memory of the machine, or less if its control
// group or one above it allows less. 0 means that it is not known (machine-1).
func Memory() int64 { return memory("/") }

// memory is Memory for a system whose files begin at root.
func memory(root string) int64 {
	allowed := machineMemory(root)
	less := func(limit int64) {
		if limit > 0 && (allowed == 0 || limit < allowed) {
			allowed = limit
		}
	}
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return allowed // not Linux, or no control groups
	}
	for line := range strings.Lines(string(groups)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case controllers == "": // version 2
			forGroups(group, func(group string) { less(limitIn(filepath.Join(root, "sys/fs/cgroup", group, "memory.max"))) })
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			forGroups(group, func(group string) {
				less(limitIn(filepath.Join(root, "sys/fs/cgroup/memory", group, "memory.limit_in_bytes")))
			})
		}
	}
	return allowed
}

// forGroups calls f for a control group and all groups above it. In a container, the files of the process's own group
// may be those at the root, whatever the group is called outside.
func forGroups(group string, f func(group string)) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		f(group)
		if group == "/" {
			return
		}
	}
}

// limitIn returns the limit in a file. It is 0 if the file says "max" or does not exist.
func limitIn(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// machineMemory is the memory of the machine, in bytes, or 0.
func machineMemory(root string) int64 {
	text, err := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
