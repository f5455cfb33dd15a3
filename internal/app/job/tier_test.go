package job

import (
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

func TestTierByTimes(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		filter, encode time.Duration
		cores          int // of the encoder
		want           bool
	}{
		{100 * ms, 100 * ms, 0, true},
		{101 * ms, 100 * ms, 0, false},
		{0, 0, 0, true},
		{1, 0, 0, true},
		{2, 0, 0, false},
		{100 * ms, 100 * ms, 1 << 20, true}, // more than there are
	} {
		if got := (work{c.filter, c.encode}).ratio(c.cores) <= 1; got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// The forecast counts the encoder, which shares the cores.
func TestForecast(t *testing.T) {
	const ms = time.Millisecond
	cores := float64(runtime.GOMAXPROCS(0))
	for faster, want := range map[float64]float64{1: 5 * cores, 3: 10 * cores} {
		if got := (work{150 * ms, 50 * ms}).rate(faster); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v times faster: %v frames a second instead of %v", faster, got, want)
		}
	}
}

// A trial leaves no measurements in the job, and changes only the tier of the options.
func TestTrialOfQuality(t *testing.T) {
	e2e.NeedsFFmpeg(t)
	dir := t.TempDir()
	noisy := e2e.Clip(t, filepath.Join(dir, "tier.mkv"), "-f lavfi -i testsrc2=s=96x64:r=25:d=2,noise=alls=20:allf=t -c:v libx264 -preset ultrafast -crf 10 -g 10")
	clean := e2e.Clip(t, filepath.Join(dir, "clean.mkv"), "-f lavfi -i color=s=96x64:r=25:d=2 -c:v libx264 -preset ultrafast -g 10")
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	defer cpu.Close()
	frames := pipeline.NewPool(cpu, 1)
	defer frames.Close()
	for _, c := range []struct{ input, args string }{
		{input: noisy},
		{input: noisy, args: "--codec av1 --film-grain keep --preset 12"},
		{input: noisy, args: "--deinterlace single --repair --after hflip --start 0.2 --codec ffv1"},
		{input: clean},
	} {
		o := parsed(t, append([]string{"-i", c.input, "-o", "out.mkv"}, strings.Fields(c.args)...)...)
		in, err := decode.Open(t.Context(), c.input, frames, o.decoding(nil))
		e2e.Must(t, err)
		j := &job{o: o, ui: terminal.NewUI(terminal.Stdio{Err: &strings.Builder{}}, terminal.UIOptions{}), backend: cpu, frames: frames, in: in, reported: &reported{}}
		e2e.Must(t, j.foresee(t.Context()))
		w, err := j.tryGood(t.Context())
		if err != nil || w.filter <= 0 || w.encode <= 0 {
			t.Errorf("%q: %+v, %v", c.args, w, err)
		}
		if j.o != o || j.noise.frames != 0 || j.grain != nil || j.trial || frames.InUse() != 0 {
			t.Errorf("%q: the trial leaves %+v behind, and %d frames", c.args, &j.noise, frames.InUse())
		}
		if j.choosesQuality() { // it is too short
			t.Errorf("%q: it is measured", c.args)
		}
		for _, w := range []work{{filter: 1}, {filter: time.Second}} {
			j.settle(w)
			want := map[bool]string{true: "good", false: "fast"}[w.filter == 1]
			if j.quality() != want || o.Filters == j.o.Filters {
				t.Errorf("%+v: %s", w, j.quality())
			}
		}
		in.Close()
	}
}
