package bench

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"vidfilter/gpu/testdriver"
)

const childOf = "VIDFILTER_TEST_CHILD"

// onDriver runs the rest of a test in a process of its own, with the test driver of that folder: a process has one driver for
// good. It returns true there, and false in the process that began the test.
func onDriver(t *testing.T, folder func() (string, error), options string) bool {
	t.Helper()
	if os.Getenv(childOf) == t.Name() {
		return true
	}
	driver, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=5m", "-test.v")
	cmd.Env = append(testdriver.Environ(driver, options), childOf+"="+t.Name(), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("with driver %q: %v\n%s", options, err, out)
	case strings.Contains(string(out), "test driver:"):
		t.Errorf("with driver %q, which complains:\n%s", options, out)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()):
		t.Errorf("the test did not run:\n%s", out)
	}
	return false
}
