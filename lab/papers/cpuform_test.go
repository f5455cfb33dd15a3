package papers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/live/livetest"
	"vidfilter/pipeline"
)

func (v CPUVariant) reference(t *testing.T, src *pipeline.Frame, p kernels.Bilateral) *pipeline.Frame {
	t.Helper()
	want := kerneltest.Frame(src.Format)
	e2e.Must(t, Reference(want, src, p, v.Semantics))
	return want
}

// formRun filters src into a new frame on that many threads.
func formRun(t testing.TB, v CPUVariant, src *pipeline.Frame, p kernels.Bilateral, threads int) *pipeline.Frame {
	t.Helper()
	plan, err := v.Plan(p, src.Format, threads)
	e2e.Must(t, err)
	dst := kerneltest.Frame(src.Format)
	e2e.Must(t, plan.Filter(context.Background(), dst, src))
	return dst
}

// threadsOf returns the numbers of threads for case i: 1 and, in turn, all others up to 8.
func (v CPUVariant) threadsOf(i int) []int {
	if v.Threads == 1 {
		return []int{1}
	}
	return []int{1, 2 + i%4, 8 - i%3}
}

// formCase is the picture and the options of one run.
type formCase struct {
	format     pipeline.Format
	interlaced bool
	noise      bool
	p          kernels.Bilateral
}

// formCases combines each size with each radius (large sizes with every fifth), and in turn with
// sigmas, pictures and field orders.
func formCases(v CPUVariant) (cases []formCase) {
	sizes := [][2]int{{1, 1}, {2, 2}, {7, 5}, {5, 31}, {31, 31}, {33, 32}, {63, 17}, {3, 131}, {65, 67}, {141, 49}}
	for i, size := range sizes {
		for radius := range kernels.MaxRadius + 1 {
			if size[0]*size[1] > 500 && radius%5 != i%5 || testing.Short() && radius%3 != i%3 {
				continue
			}
			c := formCase{format: rgbaOf(size[0], size[1]), interlaced: (i+radius)%5 == 4, noise: (i+radius)%2 == 1, p: v.Adapt(kernels.DefaultBilateral(radius)).(kernels.Bilateral)}
			c.p.SigmaR = []float64{kernels.DefaultSigmaR, 5, 60}[(i+radius)%3]
			cases = append(cases, c)
		}
	}
	return cases
}

func (c formCase) String() string {
	return fmt.Sprintf("%s interlaced=%v r=%d sigma-r=%g", c.format, c.interlaced, c.p.Radius, c.p.SigmaR)
}

func (c formCase) frame(rng *rand.Rand) *pipeline.Frame {
	src := kerneltest.Frame(c.format)
	src.Interlaced = c.interlaced
	if c.noise {
		kerneltest.Noise(src, rng)
	} else {
		kerneltest.Scene(src, rng)
	}
	return src
}

// TestCPUForms compares every form with the reference, within 1 level, and checks that any number
// of threads gives the same bits. Forms with the same options share the reference's result.
func TestCPUForms(t *testing.T) {
	forms := map[string][]CPUVariant{}
	for _, v := range CPUVariants() {
		key := fmt.Sprint(v.Range, v.Semantics)
		forms[key] = append(forms[key], v)
	}
	for key, same := range forms {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			holdForms(t, same)
		})
	}
}

func holdForms(t *testing.T, forms []CPUVariant) {
	rng := rand.New(rand.NewPCG(21, 22))
	totals := make([]kerneltest.Difference, len(forms))
	for i, c := range formCases(forms[0]) {
		src := c.frame(rng)
		want := forms[0].reference(t, src, c.p)
		for k, v := range forms {
			totals[k].Merge(holdForm(t, v, c, v.threadsOf(i), src, want))
		}
	}
	for k, d := range totals {
		if d.Count*100 > d.Samples {
			t.Errorf("%s: more than 1 %% differ: %s", forms[k].Name, d)
		}
	}
}

func holdForm(t *testing.T, v CPUVariant, c formCase, threads []int, src, want *pipeline.Frame) (d kerneltest.Difference) {
	t.Helper()
	var first *pipeline.Frame
	for _, threads := range threads {
		got := formRun(t, v, src, c.p, threads)
		kerneltest.CheckCanaries(t, "output", got)
		kerneltest.CheckCanaries(t, "input", src)
		if first == nil {
			first = got
			if d = kerneltest.Compare(got, want); d.Largest > 1 {
				t.Errorf("%s, %s: %s", v.Name, c, d)
			}
		} else if other := kerneltest.Compare(got, first); other.Count > 0 {
			t.Errorf("%s, %s: %d threads and 1: %s", v.Name, c, threads, other)
		}
	}
	return d
}

// TestCPUFormTwice: leftovers of one frame in the form's memory do not affect the next.
func TestCPUFormTwice(t *testing.T) {
	for _, v := range CPUVariants() {
		rng := rand.New(rand.NewPCG(23, 24))
		format := rgbaOf(50, 70)
		plan, err := v.Plan(v.Adapt(kernels.DefaultBilateral(4)).(kernels.Bilateral), format, 0)
		e2e.Must(t, err)
		for i := range 4 {
			src, dst := kerneltest.Frame(format), kerneltest.Frame(format)
			src.Interlaced = i%2 == 1
			kerneltest.Noise(src, rng)
			e2e.Must(t, plan.Filter(context.Background(), dst, src))
			if d := kerneltest.Compare(dst, formRun(t, v, src, v.Adapt(kernels.DefaultBilateral(4)).(kernels.Bilateral), 1)); d.Count > 0 {
				t.Errorf("%s, frame %d: %s", v.Name, i, d)
			}
		}
	}
}

// TestCPUFormSigmas: sigmas at the ends of their range give the reference's numbers.
func TestCPUFormSigmas(t *testing.T) {
	src := kerneltest.Frame(rgbaOf(30, 11))
	kerneltest.Noise(src, rand.New(rand.NewPCG(25, 26)))
	for _, v := range CPUVariants() {
		for _, s := range []float64{1e-320, 1e-160, 1e-8, 0.3, 1e8, 1e9} {
			p := v.Adapt(kernels.DefaultBilateral(2)).(kernels.Bilateral)
			for _, set := range []*float64{&p.SigmaR, &p.SigmaS} {
				*set = s
				if d := kerneltest.Compare(formRun(t, v, src, p, 1), v.reference(t, src, p)); d.Largest > 1 {
					t.Errorf("%s %+v: %s", v.Name, p, d)
				}
			}
		}
	}
}

// TestCPUFormRefuses: a form refuses unsupported options, and the error names the supported ones.
func TestCPUFormRefuses(t *testing.T) {
	for _, v := range CPUVariants() {
		if v.Paper == "" || v.Version == "" || v.Title == "" || !strings.HasPrefix(v.Name, "cpu_") {
			t.Errorf("%+v lacks a name", v)
		}
		p := v.Adapt(kernels.DefaultBilateral(3)).(kernels.Bilateral)
		p.Range = 1 - p.Range
		if _, err := v.Plan(p, rgbaOf(8, 8), 0); err == nil || !strings.Contains(err.Error(), v.Name+" does "+v.Does()) {
			t.Errorf("%s, %+v: error %v", v.Name, p, err)
		}
		if _, err := v.Plan(v.Adapt(kernels.DefaultBilateral(16)).(kernels.Bilateral), rgbaOf(8, 8), 0); err == nil {
			t.Errorf("%s took radius 16", v.Name)
		}
		f := pipeline.Format{Layout: pipeline.NV12, Width: 8, Height: 8, Matrix: pipeline.BT709}
		if _, err := v.Plan(v.Adapt(kernels.DefaultBilateral(1)).(kernels.Bilateral), f, 0); err == nil || !strings.Contains(err.Error(), "rgba") {
			t.Errorf("%s, nv12: error %v", v.Name, err)
		}
		if _, err := v.Plan(v.Adapt(kernels.DefaultBilateral(1)).(kernels.Bilateral), rgbaOf(8, 8), -1); err == nil {
			t.Errorf("%s took -1 threads", v.Name)
		}
		if _, err := v.Plan(v.Adapt(kernels.DefaultBilateral(1)).(kernels.Bilateral), rgbaOf(8, 8), 2); (err == nil) != (v.Threads != 1) {
			t.Errorf("%s of %d threads, asked for 2: error %v", v.Name, v.Threads, err)
		}
		plan, err := v.Plan(v.Adapt(kernels.DefaultBilateral(1)).(kernels.Bilateral), rgbaOf(8, 8), 0)
		e2e.Must(t, err)
		other := kerneltest.Frame(rgbaOf(8, 9))
		if err := plan.Filter(context.Background(), kerneltest.Frame(other.Format), other); err == nil {
			t.Errorf("%s: a plan took a frame of another size", v.Name)
		}
	}
	if _, err := NamedCPU("cpu_none"); err == nil {
		t.Error("there is a form named cpu_none")
	}
}

// TestCPUFormFilter runs a form's filter as a pipeline does: changing sizes, ownership, timing,
// refused formats.
func TestCPUFormFilter(t *testing.T) {
	v, err := NamedCPU("cpu_pair")
	e2e.Must(t, err)
	pool := livetest.Pool(t, 1)
	f, err := v.Filter(v.Adapt(kernels.DefaultBilateral(3)).(kernels.Bilateral), 3, pool)
	e2e.Must(t, err)
	rng := rand.New(rand.NewPCG(27, 28))
	for i := range 6 {
		src := kerneltest.Frame(rgbaOf(40+30*(i%2), 60-9*i))
		kerneltest.Scene(src, rng)
		want := v.reference(t, src, v.Adapt(kernels.DefaultBilateral(3)).(kernels.Bilateral))
		released := false
		in := pipeline.NewFrame(src.Format, src.Planes, nil, func() { released = true })
		in.PTS = int64(i)
		err := f.Process(context.Background(), in, func(out *pipeline.Frame) error {
			if d := kerneltest.Compare(out, want); d.Largest > 1 || out.PTS != int64(i) {
				t.Errorf("frame %d: pts %d, %s", i, out.PTS, d)
			}
			out.Release()
			return nil
		})
		if err != nil || !released || pool.InUse() != 0 {
			t.Fatalf("frame %d: error %v, input released: %v, %d blocks out", i, err, released, pool.InUse())
		}
	}
	planes := kerneltest.Frame(pipeline.Format{Layout: pipeline.YUV420P, Width: 8, Height: 8, Matrix: pipeline.BT709})
	if err := f.Process(context.Background(), planes, nil); err == nil || pool.InUse() != 0 {
		t.Errorf("planes: error %v, %d blocks out", err, pool.InUse())
	}
	if err := f.Flush(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if _, err := v.Filter(kernels.DefaultBilateral(3), 0, pool); err == nil {
		t.Error("options of another meaning were taken")
	}
	sequential, err := NamedCPU("cpu_sequential")
	e2e.Must(t, err)
	if _, err := sequential.Filter(sequential.Adapt(kernels.DefaultBilateral(3)), 2, pool); err == nil {
		t.Error("the sequential form took two threads")
	}
}

// TestCPUFormCancel: every form stops in the middle of a frame with the context's cause, however
// long the frame would take.
func TestCPUFormCancel(t *testing.T) {
	format := rgbaOf(2000, 3000)
	src := kerneltest.Frame(format)
	cause := errors.New("stop")
	for _, v := range CPUVariants() {
		pool := livetest.Pool(t, 1)
		f, err := v.Filter(v.Adapt(kernels.DefaultBilateral(kernels.MaxRadius)), 0, pool)
		e2e.Must(t, err)
		ctx, cancel := context.WithCancelCause(context.Background())
		timer := time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
		start := time.Now()
		err = f.Process(ctx, src.Retain(), func(*pipeline.Frame) error { t.Errorf("%s: emitted", v.Name); return nil })
		if took := time.Since(start); !errors.Is(err, cause) || pool.InUse() != 0 || took > 5*time.Second {
			t.Errorf("%s: error %v after %v, %d blocks out", v.Name, err, took, pool.InUse())
		}
		timer.Stop()
	}
}

// BenchmarkCPUForms reports the time of a 512 x 512 picture (000, table 6.4; 003, figures 7 and 8)
// on one thread and on all, per tap of one channel.
func BenchmarkCPUForms(b *testing.B) {
	src := kerneltest.Frame(rgbaOf(512, 512))
	kerneltest.Scene(src, rand.New(rand.NewPCG(3, 4)))
	dst := kerneltest.Frame(src.Format)
	for _, radius := range []int{1, 5, 10} {
		for _, v := range CPUVariants() {
			for _, threads := range []int{1, 0} {
				if threads == 0 && v.Threads == 1 {
					continue
				}
				plan, err := v.Plan(v.Adapt(kernels.DefaultBilateral(radius)).(kernels.Bilateral), src.Format, threads)
				e2e.Must(b, err)
				b.Run(fmt.Sprintf("r=%d/%s/threads=%d", radius, v.Name, plan.threads), func(b *testing.B) {
					for b.Loop() {
						e2e.Must(b, plan.Filter(context.Background(), dst, src))
					}
					taps := float64(512 * 512 * 3 * (2*radius + 1) * (2*radius + 1))
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/taps, "ns/tap")
				})
			}
		}
	}
}
