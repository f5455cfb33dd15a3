package media

import (
	"bytes"
	"testing"

	"vidfilter/internal/e2e"
)

// A filter without effect (radius 0) and a lossless encoder give back the decoded samples bit for
// bit: luma over all of 0 to 255, and chroma that no colour of RGB has.
func TestLosslessKeepsBits(t *testing.T) {
	for _, c := range []struct{ name, pf, args string }{
		{"420", "yuv420p", "-c:v ffv1"}, {"420-odd", "yuv420p", "-vf crop=255:47:0:0:exact=1 -c:v ffv1"}, {"422", "yuv422p", "-c:v ffv1"},
		{"444", "yuv444p", "-c:v ffv1 -colorspace bt709"}, {"nv12", "nv12", "-c:v rawvideo"}, {"full", "yuv420p", "-c:v ffv1 -color_range pc"},
		{"fields", "yuv420p", "-vf setfield=tff -c:v ffv1 -colorspace bt2020nc"}, {"gray", "gray", "-c:v ffv1"},
		{"full-444", "yuv444p", "-c:v ffv1 -color_range pc"},
	} {
		for _, lossless := range []string{"--encoder ffv1", "--crf 0"} {
			if lossless == "--crf 0" && c.name == "420-odd" {
				continue // x264 takes no odd sizes
			}
			t.Run(c.name+lossless, func(t *testing.T) {
				e2e.Start(t, c.name == "420")
				src := clip(t, "lossless-"+c.name+".nut", "-f lavfi -i 'nullsrc=s=256x48:r=25:d=0.2,format="+geqFormat(c.pf)+
					",geq=lum=mod(X+3*Y+N\\,256):cb=random(1)*255:cr=random(2)*255' -pix_fmt "+c.pf+" "+c.args)
				out, _ := filter(t, src, "mkv", lossless)
				got, want := raw(t, out, c.pf), raw(t, src, c.pf)
				if len(got) != len(want) || len(want) == 0 {
					t.Fatalf("%d bytes of samples for %d", len(got), len(want))
				}
				if !bytes.Equal(got, want) {
					t.Errorf("other samples than the input's: %.1f dB", psnr(got, want))
				}
			})
		}
	}
}

// geqFormat is the format that geq fills.
func geqFormat(pf string) string {
	if pf == "nv12" {
		return "yuv420p"
	}
	return pf
}
