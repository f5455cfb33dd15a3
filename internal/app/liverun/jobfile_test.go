package liverun

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/denoise/noise"
	"vidfilter/internal/app/job"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/live"
)

// TestJobFile: a filter survives the round trip through a file.
func TestJobFile(t *testing.T) {
	o := NewOptions()
	o.Input = filepath.Join(t.TempDir(), "it's: a.mp4")
	e2e.Must(t, os.WriteFile(o.Input, nil, 0o666))
	denoise := live.FilterOf(kernels.Select(kernels.DefaultDenoise()), "tff")
	kernels.Edit(&denoise.Selection, func(d *kernels.Denoise) { d.Strength, d.Grain, d.SpatialOnly, d.Noise = 0.85, 0.25, true, 4 })
	for _, f := range []live.FilterSettings{
		denoise, live.FilterOf(kernels.Select(kernels.DefaultDenoise()), "auto"),
		live.FilterOf(kernels.Select(kernels.DefaultBilateral(0)), "auto"), live.FilterOf(kernels.Select(kernels.DefaultRecursive()), "bff"),
	} {
		b, err := o.jobFile(f)
		e2e.Must(t, err)
		got, others, err := o.readJobFile(b)
		if err != nil || !slices.Equal(got.Args(), f.Args()) || len(others) > 0 || !strings.Contains(string(b), o.Input) {
			t.Errorf("%s\nis read as %+v, not %+v; %v, %v", b, got, f, others, err)
		}
	}
	_, others, err := o.readJobFile([]byte("jobs:\n- {input: a, options: {crf: 3, strength: 1.5}}\nbatch: {jobs: 2}"))
	if err != nil || !slices.Equal(others, []string{"crf"}) {
		t.Errorf("%v, %v", others, err)
	}
	f, others, err := o.readJobFile([]byte("jobs: [a]\ndefaults: {footage: film}"))
	if err != nil || kernels.Of[kernels.Denoise](f.Selection).Grain == 0 || !slices.Equal(others, []string{"repair", "deflicker", "depth"}) {
		t.Errorf("footage: %+v, %v, %v", f, others, err)
	}
	for text, want := range map[string]string{
		"":                                   "is empty",
		"jobs: [a]\ndefaults: {strength: 9}": "job file:2: strength",
		"jobs: [a]\ndefaults: {radus: 9}":    `did you mean "radius"?`,
		"jobs: [a]\ndefaults: {radius: 3, iterations: 2}": "filter",
	} {
		if _, _, err := o.readJobFile([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestNoiseProfile: the denoiser begins with the noise of a profile.
func TestNoiseProfile(t *testing.T) {
	want := noise.Flat(7)
	o := NewOptions()
	fs := o.Flags()
	e2e.Must(t, fs.Parse([]string{"--noise-profile", string(want.Profile())}))
	e2e.Must(t, o.CheckFilter(fs))
	f := live.FilterOf(o.Filters, o.FieldOrder)
	if got := kernels.Of[kernels.Denoise](f.Selection).Known; got == nil || *got != want || !job.FilterGiven(fs) {
		t.Errorf("the noise is %v", got)
	}
	for _, other := range [][]string{{"--noise", "3"}, {"--filter", "bilateral"}} {
		o, args := NewOptions(), append(other, "--noise-profile", string(want.Profile()))
		fs := o.Flags()
		e2e.Must(t, fs.Parse(args))
		if err := o.CheckFilter(fs); err == nil || !strings.Contains(err.Error(), "noise-profile") {
			t.Errorf("%v: %v", other, err)
		}
	}
}
