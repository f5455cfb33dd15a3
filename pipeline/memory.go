package pipeline

import (
	"bufio"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// TotalMemory returns the bytes of memory that this process may use: those of the machine, the
// limit of one of its control groups, or its ulimit, whichever is least; 0 if unknown. A share
// does not count.
func TotalMemory() int64 {
	n, _ := memoryOf(os.DirFS("/"))
	for _, which := range []int{syscall.RLIMIT_AS, syscall.RLIMIT_DATA} {
		var now syscall.Rlimit
		if syscall.Getrlimit(which, &now) == nil && now.Cur < math.MaxInt64 {
			n = least(n, int64(now.Cur))
		}
	}
	return n
}

// FreeMemory returns the bytes of memory that this process can still get, at most its share; 0 if
// unknown.
func FreeMemory() int64 {
	_, free := memoryOf(os.DirFS("/"))
	return least(free, share.Load())
}

// ShareMemory tells this process that it has so much of the machine's memory to itself.
func ShareMemory(bytes int64) { share.Store(bytes) }

var share atomic.Int64

// least returns the lesser of two numbers of which 0 is unknown.
func least(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// memoryOf returns the memory of a machine with these files, or the limit of a control group of
// this process if that is lower, and likewise how much of it can still be had.
func memoryOf(root fs.FS) (total, free int64) {
	machine := numbers(root, "proc/meminfo")
	total, free = machine["MemTotal:"]<<10, machine["MemAvailable:"]<<10
	for _, g := range groups(root) {
		limit := number(root, path.Join(g.dir, g.limit))
		if limit == 0 {
			continue
		}
		total = least(total, limit)
		cached := numbers(root, path.Join(g.dir, "memory.stat"))[g.cached] // files' pages, which make room
		free = least(free, max(1, limit-number(root, path.Join(g.dir, g.used))+cached))
	}
	return total, free
}

// numbers reads a file with a name and a number on each line.
func numbers(root fs.FS, name string) map[string]int64 {
	f, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	all := map[string]int64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var key string
		var n int64
		if _, err := fmt.Sscan(s.Text(), &key, &n); err == nil {
			all[key] = n
		}
	}
	return all
}

// number reads a file with a number; 0 for none, such as "max".
func number(root fs.FS, name string) int64 {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// group is a control group: its folder, and the names of its numbers.
type group struct{ dir, limit, used, cached string }

// groups returns the control groups of this process that may limit its memory: its own and those
// above it. In a container the path may be the host's, and the limit is at the root.
func groups(root fs.FS) (all []group) {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		// ID:CONTROLLERS:PATH, with ID 0 and no controllers for version 2
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, name, _ := strings.Cut(rest, ":")
		g := group{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
		if controllers == "memory" {
			g = group{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
		} else if controllers != "" {
			continue
		}
		base := g.dir
		for dir := path.Clean("/" + name); ; dir = path.Dir(dir) {
			g.dir = path.Join(base, dir)
			all = append(all, g)
			if dir == "/" {
				break
			}
		}
	}
	return all
}
