package plane

import (
	"slices"
	"sync/atomic"
	"testing"

	"vidfilter/pipeline"
)

func counting(width, height, depth int) Plane {
	p := New(width, height, depth)
	for i := range p.Pix {
		p.Pix[i] = uint16(i)
	}
	return p
}

func TestAtRepeatsTheEdges(t *testing.T) {
	p := counting(3, 2, 8)
	for _, c := range []struct{ x, y, want int }{
		{0, 0, 0}, {2, 1, 5}, {-4, 0, 0}, {9, 0, 2}, {-1, 7, 3}, {5, 5, 5},
	} {
		if got := p.At(c.x, c.y); got != c.want {
			t.Errorf("at %d,%d: %d, want %d", c.x, c.y, got, c.want)
		}
	}
}

func TestAtLeast(t *testing.T) {
	p := counting(3, 2, 10)
	got := p.AtLeast(4, 4)
	want := []uint16{0, 1, 2, 2, 3, 4, 5, 5, 3, 4, 5, 5, 3, 4, 5, 5}
	if got.Width != 4 || got.Height != 4 || got.Depth != 10 || !slices.Equal(got.Pix, want) {
		t.Errorf("%v", got)
	}
	if got := p.AtLeast(1, 4); got.Width != 3 || got.Height != 4 {
		t.Errorf("%d by %d", got.Width, got.Height)
	}
	if back := got.Crop(3, 2); !slices.Equal(back.Pix, p.Pix) {
		t.Errorf("cropped: %v", back.Pix)
	}
}

// frame returns a frame with other samples in each place.
func frame(layout pipeline.Layout, first byte) *pipeline.Frame {
	f := pipeline.Format{Layout: layout, Width: 7, Height: 5}
	var planes [4]pipeline.Plane
	for i := range f.NumPlanes() {
		bytes, rows := f.PlaneSize(i)
		planes[i] = pipeline.Plane{Data: make([]byte, bytes*rows), Pitch: bytes}
		for j := range planes[i].Data {
			planes[i].Data[j] = first
			first++
		}
	}
	return pipeline.NewFrame(f, planes, nil, nil)
}

func TestFramesComeBack(t *testing.T) {
	for _, layout := range []pipeline.Layout{
		pipeline.YUV420P, pipeline.YUV422P, pipeline.YUV444P, pipeline.NV12, pipeline.GRAY,
	} {
		f, g := frame(layout, 0), frame(layout, 100)
		Of(f, Whole).Into(g, Whole)
		for i := range layout.Info().Planes {
			if !slices.Equal(f.Planes[i].Data, g.Planes[i].Data) {
				t.Errorf("%v, plane %d: %v, was %v", layout, i, g.Planes[i].Data, f.Planes[i].Data)
			}
		}
	}
}

// TestSamplesComeBack writes samples of each depth to frames of each layout and reads them again.
func TestSamplesComeBack(t *testing.T) {
	for _, layout := range pipeline.Layouts() {
		info := layout.Info()
		if info.RGB {
			continue
		}
		f := frame(layout, 0)
		want := Of(f, Whole)
		for c, p := range want.Planes {
			for i := range p.Pix {
				p.Pix[i] = uint16((i*0x5a5b + c) & p.Max())
			}
		}
		want.Into(f, Whole)
		got := Of(f, Whole)
		for c, p := range want.Planes {
			if g := got.Planes[c]; g.Depth != info.Depth || !slices.Equal(g.Pix, p.Pix) {
				t.Errorf("%v, component %d: %v, was %v", layout, c, g.Pix, p.Pix)
			}
		}
		if v := f.Row(0, 0)[2]; info.Shift > 0 && v&(1<<min(info.Shift, 8)-1) != 0 {
			t.Errorf("%v: bits below the samples are set: %#x", layout, v)
		}
	}
}

func TestTooLargeSamples(t *testing.T) {
	f := frame(pipeline.YUV422P.At(10), 0)
	copy(f.Row(0, 0), []byte{0xff, 0x03, 0x00, 0x04, 0xff, 0xff, 0x02, 0x01})
	if got := Of(f, Whole).Planes[0].Pix[:4]; !slices.Equal(got, []uint16{1023, 1023, 1023, 258}) {
		t.Errorf("%v", got)
	}
}

// TestInterleavedChroma looks at the second sample of U and of V.
func TestInterleavedChroma(t *testing.T) {
	f := frame(pipeline.NV12, 0)
	pic := Of(f, Whole)
	if u, v := pic.Planes[1].At(1, 0), pic.Planes[2].At(1, 0); u != 7*5+2 || v != 7*5+3 {
		t.Errorf("U %d, V %d", u, v)
	}
	if pic.ShiftX != 1 || pic.ShiftY != 1 || pic.Planes[1].Width != 4 || pic.Planes[1].Height != 3 {
		t.Errorf("%d by %d samples of chroma", pic.Planes[1].Width, pic.Planes[1].Height)
	}
}

func TestClone(t *testing.T) {
	pic := Of(frame(pipeline.YUV422P, 3), Whole)
	c := pic.Clone()
	c.Planes[2].Pix[0]++
	if c.ShiftX != 1 || c.ShiftY != 0 || pic.Planes[2].Pix[0] == c.Planes[2].Pix[0] {
		t.Errorf("%+v", c)
	}
}

func TestReduced(t *testing.T) {
	p := Plane{5, 1, 10, []uint16{0, 1, 2, 1021, 1023}}
	if got := p.Reduced(8); got.Depth != 8 || !slices.Equal(got.Pix, []uint16{0, 0, 1, 255, 255}) {
		t.Errorf("%v", got)
	}
	if got := p.Reduced(10); !slices.Equal(got.Pix, p.Pix) {
		t.Errorf("%v", got)
	}
}

func TestRows(t *testing.T) {
	var calls [100]atomic.Int32
	Rows(len(calls), func(y int) { calls[y].Add(1) })
	for y := range calls {
		if n := calls[y].Load(); n != 1 {
			t.Errorf("row %d: %d calls", y, n)
		}
	}
	Rows(0, func(int) { t.Error("called for nothing") })
}
