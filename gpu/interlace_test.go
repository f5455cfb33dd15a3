package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/denoise"
	"vidfilter/denoise/enginetest"
	"vidfilter/interlace"
	fields "vidfilter/interlace/device"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// weaving returns a deinterlacer for clips.
func weaving(e interlace.Engine, pool *pipeline.Pool, topFirst bool) *ordered {
	return &ordered{Filter: interlace.NewFilter(e, pool, interlace.Options{}), topFirst: topFirst}
}

// ordered sets the field order of frames and numbers the pictures. If stands is set, it replaces
// the right half of each frame with the first frame's.
type ordered struct {
	*interlace.Filter
	topFirst bool
	stands   bool
	first    *pipeline.Frame
	made     int64
}

func (o *ordered) Process(ctx context.Context, f *pipeline.Frame, emit pipeline.Emit) error {
	f.TopFieldFirst = o.topFirst
	switch {
	case !o.stands:
	case o.first == nil || o.first.Format != f.Format:
		o.first = pipeline.Blank(f.Format)
		o.first.CopySamples(f)
	default:
		for i, y := range f.Rows() {
			half := len(f.Row(i, y)) / 2
			copy(f.Row(i, y)[half:], o.first.Row(i, y)[half:])
		}
	}
	return o.Filter.Process(ctx, f, o.numbered(emit))
}

func (o *ordered) Flush(ctx context.Context, emit pipeline.Emit) error {
	return o.Filter.Flush(ctx, o.numbered(emit))
}

func (o *ordered) numbered(emit pipeline.Emit) pipeline.Emit {
	return func(f *pipeline.Frame) error {
		f.PTS = o.made
		o.made++
		return emit(f)
	}
}

// wovenBy returns the bytes of an engine's pictures for clips.
func wovenBy(e interlace.Engine, alloc, input pipeline.Allocator, topFirst bool, clips ...noisyClip) ([][]byte, error) {
	return denoisedBy(context.Background(), alloc, input, clips, func(p *pipeline.Pool) pipeline.Filter {
		f := weaving(e, p, topFirst)
		f.stands = true
		return f
	})
}

// wovenPlainly is wovenBy with the reference.
func wovenPlainly(t *testing.T, topFirst bool, clips ...noisyClip) [][]byte {
	t.Helper()
	all, err := wovenBy(interlace.Plain{}, enginetest.Memory{}, enginetest.Memory{}, topFirst, clips...)
	e2e.Must(t, err)
	return all
}

// fieldsOf is a clip of interlaced frames.
func fieldsOf(l pipeline.Layout, width, height, frames int) noisyClip {
	return noisyClip{yuv(l, width, height), frames, true}
}

// TestInterlace checks that pictures match the reference bit for bit. It covers every layout and
// depth, both field orders, odd and small sizes, videos of one frame, and changes of format.
func TestInterlace(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	check := func(name string, topFirst bool, clips ...noisyClip) {
		t.Run(fmt.Sprintf("%s, top first %v", name, topFirst), func(t *testing.T) {
			got, err := wovenBy(b.deinterlacer(), b, b.Input(), topFirst, clips...)
			e2e.Must(t, err)
			if want := wovenPlainly(t, topFirst, clips...); !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%d pictures differ from the %d reference pictures", len(got), len(want))
			}
		})
	}
	for i, l := range pipeline.Layouts() {
		topFirst := i%2 == 0
		if !slow {
			check(l.String(), !topFirst, fieldsOf(l, 131, 77, 9))
		} else if info := l.Info(); info.Depth != 8 && info.Depth != 10 && info.Depth != 16 {
			continue
		}
		check(l.String(), topFirst, fieldsOf(l, 39-i%5, 22+i%4, 3))
	}
	for n, topFirst := range []bool{true, false} {
		check("one frame", topFirst, fieldsOf(pipeline.YUV420P, 66, 46, 1))
		check("large", topFirst, fieldsOf([]pipeline.Layout{pipeline.YUV420P, pipeline.YUV422P.At(10)}[n], 131, 77, 3))
		check("tiny", topFirst, fieldsOf(pipeline.YUV420P, 1, 2, 3), fieldsOf(pipeline.NV12.At(10), 3, 3, 2), fieldsOf(pipeline.YUV422P, 2, 5, 2))
		check("changes", topFirst, fieldsOf(pipeline.YUV420P, 40, 32, 3), noisyClip{yuv(pipeline.YUV420P, 40, 32), 2, false},
			fieldsOf(pipeline.YUV420P, 40, 32, 2), fieldsOf(pipeline.RGBA, 33, 20, 2))
	}
}

// TestInterlaceOrders checks that the result does not depend on the order of streams.
func TestInterlaceOrders(t *testing.T) {
	for order := range 3 {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			if !onDriver(t, fmt.Sprintf("order=%d", order+1)) {
				return
			}
			clip := fieldsOf(pipeline.YUV420P, 40, 30, 6)
			b := open(t, Options{All: true})
			got, err := wovenBy(b.deinterlacer(), b, b.Input(), true, clip)
			e2e.Must(t, err)
			if !slices.EqualFunc(got, wovenPlainly(t, true, clip), bytes.Equal) {
				t.Error("pictures differ from the reference")
			}
		})
	}
}

// copier copies frames to frames of its pool.
type copier struct {
	pool *pipeline.Pool
	unit *openDevice
}

func (copier) Held() int                                  { return 0 }
func (copier) Flush(context.Context, pipeline.Emit) error { return nil }
func (c copier) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	defer in.Release()
	out, err := c.pool.NewFrame(ctx, in.Format)
	if err != nil {
		return err
	}
	out.CopyTiming(in)
	to := out
	if out.Planes[0].Data == nil {
		to = pipeline.Blank(in.Format)
	}
	to.CopySamples(in)
	if out.Planes[0].Data == nil {
		size := frameBytes(in.Format)
		err = c.unit.work.do(func() error {
			return cu.MemcpyHtoD(cu.DevicePtr(out.Device.Address), unsafe.Pointer(&to.Planes[0].Data[0]), int64(size))
		})
	}
	if err != nil {
		out.Release()
		return err
	}
	return emit(out)
}

// TestInterlaceStays checks that a chain's results do not depend on where its frames are: in host
// memory, in device memory, or in both for the denoiser.
func TestInterlaceStays(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	o := denoiseOptions(denoise.Fast)
	o.Sigma = 0 // measured on the CPU
	for i, l := range []pipeline.Layout{pipeline.YUV420P, pipeline.NV12, pipeline.YUV422P.At(10), pipeline.GRAY} {
		t.Run(l.String(), func(t *testing.T) {
			clip := fieldsOf(l, 36+i, 30-i, 5)
			chain := func(first, second func(*pipeline.Pool)) [][]byte {
				var c *pipeline.Chain
				defer func() { c.Close() }()
				got, err := denoisedBy(t.Context(), b, b.Input(), []noisyClip{clip}, func(last *pipeline.Pool) pipeline.Filter {
					woven := func(limit int, where func(*pipeline.Pool)) func(int, *pipeline.Link) *pipeline.Pool {
						return func(int, *pipeline.Link) *pipeline.Pool {
							p := pipeline.NewPool(b, limit)
							where(p)
							return p
						}
					}
					c = pipeline.NewChain([]pipeline.Link{
						{Name: "copy", Results: 16, Pool: woven(32, first), Open: func(p *pipeline.Pool, _ *pipeline.Link, _ int) (pipeline.Filter, error) {
							return copier{p, b.units[0]}, nil
						}},
						{Name: "weave", Results: 16, Pool: woven(64, second), Open: func(p *pipeline.Pool, _ *pipeline.Link, _ int) (pipeline.Filter, error) {
							return weaving(b.deinterlacer(), p, true), nil
						}},
						{Name: "denoise", Pool: func(int, *pipeline.Link) *pipeline.Pool { return last }, Open: func(p *pipeline.Pool, _ *pipeline.Link, _ int) (pipeline.Filter, error) {
							return denoising(b, p, o), nil
						}},
					}, 0)
					f, err := c.Open()
					e2e.Must(t, err)
					return f
				})
				e2e.Must(t, err)
				return got
			}
			inHost := func(*pipeline.Pool) {}
			want := chain(inHost, inHost)
			if got := chain(b.KeepBetween, b.KeepBoth); !slices.EqualFunc(got, want, bytes.Equal) {
				t.Error("results depend on where frames are stored")
			}
			if len(want) != 2*clip.frames {
				t.Errorf("%d pictures from %d frames", len(want), clip.frames)
			}
		})
	}
}

// runInterlace is a job for TestEachCall.
func runInterlace(t *testing.T) (err error) {
	b, err := Open(Options{Patience: patient})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	clip := fieldsOf(pipeline.YUV420P, 40, 31, 5)
	got, err := wovenBy(b.deinterlacer(), b, b.Input(), true, clip)
	if strings.Contains(fmt.Sprint(err), "not released") {
		t.Error(err)
	}
	if err == nil && len(got) != 2*clip.frames {
		t.Errorf("no error, but %d pictures from %d frames", len(got), clip.frames)
	}
	if len(got) > 0 && !slices.EqualFunc(got, wovenPlainly(t, true, clip)[:len(got)], bytes.Equal) {
		t.Error("pictures differ from the reference")
	}
	return err
}

// TestInterlaceMemory checks that device memory matches interlaceBytes, at most 1.2 GB at 4K.
func TestInterlaceMemory(t *testing.T) {
	if n := interlaceBytes(t, yuv(pipeline.YUV420P, 3840, 2160)); n > 1200e6 {
		t.Errorf("%s of device memory at 4K", megabytes(int64(n)))
	}
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	u := b.units[0]
	before := freeOn(t, u)
	clip := fieldsOf(pipeline.YUV420P, 128, 96, 12)
	pool, inputs := pipeline.NewPool(b, depth+1), pipeline.NewPool(b.Input(), 1)
	defer pool.Close()
	defer inputs.Close()
	f := weaving(b.deinterlacer(), pool, true)
	for n := range clip.frames {
		in, err := inputs.TakeFrame(clip.format, nil)
		e2e.Must(t, err)
		in.CopySamples(clip.frame(n))
		in.PTS, in.Interlaced = int64(n), true
		e2e.Must(t, f.Process(t.Context(), in, func(f *pipeline.Frame) error { f.Release(); return nil }))
	}
	if got, want := before-freeOn(t, u), int64(interlaceBytes(t, clip.format)); slow && (got > want || got < want*9/10) {
		t.Errorf("%d bytes are in use, %d planned", got, want)
	}
	f.Discard()
	if got := before - freeOn(t, u); slow && got != 0 {
		t.Errorf("%d bytes are not freed", got)
	}
}

// interlaceBytes returns the device memory for the fields of a window, their estimates, the tables,
// scratch memory and copies in progress.
func interlaceBytes(t *testing.T, f pipeline.Format) int {
	t.Helper()
	l, err := fields.NewLayout(shapeOf(f))
	e2e.Must(t, err)
	_, _, size := f.PlanLayout(pipeline.PitchAlign)
	const kept, estimates = 2*interlace.Reach + 2, 2 * (2*2 + 1)
	return kept*l.Field + estimates*l.Estimate + l.Work + len(fields.Table()) + stagesFor(1)*(size/2+size)
}
