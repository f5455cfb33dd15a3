package liverun

import (
	"strings"
	"testing"

	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/e2e"
	"vidfilter/live"
)

// TestLiveCommand: the command filters a file as set on the page.
func TestLiveCommand(t *testing.T) {
	o := NewOptions()
	for _, args := range []string{
		"", "--strength 1.5 --quality best", "--filter bilateral -r 5 --sigma-s 1.5 --sigma-r 12 --range gaussian --border clamp --field-order tff",
		"--filter recursive", "--filter recursive --sigma-s 50 --sigma-r 50 --iterations 3 --field-order bff",
	} {
		job, err := job.Parse(append([]string{"-i", "in.mp4", "-o", "out.mp4"}, strings.Fields(args)...), nil)
		e2e.Must(t, err)
		if got := o.liveCommand(live.FilterOf(job.Filters, job.FieldOrder)); got != strings.TrimSpace("vidfilter -i in.mp4 -o out.mp4 "+args) {
			t.Errorf("%s gives %s", args, got)
		}
	}
}

// The rate of a camera has a variable of its own: --fps of jobs is another option.
func TestFPSVariable(t *testing.T) {
	o := NewOptions()
	err := cli.ApplyEnvironment(o.Flags(), []string{"VIDFILTER_FPS=film", "VIDFILTER_LIVE_FPS=25"})
	if err != nil || o.FPS != 25 {
		t.Errorf("%g, %v", o.FPS, err)
	}
}
