package av

import (
	"testing"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// TestPointers checks go-astiav against the layout that FormatPtr and the others rely on: values
// written through one side are read through the other.
func TestPointers(t *testing.T) {
	p := astiav.AllocPacket()
	defer p.Free()
	p.SetPts(12345)
	// Offsets are part of FFmpeg's binary interface: AVPacket.pts, AVFormatContext.streams,
	// AVStream.id.
	if got := *(*int64)(unsafe.Add(PacketPtr(p), 8)); got != 12345 {
		t.Errorf("the packet has %d", got)
	}
	fc := astiav.AllocFormatContext()
	defer fc.Free()
	s := fc.NewStream(nil)
	s.SetID(77)
	first := **(**unsafe.Pointer)(unsafe.Add(FormatPtr(fc), 48))
	if StreamPtr(s) != first {
		t.Error("the stream is another one")
	}
	if got := *(*int32)(unsafe.Add(first, 12)); got != 77 {
		t.Errorf("the stream has ID %d", got)
	}
	par := s.CodecParameters()
	par.SetMediaType(astiav.MediaTypeSubtitle)
	if got := *(*int32)(ParametersPtr(par)); got != int32(astiav.MediaTypeSubtitle) {
		t.Errorf("the parameters have type %d", got)
	}
}

func TestLayouts(t *testing.T) {
	for _, l := range []pipeline.Layout{pipeline.YUV420P, pipeline.YUV422P, pipeline.YUV444P, pipeline.NV12, pipeline.RGBA} {
		if got, _, ok := LayoutOf(PixelFormat(l)); !ok || got != l {
			t.Errorf("%v becomes %v, %v", l, got, ok)
		}
	}
	for _, c := range []struct {
		name string
		want pipeline.Layout
		lost string
	}{
		{"rgb24", pipeline.RGBA, ""}, {"pal8", pipeline.RGBA, ""}, {"gray", pipeline.YUV420P, ""}, {"ya8", pipeline.RGBA, ""},
		{"yuv420p10le", pipeline.YUV420P, "10 bits become 8"}, {"yuv422p12le", pipeline.YUV422P, "12 bits become 8"},
		{"yuva444p", pipeline.YUV444P, ""}, {"yuv411p", pipeline.YUV422P, ""}, {"yuv440p", pipeline.YUV444P, ""},
		{"yuv410p", pipeline.YUV420P, ""}, {"rgba64le", pipeline.RGBA, "16 bits become 8"},
	} {
		if got, lost := NearestLayout(astiav.FindPixelFormatByName(c.name), pipeline.Layout.Basic); got != c.want || lost != c.lost {
			t.Errorf("%s: %v, %q", c.name, got, lost)
		}
	}
	for name, want := range map[string]pipeline.Layout{
		"yuv420p10be": pipeline.YUV420P.At(10), "y210le": pipeline.YUV422P.At(10), "yuv440p12le": pipeline.YUV444P.At(12),
		"rgb48be": pipeline.GBRP.At(16), "rgba64le": pipeline.GBRP.At(16), "x2rgb10le": pipeline.GBRP.At(10), "bgra": pipeline.RGBA,
		"gray16be": pipeline.GRAY.At(16), "ya8": pipeline.GRAY, "monob": pipeline.GRAY,
		"yuyv422": pipeline.YUV422P, "uyyvyy411": pipeline.YUV422P, "ayuv64le": pipeline.YUV444P.At(16),
	} {
		if got, lost := NearestLayout(astiav.FindPixelFormatByName(name), pipeline.Layout.Valid); got != want || lost != "" {
			t.Errorf("%s: %v, %q", name, got, lost)
		}
	}
}

// TestAgain: the properties of a second picture lack those that are read once and keep the rest.
func TestAgain(t *testing.T) {
	f := astiav.AllocFrame()
	defer f.Free()
	f.SetColorRange(astiav.ColorRangeJpeg)
	p := PropsOf(f)
	defer p.Release()
	p.Transfer, p.Timecode = 18, "01:02:03:04"
	for _, k := range []units.MetadataKind{units.Captions, units.MasteringDisplay, units.Timecode, units.HDR10Plus} {
		p.Units = append(p.Units, units.Unit{Kind: k})
	}
	again := p.Again().(*Props)
	defer again.Release()
	if len(again.Units) != 2 || again.Units[0].Kind != units.MasteringDisplay || again.Units[1].Kind != units.HDR10Plus {
		t.Errorf("%v", again.Units)
	}
	if again.Transfer != 18 || again.Timecode != "" || len(p.Units) != 4 || again.frame == p.frame || again.frame.color_range != p.frame.color_range {
		t.Errorf("%+v of %+v", again, p)
	}
}
