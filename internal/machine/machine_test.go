package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"vidfilter/internal/e2e"
)

func rootOf(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for path, text := range files {
		root[path] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return root
}

func TestMemory(t *testing.T) {
	const meminfo = "MemTotal:        4096000 kB\nMemFree:         1 kB\nMemAvailable:    3000000 kB\n"
	const total, available = 4096000 << 10, 3000000 << 10
	for name, c := range map[string]struct {
		files      map[string]string
		want, free int64
	}{
		"nothing known":      {nil, 0, 0},
		"a machine":          {map[string]string{"proc/meminfo": meminfo}, total, available},
		"a container":        {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "536870912"}, 512 << 20, 512 << 20},
		"no limit":           {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "max"}, total, available},
		"more than there is": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "9223372036854771712"}, total, available},
		"a group above": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a.slice/b.service",
			"sys/fs/cgroup/a.slice/b.service/memory.max": "max", "sys/fs/cgroup/a.slice/memory.max": "1000000",
			"sys/fs/cgroup/a.slice/memory.current": "700000", "sys/fs/cgroup/a.slice/memory.stat": "anon 5\ninactive_file 200000",
		}, 1000000, 500000},
		"a full group": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/memory.max": "1000000", "sys/fs/cgroup/a/memory.current": "1000001",
		}, 1000000, 1},
		"slower above": {map[string]string{
			"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/memory.max": "max", "sys/fs/cgroup/a/memory.high": "800000", "sys/fs/cgroup/a/memory.current": "300000",
		}, 800000, 500000},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/docker/x\n0::/",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1500000",
			"sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 300000",
		}, 2000000, 800000},
	} {
		if total, free := memory(rootOf(c.files), true); total != c.want || free != c.free {
			t.Errorf("%s: %d bytes, %d free, instead of %d and %d", name, total, free, c.want, c.free)
		}
	}
	all := TotalMemory()
	if free := FreeMemory(); all < 1<<26 || free < 1 || free > all {
		t.Errorf("this machine has %d bytes, %d free", all, free)
	}
	Share(1000)
	defer Share(1)
	if total, free := TotalMemory(), FreeMemory(); total != all || free > all/1000 || OwnMemory() != all/1000 {
		t.Errorf("with a share there are %d bytes, %d free", total, free)
	}
}

func TestCores(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		sharers int64
		want    int64
	}{
		"nothing known": {nil, 1, 0},
		"no limits":     {map[string]string{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/cpu.max": "max 100000", "sys/fs/cgroup/a/pids.max": "max"}, 1, 0},
		"a quota":       {map[string]string{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/cpu.max": "300000 100000"}, 1, 3},
		"half a core":   {map[string]string{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/cpu.max": "50000 100000"}, 1, 1},
		"a group above": {map[string]string{
			"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/cpu.max": "800000 100000", "sys/fs/cgroup/a/cpu.max": "150000 100000",
		}, 1, 2},
		"version 1": {map[string]string{
			"proc/self/cgroup": "7:pids:/x\n5:cpu,cpuacct:/x\n0::/", "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "350000", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "50000",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000", "sys/fs/cgroup/pids/x/pids.max": "1000",
		}, 1, 7},
		"threads":          {map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/pids.max": "200", "sys/fs/cgroup/pids.current": "100"}, 1, 4},
		"threads shared":   {map[string]string{"proc/self/cgroup": "7:pids:/\n", "sys/fs/cgroup/pids/pids.max": "200", "sys/fs/cgroup/pids/pids.current": "1"}, 2, 4},
		"few threads":      {map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/pids.max": "30"}, 1, 1},
		"threads, a quota": {map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/pids.max": "200", "sys/fs/cgroup/cpu.max": "200000 100000"}, 1, 2},
	} {
		if got := cores(rootOf(c.files), c.sharers); got != c.want {
			t.Errorf("%s: %d instead of %d", name, got, c.want)
		}
	}
	for text, want := range map[string]int{"0-3,6": 5, "0": 1, "": 0, "0-1,4-7": 6} {
		if got := online(rootOf(map[string]string{"sys/devices/system/cpu/online": text})); got != want {
			t.Errorf("%q: %d cores instead of %d", text, got, want)
		}
	}
	const cpu = "sys/devices/system/cpu/"
	for siblings, want := range map[string]int{"0": 8, "0,4": 4, "0-7": 1, "0-15": 1, "": 1 << 20} {
		root := rootOf(map[string]string{cpu + "online": "0-7", cpu + "cpu0/topology/thread_siblings_list": siblings})
		if got := physical(root); got != want {
			t.Errorf("siblings %q: %d cores instead of %d", siblings, got, want)
		}
	}
	all := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(all)
	if n := CoreLimit(); n != 1 && runtime.NumCPU() > 1 || Cores() != 1 {
		t.Errorf("libraries may use %d cores, of %d", n, Cores())
	}
}

func TestLeastBound(t *testing.T) {
	const user, kernel = "Name:\tx\nVmSize:\t  9 kB\nCpus_allowed_list:\t", "Name:\tkworker/1\nCpus_allowed_list:\t"
	root := rootOf(map[string]string{
		"proc/7/status": user + "0-7", "proc/8/status": user + "0-1", "proc/9/status": user + "0,5", "proc/10/status": kernel + "2",
		"proc/11/status": user + "3", "proc/self/status": user + "6", "proc/12/stat": "",
	})
	var may unix.CPUSet
	for core := range 7 {
		may.Set(core)
	}
	for n, want := range map[int][]int{1: {2}, 3: {2, 4, 6}, 6: {2, 4, 6, 1, 3, 5}, 7: {2, 4, 6, 1, 3, 5, 0}} {
		if got := leastBound(root, may, n); !slices.Equal(got, want) {
			t.Errorf("%d cores: %v instead of %v", n, got, want)
		}
	}
}

// A limit of cores holds for all threads, for Go and for processes that start later.
func TestUseCores(t *testing.T) {
	if os.Getenv("VIDFILTER_USE_CORES") == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestUseCores$", "-test.v")
		cmd.Env = append(os.Environ(), "VIDFILTER_USE_CORES=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		e2e.Must(t, err)
		return
	}
	e2e.Must(t, UseCores(1<<16)) // more than there are
	if n := runtime.NumCPU(); runtime.GOMAXPROCS(0) > n {
		t.Errorf("%d cores instead of %d", runtime.GOMAXPROCS(0), n)
	}
	e2e.Must(t, UseCores(1))
	if n := runtime.GOMAXPROCS(0); n != 1 {
		t.Errorf("Go uses %d cores", n)
	}
	threads, err := filepath.Glob("/proc/self/task/*/status")
	e2e.Must(t, err)
	for _, status := range threads {
		if cores := boundTo(files, status[1:]); len(cores) != 1 {
			t.Errorf("%s may use %v", status, cores)
		}
	}
	out, err := exec.Command("grep", "Cpus_allowed_list", "/proc/self/status").Output()
	e2e.Must(t, err)
	if f := strings.Fields(string(out)); len(f) != 2 || strings.ContainsAny(f[1], ",-") {
		t.Errorf("a child: %s", out)
	}
}

// A limit of memory lowers the machine's.
func TestUseMemory(t *testing.T) {
	UseMemory(100 << 20)
	defer UseMemory(0)
	Share(2)
	defer Share(1)
	if TotalMemory() != 100<<20 || OwnMemory() != 50<<20 || FreeMemory() > 50<<20 {
		t.Errorf("%d bytes, %d of one, %d free", TotalMemory(), OwnMemory(), FreeMemory())
	}
	if n := OwnedBy(os.Getpid()); n < 1<<20 || n > TotalMemory()*100 {
		t.Errorf("this process has %d bytes", n)
	}
}
