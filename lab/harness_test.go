package lab

import (
	"testing"

	"vidfilter/gpu/testdriver"
)

// onDriver runs the rest of a test in a process of its own, with the test driver. It returns true
// there, and false in the parent.
func onDriver(t *testing.T, options string) bool {
	t.Helper()
	if testdriver.InChild(t.Name()) {
		return true
	}
	folder, err := testdriver.Folder()
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	if testing.Short() {
		args = append(args, "-test.short")
	}
	if err := testdriver.Rerun(t.Name(), folder, options, args...); err != nil {
		t.Error(err)
	}
	return false
}
