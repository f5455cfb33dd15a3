package pipeline

import (
	"bufio"
	"fmt"
	"os"
)

// FreeMemory returns the bytes of memory that this machine can still give, 0 if unknown.
func FreeMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var kib int64
		if _, err := fmt.Sscanf(s.Text(), "MemAvailable: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}
