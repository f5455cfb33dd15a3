package live

import (
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
)

// TestPresets: each is a valid filter, its command says the same, and off is left by any option.
func TestPresets(t *testing.T) {
	want := []string{"--filter bilateral -r 0", "--strength 0.7", "", "--strength 1.5"}
	for i, p := range Presets() {
		f := FilterOf(kernels.Select(kernels.DefaultBilateral(7)), "auto")
		e2e.Must(t, f.Apply(p.Filter))
		if _, err := f.Resolved(); err != nil || strings.Join(f.Args(), " ") != want[i] {
			t.Errorf("%s: %v, %v", p.Name, f.Args(), err)
		}
	}
	f := FilterOf(kernels.Select(kernels.DefaultDenoise()), "auto")
	f.Off = true
	if p, err := f.Resolved(); err != nil || p != kernels.Select(kernels.DefaultBilateral(0)) {
		t.Errorf("off is %+v, %v", p, err)
	}
	if err := f.Apply(map[string]any{"off": 1.0}); err == nil {
		t.Error("off takes a number")
	}
	if err := f.Apply(map[string]any{"grain": 0.5}); err != nil || f.Off {
		t.Errorf("after an option it is off: %v, %v", f.Off, err)
	}
}
