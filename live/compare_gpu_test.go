package live

import (
	"bytes"
	"testing"

	"vidfilter/gpu"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// Two filters on one GPU, of one kind and of two, do not mix up their pictures.
func TestCompareOnGPU(t *testing.T) {
	if !testdriver.OnDevice(t, "") {
		return
	}
	b, err := gpu.Open(gpu.Options{Streams: 1})
	e2e.Must(t, err)
	defer b.Close()
	first := FilterOf(kernels.Select(kernels.DefaultBilateral(2)), "auto")
	h, r, w := watch(t, Camera, Options{Filter: first, Backend: b})
	defer func() { _ = r.end() }()
	h.pass(r, w, 0)
	r.Compare(true)
	r.next(w).Release()
	for n, change := range []func(*FilterSettings){
		windowed(func(b *kernels.Bilateral) { b.Radius = 1 }),
		func(f *FilterSettings) { *f = FilterOf(kernels.Select(kernels.DefaultRecursive()), "auto") },
		func(f *FilterSettings) { *f = FilterOf(kernels.Select(kernels.DefaultDenoise()), "auto") },
	} {
		e2e.Must(t, r.Set(func(f *FilterSettings) error { change(f); return nil }))
		r.next(w).Release()
		h.take(r, n+1)
		p := r.next(w)
		left, right := p.Sides()
		if !near(t, left, p.Original, first) {
			t.Errorf("change %d: A is not as before", n)
		}
		if f := p.Filtered; f != right || bytes.Equal(samples(f), samples(left)) {
			t.Errorf("change %d: B is not another picture", n)
		}
		if st, _ := r.State(); st.Filter.Chosen() != kernels.DefaultFilter && !near(t, right, p.Original, st.Filter) {
			t.Errorf("change %d: B is not by its settings", n)
		}
		p.Release()
	}
}

// near compares a frame of a GPU with the reference.
func near(t *testing.T, got, in *pipeline.Frame, f FilterSettings) bool {
	t.Helper()
	p, err := f.Resolved()
	e2e.Must(t, err)
	want := kerneltest.Frame(in.Format)
	e2e.Must(t, kernels.Reference(want, in, p.Main().(kernels.Planned)))
	return kerneltest.Compare(got, want).Largest <= 1
}
