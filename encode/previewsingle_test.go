package encode_test

import (
	"fmt"
	"testing"

	"vidfilter/encode"
	"vidfilter/metrics"
	"vidfilter/pipeline"
)

// One view alone fills the H.264 picture, whatever layout and size the frames have.
func TestPreviewAlone(t *testing.T) {
	views := map[string]encode.View{"original": encode.ViewOriginal, "filtered": encode.ViewFiltered, "split": encode.ViewSplit}
	for _, format := range []pipeline.Format{
		yuv420(160, 90), yuv420(161, 91), yuv420(33, 17), yuv420(9000, 16),
		{Layout: pipeline.YUV422P, Matrix: pipeline.BT601, Width: 160, Height: 90, FullRange: true}, {Layout: pipeline.RGBA, Width: 121, Height: 67},
	} {
		for name, view := range views {
			t.Run(fmt.Sprintf("%v-%dx%d-%s", format.Layout, format.Width, format.Height, name), func(t *testing.T) {
				c, v := newCamera(t, format), &viewer{t: t}
				p := newPreview(t, encode.PreviewOptions{Kind: encode.PreviewAVC, View: view, Threads: 1, BitRate: 20e6})
				for n := range 3 {
					v.checkAlone(c, view, n, v.show(c.encode(p, n, n == 2)))
				}
			})
		}
	}
}

// checkAlone holds a decoded picture against the view of the pair that it was made of.
func (v *viewer) checkAlone(c *camera, view encode.View, n int, shown *pipeline.Frame) {
	v.t.Helper()
	g := v.config
	if g.FilteredY != 0 || g.StampY != 0 || g.CodedWidth != shown.Width || g.CodedHeight != shown.Height ||
		g.CodedHeight != (g.Height+1)&^1 || g.CodedWidth != max(64, (g.Width+1)&^1) || g.Scale != 1+c.format.Width/8193 {
		v.t.Errorf("a picture of %dx%d is described as %+v", shown.Width, shown.Height, g)
	}
	original, filtered := c.pair(n)
	defer original.Release()
	defer filtered.Release()
	want := map[encode.View]*pipeline.Frame{encode.ViewOriginal: original, encode.ViewFiltered: filtered}[view]
	if view == encode.ViewSplit {
		want = c.frame(func(int, int, int) byte { return 0 })
		defer want.Release()
		pipeline.DrawSplit(want, original, filtered)
	}
	got := window(shown, 0, g.Width, g.Height)
	score, err := metrics.Compare(got, convert(v.t, want, got.Format))
	if err != nil {
		v.t.Fatal(err)
	}
	if score.PSNR() < 32 {
		v.t.Errorf("picture %d: %v", n, score)
	}
}

// Both presets keep to the profile that is asked for.
func TestPreviewBaseline(t *testing.T) {
	c := newCamera(t, yuv420(160, 90))
	for _, kind := range []encode.PreviewOptions{
		{Kind: encode.PreviewAVC, View: encode.ViewFiltered}, {Kind: encode.PreviewAVC, View: encode.ViewStack}, {Kind: encode.PreviewMP4, View: encode.ViewStack},
	} {
		v := &viewer{t: t}
		kind.Baseline = true
		p := newPreview(t, kind)
		packet := c.encode(p, 0, false)
		if got := packet.Config.Codec; len(got) != 11 || got[:9] != "avc1.42c0" {
			t.Errorf("%+v gives %s", kind, got)
		}
		if kind.Kind == encode.PreviewAVC {
			v.show(packet)
		}
	}
}
