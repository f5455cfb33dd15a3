package decode

import (
	"testing"
	"testing/fstest"
)

func TestMemory(t *testing.T) {
	const meminfo = "MemTotal:        4096000 kB\nMemFree:         1 kB\n"
	const total = 4096000 << 10
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known":      {nil, 0},
		"a machine":          {map[string]string{"proc/meminfo": meminfo}, total},
		"a container":        {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"no limit":           {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, total},
		"more than there is": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9223372036854771712\n"}, total},
		"a group above": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/b.service/memory.max": "max\n", "sys/fs/cgroup/a.slice/memory.max": "1000000\n",
		}, 1000000},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/docker/x\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000\n",
		}, 2000000},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryOf(root); got != c.want {
			t.Errorf("%s: %d bytes instead of %d", name, got, c.want)
		}
	}
	if m := machineMemory(); m < 1<<26 {
		t.Errorf("this machine has %d bytes", m)
	}
	if n := DefaultMaxPixels(); n < 1<<19 || n > largestPicture {
		t.Errorf("%d pixels", n)
	}
}
