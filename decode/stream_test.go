package decode_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// coder makes single pictures as a browser does: without B-frames, and parameter sets in front of
// key frames.
type coder struct {
	t   testing.TB
	enc *astiav.CodecContext
	n   int64
}

func newCoder(t testing.TB, name string, w, h int, params ...string) *coder {
	t.Helper()
	codec := astiav.FindEncoderByName(name)
	c := &coder{t: t, enc: astiav.AllocCodecContext(codec)}
	t.Cleanup(c.enc.Free)
	c.enc.SetWidth(w)
	c.enc.SetHeight(h)
	c.enc.SetPixelFormat(astiav.PixelFormatYuv420P)
	c.enc.SetColorRange(astiav.ColorRangeMpeg)
	c.enc.SetTimeBase(astiav.NewRational(1, 25))
	options := astiav.NewDictionary()
	defer options.Free()
	if name == "libx264" {
		_ = options.Set("preset", "ultrafast", 0)
		_ = options.Set("tune", "zerolatency", 0)
		_ = options.Set("x264-params", strings.Join(append(params, "keyint=infinite:slices=2"), ":"), 0)
	} else {
		c.enc.SetColorRange(astiav.ColorRangeJpeg)
		c.enc.SetPixelFormat(astiav.PixelFormatYuvj420P)
	}
	e2e.Must(t, c.enc.Open(codec, options))
	return c
}

// picture returns the next one: a bar that moves over a slope.
func (c *coder) picture(key bool) []byte {
	c.t.Helper()
	f := astiav.AllocFrame()
	defer f.Free()
	f.SetWidth(c.enc.Width())
	f.SetHeight(c.enc.Height())
	f.SetPixelFormat(c.enc.PixelFormat())
	e2e.Must(c.t, f.AllocBuffer(0))
	size, _ := f.ImageBufferSize(1)
	b := bytes.Repeat([]byte{128}, size)
	for i := range f.Width() * f.Height() {
		x, y := i%f.Width(), i/f.Width()
		if b[i] = byte(40 + (x*3+y*5)%150); (x-int(c.n)*4)&31 < 8 {
			b[i] = 220
		}
	}
	e2e.Must(c.t, f.Data().SetBytes(b, 1))
	f.SetPts(c.n)
	if key {
		f.SetPictureType(astiav.PictureTypeI)
	}
	c.n++
	e2e.Must(c.t, c.enc.SendFrame(f))
	p := astiav.AllocPacket()
	defer p.Free()
	e2e.Must(c.t, c.enc.ReceivePacket(p))
	return bytes.Clone(p.Data())
}

func openStream(t *testing.T, codec string, o decode.StreamOptions) (*decode.Stream, *pipeline.Pool) {
	t.Helper()
	pool := newPool(t)
	s, err := decode.OpenStream(codec, pool, o)
	e2e.Must(t, err)
	t.Cleanup(s.Close)
	return s, pool
}

// wantFrame decodes a picture that must give a frame at once.
func wantFrame(t *testing.T, s *decode.Stream, picture []byte, pts int64, w, h int) *pipeline.Frame {
	t.Helper()
	f, err := s.Decode(picture, pts)
	if err != nil || f == nil {
		t.Fatalf("time %d: %v, %v", pts, f, err)
	}
	if f.PTS != pts || f.Width != w || f.Height != h {
		t.Errorf("%v at %d instead of %dx%d at %d", f.Format, f.PTS, w, h, pts)
	}
	return f
}

func wantDamaged(t *testing.T, s *decode.Stream, picture []byte, key bool) {
	t.Helper()
	f, err := s.Decode(picture, 0)
	if f != nil {
		f.Release()
	}
	if f != nil || !errors.Is(err, decode.ErrUnreadable) || errors.Is(err, decode.ErrKeyFrame) != key {
		t.Errorf("%v, %v", f, err)
	}
}

func TestStreamOfH264(t *testing.T) {
	s, pool := openStream(t, "h264", decode.StreamOptions{Threads: 2})
	c := newCoder(t, "libx264", 96, 64)
	var frames []*pipeline.Frame
	for i := range int64(6) {
		frames = append(frames, wantFrame(t, s, c.picture(i == 0), 1000*i, 96, 64))
	}
	if s.Copied+s.Converted != 0 {
		t.Errorf("%d frames copied, %d converted", s.Copied, s.Converted)
	}
	if bytes.Equal(frames[0].Row(0, 10), frames[5].Row(0, 10)) {
		t.Error("nothing moves")
	}
	c = newCoder(t, "libx264", 50, 38) // the camera is turned
	frames = append(frames, wantFrame(t, s, c.picture(true), 7000, 50, 38), wantFrame(t, s, c.picture(false), 8000, 50, 38))
	s.Close()
	for _, f := range frames { // they outlive the stream
		touch(f)
		f.Release()
	}
	if n := pool.InUse(); n != 0 {
		t.Errorf("%d blocks are out", n)
	}
	s.Close()
	wantDamaged(t, s, c.picture(true), false)
}

// Frames carry the step of the quantiser: 2^((QP-4)/6) in H.264, the step of low frequencies in
// JPEG.
func TestQuantiser(t *testing.T) {
	s, _ := openStream(t, "h264", decode.StreamOptions{Threads: 1})
	c := newCoder(t, "libx264", 96, 64, "qp=28", "ipratio=1", "aq-mode=0", "mbtree=0")
	for i := range int64(3) {
		f := wantFrame(t, s, c.picture(i == 0), 1000*i, 96, 64)
		if f.Quantiser.Step < 15 || f.Quantiser.Step > 17 || f.Quantiser.Smoothed {
			t.Errorf("picture %d: a step of %.1f, QP 28 has 16", i, f.Quantiser.Step)
		}
		f.Release()
	}
	j, _ := openStream(t, "jpeg", decode.StreamOptions{Threads: 1})
	f := wantFrame(t, j, newCoder(t, "mjpeg", 96, 64).picture(true), 0, 96, 64)
	if f.Quantiser.Step < 6 || f.Quantiser.Step > 9 {
		t.Errorf("a step of %.1f in JPEG", f.Quantiser.Step)
	}
	f.Release()
}

func TestStreamNeedsKeyFrame(t *testing.T) {
	s, _ := openStream(t, "h264", decode.StreamOptions{Threads: 1})
	c := newCoder(t, "libx264", 96, 64)
	first, second := c.picture(true), c.picture(false)
	wantDamaged(t, s, second, true) // it has no beginning
	wantFrame(t, s, first, 1, 96, 64).Release()
	wantFrame(t, s, second, 2, 96, 64).Release()
	for name, damage := range map[string]func([]byte) []byte{
		"cut off":   func(b []byte) []byte { return b[:len(b)/2] },
		"empty":     func([]byte) []byte { return nil },
		"no NALs":   func(b []byte) []byte { return bytes.Repeat([]byte{0x55}, len(b)) },
		"one slice": func(b []byte) []byte { return b[:bytes.LastIndex(b, []byte{0, 0, 1})] },
	} {
		wantDamaged(t, s, damage(c.picture(false)), true)
		wantDamaged(t, s, c.picture(false), true) // builds on the damaged one
		f, err := s.Decode(c.picture(true), 3)
		if err != nil || f == nil {
			t.Fatalf("%s: %v", name, err)
		}
		f.Release()
	}
}

// Parameter sets that come alone wait for their picture.
func TestStreamOfHeadersApart(t *testing.T) {
	s, _ := openStream(t, "h264", decode.StreamOptions{Threads: 1})
	picture := newCoder(t, "libx264", 96, 64).picture(true)
	at := bytes.Index(picture, []byte{0, 0, 1, 0x65})
	if at < 0 {
		t.Fatal("no IDR slice")
	}
	if f, err := s.Decode(picture[:at], 1); f != nil || err != nil {
		t.Fatal(f, err)
	}
	wantFrame(t, s, picture[at:], 2, 96, 64).Release()
}

func TestStreamOfJPEG(t *testing.T) {
	s, _ := openStream(t, "jpeg", decode.StreamOptions{Threads: 1})
	c := newCoder(t, "mjpeg", 96, 64)
	f := wantFrame(t, s, c.picture(false), 1, 96, 64)
	if !f.FullRange || f.Matrix != pipeline.BT601 || f.Layout != pipeline.YUV420P {
		t.Errorf("%v, %v, full range %v", f.Format, f.Matrix, f.FullRange)
	}
	f.Release()
	whole := c.picture(false)
	wantDamaged(t, s, whole[:len(whole)/2], false)
	wantDamaged(t, s, []byte("GIF89a"), false)
	wantDamaged(t, s, slices.Concat(whole[:2], bytes.Repeat(whole[2:], 200)), false)
	wantFrame(t, s, whole, 2, 96, 64).Release()
	wantFrame(t, s, newCoder(t, "mjpeg", 48, 80).picture(true), 3, 48, 80).Release()
}

func TestStreamOfVP8(t *testing.T) {
	s, _ := openStream(t, "vp8", decode.StreamOptions{Threads: 2})
	pictures := packetsOf(t, "testdata/seeds/vp8.webm")
	if len(pictures) < 2 {
		t.Fatal("too few pictures")
	}
	wantDamaged(t, s, pictures[1], true)
	w, h := int(binary.LittleEndian.Uint16(pictures[0][6:])), int(binary.LittleEndian.Uint16(pictures[0][8:]))
	for i, p := range pictures[:2] {
		wantFrame(t, s, p, int64(i), w, h).Release()
	}
	wantDamaged(t, s, pictures[1][:2], true)
	wantDamaged(t, s, pictures[1], true)
	wantFrame(t, s, pictures[0], 9, w, h).Release()
}

// Neither an honest picture that is too large nor one that only claims to be costs more than its
// error.
func TestStreamMaxPixels(t *testing.T) {
	o := decode.StreamOptions{MaxPixels: 96*64 - 1, Threads: 1}
	for codec, picture := range map[string][]byte{
		"h264": newCoder(t, "libx264", 96, 64).picture(true), "jpeg": newCoder(t, "mjpeg", 96, 64).picture(true),
		"vp8": claim(packetsOf(t, "testdata/seeds/vp8.webm")[0], 6, 16383),
	} {
		s, pool := openStream(t, codec, o)
		_, err := s.Decode(picture, 0)
		if !errors.Is(err, decode.ErrTooLarge) || errors.Is(err, decode.ErrKeyFrame) || s.Copied+s.Converted > 0 || !bytes.Contains([]byte(err.Error()), []byte("6143 pixels")) {
			t.Errorf("%s: %v", codec, err)
		}
		s.Close()
		if n := pool.InUse(); n != 0 {
			t.Errorf("%s: %d blocks are out", codec, n)
		}
	}
	jpeg := newCoder(t, "mjpeg", 96, 64).picture(true)
	at := bytes.Index(jpeg, []byte{0xff, 0xc0})
	s, _ := openStream(t, "jpeg", o)
	wantDamaged(t, s, claim(jpeg, at+5, 0xffff), false)
	long := append(bytes.Clone(jpeg), make([]byte, 1<<20)...) // long enough for its claim
	for codec, picture := range map[string][]byte{"jpeg": claim(long, at+5, 0x3e3e), "h264": newCoder(t, "libx264", 3200, 3000).picture(true)} {
		s, _ := openStream(t, codec, o)
		if _, err := s.Decode(picture, 0); !errors.Is(err, decode.ErrTooLarge) {
			t.Errorf("%s by far too large: %v", codec, err)
		}
	}
}

// claim writes two sides into a copy of a header.
func claim(b []byte, at int, side uint16) []byte {
	b = bytes.Clone(b)
	binary.LittleEndian.PutUint16(b[at:], side)
	binary.LittleEndian.PutUint16(b[at+2:], side)
	return b
}

// Damage causes an error at worst, and whole pictures follow.
func TestStreamOfDamage(t *testing.T) {
	rounds := 300
	if n, err := strconv.Atoi(os.Getenv("VIDFILTER_TEST_ROUNDS")); err == nil {
		rounds = n
	}
	h264, jpeg := newCoder(t, "libx264", 64, 48), newCoder(t, "mjpeg", 64, 48)
	rng := rand.New(rand.NewPCG(1, uint64(rounds)))
	for codec, pictures := range map[string][][]byte{
		"h264": {h264.picture(true), h264.picture(false), h264.picture(false), h264.picture(false)},
		"jpeg": {jpeg.picture(true), jpeg.picture(true)},
		"vp8":  packetsOf(t, "testdata/seeds/vp8.webm"),
	} {
		s, pool := openStream(t, codec, decode.StreamOptions{MaxPixels: 1 << 16, Threads: 2})
		for range rounds {
			for _, p := range pictures {
				if p = bytes.Clone(p); rng.IntN(2) == 0 {
					for range 1 + rng.IntN(8) {
						p[rng.IntN(len(p))] ^= 1 << rng.IntN(8)
					}
				}
				feedPicture(t, s, p)
			}
		}
		f, err := s.Decode(pictures[0], 1)
		if err != nil || f == nil {
			t.Fatalf("%s: %v", codec, err)
		}
		f.Release()
		s.Close()
		if n := pool.InUse(); n != 0 {
			t.Errorf("%s: %d blocks are out", codec, n)
		}
	}
}

func TestStreamOfUnknown(t *testing.T) {
	if s, err := decode.OpenStream("theora", newPool(t), decode.StreamOptions{}); s != nil || !errors.Is(err, decode.ErrOption) {
		t.Errorf("%v, %v", s, err)
	}
}

// packetsOf returns the packets of a file with one stream.
func packetsOf(t testing.TB, path string) (all [][]byte) {
	t.Helper()
	fc := astiav.AllocFormatContext()
	e2e.Must(t, fc.OpenInput(path, nil, nil))
	defer fc.CloseInput()
	p := astiav.AllocPacket()
	defer p.Free()
	for fc.ReadFrame(p) == nil {
		all = append(all, bytes.Clone(p.Data()))
		p.Unref()
	}
	return all
}
