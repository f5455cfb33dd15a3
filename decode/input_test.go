package decode_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/live/livetest"
	"vidfilter/pipeline"
)

// The sample that the project makes: H.264 with B-frames, sound, subtitles, chapters.
const sample = "../samples/noisy.mp4"

func TestMain(m *testing.M) {
	av.SetLog(astiav.LogLevelQuiet, func(astiav.LogLevel, string) {})
	os.Exit(m.Run())
}

// open opens a file with a pool of its own. When the test ends, every block must have come back.
func open(t *testing.T, path string, o decode.Options) (*decode.Input, *pipeline.Pool) {
	t.Helper()
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	pool := pipeline.NewPool(cpu, 1)
	in, err := decode.Open(context.Background(), path, pool, o)
	t.Cleanup(func() {
		if in != nil {
			in.Close()
		}
		if n := pool.InUse(); n != 0 {
			t.Errorf("%d blocks are still out", n)
		}
		pool.Close()
		_ = cpu.Close()
	})
	e2e.Must(t, err)
	return in, pool
}

// all reads to the end and returns how many frames there were.
func all(t *testing.T, in *decode.Input) int {
	t.Helper()
	for n := 0; ; n++ {
		f, err := in.Next(context.Background())
		if err == io.EOF {
			return n
		}
		e2e.Must(t, err)
		f.Release()
	}
}

func TestWholeSample(t *testing.T) {
	in, _ := open(t, sample, decode.Options{Threads: 2})
	packets, last := 0, int64(-1)
	in.OnPacket(func(*astiav.Packet) error { packets++; return nil })
	promised, _ := in.Estimate()
	n := 0
	for {
		f, err := in.Next(context.Background())
		if err == io.EOF {
			break
		}
		e2e.Must(t, err)
		if f.PTS <= last || f.Duration <= 0 {
			t.Errorf("frame %d: time %d for %d after %d", n, f.PTS, f.Duration, last)
		}
		if f.Format != in.Format() || f.Layout != pipeline.YUV420P {
			t.Errorf("frame %d is %v", n, f.Format)
		}
		last = f.PTS
		f.Release()
		n++
	}
	if int64(n) != promised || n == 0 {
		t.Errorf("%d frames instead of %d", n, promised)
	}
	if packets == 0 {
		t.Error("no packet of another stream")
	}
	if in.Copied+in.Converted != 0 {
		t.Errorf("%d frames copied, %d converted: H.264 must be decoded into the pool", in.Copied, in.Converted)
	}
	if d := in.Damage().Counts(); len(d) != 0 {
		t.Errorf("damage in a whole file: %v", d)
	}
	for range 2 {
		if f, err := in.Next(context.Background()); f != nil || err != io.EOF {
			t.Errorf("after the end: %v, %v", f, err)
		}
	}
}

func TestCloseTwice(t *testing.T) {
	in, _ := open(t, sample, decode.Options{})
	in.Close()
	in.Close()
	in.Interrupt() // late, and harmless
}

func TestCloseWithFramesOut(t *testing.T) {
	in, pool := open(t, sample, decode.Options{Threads: 2})
	var frames []*pipeline.Frame
	for range 5 {
		f, err := in.Next(context.Background())
		e2e.Must(t, err)
		frames = append(frames, f)
	}
	in.Close()
	if pool.InUse() < 5 {
		t.Errorf("%d blocks are out instead of 5: frames do not lie in the pool", pool.InUse())
	}
	for i, f := range frames {
		f.Row(0, f.Height-1)[f.Width-1]++ // still there: the race detector and the system watch
		f.Row(0, f.Height-1)[f.Width-1]--
		f.Release()
		if n := pool.InUse(); n > 5-i {
			t.Errorf("%d blocks are out after %d were released", n, i+1)
		}
	}
}

func TestCancelledContext(t *testing.T) {
	in, _ := open(t, sample, decode.Options{})
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if f, err := in.Next(ctx); f != nil || !errors.Is(err, cause) {
		t.Errorf("%v, %v", f, err)
	}
}

// Interrupt ends the stream like the end of the file: frames in the decoder still come.
func TestInterrupt(t *testing.T) {
	in, _ := open(t, sample, decode.Options{Threads: 1})
	f, err := in.Next(context.Background())
	e2e.Must(t, err)
	f.Release()
	in.Interrupt()
	whole, _ := in.Estimate()
	if n := all(t, in); int64(n) >= whole-1 {
		t.Errorf("%d frames came after the interruption", n)
	}
	if d := in.Damage(); d.ReadErrors != 0 || d.MissingPackets != 0 {
		t.Errorf("an interruption is no damage: %+v", d)
	}
}

func TestFramesOption(t *testing.T) {
	in, _ := open(t, sample, decode.Options{Frames: 7, Threads: 1})
	if n := all(t, in); n != 7 {
		t.Errorf("%d frames instead of 7", n)
	}
}

func TestPart(t *testing.T) {
	in, _ := open(t, sample, decode.Options{Start: time.Second, Duration: 500 * time.Millisecond, Threads: 1})
	var first, last int64
	n := 0
	for ; ; n++ {
		f, err := in.Next(context.Background())
		if err == io.EOF {
			break
		}
		e2e.Must(t, err)
		if last = f.PTS; n == 0 {
			first = f.PTS
		}
		f.Release()
	}
	tb := in.Video().TimeBase().Float64()
	rate := in.FrameRate().Float64()
	if start, end := float64(first)*tb, float64(last)*tb; start < 0 || start > 1/rate || end >= 0.5 || end < 0.5-1.01/rate {
		t.Errorf("%d frames from %.3f to %.3f s", n, start, end)
	}
}

// An error of the receiver of packets ends the stream with that error.
func TestPacketError(t *testing.T) {
	in, _ := open(t, sample, decode.Options{Threads: 1})
	full := errors.New("full")
	in.OnPacket(func(*astiav.Packet) error { return full })
	for {
		f, err := in.Next(context.Background())
		if err != nil {
			if !errors.Is(err, full) {
				t.Errorf("%v", err)
			}
			return
		}
		f.Release()
	}
}

// y4m writes a small raw clip, which needs no encoder: three grey frames of 6x4.
func y4m(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "grey.y4m")
	b := []byte("YUV4MPEG2 W6 H4 F25:1 Ip A1:1 C420jpeg\n")
	for i := range 3 {
		b = append(b, "FRAME\n"...)
		for range 6*4 + 2*3*2 {
			b = append(b, byte(100+i))
		}
	}
	e2e.Must(t, os.WriteFile(path, b, 0o600))
	return path
}

// Decoders that keep memory of their own have their pictures copied, and it is counted.
func TestCopiedFrames(t *testing.T) {
	in, _ := open(t, y4m(t), decode.Options{Threads: 1})
	for i := range 3 {
		f, err := in.Next(context.Background())
		e2e.Must(t, err)
		if got := f.Row(0, 3)[5]; got != byte(100+i) {
			t.Errorf("frame %d: %d", i, got)
		}
		f.Release()
	}
	if n := all(t, in); n != 0 || in.Copied != 3 || in.Converted != 0 {
		t.Errorf("%d more frames, %d copied, %d converted", n, in.Copied, in.Converted)
	}
}

func TestMaxPixels(t *testing.T) {
	pool := newPool(t)
	in, err := decode.Open(context.Background(), sample, pool, decode.Options{MaxPixels: 100})
	if in != nil || !errors.Is(err, decode.ErrUnreadable) {
		t.Errorf("%v, %v", in, err)
	}
}

// TestAboveFFmpeg: the error for a picture that is too large for FFmpeg gives its size, even if
// FFmpeg only logs the size.
func TestAboveFFmpeg(t *testing.T) {
	be, le := binary.BigEndian.AppendUint32, binary.LittleEndian.AppendUint32
	chunk := func(kind string, data ...byte) string {
		body := kind + string(data)
		return string(be(nil, uint32(len(data)))) + body + string(be(nil, crc32.ChecksumIEEE([]byte(body))))
	}
	png := "\x89PNG\r\n\x1a\n" + chunk("IHDR", append(be(be(nil, 25000), 25000), 8, 2, 0, 0, 0)...) +
		chunk("IDAT", 0x78, 0x9c, 3, 0, 0, 0, 0, 1) + chunk("IEND")
	bmp := "BM" + string(le(le(le(nil, 1054), 0), 54)) + string(le(le(le(nil, 40), 60000), 60000)) + "\x01\x00\x18\x00" + strings.Repeat("\x00", 1024)
	jpg := "\xff\xd8\xff\xdb\x00\x43\x00" + strings.Repeat("\x01", 64) + "\xff\xc0\x00\x0b\x08\xff\xdc\xff\xdc\x01\x01\x11\x00" +
		"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00" + strings.Repeat("\x00", 100) + "\xff\xd9"
	pgm := func(w, h int) string { return fmt.Sprintf("P5\n%d %d\n255\n%1000d", w, h, 0) }
	for name, c := range map[string]struct{ content, size string }{
		"large.png": {png, "25000x25000"}, "large.bmp": {bmp, "60000x60000"}, "large.jpg": {jpg, "65500x65500"},
		"large.pgm": {pgm(60000, 60000), "60000x60000"}, "least.pgm": {pgm(16256, 16256), "16256x16256"},
		"allowed.pgm": {pgm(16256, 16255), ""},
	} {
		path := filepath.Join(t.TempDir(), name)
		e2e.Must(t, os.WriteFile(path, []byte(c.content), 0o666))
		in, err := decode.Open(t.Context(), path, newPool(t), decode.Options{})
		if in != nil {
			in.Close()
		}
		if c.size == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var e *decode.Error
		if !errors.As(err, &e) || !errors.Is(err, decode.ErrTooLarge) || !errors.Is(err, decode.ErrUnreadable) ||
			!strings.Contains(err.Error(), c.size+" is more than FFmpeg can decode: 268435455 pixels") || !strings.Contains(e.Hint(), "smaller") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// newPool returns a pool on the CPU that goes with the test.
func newPool(t *testing.T) *pipeline.Pool { return livetest.Pool(t, 1) }

// TestNotOpened: errors give the reason why a file is no video, also for a Matroska file that ends
// after its header, where FFmpeg reports "End of file".
func TestNotOpened(t *testing.T) {
	dir := t.TempDir()
	ebml := "\x1a\x45\xdf\xa3\x8f\x42\x82\x88matroska\x42\x87\x81\x04" // an EBML header alone
	for name, c := range map[string]struct{ content, why string }{
		"empty.mp4":  {"", "the file is empty"},
		"header.mkv": {ebml, "damaged or incomplete matroska,webm"},
		"short.mp4":  {"\x00\x00\x00\x10ftypisom\x00\x00\x02\x00", "damaged or incomplete mov,mp4"},
		"text.txt":   {"neither sound nor pictures", "not a media file"},
	} {
		path := filepath.Join(dir, name)
		e2e.Must(t, os.WriteFile(path, []byte(c.content), 0o666))
		in, err := decode.Open(t.Context(), path, newPool(t), decode.Options{})
		var e *decode.Error
		if in != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), "End of file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
