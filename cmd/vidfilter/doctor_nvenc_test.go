package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"vidfilter/batch/tasks"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

// doctor --nvenc tests each codec and format that the GPU has, and reports failures.
func TestDoctorNVENC(t *testing.T) {
	if e2e.Sanitized {
		t.Skip("sanitizers and the sandbox do not go together")
	}
	if !testdriver.OnDriver(t, testdriver.Folder, "leaks=1") {
		return
	}
	path, err := e2e.Build()
	e2e.Must(t, err)
	for _, c := range []struct {
		encoder  string
		settings string
		code     int
		want     string // rows and error, each with words that it has in order
	}{
		{"none=1", "-r 0", contract.ExitDevice, "cuda:0 encodes nothing: ; has no NVENC"},
		{"sessions=0", "-r 0", contract.ExitDevice, "cuda:0 encodes nothing now: ; opens no further session"},
		{"full=0", "-r 0 --tune lossless; -r 1", contract.ExitDone,
			"cuda:0 encodes H.264 HEVC AV1; h264 yuv420p -r 0 --tune lossless +Inf dB; hevc yuv420p10le -r 1 dB; av1 yuv420p10le -r 1 dB; 8 of 8 tests passed"},
		{"av1=0,deep=0,lossless=0", "-r 0 --tune lossless", contract.ExitFailed,
			"h264 yuv444p --tune lossless FAILED: exit code 5: Lossless encoding not supported; 0 of 4 tests passed; 4 of 4 tests of NVENC failed"},
	} {
		t.Setenv(testdriver.EncoderVariable, c.encoder)
		var out strings.Builder
		trial := nvencTrial{tasks.Program{Path: path, Stall: time.Minute}, strings.Split(c.settings, "; "), &out}
		err := trial.run(context.Background())
		if err != nil {
			out.WriteString(err.Error())
		}
		if contract.ExitCode(err) != c.code || !hasRows(out.String(), c.want) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s", c.encoder, contract.ExitCode(err), c.code, c.want, out.String())
		}
	}
}

// hasRows reports whether each row that is wanted, apart from the others by "; ", has its words in
// a line of the text, in order.
func hasRows(text, want string) bool {
	for row := range strings.SplitSeq(want, "; ") {
		found := false
		for line := range strings.Lines(text) {
			all := true
			for word := range strings.FieldsSeq(row) {
				var has bool
				_, line, has = strings.Cut(line, word)
				all = all && has
			}
			found = found || all
		}
		if !found {
			return false
		}
	}
	return true
}
