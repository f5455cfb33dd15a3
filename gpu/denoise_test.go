package gpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/denoise"
	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/enginetest"
	"vidfilter/denoise/motion"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// noisyClip is of moving textures and one that stands still, with noise, for the denoiser.
type noisyClip struct {
	format     pipeline.Format
	frames     int
	interlaced bool
}

func denoising(b *Backend, pool *pipeline.Pool, o denoise.Options) *denoise.Filter {
	return denoise.NewFilter(b.denoiser(o.Settings), pool, o)
}

// frame draws frame n.
func (c noisyClip) frame(n int) *pipeline.Frame {
	f := kerneltest.Frame(c.format)
	info := c.format.Layout.Info()
	if info.RGB {
		denoisetest.DrawFrame(f, n)
		f.PTS, f.Interlaced = int64(n), c.interlaced
		return f
	}
	scene := denoisetest.Texture(5).Moved(-2.5*float64(n), float64(n))
	left := 20.0
	if c.frames > 20 { // only still parts use the past
		left, scene = 8, scene.Left(14, denoisetest.Texture(7))
	}
	scene = denoisetest.Texture(3).Moved(1.5*float64(n), -0.75*float64(n)).Left(left, scene)
	if n == 4 {
		scene = scene.Plus(70) // a flash
	}
	p := scene.Picture(c.format.Width, c.format.Height, info.Depth, info.SubX, info.SubY)
	denoisetest.NoisyPicture(p, 10, uint64(n)).Into(f, plane.Whole)
	if info.Depth > 8 {
		dirty(f)
	}
	f.PTS, f.Interlaced = int64(n), c.interlaced
	return f
}

// dirty sets all bits of some samples, and in all samples those beside it, which must not matter.
func dirty(f *pipeline.Frame) {
	info := f.Layout.Info()
	for i, y := range f.Rows() {
		row := f.Row(i, y)
		for x := 0; x < len(row); x += 2 {
			v := binary.LittleEndian.Uint16(row[x:]) | 1<<info.Shift - 1
			if (x/2+7*y)%97 == 0 {
				v = math.MaxUint16
			}
			binary.LittleEndian.PutUint16(row[x:], v)
		}
	}
}

// denoised returns the bytes of the clip's frames as they come out of a filter; filterOf makes the
// filter for a pool of results.
func denoisedBy(ctx context.Context, alloc, input pipeline.Allocator, clips []noisyClip, filterOf func(*pipeline.Pool) pipeline.Filter) (all [][]byte, err error) {
	pool, inputs := pipeline.NewPool(alloc, 4), pipeline.NewPool(input, 1)
	defer pool.Close()
	defer inputs.Close()
	filter := filterOf(pool)
	emit := func(f *pipeline.Frame) error {
		var own []byte
		for i, y := range f.Rows() {
			own = append(own, f.Row(i, y)...)
		}
		if f.PTS != int64(len(all)) {
			return fmt.Errorf("frame %d comes as number %d", f.PTS, len(all))
		}
		all = append(all, own)
		f.Release()
		return nil
	}
	n := 0
	for _, c := range clips {
		for i := range c.frames {
			in, err := inputs.TakeFrame(c.format, nil)
			if err != nil {
				return all, err
			}
			in.CopySamples(c.frame(i))
			in.PTS, in.Interlaced = int64(n), c.interlaced
			n++
			if err := filter.Process(ctx, in, emit); err != nil {
				filter.(pipeline.Discarder).Discard()
				return all, errors.Join(err, unreleased(pool, inputs))
			}
		}
	}
	if err := filter.Flush(ctx, emit); err != nil {
		filter.(pipeline.Discarder).Discard()
		return all, errors.Join(err, unreleased(pool, inputs))
	}
	return all, unreleased(pool, inputs)
}

func unreleased(pools ...*pipeline.Pool) error {
	for _, p := range pools {
		if n := p.InUse(); n != 0 {
			return fmt.Errorf("%d frames are not released", n)
		}
	}
	return nil
}

// plainly denoises by the reference.
func plainly(t *testing.T, o denoise.Options, clips ...noisyClip) [][]byte {
	t.Helper()
	all, err := denoisedBy(context.Background(), enginetest.Memory{}, enginetest.Memory{}, clips, func(p *pipeline.Pool) pipeline.Filter {
		return denoise.NewFilter(denoise.Plain{}, p, o)
	})
	e2e.Must(t, err)
	return all
}

func onDevice(b *Backend, o denoise.Options, clips ...noisyClip) ([][]byte, error) {
	return denoisedBy(context.Background(), b, b.Input(), clips, func(p *pipeline.Pool) pipeline.Filter {
		return denoising(b, p, o)
	})
}

// agree checks that samples are within 1 level in 99.9 %, and never differ by more than 2.
func agree(t *testing.T, got, want [][]byte) {
	t.Helper()
	agreeAt(t, pipeline.YUV420P, got, want)
}

// agreeAt is agree at the depth of a layout. The bound for 10 bits also holds at larger depths,
// since weights and sums are no more precise there.
func agreeAt(t *testing.T, l pipeline.Layout, got, want [][]byte) {
	t.Helper()
	info := l.Info()
	level := 1 << max(info.Depth-10, 0)
	if info.RGB { // which is added up of three differences
		level *= 2
	}
	sample := func(b []byte, i int) int {
		if info.Depth == 8 {
			return int(b[i])
		}
		v := int(binary.LittleEndian.Uint16(b[2*i:]))
		if v&(1<<info.Shift-1) != 0 || v>>info.Shift >= 1<<info.Depth {
			t.Fatalf("%#x is no sample of %s", v, l)
		}
		return v >> info.Shift
	}
	if len(got) != len(want) {
		t.Fatalf("%d frames of %d", len(got), len(want))
	}
	var counts [4]int
	samples := 0
	for i := range got {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("frame %d has %d bytes of %d", i, len(got[i]), len(want[i]))
		}
		n := len(got[i]) / info.SampleBytes()
		for k := range n {
			d := sample(got[i], k) - sample(want[i], k)
			counts[min((max(d, -d)+level-1)/level, 3)]++
		}
		samples += n
	}
	t.Logf("of %d samples %d differ by 1, %d by 2, %d by more", samples, counts[1], counts[2], counts[3])
	if counts[3] > 0 || 1000*counts[2] > samples {
		t.Errorf("of %d samples %d differ by 2, %d by more", samples, counts[2], counts[3])
	}
}

// denoiseOptions are for noise of the clips' sigma.
func denoiseOptions(tier denoise.Tier) denoise.Options {
	return denoise.Options{Settings: denoise.Default(tier), Sigma: 10}
}

func yuv(l pipeline.Layout, width, height int) pipeline.Format {
	return pipeline.Format{Layout: l, Width: width, Height: height, Matrix: pipeline.BT709}
}

// TestDenoise compares all tiers, layouts and options with the reference.
func TestDenoise(t *testing.T) {
	compares(t)
	type test struct {
		name  string
		clips []noisyClip
		o     denoise.Options
	}
	small := yuv(pipeline.YUV420P, 64, 48)
	with := func(tier denoise.Tier, change func(*denoise.Options)) denoise.Options {
		o := denoiseOptions(tier)
		change(&o)
		return o
	}
	for _, test := range []test{
		{"fast", []noisyClip{{small, 6, false}}, denoiseOptions(denoise.Fast)},
		{"good", []noisyClip{{small, 6, false}}, denoiseOptions(denoise.Good)},
		{"best", []noisyClip{{small, 30, false}}, denoiseOptions(denoise.Best)},
		{"measured", []noisyClip{{small, 6, false}}, with(denoise.Best, func(o *denoise.Options) { o.Sigma = 0 })},
		{"still", []noisyClip{{small, 1, false}}, denoiseOptions(denoise.Best)},
		{"nv12", []noisyClip{{yuv(pipeline.NV12, 71, 37), 4, false}}, denoiseOptions(denoise.Good)},
		{"422", []noisyClip{{yuv(pipeline.YUV422P, 51, 45), 4, false}}, denoiseOptions(denoise.Fast)},
		{"444", []noisyClip{{yuv(pipeline.YUV444P, 49, 33), 4, false}}, denoiseOptions(denoise.Good)},
		{"gray", []noisyClip{{yuv(pipeline.GRAY, 50, 35), 4, false}, {yuv(pipeline.GRAY, 33, 2), 2, true}}, denoiseOptions(denoise.Best)},
		{"tiny", []noisyClip{{yuv(pipeline.YUV420P, 5, 3), 3, false}, {yuv(pipeline.NV12, 1, 1), 3, false}}, denoiseOptions(denoise.Good)},
		{"narrow", []noisyClip{{yuv(pipeline.YUV420P, 150, 9), 3, false}}, denoiseOptions(denoise.Good)},
		{"interlaced", []noisyClip{{yuv(pipeline.YUV420P, 48, 47), 4, true}, {yuv(pipeline.NV12, 16, 2), 3, true}}, denoiseOptions(denoise.Fast)},
		{"causal", []noisyClip{{small, 5, false}}, with(denoise.Good, func(o *denoise.Options) { o.Ahead = 0 })},
		{"luma only", []noisyClip{{small, 3, false}}, with(denoise.Good, func(o *denoise.Options) { o.Chroma = 0 })},
		{"chroma only", []noisyClip{{small, 3, false}, {yuv(pipeline.GRAY, 33, 20), 2, false}}, with(denoise.Good, func(o *denoise.Options) { o.Luma = 0 })},
		{"chroma only, fast", []noisyClip{{yuv(pipeline.NV12.At(10), 40, 32), 3, true}}, with(denoise.Fast, func(o *denoise.Options) { o.Luma, o.Chroma = 0, 2 })},
		{"temporal", []noisyClip{{small, 4, false}}, with(denoise.Good, func(o *denoise.Options) { o.Settings = o.TemporalOnly() })},
		{"temporal, fast", []noisyClip{{small, 4, false}}, with(denoise.Fast, func(o *denoise.Options) { o.Settings = o.TemporalOnly() })},
		{"spatial", []noisyClip{{small, 4, false}}, with(denoise.Best, func(o *denoise.Options) { o.Settings = o.SpatialOnly() })},
		{"grain", []noisyClip{{small, 3, false}}, with(denoise.Fast, func(o *denoise.Options) { o.Grain, o.Strength = 0.4, 1.6 })},
		{"strong", []noisyClip{{small, 5, false}}, with(denoise.Best, func(o *denoise.Options) { o.Sigma = 22 })},
		{"change", []noisyClip{{small, 4, false}, {yuv(pipeline.NV12, 40, 40), 3, false}, {small, 2, true}}, denoiseOptions(denoise.Fast)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !onDriver(t, "") {
				return
			}
			b := open(t, Options{})
			got, err := onDevice(b, test.o, test.clips...)
			e2e.Must(t, err)
			agree(t, got, plainly(t, test.o, test.clips...))
		})
	}
}

// TestDenoiseStreams compares streams of every tier, layout, depth and kind of scan with the
// reference, in the middle and at the end. These frames and the ones before them are filtered;
// TestDenoise compares whole streams. The test driver takes each layout once, with the tiers and
// kinds of scan in turn.
func TestDenoiseStreams(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	for tier := denoise.Fast; tier <= denoise.Best; tier++ {
		for i, l := range pipeline.Layouts() {
			info := l.Info()
			odd := info.SemiPlanar || info.Depth == 9 || info.Depth == 14
			if odd && tier != denoise.Best { // once is enough
				continue
			}
			frames := 15 // more than a window
			if tier == denoise.Best {
				frames = 26 // and two runs of the past
			}
			compared := []int{7, frames - 1}
			for scan, interlaced := range []bool{false, true} {
				if slow && (i+int(l.Arrangement()))%6 != 3*scan+int(tier) {
					continue
				}
				t.Run(fmt.Sprintf("%s, tier %d, interlaced %v", l, tier, interlaced), func(t *testing.T) {
					clip := noisyClip{yuv(l, 64-3*(i%2), 48+i%3), frames, interlaced}
					o := denoiseOptions(tier)
					o.Depth = []int{10, 0, 16, 12}[(i+int(tier)+2*scan)%4] // of results, if that is more
					of := l
					if deeper := l.At(o.Depth); deeper.Valid() && o.Depth > info.Depth {
						of = deeper
					}
					filtered := func(e denoise.Engine, alloc, input pipeline.Allocator, numbers ...int) [][]byte {
						all, err := denoisedBy(context.Background(), alloc, input, []noisyClip{clip}, func(p *pipeline.Pool) pipeline.Filter {
							return denoise.NewFilter(&enginetest.Some{Engine: e, Numbers: numbers, Interlaced: interlaced}, p, o)
						})
						e2e.Must(t, err)
						return all
					}
					got := filtered(b.denoiser(o.Settings), b, b.Input(), 6, 7, frames-2, frames-1)
					want := filtered(denoise.Plain{}, enginetest.Memory{}, enginetest.Memory{}, compared...)
					for _, n := range compared {
						agreeAt(t, of, got[n:n+1], want[n:n+1])
					}
				})
			}
		}
	}
}

// TestDenoiseDeepPlain: planes that are not filtered keep their bits, and clips of other depths may
// follow each other.
func TestDenoiseDeepPlain(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	o := denoiseOptions(denoise.Good)
	o.Chroma = 0
	clips := []noisyClip{
		{yuv(pipeline.NV12.At(16), 33, 18), 2, false}, {yuv(pipeline.YUV420P, 33, 18), 2, false},
		{yuv(pipeline.NV16.At(10), 33, 18), 2, true}, {yuv(pipeline.YUV444P.At(12), 33, 18), 2, false},
	}
	got, err := onDevice(b, o, clips...)
	e2e.Must(t, err)
	for _, c := range clips {
		l := c.format.Layout
		for n := range c.frames {
			source := kerneltest.Frame(c.format)
			plane.Of(c.frame(n), plane.Whole).Into(source, plane.Whole)
			var want []byte
			for i, y := range source.Rows() {
				want = append(want, source.Row(i, y)...)
			}
			luma := l.Info().SampleBytes() * c.format.Width * c.format.Height
			if !bytes.Equal(got[n][luma:], want[luma:]) || bytes.Equal(got[n][:luma], want[:luma]) {
				t.Errorf("%s, frame %d: luma must differ, chroma not", l, n)
			}
		}
		got = got[c.frames:]
	}
}

// TestDenoiseBits: the same bits come out twice, in any order of threads and streams.
func TestDenoiseBits(t *testing.T) {
	for _, driver := range []string{"", "order=5"} {
		t.Run(driver, func(t *testing.T) {
			if !onDriver(t, driver) {
				return
			}
			b := open(t, Options{})
			clip := noisyClip{yuv(pipeline.YUV420P, 64, 48), 5, false}
			first, err := onDevice(b, denoiseOptions(denoise.Good), clip)
			e2e.Must(t, err)
			second, err := onDevice(b, denoiseOptions(denoise.Good), clip)
			e2e.Must(t, err)
			for i := range first {
				if !bytes.Equal(first[i], second[i]) {
					t.Errorf("frame %d differs", i)
				}
			}
			agree(t, first, plainly(t, denoiseOptions(denoise.Good), clip))
		})
	}
}

// flickering changes the noise from job to job, so that the search wants other planes.
type flickering struct {
	denoise.Engine
	jobs int
}

func (f *flickering) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
	f.jobs++
	j.Noise = noise.Flat([]float64{10, 25}[f.jobs/2%2])
	return f.Engine.Denoise(ctx, j)
}

// TestDenoiseLanes: jobs side by side have the bits of jobs one after another, however early or
// late a device does its work.
func TestDenoiseLanes(t *testing.T) {
	type test struct {
		name string
		clip noisyClip
		o    denoise.Options
		of   func(denoise.Engine) denoise.Engine
	}
	same := func(e denoise.Engine) denoise.Engine { return e }
	small := yuv(pipeline.YUV420P, 40, 32)
	for _, test := range []test{
		{"past", noisyClip{small, 26, false}, denoiseOptions(denoise.Best), same},
		{"fields", noisyClip{small, 7, true}, denoiseOptions(denoise.Fast), same},
		{"half", noisyClip{yuv(pipeline.NV12, 72, 68), 6, false}, denoiseOptions(denoise.Fast), func(e denoise.Engine) denoise.Engine {
			return enginetest.WithHalf{Engine: e, Kind: 2}
		}},
		{"smoothing", noisyClip{small, 10, false}, denoiseOptions(denoise.Fast), func(e denoise.Engine) denoise.Engine {
			return &flickering{Engine: e}
		}},
	} {
		for seed := 1; seed <= 2; seed++ {
			t.Run(fmt.Sprintf("%s, ahead %d", test.name, seed), func(t *testing.T) {
				if !onDriver(t, fmt.Sprintf("ahead=%d", seed)) {
					return
				}
				var want [][]byte
				for _, streams := range []int{1, autoStreams} {
					b := open(t, Options{Streams: streams})
					d := newDenoiser(b, b.units[0], test.o.Settings)
					got, err := denoisedBy(context.Background(), b, b.Input(), []noisyClip{test.clip}, func(p *pipeline.Pool) pipeline.Filter {
						return denoise.NewFilter(test.of(d), p, test.o)
					})
					e2e.Must(t, err)
					if want == nil {
						want = got
					} else if !slices.EqualFunc(got, want, bytes.Equal) {
						t.Errorf("%d streams change the bits", streams)
					}
				}
			})
		}
	}
}

// TestDenoiseLaneCount: jobs run side by side where there is memory for it, and somebody waits for
// more than one result.
func TestDenoiseLaneCount(t *testing.T) {
	for _, test := range []struct {
		driver       string
		streams      int
		causal       bool
		lanes, depth int
	}{
		{"", 0, false, 3, 3},
		{"", 2, false, 2, 2},
		{"", 1, false, 1, 2},
		{"", 0, true, 1, 2},
		{"memory=2M", 0, false, 1, 3},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			if !onDriver(t, test.driver) {
				return
			}
			b, s := open(t, Options{Streams: test.streams}), denoise.Default(denoise.Good)
			if test.causal {
				s.Ahead = 0
			}
			d := newDenoiser(b, b.units[0], s)
			e2e.Must(t, d.open(yuv(pipeline.YUV420P, 40, 32)))
			if len(d.lanes) != test.lanes || d.Depth() != test.depth {
				t.Errorf("%d lanes, depth %d", len(d.lanes), d.Depth())
			}
			d.Idle()
		})
	}
}

// TestDenoiseVectors: the vectors are the reference's.
func TestDenoiseVectors(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	for _, f := range []pipeline.Format{
		yuv(pipeline.YUV420P, 150, 130), yuv(pipeline.YUV420P, 37, 61),
		yuv(pipeline.NV12.At(10), 150, 67), yuv(pipeline.YUV444P.At(16), 37, 61),
	} {
		for _, tier := range []denoise.Tier{denoise.Fast, denoise.Good} {
			for _, sigma := range []float64{10, 25} {
				s := denoise.Default(tier)
				s.TwoPasses = false // leaves the vectors as they were found
				if err := compareVectors(b, noisyClip{format: f, frames: 7}, s, sigma); err != nil {
					t.Errorf("%s, tier %d, sigma %g: %v", f, tier, sigma, err)
				}
			}
		}
	}
}

func compareVectors(b *Backend, clip noisyClip, s denoise.Settings, sigma float64) error {
	ctx := context.Background()
	d := newDenoiser(b, b.units[0], s)
	defer d.Idle()
	search := motion.NewSearch(s.Motion, sigma)
	j := denoise.Job{Out: kerneltest.Frame(clip.format), Centre: 3, Noise: noise.Flat(sigma), Settings: s}
	var frames []motion.Frame
	for i := range clip.frames {
		f := clip.frame(i)
		p, err := d.Prepare(ctx, f, plane.Whole)
		if err != nil {
			return err
		}
		defer p.Release()
		j.Window = append(j.Window, p)
		luma := plane.Of(f, plane.Whole).AtLeast(16, 16).Planes[0]
		frames = append(frames, search.Prepare(luma))
	}
	wait, err := d.Denoise(ctx, j)
	if err != nil {
		return err
	}
	if err := wait(ctx); err != nil {
		return err
	}
	k := j.Window[0].(*cudaPicture).kind
	for n, i := range []int{0, 1, 2, 4, 5, 6} {
		want := search.Find(frames[j.Centre], frames[i])
		at, count := k.layout.Found(uint64(k.work[0].address), n)
		got := make([][2]int16, count)
		if err := d.unit.work.do(func() error {
			return cu.MemcpyDtoH(unsafe.Pointer(&got[0]), cu.DevicePtr(at), int64(4*len(got)))
		}); err != nil {
			return err
		}
		for c, v := range want.Vectors {
			if got[c] != [2]int16{int16(v.X), int16(v.Y)} {
				return fmt.Errorf("neighbour %d, cell %d of %d: %v, not %v", n, c, count, got[c], v)
			}
		}
	}
	return nil
}

// TestDenoiseClose: all memory is freed of a backend that is closed under a filter.
func TestDenoiseClose(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	pool, inputs := pipeline.NewPool(enginetest.Memory{}, 4), pipeline.NewPool(enginetest.Memory{}, 1)
	filter := denoising(b, pool, denoiseOptions(denoise.Fast))
	clip := noisyClip{yuv(pipeline.YUV420P, 40, 32), 6, false}
	for i := range clip.frames {
		in, err := inputs.TakeFrame(clip.format, nil)
		e2e.Must(t, err)
		in.CopySamples(clip.frame(i))
		if err := filter.Process(context.Background(), in, func(f *pipeline.Frame) error { f.Release(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	filter.Discard()
	if err := unreleased(pool, inputs); err != nil {
		t.Error(err)
	}
}

// TestDenoiseShortage: if memory for another staging buffer or stream runs out, the denoiser goes
// on with those that it has.
func TestDenoiseShortage(t *testing.T) {
	for driver, want := range map[string]string{"alloc=4": "1 of 5 buffers for frames", "alloc=14": "1 of 3 streams"} {
		t.Run(driver, func(t *testing.T) {
			if !onDriver(t, driver+",ahead=1") {
				return
			}
			var said []string
			b := open(t, Options{Log: terminal.LogTo(slog.LevelDebug, func(_ slog.Level, msg string) { said = append(said, msg) })})
			clip := noisyClip{yuv(pipeline.YUV420P, 40, 32), 6, false}
			got, err := onDevice(b, denoiseOptions(denoise.Fast), clip)
			if err != nil || len(said) != 1 || !strings.HasSuffix(said[0], "out of memory; going on with "+want) {
				t.Fatalf("%v, said %q", err, said)
			}
			agree(t, got, plainly(t, denoiseOptions(denoise.Fast), clip))
		})
	}
}

// TestDenoiseFaults: a failure ends the run with an error that names the operation, and all
// memory is freed.
func TestDenoiseFaults(t *testing.T) {
	for _, test := range []struct{ driver, want string }{
		{"alloc=1", "MB on cuda:0, of which 2147.5 MB are free: out of memory"},
		{"alloc=3", "MB on cuda:0, of which "},
		{"alloc=10", "MB on cuda:0, of which "},
		{"launch=1", " on cuda:0, yuv420p 40x32: the kernel failed on the GPU"},
		{"launch=9", " on cuda:0, yuv420p 40x32: the kernel failed on the GPU"},
		{"hang=3", " on cuda:0, yuv420p 40x32: cuda:0 did not answer for 300ms"},
		{"lost=20", " on cuda:0, yuv420p 40x32: "},
		{"lost=60", " on cuda:0, yuv420p 40x32: "},
	} {
		t.Run(test.driver, func(t *testing.T) {
			if !onDriver(t, test.driver) {
				return
			}
			b := open(t, Options{Patience: patience(test.driver)})
			_, err := onDevice(b, denoiseOptions(denoise.Fast), noisyClip{yuv(pipeline.YUV420P, 40, 32), 6, false})
			if !errors.Is(err, ErrDevice) || !strings.Contains(fmt.Sprint(err), test.want) || strings.Contains(fmt.Sprint(err), "not released") {
				t.Errorf("error %v", err)
			}
		})
	}
}
