package sandbox

import (
	"bufio"
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
)

// KilledForMemory returns how many processes of our control group, or else of the machine, the
// kernel has killed for lack of memory; 0 if it does not tell.
func KilledForMemory() int64 {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for _, name := range append(killCounts(string(groups)), "/proc/vmstat") {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
			if n, ok := strings.CutPrefix(lines.Text(), "oom_kill "); ok {
				count, _ := strconv.ParseInt(n, 10, 64)
				return count
			}
		}
	}
	return 0
}

// killCounts returns the files that may count the kills in our control group, from the text of
// /proc/self/cgroup. In a container, the path may be the host's.
func killCounts(groups string) (files []string) {
	for line := range strings.Lines(groups) {
		// ID:CONTROLLERS:PATH, with ID 0 and no controllers for version 2
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch controllers {
		case "":
			files = append(files, path.Join("/sys/fs/cgroup", group, "memory.events"), "/sys/fs/cgroup/memory.events")
		case "memory":
			files = append(files, path.Join("/sys/fs/cgroup/memory", group, "memory.oom_control"), "/sys/fs/cgroup/memory/memory.oom_control")
		}
	}
	return files
}
