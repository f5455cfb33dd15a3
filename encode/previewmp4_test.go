package encode_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vidfilter/encode"
	"vidfilter/metrics"
	"vidfilter/pipeline"
)

// program runs one of FFmpeg's programs, or skips the test where there is none.
func program(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("no %s on this machine", name)
	}
	var out, said bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil || said.Len() > 0 {
		t.Errorf("%s: %v: %s", name, err, said.Bytes())
	}
	return out.Bytes()
}

// shownAt returns when the frames of a file are shown, in seconds.
func shownAt(t *testing.T, path string) (times []float64) {
	t.Helper()
	out := program(t, "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "frame=pts_time", "-of", "csv=p=0", path)
	for _, line := range strings.Fields(string(out)) {
		s, err := strconv.ParseFloat(strings.Trim(line, ","), 64)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, s)
	}
	return times
}

// boxes returns the names of the boxes that data is made of.
func boxes(t *testing.T, data []byte) (names []string) {
	t.Helper()
	for len(data) >= 8 {
		size := int(data[0])<<24 | int(data[1])<<16 | int(data[2])<<8 | int(data[3])
		if size < 8 || size > len(data) {
			t.Fatalf("a box of %d bytes in %d", size, len(data))
		}
		names = append(names, string(data[4:8]))
		data = data[size:]
	}
	if len(data) > 0 {
		t.Errorf("%d bytes behind the boxes", len(data))
	}
	return names
}

// The fragments, one behind the other, are a file that plays, with every picture at its time.
func TestPreviewMP4(t *testing.T) {
	const pictures = 40
	c := newCamera(t, yuv420(161, 90))
	p := newPreview(t, encode.PreviewOptions{Kind: encode.PreviewMP4, View: encode.ViewStack, Threads: 2})
	var file bytes.Buffer
	var config *encode.PreviewConfig
	for n := range pictures {
		packet := c.encode(p, n, n == 20)
		if (packet.Config != nil) != (n == 0) || packet.Key != (n == 0 || n == 20) {
			t.Errorf("picture %d: key %v, config %v", n, packet.Key, packet.Config)
		}
		if n == 0 {
			config = packet.Config
			if got := strings.Join(boxes(t, config.Init), " "); got != "ftyp moov" || len(config.Description) > 0 || !strings.HasPrefix(config.Codec, "avc1.64") {
				t.Errorf("the first segment is %s, %+v", got, config)
			}
			file.Write(config.Init)
		}
		if got := strings.Join(boxes(t, packet.Data), " "); got != "moof mdat" {
			t.Errorf("picture %d is %s", n, got)
		}
		file.Write(packet.Data)
	}
	path := filepath.Join(t.TempDir(), "fragments.mp4")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	times := shownAt(t, path)
	if len(times) != pictures {
		t.Fatalf("%d pictures are shown", len(times))
	}
	for n, at := range times {
		if want := (stampOf(n).Time - stampOf(0).Time) / 1000; math.Abs(at-want) > 0.0002 {
			t.Errorf("picture %d is shown at %.4f s instead of %.4f", n, at, want)
		}
	}
	raw := program(t, "ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-fps_mode", "passthrough", "-")
	format := yuv420(config.CodedWidth, config.CodedHeight)
	size := len(raw) / pictures
	v := &viewer{t: t, config: config}
	for n := range pictures {
		f := packed(format, raw[n*size:][:size])
		v.check(c, n, 34, f)
	}
}

// packed shows the samples of one picture, without padding, as a frame.
func packed(format pipeline.Format, b []byte) *pipeline.Frame {
	var planes [4]pipeline.Plane
	for i := range format.NumPlanes() {
		w, rows := format.PlaneSize(i)
		planes[i] = pipeline.Plane{Data: b[:w*rows], Pitch: w}
		b = b[w*rows:]
	}
	return pipeline.NewFrame(format, planes, nil, nil)
}

// A change in mid-stream begins with a new initialization, and the times go on.
func TestPreviewMP4Changes(t *testing.T) {
	p := newPreview(t, encode.PreviewOptions{Kind: encode.PreviewMP4, View: encode.ViewStack, Threads: 1})
	for i, size := range []int{64, 66} {
		c := newCamera(t, yuv420(160, size))
		var file []byte
		for n := 10 * i; n < 10*i+10; n++ {
			packet := c.encode(p, n, false)
			if packet.Config != nil {
				file = append(file, packet.Config.Init...)
			}
			file = append(file, packet.Data...)
		}
		path := filepath.Join(t.TempDir(), "fragments.mp4")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		times := shownAt(t, path)
		if len(times) != 10 || math.Abs(times[0]-float64(i)/3) > 0.006 {
			t.Fatalf("format %d: %v", i, times)
		}
	}
}

func TestPreviewJPEG(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.YUV422P, pipeline.YUV444P, pipeline.NV12, pipeline.RGBA} {
		for _, view := range []encode.View{encode.ViewSplit, encode.ViewOriginal, encode.ViewFiltered} {
			t.Run(fmt.Sprint(layout, view), func(t *testing.T) {
				format := pipeline.Format{Layout: layout, Width: 161, Height: 91, Matrix: pipeline.BT601, FullRange: layout == pipeline.YUV420P}
				c, v := newCamera(t, format), &viewer{t: t}
				p := newPreview(t, encode.PreviewOptions{Kind: encode.PreviewJPEG, View: view, BitRate: 50e6, Threads: 2})
				for n := range 3 {
					packet := c.encode(p, n, false)
					if !packet.Key || (packet.Config != nil) != (n == 0) || !bytes.HasPrefix(packet.Data, []byte{0xff, 0xd8}) {
						t.Errorf("picture %d: %v, %v", n, packet.Key, packet.Config)
					}
					got := v.show(packet)
					if got.Width != 161 || got.Height != 91 || v.config.Width != 161 || v.config.Height != 91 || v.config.Scale != 1 {
						t.Fatalf("%v, %+v", got, v.config)
					}
					checkJPEG(t, c, n, view, got)
				}
			})
		}
	}
}

func checkJPEG(t *testing.T, c *camera, n int, view encode.View, got *pipeline.Frame) {
	t.Helper()
	want, filtered := c.pair(n)
	defer want.Release()
	defer filtered.Release()
	switch view {
	case encode.ViewSplit:
		split := c.frame(func(int, int, int) byte { return 0 })
		defer split.Release()
		pipeline.DrawSplit(split, want, filtered)
		want = split
		white := byte(230)
		if at := 80; got.Row(0, 45)[at] < white || got.Row(0, 45)[at+1] < white {
			t.Error("there is no line")
		}
	case encode.ViewFiltered:
		want = filtered
	}
	score, err := metrics.Compare(got, convert(t, want, got.Format))
	if err != nil {
		t.Fatal(err)
	}
	if score.PSNR() < 33 {
		t.Errorf("picture %d: %v", n, score)
	}
}

func TestPreviewJPEGSizes(t *testing.T) {
	for _, s := range []struct{ w, h, scale int }{{1, 1, 1}, {2, 2, 1}, {15, 33, 1}, {9000, 16, 2}} {
		c, v := newCamera(t, yuv420(s.w, s.h)), &viewer{t: t}
		p := newPreview(t, encode.PreviewOptions{Kind: encode.PreviewJPEG, View: encode.ViewSplit})
		got := v.show(c.encode(p, 0, false))
		if v.config.Scale != s.scale || got.Width != (s.w+s.scale-1)/s.scale || got.Height != v.config.Height {
			t.Errorf("%dx%d: %v, %+v", s.w, s.h, got, v.config)
		}
	}
}

// The quality follows the rate, as far as there is room.
func TestPreviewJPEGRate(t *testing.T) {
	c := newCamera(t, yuv420(320, 180))
	p := newPreview(t, encode.PreviewOptions{Kind: encode.PreviewJPEG, View: encode.ViewOriginal})
	for i, want := range []int64{4_000_000, 2_000_000, 6_000_000} {
		p.SetBitRate(want)
		rateOf(c, p, 200*i, 1)
		if got := rateOf(c, p, 200*i+30, 1); got < 0.6*float64(want) || got > 1.1*float64(want) {
			t.Errorf("%.0f bits a second at %d", got, want)
		}
	}
	// One that cannot be met is not kept from the first picture on, either.
	p = newPreview(t, encode.PreviewOptions{Kind: encode.PreviewJPEG, View: encode.ViewOriginal, BitRate: 1})
	first, then := len(c.encode(p, 0, false).Data), rateOf(c, p, 1, 1)/8/30
	if float64(first) > 1.5*then {
		t.Errorf("%d bytes at first, %.0f later", first, then)
	}
}
