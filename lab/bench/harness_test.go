package bench

import (
	"testing"

	"vidfilter/gpu/testdriver"
)

// onDriver runs the rest of a test in a process of its own with the test driver of that folder. It
// returns true there, and false in the parent.
func onDriver(t *testing.T, folder func() (string, error), options string) bool {
	t.Helper()
	if testdriver.InChild(t.Name()) {
		return true
	}
	driver, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	if err := testdriver.Rerun(t.Name(), driver, options); err != nil {
		t.Error(err)
	}
	return false
}
