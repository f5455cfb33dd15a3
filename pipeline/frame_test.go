package pipeline

import (
	"fmt"
	"sync"
	"testing"

	"vidfilter/internal/e2e"
)

var allLayouts = Layouts()

type countProps struct{ released int }

func (c *countProps) Release() { c.released++ }

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s did not panic", what)
		}
	}()
	f()
}

func TestFrameOwners(t *testing.T) {
	props, released := &countProps{}, 0
	f := NewFrame(Format{}, [4]Plane{}, props, func() { released++ })
	if f.Props() != props {
		t.Error("props are lost")
	}
	if f.Retain() != f {
		t.Error("Retain returns another frame")
	}
	f.Release()
	if released != 0 || props.released != 0 {
		t.Error("released while it has an owner")
	}
	f.Release()
	if released != 1 || props.released != 1 {
		t.Errorf("memory released %d times, props %d times", released, props.released)
	}
	mustPanic(t, "Release of a released frame", f.Release)
	mustPanic(t, "Retain of a released frame", func() { f.Retain() })
	if released != 1 || props.released != 1 {
		t.Errorf("memory released %d times, props %d times", released, props.released)
	}
}

func TestFrameManyOwners(t *testing.T) {
	released := 0
	f := NewFrame(Format{}, [4]Plane{}, nil, func() { released++ })
	var wg sync.WaitGroup
	for range 8 {
		f.Retain()
		wg.Go(func() {
			for range 100 {
				f.Retain()
				f.Release()
			}
			f.Release()
		})
	}
	f.Release()
	wg.Wait()
	if released != 1 {
		t.Errorf("released %d times", released)
	}
}

func TestCopyTiming(t *testing.T) {
	props, old := &countProps{}, &countProps{}
	src := NewFrame(Format{}, [4]Plane{}, props, nil)
	src.PTS, src.Duration, src.Interlaced, src.TopFieldFirst = -7, 3, true, true
	src.Quantiser, src.Context = Quantiser{Step: 4}, true
	a := NewFrame(Format{}, [4]Plane{}, old, nil)
	b := NewFrame(Format{}, [4]Plane{}, nil, nil)
	a.CopyTiming(src)
	b.CopyTiming(a)
	b.CopyTiming(b)
	for _, f := range []*Frame{a, b} {
		if f.PTS != -7 || f.Duration != 3 || !f.Interlaced || !f.TopFieldFirst || f.Quantiser != src.Quantiser || !f.Context || f.Props() != props {
			t.Errorf("copied %+v", f)
		}
	}
	if old.released != 1 {
		t.Errorf("the props replaced were released %d times", old.released)
	}
	src.Release()
	a.Release()
	if props.released != 0 {
		t.Error("props released while a frame shares them")
	}
	b.Release()
	if props.released != 1 {
		t.Errorf("props released %d times", props.released)
	}
	b = NewFrame(Format{}, [4]Plane{}, &countProps{}, nil)
	b.CopyTiming(NewFrame(Format{}, [4]Plane{}, nil, nil))
	if b.Props() != nil {
		t.Error("props of a frame whose model has none")
	}
}

func TestPlaneSize(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		w, h   int
		planes [][2]int
	}{
		{YUV420P, 7, 5, [][2]int{{7, 5}, {4, 3}, {4, 3}}},
		{YUV420P, 8, 6, [][2]int{{8, 6}, {4, 3}, {4, 3}}},
		{YUV420P, 1, 1, [][2]int{{1, 1}, {1, 1}, {1, 1}}},
		{YUV422P, 7, 5, [][2]int{{7, 5}, {4, 5}, {4, 5}}},
		{YUV422P, 1, 1, [][2]int{{1, 1}, {1, 1}, {1, 1}}},
		{YUV444P, 7, 5, [][2]int{{7, 5}, {7, 5}, {7, 5}}},
		{NV12, 7, 5, [][2]int{{7, 5}, {8, 3}}},
		{NV12, 1, 1, [][2]int{{1, 1}, {2, 1}}},
		{RGBA, 7, 5, [][2]int{{28, 5}}},
	} {
		f := Format{Layout: c.layout, Width: c.w, Height: c.h}
		if f.NumPlanes() != len(c.planes) {
			t.Errorf("%v has %d planes", f, f.NumPlanes())
			continue
		}
		for i, want := range c.planes {
			if w, h := f.PlaneSize(i); w != want[0] || h != want[1] {
				t.Errorf("%v plane %d: %d bytes x %d, want %v", f, i, w, h, want)
			}
		}
	}
}

func TestPlanLayout(t *testing.T) {
	for _, layout := range allLayouts {
		for _, size := range [][2]int{{1, 1}, {7, 5}, {64, 64}, {65, 3}, {1441, 811}} {
			for _, extra := range []int{0, 1, 64, 100} {
				f := Format{Layout: layout, Width: size[0], Height: size[1]}
				offsets, pitches, total := f.PlanLayout(extra)
				end := 0
				for i := range f.NumPlanes() {
					w, h := f.PlaneSize(i)
					if offsets[i]%PitchAlign != 0 || pitches[i]%PitchAlign != 0 {
						t.Errorf("%v: plane %d at %d, pitch %d", f, i, offsets[i], pitches[i])
					}
					if pitches[i] < w || pitches[i] >= w+PitchAlign {
						t.Errorf("%v: plane %d: %d bytes in a pitch of %d", f, i, w, pitches[i])
					}
					if offsets[i] < end {
						t.Errorf("%v: plane %d at %d lies in the one before, which ends at %d", f, i, offsets[i], end)
					}
					end = offsets[i] + pitches[i]*h + extra
				}
				if total < end || total >= end+PitchAlign {
					t.Errorf("%v: %d bytes for planes that end at %d", f, total, end)
				}
			}
		}
	}
}

func TestPoolNewFrame(t *testing.T) {
	mem := &heap{}
	p := NewPool(mem, 1)
	for _, layout := range allLayouts {
		for _, size := range [][2]int{{1, 1}, {7, 5}, {65, 3}} {
			format := Format{Layout: layout, Width: size[0], Height: size[1]}
			f, err := p.NewFrame(t.Context(), format)
			e2e.Must(t, err)
			// Every sample has a place of its own.
			for i, y := range format.Rows() {
				clear(f.Row(i, y))
			}
			for i := range format.NumPlanes() {
				w, rows := format.PlaneSize(i)
				for y := range rows {
					row := f.Row(i, y)
					if len(row) != w {
						t.Fatalf("%v plane %d row %d has %d bytes, want %d", format, i, y, len(row), w)
					}
					for x := range row {
						if row[x]++; row[x] != 1 {
							t.Fatalf("%v plane %d: %d,%d is another sample too", format, i, x, y)
						}
					}
				}
			}
			f.Release()
		}
	}
	p.Close()
	mem.checkFreed(t)
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		fmt.Sprint(Format{Layout: NV12, Width: 3, Height: 4}): "nv12 3x4",
		fmt.Sprint(Layout(0)):   "layout(0)",
		fmt.Sprint(Layout(200)): "layout(200)",
		fmt.Sprint(BT2020):      "bt2020nc",
		fmt.Sprint(Matrix(0)):   "matrix(0)",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
