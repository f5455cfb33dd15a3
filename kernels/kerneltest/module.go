package kerneltest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var entry = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(\s*\.param \.align 8 \.b8 \w+\[(\d+)\]\s*\)`)

// CheckModule checks that PTX has exactly one kernel, of that name and for its device, with the
// size of parameter and the number of threads that it is launched with.
func CheckModule(t *testing.T, name, ptx string, compute, threads int, argsSize uintptr) {
	t.Helper()
	size := strconv.Itoa(int(argsSize))
	if all := entry.FindAllStringSubmatch(ptx, -1); len(all) != 1 || all[0][1] != name || all[0][2] != size {
		t.Errorf("%s: the module has the kernels %q, not one with a parameter of %s bytes", name, all, size)
	}
	if !strings.Contains(ptx, fmt.Sprintf("\n.target sm_%d\n", compute)) {
		t.Errorf("%s: the module is not for compute capability %d", name, compute)
	}
	if most := fmt.Sprintf("\n.maxntid %d, 1, 1\n", threads); !strings.Contains(ptx, most) {
		t.Errorf("%s: the module does not say %q", name, strings.TrimSpace(most))
	}
	if strings.Contains(ptx, ".local ") {
		t.Errorf("%s keeps values in local memory", name)
	}
}
