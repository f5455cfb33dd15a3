package tasks

import (
	"strings"
	"syscall"

	"vidfilter/internal/machine"
)

// starvedReason is reported instead of the signal, which does not explain it.
const starvedReason = "the process was killed for lack of memory"

// isStarved reports whether a process ended for lack of memory: it was killed, and meanwhile the
// kernel has killed for that, or its last words say so.
func isStarved(signal syscall.Signal, before int64, crash error) bool {
	if signal == syscall.SIGKILL {
		return machine.KilledForMemory() > before
	}
	return crash != nil && strings.Contains(crash.Error(), "out of memory")
}
