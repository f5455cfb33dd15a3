package preview_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/live/livetest"
	"vidfilter/live/preview"
	"vidfilter/pipeline"
	"vidfilter/pipeline/quality"
)

func TestPreviewJPEG(t *testing.T) {
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.YUV422P, pipeline.YUV444P, pipeline.NV12, pipeline.RGBA} {
		for _, view := range []preview.View{preview.ViewSplit, preview.ViewOriginal, preview.ViewFiltered} {
			t.Run(fmt.Sprint(layout, view), func(t *testing.T) {
				format := pipeline.Format{Layout: layout, Width: 161, Height: 91, Matrix: pipeline.BT601, FullRange: layout == pipeline.YUV420P}
				c, v := newCamera(t, format), &viewer{t: t}
				p := newPreview(t, preview.Options{Kind: preview.JPEG, View: view, BitRate: 50e6, Threads: 2})
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

// A JPEG stack carries both pictures and the stamp at any quality.
func TestPreviewJPEGStack(t *testing.T) {
	for _, bits := range []int64{1, 50e6} {
		c, v := newCamera(t, livetest.YUV420(161, 91)), &viewer{t: t}
		p := newPreview(t, preview.Options{Kind: preview.JPEG, View: preview.ViewStack, BitRate: bits, Threads: 2})
		for n := range 3 {
			got := v.show(c.encode(p, n, false))
			luma := got.Planes[0]
			luma.Data = luma.Data[v.config.StampY*luma.Pitch:]
			if s, ok := preview.ReadStamp(luma, got.Width); !ok || int(s.Seq) != n {
				t.Errorf("%d bits a second, picture %d: stamp %+v, %v", bits, n, s, ok)
			}
			if bits == 1 {
				continue
			}
			original, filtered := c.Pair(n)
			for top, want := range map[int]*pipeline.Frame{0: original, v.config.FilteredY: filtered} {
				want := convert(t, want, pipeline.Format{Layout: pipeline.YUV420P, Width: 161, Height: 91, Matrix: pipeline.BT601, FullRange: true})
				for _, at := range [][2]int{{5, 5}, {80, 45}, {150, 80}} {
					if a, b := int(got.Row(0, top+at[1])[at[0]]), int(want.Row(0, at[1])[at[0]]); max(a-b, b-a) > 30 {
						t.Errorf("picture %d, from row %d, at %v: %d instead of %d", n, top, at, a, b)
					}
				}
			}
			original.Release()
			filtered.Release()
		}
	}
}

func checkJPEG(t *testing.T, c *camera, n int, view preview.View, got *pipeline.Frame) {
	t.Helper()
	want, filtered := c.Pair(n)
	defer want.Release()
	defer filtered.Release()
	switch view {
	case preview.ViewSplit:
		split := c.Frame(func(int, int, int) byte { return 0 })
		defer split.Release()
		pipeline.DrawSplit(split, want, filtered)
		want = split
		white := byte(230)
		if at := 80; got.Row(0, 45)[at] < white || got.Row(0, 45)[at+1] < white {
			t.Error("there is no line")
		}
	case preview.ViewFiltered:
		want = filtered
	}
	score, err := quality.Compare(got, convert(t, want, got.Format))
	e2e.Must(t, err)
	if score.PSNR() < 33 {
		t.Errorf("picture %d: %v", n, score)
	}
}

func TestPreviewJPEGSizes(t *testing.T) {
	for _, s := range []struct {
		w, h  int
		scale float64
	}{{1, 1, 1}, {2, 2, 1}, {15, 33, 1}, {9000, 16, 1.5}} {
		c, v := newCamera(t, livetest.YUV420(s.w, s.h)), &viewer{t: t}
		p := newPreview(t, preview.Options{Kind: preview.JPEG, View: preview.ViewSplit})
		got := v.show(c.encode(p, 0, false))
		if v.config.Scale != s.scale || got.Width != int(math.Ceil(float64(s.w)/s.scale)) || got.Height != v.config.Height {
			t.Errorf("%dx%d: %v, %+v", s.w, s.h, got, v.config)
		}
	}
}

// The quality follows the rate, within its range.
func TestPreviewJPEGRate(t *testing.T) {
	c := newCamera(t, livetest.YUV420(320, 180))
	p := newPreview(t, preview.Options{Kind: preview.JPEG, View: preview.ViewOriginal})
	for i, want := range []int64{4_000_000, 2_000_000, 6_000_000} {
		p.SetBitRate(want)
		rateOf(c, p, 200*i, 1)
		if got := rateOf(c, p, 200*i+30, 1); got < 0.6*float64(want) || got > 1.1*float64(want) {
			t.Errorf("%.0f bits a second at %d", got, want)
		}
	}
	// An unreachable rate gives the smallest pictures from the first one on.
	p = newPreview(t, preview.Options{Kind: preview.JPEG, View: preview.ViewOriginal, BitRate: 1})
	first, then := len(c.encode(p, 0, false).Data), rateOf(c, p, 1, 1)/8/30
	if float64(first) > 1.5*then {
		t.Errorf("%d bytes at first, %.0f later", first, then)
	}
}
