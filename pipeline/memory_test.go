package pipeline

import (
	"testing"
	"testing/fstest"
)

func TestMemory(t *testing.T) {
	const meminfo = "MemTotal:        4096000 kB\nMemFree:         1 kB\nMemAvailable:    3000000 kB\n"
	const total, available = 4096000 << 10, 3000000 << 10
	for name, c := range map[string]struct {
		files      map[string]string
		want, free int64
	}{
		"nothing known":      {nil, 0, 0},
		"a machine":          {map[string]string{"proc/meminfo": meminfo}, total, available},
		"a container":        {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20, 512 << 20},
		"no limit":           {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, total, available},
		"more than there is": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9223372036854771712\n"}, total, available},
		"a group above": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/b.service/memory.max": "max\n", "sys/fs/cgroup/a.slice/memory.max": "1000000\n",
			"sys/fs/cgroup/a.slice/memory.current": "700000\n", "sys/fs/cgroup/a.slice/memory.stat": "anon 5\ninactive_file 200000\n",
		}, 1000000, 500000},
		"a full group": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "1000000\n", "sys/fs/cgroup/a/memory.current": "1000001\n",
		}, 1000000, 1},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/docker/x\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1500000\n",
			"sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 300000\n",
		}, 2000000, 800000},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if total, free := memoryOf(root); total != c.want || free != c.free {
			t.Errorf("%s: %d bytes, %d free, instead of %d and %d", name, total, free, c.want, c.free)
		}
	}
	machine := TotalMemory()
	if free := FreeMemory(); machine < 1<<26 || free < 1 || free > machine {
		t.Errorf("this machine has %d bytes, %d free", machine, free)
	}
	ShareMemory(1 << 20)
	defer ShareMemory(0)
	if total, free := TotalMemory(), FreeMemory(); total != machine || free > 1<<20 {
		t.Errorf("with a share there are %d bytes, %d free", total, free)
	}
}
