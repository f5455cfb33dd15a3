package av

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// randomPicture returns a picture with arbitrary samples within the depth.
func randomPicture(t *testing.T, name string, width, height int) *astiav.Frame {
	t.Helper()
	f := blankPicture(t, astiav.FindPixelFormatByName(name), width, height)
	n, err := f.ImageBufferSize(1)
	e2e.Must(t, err)
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	depth := Depth(f.PixelFormat())
	for i := 1; depth > 8 && i < n; i += 2 {
		high := i
		if name[len(name)-2:] == "be" {
			high--
		}
		b[high] &= byte(1<<(depth-8) - 1)
	}
	e2e.Must(t, f.Data().SetBytes(b, 1))
	return f
}

func blankPicture(t *testing.T, pf astiav.PixelFormat, width, height int) *astiav.Frame {
	t.Helper()
	f := astiav.AllocFrame()
	t.Cleanup(f.Free)
	f.SetWidth(width)
	f.SetHeight(height)
	f.SetPixelFormat(pf)
	e2e.Must(t, f.AllocBuffer(0))
	return f
}

// alphaBytes returns the last plane of a picture whose alpha is one.
func alphaBytes(t *testing.T, f *astiav.Frame) []byte {
	t.Helper()
	b, err := f.Data().Bytes(1)
	e2e.Must(t, err)
	return b[len(b)-f.Width()*f.Height()*((Depth(f.PixelFormat())+7)/8):]
}

// beside returns a frame of a layout with the alpha of a picture.
func beside(t *testing.T, l pipeline.Layout, alpha *astiav.Frame) *pipeline.Frame {
	t.Helper()
	p := PropsOf(alpha)
	format := pipeline.Format{Layout: l, Width: alpha.Width(), Height: alpha.Height(), Matrix: pipeline.BT709}
	e2e.Must(t, p.KeepAlpha(alpha, format))
	canvas, err := NewCanvas(format)
	e2e.Must(t, err)
	f := pipeline.NewFrame(format, canvas.View.Planes, p, canvas.Close)
	t.Cleanup(f.Release)
	if !HasAlpha(f) {
		t.Fatalf("%v has no alpha", alpha.PixelFormat())
	}
	return f
}

// The encoder's picture has the decoder's alpha: the memory itself if both have a plane of it at
// one depth.
func TestAlphaComesThrough(t *testing.T) {
	tried := 0
	for _, l := range pipeline.Layouts() {
		pf := WithAlpha(l)
		if pf == astiav.PixelFormatNone {
			continue
		}
		tried++
		src := randomPicture(t, pf.Name(), 37, 11)
		f := beside(t, l, src)
		wrapped, err := Wrap(f.Retain())
		e2e.Must(t, err)
		if err := SetAlpha(wrapped, f, pf); err != nil || wrapped.PixelFormat() != pf {
			t.Fatalf("%v: %v", pf, err)
		}
		converted := blankPicture(t, pf, 37, 11)
		if err := SetAlpha(converted, f, pf); err != nil {
			t.Fatalf("%v: %v", pf, err)
		}
		if !bytes.Equal(alphaBytes(t, wrapped), alphaBytes(t, src)) || !bytes.Equal(alphaBytes(t, converted), alphaBytes(t, src)) {
			t.Errorf("%v: the alpha differs", pf)
		}
		wrapped.Free()
	}
	if tried < 13 {
		t.Errorf("only %d formats", tried)
	}
}

// Alpha of a field has the field's rows and, between them, the means of the rows around.
func TestAlphaOfField(t *testing.T) {
	for i, height := range []int{1, 2, 3, 6, 11} {
		for bottom := range 2 {
			layout := pipeline.YUV444P.At([]int{8, 10}[(i+bottom)%2])
			pf := WithAlpha(layout)
			src := randomPicture(t, pf.Name(), 37, height)
			f := beside(t, layout, src)
			own, err := f.Props().(*Props).OfField(bottom == 1)
			e2e.Must(t, err)
			f.SetProps(own)
			made := blankPicture(t, pf, 37, height)
			e2e.Must(t, SetAlpha(made, f, pf))
			all, got := alphaBytes(t, src), alphaBytes(t, made)
			pitch := len(all) / height
			at := func(x, y int) int {
				if pitch == 37 {
					return int(all[y*pitch+x])
				}
				return int(binary.LittleEndian.Uint16(all[y*pitch+2*x:]))
			}
			var want []byte
			for y := range height {
				above, below := y, y
				if y%2 != bottom && height > 1 {
					above, below = max(y-1, bottom), min(y+1, height-1)
					if below%2 != bottom {
						below = above
					}
				}
				for x := range 37 {
					v := (at(x, above) + at(x, below) + 1) / 2
					want = append(want, byte(v), byte(v>>8))[:y*pitch+(x+1)*pitch/37]
				}
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%v, height %d, bottom %d: %v, not %v", pf, height, bottom, got, want)
			}
		}
	}
}

// Alpha among other samples, or with its bytes in the other order, is the same alpha.
func TestAlphaOfOtherFormats(t *testing.T) {
	for name, as := range map[string]struct {
		step, first int // samples of the format
		layout      pipeline.Layout
	}{
		"ya8": {2, 1, pipeline.YUV444P}, "ya16be": {2, 1, pipeline.YUV444P.At(16)}, "vuya": {4, 3, pipeline.YUV444P},
		"ayuv64le": {4, 0, pipeline.YUV444P.At(16)}, "yuva444p10be": {1, 3 * 37 * 11, pipeline.YUV444P.At(10)},
	} {
		src := randomPicture(t, name, 37, 11)
		pf := WithAlpha(as.layout)
		got := blankPicture(t, pf, 37, 11)
		e2e.Must(t, SetAlpha(got, beside(t, as.layout, src), pf))
		all, err := src.Data().Bytes(1)
		e2e.Must(t, err)
		size := as.layout.Info().SampleBytes()
		var want []byte
		for i := range 37 * 11 {
			v := bytes.Clone(all[(as.first+i*as.step)*size:][:size])
			if name[len(name)-2:] == "be" {
				v[0], v[1] = v[1], v[0]
			}
			want = append(want, v...)
		}
		if !bytes.Equal(alphaBytes(t, got), want) {
			t.Errorf("%s: the alpha differs", name)
		}
	}
}

// Full opacity stays full at another depth, pictures of another size get their alpha scaled, and
// pictures without alpha become opaque.
func TestAlphaChanges(t *testing.T) {
	full := blankPicture(t, astiav.FindPixelFormatByName("yuva420p"), 20, 10)
	e2e.Must(t, SetAlpha(full, pipeline.Blank(pipeline.Format{Layout: pipeline.YUV420P, Width: 20, Height: 10}), full.PixelFormat()))
	p := PropsOf(full)
	format := pipeline.Format{Layout: pipeline.YUV420P.At(10), Width: 30, Height: 16}
	e2e.Must(t, p.KeepAlpha(full, format))
	f := pipeline.NewFrame(format, pipeline.Blank(format).Planes, p, nil)
	defer f.Release()
	deep := blankPicture(t, astiav.FindPixelFormatByName("yuva420p10le"), 30, 16)
	e2e.Must(t, SetAlpha(deep, f, deep.PixelFormat()))
	b := alphaBytes(t, deep)
	for i := 0; i < len(b); i += 2 {
		if v := int(b[i]) | int(b[i+1])<<8; v != 1023 {
			t.Fatalf("sample %d is %d", i/2, v)
		}
	}
}
