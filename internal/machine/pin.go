package machine

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// UseCores binds this process, and those that it starts later, to n of the cores that it may use,
// and lowers GOMAXPROCS. It takes the cores to which the fewest other processes are bound. n is at
// least 1; if there are no more than n, it changes nothing.
func UseCores(n int) error {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return fmt.Errorf("finding out which cores this process may use: %w", err)
	}
	if n >= may.Count() {
		return nil
	}
	var chosen unix.CPUSet
	for _, core := range leastBound(files, may, n) {
		chosen.Set(core)
	}
	if err := bind(&chosen); err != nil {
		return fmt.Errorf("binding this process to %d cores: %w", n, err)
	}
	runtime.GOMAXPROCS(min(n, runtime.GOMAXPROCS(0)))
	return nil
}

// bind binds all threads of this process. A thread that another one starts meanwhile has the
// cores of the other, so it ends when all have been bound before.
func bind(to *unix.CPUSet) error {
	bound := map[string]bool{}
	for found := true; found; {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		found = false
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil || bound[t.Name()] {
				continue
			}
			found, bound[t.Name()] = true, true
			if err := unix.SchedSetaffinity(id, to); err != nil && err != unix.ESRCH { // it has just ended
				return err
			}
		}
	}
	return nil
}

// leastBound returns those n cores of a set to which the fewest processes are bound.
func leastBound(root fs.FS, may unix.CPUSet, n int) []int {
	var cores []int
	for core := 0; len(cores) < may.Count(); core++ {
		if may.IsSet(core) {
			cores = append(cores, core)
		}
	}
	bound := map[int]int{}
	all, _ := fs.Glob(root, "proc/[0-9]*/status")
	for _, status := range all {
		if path.Dir(status) == fmt.Sprintf("proc/%d", os.Getpid()) {
			continue
		}
		its := boundTo(root, status)
		if slices.ContainsFunc(cores, func(core int) bool { return !its[core] }) {
			for core := range its {
				bound[core]++
			}
		}
	}
	slices.SortStableFunc(cores, func(a, b int) int { return cmp.Compare(bound[a], bound[b]) })
	return cores[:n]
}

// boundTo returns the cores of a process; no cores for a thread of the kernel, which has no memory.
func boundTo(root fs.FS, status string) map[int]bool {
	cores, ofUser := map[int]bool{}, false
	b, _ := fs.ReadFile(root, status)
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmSize":
			ofUser = true
		case "Cpus_allowed_list":
			for first, last := range ranges(value) {
				for core := first; core <= last; core++ {
					cores[core] = true
				}
			}
		}
	}
	if !ofUser {
		return nil
	}
	return cores
}
