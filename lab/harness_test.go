package lab

import (
	"testing"

	"vidfilter/gpu/testdriver"
)

// onDriver runs the rest of a test in a process of its own, with the test driver. It returns true there, and false in the process that
// began the test.
func onDriver(t *testing.T, options string) bool {
	t.Helper()
	if testdriver.InChild(t.Name()) {
		return true
	}
	folder, err := testdriver.Folder()
	if err != nil {
		t.Fatal(err)
	}
	if err := testdriver.Rerun(t.Name(), folder, options); err != nil {
		t.Error(err)
	}
	return false
}
