package sandbox

import (
	"slices"
	"testing"
)

// Where the kernel counts the processes that it kills for lack of memory.
func TestKillCounts(t *testing.T) {
	got := killCounts("9:name=systemd:/\n4:memory:/a/b\n0::/c.slice\n")
	want := []string{
		"/sys/fs/cgroup/memory/a/b/memory.oom_control", "/sys/fs/cgroup/memory/memory.oom_control",
		"/sys/fs/cgroup/c.slice/memory.events", "/sys/fs/cgroup/memory.events",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
