package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
	"vidfilter/live"
	"vidfilter/live/livetest/sessions"
	"vidfilter/pipeline"
)

// gray returns a frame of one value.
func gray(t *testing.T, layout pipeline.Layout, width, height int, value byte) *pipeline.Frame {
	t.Helper()
	c, err := av.NewCanvas(pipeline.Format{Layout: layout, Width: width, Height: height, Matrix: pipeline.BT601})
	e2e.Must(t, err)
	t.Cleanup(c.Close)
	for i := range c.View.NumPlanes() {
		data := c.View.Planes[i].Data
		copy(data, bytes.Repeat([]byte{value}, len(data)))
	}
	return c.View
}

// A picture is written again where the next one is late, and left out where it is early.
func TestDue(t *testing.T) {
	begin := time.Now()
	y := &y4m{rate: 25, start: begin.Add(-20 * time.Millisecond)}
	at := func(ms int) int64 {
		n := max(0, y.due(begin.Add(time.Duration(ms)*time.Millisecond)))
		y.written += n
		return n
	}
	var got []int64
	for _, ms := range []int{0, 35, 85, 90, 120, 165, 300, 310} {
		got = append(got, at(ms))
	}
	if want := []int64{1, 1, 1, 0, 1, 1, 4, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	// A reader that stood for a minute gets a second of it.
	if n := at(60_000); n != 25 {
		t.Errorf("%d after a minute", n)
	}
	if n := at(60_040); n != 1 {
		t.Errorf("%d after that", n)
	}
}

func TestRational(t *testing.T) {
	for fps, want := range map[float64]string{0: "30/1", 25: "25/1", 30000.0 / 1001: "30000/1001", 59.94: "60000/1001", 12.5: "12500/1000"} {
		if num, den := rational(fps); fmt.Sprintf("%d/%d", num, den) != want {
			t.Errorf("%g: %d/%d", fps, num, den)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range [][6]int{
		{640, 480, 640, 480, 640, 480}, {1280, 720, 640, 480, 640, 360}, {480, 640, 640, 480, 360, 480}, {1920, 1080, 1279, 719, 1279, 719},
		{10000, 16, 64, 64, 64, 2}, {16, 10000, 64, 64, 2, 64},
	} {
		if w, h := pipeline.Fit(c[0], c[1], c[2], c[3]); w != c[4] || h != c[5] {
			t.Errorf("%v: %dx%d", c, w, h)
		}
	}
}

// Pictures of another shape get black bars, in every layout, and no rest of the one before.
func TestShape(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.NV12, pipeline.YUV422P} {
		s, err := newShaper(limited(layout, 64, 32))
		e2e.Must(t, err)
		defer s.close()
		for _, c := range []struct{ width, height, left, top int }{{64, 32, 0, 0}, {32, 32, 16, 0}, {128, 32, 0, 8}, {16, 16, 16, 0}, {64, 32, 0, 0}} {
			in := gray(t, pipeline.YUV420P, c.width, c.height, 200)
			f, err := s.shape(in, pipeline.Display{})
			e2e.Must(t, err)
			for y := range 32 {
				for x := range 64 {
					inside := x >= c.left && x < 64-c.left && y >= c.top && y < 32-c.top
					want := byte(16)
					if inside {
						want = 200
					}
					if got := f.Planes[0].Data[y*f.Planes[0].Pitch+x]; got != want {
						t.Fatalf("%v, %+v: %d at %d, %d", layout, c, got, x, y)
					}
				}
			}
			if chroma := f.Planes[1].Data[0]; (chroma == 128) != (c.left+c.top > 0) {
				t.Errorf("%v, %+v: chroma %d in the corner", layout, c, chroma)
			}
		}
	}
}

func TestYUYV(t *testing.T) {
	var planes [4]pipeline.Plane
	for i, pitch := range []int{9, 7, 7} {
		planes[i] = pipeline.Plane{Data: make([]byte, 2*pitch), Pitch: pitch}
		for x := range planes[i].Data {
			planes[i].Data[x] = byte(100*i + x)
		}
	}
	f := pipeline.NewFrame(pipeline.Format{Layout: pipeline.YUV422P, Width: 4, Height: 2}, planes, nil, nil)
	want := []byte{0, 100, 1, 200, 2, 101, 3, 201, 9, 107, 10, 207, 11, 108, 12, 208}
	if got := yuyv(nil, f); !bytes.Equal(got, want) {
		t.Errorf("%d, not %d", got, want)
	}
}

func TestPipe(t *testing.T) {
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	p := NewPipe(ctx, w)
	go func() { _, _ = io.ReadFull(r, make([]byte, 3)) }()
	if n, err := p.Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	time.AfterFunc(10*time.Millisecond, cancel) // no reader
	if _, err := p.Write([]byte("abc")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.CloseWithError(syscall.EPIPE)
	if _, err := NewPipe(t.Context(), w).Write([]byte("abc")); !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
}

// session runs the test picture until the test ends.
func session(t *testing.T) *live.Session {
	t.Helper()
	s, _, _ := sessions.Run(t, sessions.Pattern(live.PatternOptions{Width: 64, Height: 48, FPS: 50}))
	return s
}

// counter fails once it holds more than most bytes.
type counter struct {
	bytes.Buffer
	most int
	each func(b []byte) // gets each write
}

func (c *counter) Write(b []byte) (int, error) {
	if c.Len() > c.most {
		return 0, syscall.EPIPE
	}
	c.each(b)
	return c.Buffer.Write(b)
}

// The pictures go on at their rate while the session is frozen.
func TestY4M(t *testing.T) {
	s := session(t)
	const size = len("FRAME\n") + 64*48*3/2
	moved := map[string]bool{}
	out := &counter{most: 50 * size, each: func(b []byte) {
		if moved[string(b)] = true; len(moved) > 5 {
			s.Freeze(true)
		}
	}}
	begin := time.Now()
	if err := WriteY4M(t.Context(), s, out, func(line string) { t.Error(line) }); !errors.Is(err, syscall.EPIPE) {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 900*time.Millisecond {
		t.Errorf("a second took %v", took)
	}
	head, pictures, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	if !strings.HasPrefix(string(head), "YUV4MPEG2 W64 H48 F50:1 Ip A1:1 C420jpeg") || len(pictures)%size != 0 {
		t.Errorf("%s, %d bytes", head, len(pictures))
	}
	different := map[string]bool{}
	for b := range slices.Chunk(pictures, size) {
		if !bytes.HasPrefix(b, []byte("FRAME\n")) {
			t.Fatal("a picture without its line")
		}
		different[string(b)] = true
	}
	if len(different) < 2 || len(different) > 45 {
		t.Errorf("%d pictures are different", len(different))
	}
}

// Pictures of another size are scaled to the first size, with a message.
func TestY4MOtherSize(t *testing.T) {
	s := session(t)
	var out bytes.Buffer
	var told []string
	y := &y4m{w: &out, say: func(line string) { told = append(told, line) }}
	e2e.Until(t, "a picture", func() bool { st, _ := s.State(); return st.FrameRate > 0 })
	st, _ := s.State()
	now := time.Now()
	for i, f := range []*pipeline.Frame{
		gray(t, pipeline.YUV420P, 64, 48, 100), gray(t, pipeline.YUV422P, 64, 48, 100), gray(t, pipeline.YUV420P, 48, 64, 100), gray(t, pipeline.YUV420P, 64, 48, 100),
	} {
		e2e.Must(t, y.put(f, st, now.Add(time.Duration(i)*20*time.Millisecond)))
	}
	defer y.shaper.close()
	if len(told) != 2 || !strings.Contains(told[0], "48x64") || !strings.Contains(told[0], "scaled to 64x48") {
		t.Errorf("told: %q", told)
	}
	if n := bytes.Count(out.Bytes(), []byte("FRAME\n")); n < 3 || n > 4 {
		t.Errorf("%d pictures", n)
	}
}

func TestNoDevice(t *testing.T) {
	for _, path := range []string{"/dev/null", "/dev/video-none"} {
		if d, err := OpenDevice(path); err == nil {
			d.Close()
			t.Errorf("%s takes pictures", path)
		}
	}
}
