package preview_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
	"vidfilter/live/livetest"
	"vidfilter/live/preview"
	"vidfilter/pipeline"
	"vidfilter/pipeline/quality"
)

func TestMain(m *testing.M) {
	av.SetLog(astiav.LogLevelQuiet, func(astiav.LogLevel, string) {})
	os.Exit(m.Run())
}

// camera encodes its pictures.
type camera struct {
	*livetest.Camera
	tb testing.TB
}

func newCamera(tb testing.TB, format pipeline.Format) *camera {
	return &camera{livetest.NewCamera(tb, format), tb}
}

// encode codes picture n.
func (c *camera) encode(p *preview.Encoder, n int, key bool) preview.Packet {
	c.tb.Helper()
	a, b := c.Pair(n)
	defer a.Release()
	defer b.Release()
	packet, err := p.Encode(a, b, stampOf(n), key)
	e2e.Must(c.tb, err)
	if len(packet.Data) == 0 {
		c.tb.Fatalf("picture %d gave no packet", n)
	}
	return packet
}

// Pictures come at 30 a second, with jitter.
func stampOf(n int) preview.Stamp {
	return preview.Stamp{Time: 1.7e12 + math.Round(float64(n)*1e4/30)/10 + float64(n%3*4), Seq: uint16(n)}
}

func newPreview(tb testing.TB, o preview.Options) *preview.Encoder {
	tb.Helper()
	if o.Kind == 0 {
		o.Kind, o.View = preview.AVC, preview.ViewStack
	}
	p, err := preview.New(o)
	e2e.Must(tb, err)
	tb.Cleanup(p.Close)
	return p
}

// viewer decodes packets, each picture at once.
type viewer struct {
	t      *testing.T
	dec    *astiav.CodecContext
	config *preview.Config
}

// show returns the picture of a packet, valid until the next call.
func (v *viewer) show(p preview.Packet) *pipeline.Frame {
	v.t.Helper()
	if p.Config != nil {
		if !p.Key {
			v.t.Error("a configuration without a key frame")
		}
		v.open(p.Config)
	}
	if v.dec == nil {
		v.t.Fatal("a picture without a configuration")
	}
	pkt := astiav.AllocPacket()
	defer pkt.Free()
	e2e.Must(v.t, pkt.FromData(p.Data))
	if err := v.dec.SendPacket(pkt); err != nil {
		v.t.Fatalf("the decoder refuses a packet: %v", err)
	}
	f := astiav.AllocFrame()
	v.t.Cleanup(f.Free)
	if err := v.dec.ReceiveFrame(f); err != nil {
		v.t.Fatalf("no picture at once: %v", err)
	}
	return viewOf(v.t, f)
}

func (v *viewer) open(c *preview.Config) {
	v.t.Helper()
	v.config = c
	name := "h264"
	if c.Codec == "" {
		name = "mjpeg"
	}
	codec := astiav.FindDecoderByName(name)
	dec := astiav.AllocCodecContext(codec)
	v.t.Cleanup(dec.Free)
	if len(c.Description) > 0 {
		e2e.Must(v.t, dec.SetExtraData(c.Description))
	}
	dec.SetThreadCount(1)
	e2e.Must(v.t, dec.Open(codec, nil))
	v.dec = dec
}

// viewOf wraps a decoded picture as a pipeline frame.
func viewOf(t *testing.T, f *astiav.Frame) *pipeline.Frame {
	t.Helper()
	layout, full, ok := av.LayoutOf(f.PixelFormat())
	if !ok {
		t.Fatalf("decoded as %v", f.PixelFormat())
	}
	format := pipeline.Format{Layout: layout, Width: f.Width(), Height: f.Height(), FullRange: full || f.ColorRange() == astiav.ColorRangeJpeg}
	switch f.ColorSpace() {
	case astiav.ColorSpaceSmpte170M, astiav.ColorSpaceBt470Bg:
		format.Matrix = pipeline.BT601
	case astiav.ColorSpaceBt709:
		format.Matrix = pipeline.BT709
	case astiav.ColorSpaceBt2020Ncl:
		format.Matrix = pipeline.BT2020
	default:
		t.Errorf("the colours are %v", f.ColorSpace())
	}
	var planes [4]pipeline.Plane
	for i := range format.NumPlanes() {
		w, rows := format.PlaneSize(i)
		planes[i] = pipeline.Plane{Data: make([]byte, w*rows), Pitch: w}
	}
	b, err := f.Data().Bytes(1)
	e2e.Must(t, err)
	for i := range format.NumPlanes() {
		b = b[copy(planes[i].Data, b):]
	}
	return pipeline.NewFrame(format, planes, nil, nil)
}

// window is rows of a decoded stack.
func window(f *pipeline.Frame, top, w, h int) *pipeline.Frame {
	format := f.Format
	format.Width, format.Height = w, h
	planes := f.Planes
	planes[0].Data = planes[0].Data[top*planes[0].Pitch:]
	for i := range planes[1:3] {
		planes[1+i].Data = planes[1+i].Data[top/2*planes[1+i].Pitch:]
	}
	return pipeline.NewFrame(format, planes, nil, nil)
}

// check compares the decoded stack with its pair.
func (v *viewer) check(c *camera, n int, least float64, shown *pipeline.Frame) {
	v.t.Helper()
	original, filtered := c.Pair(n)
	defer original.Release()
	defer filtered.Release()
	for i, f := range []*pipeline.Frame{original, filtered} {
		got := window(shown, i*v.config.FilteredY, v.config.Width, v.config.Height)
		want := convert(v.t, f, got.Format)
		score, err := quality.Compare(got, want)
		e2e.Must(v.t, err)
		if score.PSNR() < least {
			v.t.Errorf("picture %d, half %d: %v", n, i, score)
		}
	}
	v.checkStamp(n, shown)
}

func (v *viewer) checkStamp(n int, shown *pipeline.Frame) {
	v.t.Helper()
	luma := shown.Planes[0]
	luma.Data = luma.Data[v.config.StampY*luma.Pitch:]
	s, ok := preview.ReadStamp(luma, shown.Width)
	want := stampOf(n)
	if !ok || s.Seq != want.Seq || math.Abs(s.Time-math.Mod(want.Time, (1<<40)/10.)) > 0.01 {
		v.t.Errorf("picture %d has the stamp %+v, %v", n, s, ok)
	}
}

// convert returns f, which stays the caller's, in another format.
func convert(t *testing.T, f *pipeline.Frame, to pipeline.Format) *pipeline.Frame {
	t.Helper()
	var planes [4]pipeline.Plane
	for i := range to.NumPlanes() {
		w, h := to.PlaneSize(i)
		pitch := (w + 63) / 64 * 64
		planes[i] = pipeline.Plane{Data: make([]byte, pitch*(h+2)), Pitch: pitch}
	}
	out := pipeline.NewFrame(to, planes, nil, nil)
	src, err := av.Wrap(f.Retain())
	e2e.Must(t, err)
	defer src.Free()
	var s av.Scaler
	defer s.Close()
	e2e.Must(t, s.Convert(out, src, f.Matrix, f.FullRange))
	return out
}

// Every layout with every tag survives encoding, picture by picture, with its stamp.
func TestPreviewLayouts(t *testing.T) {
	for _, format := range []pipeline.Format{
		{Layout: pipeline.YUV420P, Matrix: pipeline.BT709},
		{Layout: pipeline.YUV420P, Matrix: pipeline.BT601, FullRange: true},
		{Layout: pipeline.YUV422P, Matrix: pipeline.BT601},
		{Layout: pipeline.YUV444P, Matrix: pipeline.BT2020, FullRange: true},
		{Layout: pipeline.NV12, Matrix: pipeline.BT709},
		{Layout: pipeline.RGBA},
	} {
		format.Width, format.Height = 160, 90
		t.Run(fmt.Sprintf("%v-%v", format.Layout, format.Matrix), func(t *testing.T) {
			c, v := newCamera(t, format), &viewer{t: t}
			p := newPreview(t, preview.Options{Threads: 2})
			for n := range 4 {
				shown := v.show(c.encode(p, n, false))
				if want := format; format.Layout != pipeline.RGBA && (shown.Matrix != want.Matrix || shown.FullRange != want.FullRange) ||
					format.Layout == pipeline.RGBA && (shown.Matrix != pipeline.BT601 || shown.FullRange) {
					t.Errorf("tagged %v, full range %v", shown.Matrix, shown.FullRange)
				}
				v.check(c, n, 34, shown)
			}
		})
	}
}

func TestPreviewSizes(t *testing.T) {
	for _, c := range []struct {
		w, h  int
		scale float64
	}{
		{1, 1, 1}, {2, 2, 1}, {63, 17, 1}, {65, 33, 1}, {641, 361, 1}, {4096, 1148, 1}, {4096, 1150, 1.5}, {4, 9000, 2.5},
	} {
		t.Run(fmt.Sprintf("%dx%d", c.w, c.h), func(t *testing.T) {
			camera, v := newCamera(t, livetest.YUV420(c.w, c.h)), &viewer{t: t}
			p := newPreview(t, preview.Options{BitRate: 20e6})
			for n := range 2 {
				shown := v.show(camera.encode(p, n, false))
				if v.config.Scale != c.scale || v.config.CodedWidth != shown.Width || v.config.CodedHeight != shown.Height {
					t.Fatalf("%+v, and %v is shown", v.config, shown)
				}
				if v.config.Width != int(math.Ceil(float64(c.w)/c.scale)) || v.config.Height != int(math.Ceil(float64(c.h)/c.scale)) {
					t.Errorf("%+v", v.config)
				}
				v.check(camera, n, 28, shown) // a single sample off by 10 is already far off
			}
		})
	}
}

// Only the first picture of a new size, layout or matrix is a key frame and has a configuration.
func TestPreviewChanges(t *testing.T) {
	v := &viewer{t: t}
	p := newPreview(t, preview.Options{Threads: 1})
	var last *preview.Config
	for i, format := range []pipeline.Format{
		livetest.YUV420(160, 90), livetest.YUV420(160, 92), {Layout: pipeline.NV12, Width: 160, Height: 92, Matrix: pipeline.BT709},
		{Layout: pipeline.NV12, Width: 160, Height: 92, Matrix: pipeline.BT601}, {Layout: pipeline.RGBA, Width: 64, Height: 64},
	} {
		c := newCamera(t, format)
		for n := range 3 {
			packet := c.encode(p, n, false)
			if first := n == 0; packet.Key != first || (packet.Config != nil) != first {
				t.Errorf("format %d, picture %d: key %v, config %v", i, n, packet.Key, packet.Config)
			}
			v.check(c, n, 32, v.show(packet))
		}
		if v.config == last {
			t.Error("no new configuration")
		}
		last = v.config
	}
}

func TestPreviewKeyFrames(t *testing.T) {
	c, v := newCamera(t, livetest.YUV420(160, 90)), &viewer{t: t}
	p := newPreview(t, preview.Options{Threads: 1})
	for n := range 400 { // more than x264's own 250
		packet := c.encode(p, n, n == 7 || n == 8)
		if want := n == 0 || n == 7 || n == 8; packet.Key != want || (packet.Config != nil) != (n == 0) {
			t.Errorf("picture %d: key %v, config %v", n, packet.Key, packet.Config)
		}
		if n == 7 { // a decoder that starts here
			v.open(v.config)
		}
		if n < 20 || n > 390 {
			v.checkStamp(n, v.show(packet))
		} else {
			v.show(packet)
		}
	}
}

// units returns the types of the NAL units of a packet.
func units(t *testing.T, data []byte) (types []byte) {
	t.Helper()
	for len(data) > 0 {
		size := int(binary.BigEndian.Uint32(data))
		if size < 1 || size > len(data)-4 {
			t.Fatalf("a unit of %d bytes in %d", size, len(data))
		}
		types = append(types, data[4]&31)
		data = data[4+size:]
	}
	return types
}

func TestPreviewUnits(t *testing.T) {
	c := newCamera(t, livetest.YUV420(320, 180))
	p := newPreview(t, preview.Options{Threads: 2})
	for n := range 3 {
		packet := c.encode(p, n, n == 2)
		want := byte(1)
		if packet.Key {
			want = 5
		}
		got := units(t, packet.Data)
		if len(got) == 0 || bytes.Count(got, []byte{want}) != len(got) {
			t.Errorf("picture %d has units %v", n, got)
		}
		if n > 0 {
			continue
		}
		d := packet.Config.Description
		if len(d) < 11 || d[0] != 1 || d[4] != 0xff || d[5] != 0xe1 || d[8] != 0x67 || !bytes.Equal(d[1:4], d[9:12]) {
			t.Errorf("avcC is %x", d)
		}
		if want := fmt.Sprintf("avc1.%x", d[1:4]); packet.Config.Codec != want {
			t.Errorf("%s instead of %s", packet.Config.Codec, want)
		}
	}
}

// rateOf encodes a busy picture for some seconds and returns the bits of each one.
func rateOf(c *camera, p *preview.Encoder, from, seconds int) (bits float64) {
	for n := from; n < from+30*seconds; n++ {
		bits += 8 * float64(len(c.encode(p, n, false).Data))
	}
	return bits / float64(seconds)
}

func TestPreviewBitRate(t *testing.T) {
	c := newCamera(t, livetest.YUV420(320, 180))
	p := newPreview(t, preview.Options{BitRate: 1_200_000, Threads: 1})
	rateOf(c, p, 0, 1) // the first key frame
	for i, want := range []int64{1_200_000, 600_000, 300_000, 900_000} {
		p.SetBitRate(want)
		rateOf(c, p, 300*i+100, 1)
		if got := rateOf(c, p, 300*i+130, 3); got < 0.6*float64(want) || got > 1.15*float64(want) {
			t.Errorf("%.0f bits a second at %d", got, want)
		}
	}
}

// The stamp is readable at rates that ruin the picture, also in a picture meant for a higher rate.
func TestStampAtLowRate(t *testing.T) {
	for _, first := range []int64{300_000, 4_000_000} {
		c, v := newCamera(t, livetest.YUV420(1280, 720)), &viewer{t: t}
		p := newPreview(t, preview.Options{BitRate: first})
		for n := range 25 {
			v.checkStamp(n, v.show(c.encode(p, n, n == 10)))
			p.SetBitRate(300_000)
		}
	}
}

// A rate too low for the size scales the pictures down, and a sufficient one scales them up again.
func TestPreviewScalesByRate(t *testing.T) {
	c, v := newCamera(t, livetest.YUV420(640, 360)), &viewer{t: t}
	p := newPreview(t, preview.Options{Threads: 1})
	n, scale := 0, 0.
	scales := func(pictures int) (list []float64) {
		for range pictures {
			packet := c.encode(p, n, false)
			v.checkStamp(n, v.show(packet))
			if packet.Config != nil && packet.Config.Scale != scale { // else a faster preset
				scale = packet.Config.Scale
				list = append(list, scale)
			}
			n++
		}
		return list
	}
	for i, s := range []struct {
		rate     int64
		pictures int
		want     []float64
	}{{4_000_000, 65, []float64{1}}, {100_000, 40, nil}, {4_000_000, 10, nil}, {100_000, 65, []float64{2}}, {150_000, 65, nil}, {4_000_000, 65, []float64{1}}} {
		p.SetBitRate(s.rate)
		if got := scales(s.pictures); !slices.Equal(got, s.want) {
			t.Errorf("step %d, at %d bits a second: %v instead of %v", i, s.rate, got, s.want)
		}
	}
}

func TestPreviewRefusals(t *testing.T) {
	for _, o := range []preview.Options{
		{}, {Kind: 9, View: preview.ViewStack}, {Kind: preview.AVC}, {Kind: preview.JPEG}, {Kind: preview.AVC, View: preview.ViewSplit, Stamp: true},
		{Kind: preview.AVC, View: preview.ViewStack, FrameRate: -1},
		{Kind: preview.AVC, View: preview.ViewStack, FrameRate: math.NaN()},
	} {
		if p, err := preview.New(o); err == nil {
			p.Close()
			t.Errorf("%+v is taken", o)
		}
	}
	p := newPreview(t, preview.Options{})
	p.Close()
	p.Close()
}

// An original of another size and layout than the filtered picture is shown at its size.
func TestPreviewOfTwoSizes(t *testing.T) {
	a := newCamera(t, pipeline.Format{Layout: pipeline.NV12, Width: 64, Height: 32, Matrix: pipeline.BT709})
	b := newCamera(t, livetest.YUV420(128, 96))
	f, g := a.Frame(func(int, int, int) byte { return 100 }), b.Frame(func(int, int, int) byte { return 200 })
	defer f.Release()
	defer g.Release()
	for view, want := range map[preview.View][2]byte{
		preview.ViewStack: {100, 100}, preview.ViewOriginal: {100, 100}, preview.ViewFiltered: {200, 200}, preview.ViewSplit: {100, 200},
	} {
		p, v := newPreview(t, preview.Options{Kind: preview.AVC, View: view, Threads: 1, BitRate: 20e6}), &viewer{t: t}
		packet, err := p.Encode(f, g, preview.Stamp{}, false)
		e2e.Must(t, err)
		shown := v.show(packet)
		row := shown.Row(0, 40)
		if near := func(x, y byte) bool { return max(x, y)-min(x, y) < 6 }; v.config.Width != 128 || v.config.Height != 96 || !near(row[20], want[0]) || !near(row[100], want[1]) {
			t.Errorf("view %v: %+v, %d and %d", view, v.config, row[20], row[100])
		}
	}
}

// cpuTime is the process's CPU time, which depends less on the machine's load than elapsed time.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	e2e.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkPreview(b *testing.B) {
	for _, size := range [][2]int{{1280, 720}, {1920, 1080}} {
		for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.YUV422P, pipeline.NV12, pipeline.RGBA} {
			b.Run(fmt.Sprintf("%v-%d", layout, size[1]), func(b *testing.B) {
				f := livetest.YUV420(size[0], size[1])
				f.Layout = layout
				c := newCamera(b, f)
				p := newPreview(b, preview.Options{})
				const pictures = 12
				var pairs [pictures][2]*pipeline.Frame
				for n := range pairs {
					pairs[n][0], pairs[n][1] = c.Pair(n)
				}
				n, bits := 0, 0
				begin := cpuTime(b)
				for b.Loop() {
					pair := pairs[n%pictures]
					packet, err := p.Encode(pair[0], pair[1], stampOf(n), false)
					e2e.Must(b, err)
					n++
					bits += 8 * len(packet.Data)
				}
				b.ReportMetric(float64(bits)/float64(n)*30/1e6, "Mbit/s")
				b.ReportMetric((cpuTime(b)-begin).Seconds()*1e3/float64(n), "cpu-ms/op")
				b.Logf("ends with %s", p.Preset())
				for _, pair := range pairs {
					pair[0].Release()
					pair[1].Release()
				}
			})
		}
	}
}
