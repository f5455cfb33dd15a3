package pipeline

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// picture is a source of frames whose samples encode their position: luma (or red) is the column,
// chroma the chroma column, each plus the frame's number. It counts the frames that are still
// owned.
type picture struct {
	format Format
	pool   *Pool
	props  func(n int) Props
	n      int
	left   int
}

func columnValue(f Format, i, x, frame int) byte {
	column, _ := f.sampleBytes(i)
	return byte(x/column*3 + x%column*40 + i*50 + frame)
}

func (p *picture) Next(ctx context.Context) (*Frame, error) {
	if p.n == p.left {
		return nil, io.EOF
	}
	f, err := p.pool.NewFrame(ctx, p.format)
	if err != nil {
		return nil, err
	}
	for i, y := range p.format.Rows() {
		for x := range f.Row(i, y) {
			f.Row(i, y)[x] = columnValue(p.format, i, x, p.n)
		}
	}
	if p.props != nil {
		f.props = NewFrame(p.format, f.Planes, p.props(p.n), nil).props
	}
	f.PTS, f.Duration, f.Interlaced = int64(100+p.n), 7, true
	p.n++
	return f, nil
}

// invert makes a new frame with every sample inverted. It keeps hold of the frames that it took.
type invert struct {
	pool *Pool
	hold int
	held []*Frame
}

func (v *invert) Held() int { return v.hold }
func (v *invert) Discard() {
	for _, f := range v.held {
		f.Release()
	}
	v.held = nil
}
func (v *invert) Flush(ctx context.Context, emit Emit) error { return v.step(ctx, 0, emit) }
func (v *invert) Process(ctx context.Context, f *Frame, emit Emit) error {
	v.held = append(v.held, f)
	return v.step(ctx, v.hold, emit)
}

func (v *invert) step(ctx context.Context, keep int, emit Emit) error {
	for len(v.held) > keep {
		in := v.held[0]
		out, err := v.pool.NewFrame(ctx, in.Format)
		if err != nil {
			return err
		}
		for i, y := range in.Rows() {
			for x, s := range in.Row(i, y) {
				out.Row(i, y)[x] = ^s
			}
		}
		out.CopyTiming(in)
		v.held = v.held[1:]
		in.Release()
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

// gallery checks every frame that it is given.
type gallery struct {
	check    func(f *Frame, n int)
	n        int
	finished bool
}

func (g *gallery) Put(_ context.Context, f *Frame) error {
	g.check(f, g.n)
	g.n++
	f.Release()
	return nil
}
func (g *gallery) Finish(context.Context) error { g.finished = true; return nil }

func TestCompare(t *testing.T) {
	const frames = 5
	for _, layout := range allLayouts {
		for _, size := range [][2]int{{1, 1}, {2, 2}, {3, 1}, {7, 5}, {8, 4}, {9, 3}, {10, 2}, {33, 17}, {64, 8}} {
			for _, mode := range []CompareMode{CompareSide, CompareSplit} {
				for _, hold := range []int{0, 2} {
					in := Format{Layout: layout, Width: size[0], Height: size[1], Matrix: BT709, FullRange: hold > 0}
					t.Run(fmt.Sprint(in, mode, hold), func(t *testing.T) {
						bubble(t, func(t *testing.T) { testCompare(t, in, mode, hold, frames) })
					})
				}
			}
		}
	}
}

func testCompare(t *testing.T, in Format, mode CompareMode, hold, frames int) {
	mem := &heap{}
	src := NewPool(mem, 1+hold)
	results, composed := NewPool(mem, 1), NewPool(mem, 1)
	props := make([]*countProps, frames)
	for i := range props {
		props[i] = &countProps{}
	}
	source := &picture{format: in, pool: src, left: frames, props: func(n int) Props { return props[n] }}
	want := CompareFormat(in, mode)
	sink := &gallery{check: func(f *Frame, n int) {
		if f.Format != want {
			t.Fatalf("format %v, want %v", f.Format, want)
		}
		if f.PTS != int64(100+n) || f.Duration != 7 || !f.Interlaced || f.Props() != props[n] || props[n].released != 0 {
			t.Errorf("frame %d: pts %d, duration %d, interlaced %v", n, f.PTS, f.Duration, f.Interlaced)
		}
		checkCompared(t, in, f, mode, n)
	}}
	filter := Compare(&invert{pool: results, hold: hold}, mode, composed)
	if filter.Held() != hold {
		t.Errorf("Held is %d", filter.Held())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	e2e.Must(t, Run(ctx, source, []Filter{filter}, sink, Options{}))
	if sink.n != frames || !sink.finished {
		t.Errorf("%d frames, finished %v", sink.n, sink.finished)
	}
	for i, p := range props {
		if p.released != 1 {
			t.Errorf("props %d released %d times", i, p.released)
		}
	}
	for _, p := range []*Pool{src, results, composed} {
		p.Close()
	}
	mem.checkFreed(t)
}

// checkCompared identifies the frames by luma column: the side that a column belongs to, and its
// place there.
func checkCompared(t *testing.T, in Format, f *Frame, mode CompareMode, n int) {
	t.Helper()
	half := in.Width
	middle := in.Width / 2 / 2 * 2
	if x, _ := in.ChromaShift(); mode == CompareSide && x > 0 {
		half += half % 2
	}
	for i := range f.NumPlanes() {
		column, shift := f.sampleBytes(i)
		inBytes, rows := in.PlaneSize(i)
		for y := range rows {
			for x, got := range f.Row(i, y) {
				at := x / column << shift
				var want byte
				switch {
				case mode == CompareSide && at < half:
					want = columnValue(in, i, min(x/column, inBytes/column-1)*column+x%column, n)
				case mode == CompareSide:
					from := (at - half) >> shift
					want = ^columnValue(in, i, min(from, inBytes/column-1)*column+x%column, n)
				case at < middle:
					want = columnValue(in, i, x, n)
				case at < middle+2 && in.Width >= 8:
					white := in.white(i)
					want = white[x%in.Layout.info().SampleBytes()]
				default:
					want = ^columnValue(in, i, x, n)
				}
				if got != want {
					t.Fatalf("%v of %v, frame %d, plane %d: %d,%d is %d, want %d", mode, in, n, i, x, y, got, want)
				}
			}
		}
	}
}

func TestCompareFormat(t *testing.T) {
	for _, c := range []struct {
		layout  Layout
		w, side int
	}{
		{YUV420P, 8, 16}, {YUV420P, 7, 16}, {YUV422P, 1, 4}, {NV12, 3, 8},
		{YUV444P, 7, 14}, {RGBA, 1, 2}, {YUV420P, 16384, 32768},
	} {
		f := Format{Layout: c.layout, Width: c.w, Height: 5, Matrix: BT601, FullRange: true}
		want := f
		if got := CompareFormat(f, CompareSplit); got != want {
			t.Errorf("split of %v: %+v", f, got)
		}
		want.Width = c.side
		if got := CompareFormat(f, CompareSide); got != want {
			t.Errorf("side of %v: %+v, want %+v", f, got, want)
		}
	}
}

// Results of more bits than their originals: these get as many.
func TestCompareDeeper(t *testing.T) {
	p := NewPool(&heap{}, 4)
	for _, c := range []struct {
		layout Layout
		want   uint16
	}{{YUV420P.At(10), 7 << 2}, {NV12.At(10), 7 << 8}, {GRAY.At(16), 7 << 8}} {
		format := Format{Layout: c.layout.Arrangement(), Width: 16, Height: 2}
		original, _ := p.NewFrame(t.Context(), format)
		original.Row(0, 1)[3] = 7
		format.Layout = c.layout
		result, _ := p.NewFrame(t.Context(), format)
		compare := &compare{mode: CompareSplit, pool: p, originals: []*Frame{original}}
		out, err := compare.compose(t.Context(), result)
		e2e.Must(t, err)
		if got := binary.LittleEndian.Uint16(out.Row(0, 1)[6:]); out.Layout != c.layout || got != c.want {
			t.Errorf("%v of %v: %d, want %d", out.Layout, c.layout, got, c.want)
		}
		out.Release()
		result.Release()
		if n := p.InUse(); n != 0 {
			t.Errorf("%d frames are not released", n)
		}
	}
}

// The line in the values that a person sees.
func TestCompareLineIsWhite(t *testing.T) {
	p := NewPool(&heap{}, 3)
	for _, c := range []struct {
		format Format
		want   []byte // the samples of plane 0 and of plane 1 at column 8
	}{
		{Format{Layout: YUV420P}, []byte{235, 128}},
		{Format{Layout: YUV444P, FullRange: true}, []byte{255, 128}},
		{Format{Layout: NV12}, []byte{235, 128}},
		{Format{Layout: RGBA}, []byte{255}},
		{Format{Layout: YUV420P.At(10)}, []byte{235 << 2 & 255, 0}}, // their lower bytes
		{Format{Layout: NV12.At(10), FullRange: true}, []byte{0b11_000000, 0}},
	} {
		c.format.Width, c.format.Height = 16, 2
		var fs [3]*Frame
		for i := range fs {
			fs[i], _ = p.NewFrame(t.Context(), c.format)
		}
		DrawSplit(fs[0], fs[1], fs[2])
		for i, want := range c.want {
			column, shift := c.format.sampleBytes(i)
			if got := fs[0].Row(i, 0)[8>>shift*column]; got != want {
				t.Errorf("%v plane %d: %d, want %d", c.format, i, got, want)
			}
		}
		for _, f := range fs {
			f.Release()
		}
	}
}

// After a failure all frames are freed, whether it is inside, in the pool, or behind.
func TestCompareFailures(t *testing.T) {
	for name, c := range map[string]struct {
		inner func(r *rig) Filter
		fail  string
		want  string
	}{
		"inner fails":        {func(r *rig) Filter { return &fake{r: r, hold: 2, times: 1} }, "process0", "fake failure"},
		"inner fails at end": {func(r *rig) Filter { return &fake{r: r, hold: 2, times: 1} }, "flush0", "fake failure"},
		"sink fails":         {func(r *rig) Filter { return &fake{r: r, hold: 2, times: 1} }, "put", "fake failure"},
		"too many":           {func(*rig) Filter { return twice{} }, "", "more frames than it took"},
		"too few":            {func(r *rig) Filter { return &fake{r: r, times: 0} }, "", "owes 1 frames and holds 0"},
		"too few at the end": {func(r *rig) Filter { return lossy{&fake{r: r, hold: 2, times: 1}} }, "", "never emitted its last 2"},
		"another size":       {func(*rig) Filter { return grow{} }, "", "made rgba 3x2 of rgba 2x2"},
	} {
		bubbled(t, name, func(t *testing.T) {
			mem := &heap{}
			src, results, composed := NewPool(mem, 3), NewPool(mem, 1), NewPool(mem, 1)
			r := newRig(t, 6)
			r.hook = func(_ context.Context, point string, n int) error {
				if point == c.fail && (n == 3 || point == "flush0") {
					return errFake
				}
				return nil
			}
			source := &picture{format: Format{Layout: RGBA, Width: 2, Height: 2}, pool: src, left: 6}
			err := Run(t.Context(), source, []Filter{Compare(c.inner(r), CompareSide, composed)}, r, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Run returned %v, want %q", err, c.want)
			}
			r.checkEnd(err, false)
			for _, p := range []*Pool{src, results, composed} {
				p.Close()
				if p.InUse() != 0 {
					t.Errorf("%d blocks still out", p.InUse())
				}
			}
			mem.checkFreed(t)
		})
	}
}

// twice emits each frame two times.
type twice struct{ swallow }

func (twice) Process(_ context.Context, f *Frame, emit Emit) error {
	if err := emit(f.Retain()); err != nil {
		f.Release()
		return err
	}
	return emit(f)
}

// lossy forgets to flush.
type lossy struct{ *fake }

func (lossy) Flush(context.Context, Emit) error { return nil }

// grow changes the size, as no filter under Compare may.
type grow struct{ swallow }

func (grow) Process(_ context.Context, f *Frame, emit Emit) error {
	format := f.Format
	format.Width++
	out := NewFrame(format, f.Planes, nil, nil)
	f.Release()
	return emit(out)
}
