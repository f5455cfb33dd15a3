// Package machine finds how much memory and how many cores and threads this process may use: the
// machine's, or the limits of its control groups. It sets GOMAXPROCS, which is the number of cores
// for every other package.
package machine

import (
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	files   = os.DirFS("/")
	sharers atomic.Int64
	most    atomic.Int64 // bytes of memory of all sharers together; 0 for no limit
)

func init() { Share(1) }

// Share declares this process one of n that share memory and threads, and lowers GOMAXPROCS to the
// cores that it may use. Go itself reads the quota of one control group only, and rounds 1 core up
// to 2.
func Share(n int) {
	if sharers.Swap(int64(n)) == int64(n) {
		return
	}
	if most := cores(files, int64(n)); most > 0 && most < int64(runtime.GOMAXPROCS(0)) {
		runtime.GOMAXPROCS(int(most))
	}
}

// UseMemory declares that this process and its sharers may use n bytes of memory together; 0 is for
// all that there are.
func UseMemory(n int64) { most.Store(n) }

// OwnedBy returns the bytes of memory that a process has for itself; 0 if unknown.
func OwnedBy(pid int) int64 {
	return numbers(files, fmt.Sprintf("proc/%d/status", pid))["RssAnon:"] << 10
}

// TotalMemory returns the bytes of memory that this process and its sharers may use: the machine's,
// the limit of a control group, their ulimit or UseMemory, whichever is least; 0 if unknown. A
// control group's limit is its limit at the first call.
func TotalMemory() int64 { return limited(firstTotal()) }

// firstTotal saves small jobs from reading files of the kernel, which are slow, again and again.
var firstTotal = sync.OnceValue(func() int64 {
	total, _ := memory(files, false)
	return total
})

// limited lowers a number of bytes to UseMemory and to the ulimit.
func limited(total int64) int64 {
	total = least(total, most.Load())
	for _, which := range []int{syscall.RLIMIT_AS, syscall.RLIMIT_DATA} {
		var now syscall.Rlimit
		if syscall.Getrlimit(which, &now) == nil && now.Cur < math.MaxInt64 {
			total = least(total, int64(now.Cur))
		}
	}
	return total
}

// OwnMemory returns this process's share of TotalMemory.
func OwnMemory() int64 { return TotalMemory() / sharers.Load() }

// FreeMemory returns the bytes of memory that this process can still get, at most OwnMemory; 0 if
// unknown.
func FreeMemory() int64 {
	total, free := memory(files, true)
	return least(free, limited(total)/sharers.Load())
}

// FreeThreads returns how many threads this process may still start by the limits of its control
// groups; 0 for any number.
func FreeThreads() int64 { return threads(files, sharers.Load()) }

// ProcessorTime returns how long this process has kept cores busy, all of them together.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// CoreLimit returns GOMAXPROCS if the machine has more cores, by which libraries choose their
// threads; else 0.
func CoreLimit() int {
	if n := runtime.GOMAXPROCS(0); n < online(files) {
		return n
	}
	return 0
}

// Cores returns how many cores the machine has (each may run several threads), or GOMAXPROCS if it
// is less.
func Cores() int { return min(runtime.GOMAXPROCS(0), physical(files)) }

// physical takes the other cores to run as many threads as the first. It is 1 << 20 if unknown.
func physical(root fs.FS) int {
	perCore := spans(root, "sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
	if n := online(root); n > 0 && perCore > 0 {
		return max(1, n/perCore)
	}
	return 1 << 20
}

// KilledForMemory returns how many processes of our control group, or else of the machine, the
// kernel has killed for lack of memory; 0 if unknown.
func KilledForMemory() int64 {
	for g := range groups(files, "memory") {
		if n, ok := numbers(files, g.file("memory.events", "memory.oom_control"))["oom_kill"]; ok {
			return n
		}
	}
	return numbers(files, "proc/vmstat")["oom_kill"]
}

// memory returns the memory of a machine with these files, or the limit of one of this process's
// control groups if that is lower, and how much of it is free, if that is asked for.
func memory(root fs.FS, askFree bool) (total, free int64) {
	machine := numbers(root, "proc/meminfo")
	total, free = machine["MemTotal:"]<<10, machine["MemAvailable:"]<<10
	all := total
	for g := range groups(root, "memory") {
		limit := number(root, g.file("memory.max", "memory.limit_in_bytes"))
		limit = least(limit, number(root, path.Join(g.dir, "memory.high")))
		if limit == 0 || all > 0 && limit >= all {
			continue
		}
		total = least(total, limit)
		if askFree {
			used := number(root, g.file("memory.current", "memory.usage_in_bytes"))
			cached := numbers(root, path.Join(g.dir, "memory.stat"))[g.name("inactive_file", "total_inactive_file")]
			free = least(free, max(1, limit-used+cached)) // cached pages make room
		}
	}
	return total, free
}

// cores returns how many cores one of n sharers may use by the quotas of control groups, rounded
// up, and by their limits on threads; 0 for any number.
func cores(root fs.FS, n int64) (most int64) {
	for g := range groups(root, "cpu") {
		quota, period := number(root, path.Join(g.dir, "cpu.cfs_quota_us")), number(root, path.Join(g.dir, "cpu.cfs_period_us"))
		if f := words(root, path.Join(g.dir, "cpu.max")); len(f) == 2 {
			quota, period = positive(f[0]), positive(f[1])
		}
		if quota > 0 && period > 0 {
			most = least(most, (quota+period-1)/period)
		}
	}
	if free := threads(root, n); free > 0 {
		// With AV1, whose encoder has most, jobs took 33 threads on 1 core, 91 on 4 and 112 on 16.
		const base, perCore = 64, 9
		most = least(most, max(1, (free-base)/perCore))
	}
	return most
}

// threads returns how many threads one of n sharers may start; 0 for any number.
func threads(root fs.FS, n int64) (free int64) {
	for g := range groups(root, "pids") {
		if most := number(root, path.Join(g.dir, "pids.max")); most > 0 {
			free = least(free, max(1, min(most-number(root, path.Join(g.dir, "pids.current")), most/n)))
		}
	}
	return free
}

// online returns how many cores the machine has; 0 if unknown.
func online(root fs.FS) int { return spans(root, "sys/devices/system/cpu/online") }

// spans counts the numbers of a list such as 0-3,6.
func spans(root fs.FS, name string) (n int) {
	b, _ := fs.ReadFile(root, name)
	for first, last := range ranges(string(b)) {
		n += last - first + 1
	}
	return n
}

// ranges yields the first and the last number of each range of a list such as 0-3,6.
func ranges(list string) iter.Seq2[int, int] {
	return func(yield func(first, last int) bool) {
		for span := range strings.SplitSeq(list, ",") {
			var first, last int
			read, _ := fmt.Sscanf(strings.TrimSpace(span), "%d-%d", &first, &last)
			if read == 1 {
				last = first
			}
			if read > 0 && !yield(first, last) {
				return
			}
		}
	}
}

// least returns the lesser of two numbers. 0 is unknown.
func least(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// numbers reads a file with a name and a number on each line.
func numbers(root fs.FS, name string) map[string]int64 {
	all := map[string]int64{}
	b, _ := fs.ReadFile(root, name)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 {
			all[f[0]] = positive(f[1])
		}
	}
	return all
}

// number reads a file with a number, or 0, as for "max".
func number(root fs.FS, name string) int64 {
	if f := words(root, name); len(f) > 0 {
		return positive(f[0])
	}
	return 0
}

func words(root fs.FS, name string) []string {
	b, _ := fs.ReadFile(root, name)
	return strings.Fields(string(b))
}

func positive(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// group is a control group: its folder, and the version that names its files.
type group struct {
	dir string
	v1  bool
}

func (g group) name(v2, v1 string) string {
	if g.v1 {
		return v1
	}
	return v2
}

func (g group) file(v2, v1 string) string { return path.Join(g.dir, g.name(v2, v1)) }

// groups yields the control groups of this process that may have a controller: its own and those
// above it. In a container the path may be the host's, and the limit is at the root.
func groups(root fs.FS, controller string) iter.Seq[group] {
	b, _ := fs.ReadFile(root, "proc/self/cgroup")
	return func(yield func(group) bool) {
		for line := range strings.Lines(string(b)) {
			// ID:CONTROLLERS:PATH, with ID 0 and no controllers for version 2
			_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
			controllers, name, _ := strings.Cut(rest, ":")
			base := "sys/fs/cgroup"
			switch {
			case slices.Contains(strings.Split(controllers, ","), controller):
				base = path.Join(base, controller)
			case controllers != "":
				continue
			}
			for dir := path.Clean("/" + name); ; dir = path.Dir(dir) {
				if !yield(group{path.Join(base, dir), controllers != ""}) {
					return
				}
				if dir == "/" {
					break
				}
			}
		}
	}
}
