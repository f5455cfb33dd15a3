package preview_test

import (
	"fmt"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/live/livetest"
	"vidfilter/live/preview"
	"vidfilter/pipeline"
	"vidfilter/pipeline/quality"
)

// A single view fills the H.264 picture, for every layout and size of frames.
func TestPreviewAlone(t *testing.T) {
	views := map[string]preview.View{"original": preview.ViewOriginal, "filtered": preview.ViewFiltered, "split": preview.ViewSplit}
	for _, format := range []pipeline.Format{
		livetest.YUV420(160, 90), livetest.YUV420(161, 91), livetest.YUV420(33, 17), livetest.YUV420(9000, 16),
		{Layout: pipeline.YUV422P, Matrix: pipeline.BT601, Width: 160, Height: 90, FullRange: true}, {Layout: pipeline.RGBA, Width: 121, Height: 67},
	} {
		for name, view := range views {
			t.Run(fmt.Sprintf("%v-%dx%d-%s", format.Layout, format.Width, format.Height, name), func(t *testing.T) {
				c, v := newCamera(t, format), &viewer{t: t}
				p := newPreview(t, preview.Options{Kind: preview.AVC, View: view, Threads: 1, BitRate: 20e6})
				for n := range 3 {
					v.checkAlone(c, view, n, v.show(c.encode(p, n, n == 2)))
				}
			})
		}
	}
}

// checkAlone compares a decoded picture with the view of its pair.
func (v *viewer) checkAlone(c *camera, view preview.View, n int, shown *pipeline.Frame) {
	v.t.Helper()
	g := v.config
	if g.FilteredY != 0 || g.StampY != 0 || g.CodedWidth != shown.Width || g.CodedHeight != shown.Height ||
		g.CodedHeight != (g.Height+1)&^1 || g.CodedWidth != max(64, (g.Width+1)&^1) || g.Scale != 1+float64(c.Format.Width/8193)/2 {
		v.t.Errorf("a picture of %dx%d is described as %+v", shown.Width, shown.Height, g)
	}
	original, filtered := c.Pair(n)
	defer original.Release()
	defer filtered.Release()
	want := map[preview.View]*pipeline.Frame{preview.ViewOriginal: original, preview.ViewFiltered: filtered}[view]
	if view == preview.ViewSplit {
		want = c.Frame(func(int, int, int) byte { return 0 })
		defer want.Release()
		pipeline.DrawSplit(want, original, filtered)
	}
	got := window(shown, 0, g.Width, g.Height)
	score, err := quality.Compare(got, convert(v.t, want, got.Format))
	e2e.Must(v.t, err)
	if score.PSNR() < 32 {
		v.t.Errorf("picture %d: %v", n, score)
	}
}

// Both presets keep to the requested profile.
func TestPreviewBaseline(t *testing.T) {
	c := newCamera(t, livetest.YUV420(160, 90))
	for _, view := range []preview.View{preview.ViewFiltered, preview.ViewStack} {
		v := &viewer{t: t}
		p := newPreview(t, preview.Options{Kind: preview.AVC, View: view, Baseline: true})
		packet := c.encode(p, 0, false)
		if got := packet.Config.Codec; len(got) != 11 || got[:9] != "avc1.42c0" {
			t.Errorf("view %d gives %s", view, got)
		}
		v.show(packet)
	}
}

// A stamped single view has the same layout as a stack, with one picture.
func TestPreviewAloneWithStamp(t *testing.T) {
	for _, kind := range []preview.Coding{preview.AVC, preview.JPEG} {
		for name, view := range map[string]preview.View{"original": preview.ViewOriginal, "filtered": preview.ViewFiltered} {
			c, v := newCamera(t, livetest.YUV420(161, 91)), &viewer{t: t}
			p := newPreview(t, preview.Options{Kind: kind, View: view, Stamp: true, Threads: 1, BitRate: 20e6})
			for n := range 2 {
				packet := c.encode(p, n, n == 0)
				if g := packet.Config; g != nil && (g.Single != name || g.FilteredY != 0 || g.StampY != 92 || g.CodedHeight != 92+preview.StampHeight(g.CodedWidth)) {
					t.Errorf("%s is described as %+v", name, g)
				}
				if kind == preview.JPEG {
					continue
				}
				shown := v.show(packet)
				v.checkStamp(n, shown)
				original, filtered := c.Pair(n)
				want := map[preview.View]*pipeline.Frame{preview.ViewOriginal: original, preview.ViewFiltered: filtered}[view]
				got := window(shown, 0, v.config.Width, v.config.Height)
				if score, err := quality.Compare(got, convert(t, want, got.Format)); err != nil || score.PSNR() < 32 {
					t.Errorf("picture %d: %v, %v", n, score, err)
				}
				original.Release()
				filtered.Release()
			}
		}
	}
}
