package media

import (
	"fmt"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// Outputs have the requested depth for any source and filter, and unfiltered samples keep their
// values: ends of the range stay in full range and RGB, others are shifted.
func TestDepthOption(t *testing.T) {
	e2e.Start(t, false)
	const (
		hevc = "--codec hevc --preset ultrafast --depth "
		av1  = "--codec av1 --preset 12 --depth "
		ffv1 = "--codec ffv1 --depth "
	)
	rangeOf := map[string]string{"yuvj420p": " -color_range pc"}
	source := func(pf, more string) string {
		return clip(t, "depth-"+pf+".mkv", "-f lavfi -i testsrc2=s=128x96:r=25:d=0.12"+more+" -c:v ffv1 -pix_fmt "+pf+rangeOf[pf])
	}
	limited, full := source("yuv420p", ""), source("yuvj420p", ",scale=out_range=full")
	picture := clip(t, "depth.png", "-f lavfi -i testsrc2=s=96x64 -frames:v 1 -pix_fmt rgb24")
	gray := clip(t, "depth-gray.png", "-f lavfi -i testsrc2=s=96x64 -frames:v 1 -pix_fmt gray")
	for _, c := range []struct {
		in, to, with, pixels string
		back                 string // the source's pixel format, if the samples have the same values
	}{
		{limited, "mp4", hevc + "10", "yuv420p10le", ""},
		{limited, "mov", hevc + "auto --filter denoise", "yuv420p10le", ""},
		{limited, "webm", av1 + "auto", "yuv420p10le", ""},
		{limited, "mkv", ffv1 + "auto", "yuv420p", "yuv420p"},
		{limited, "mkv", ffv1 + "10", "yuv420p10le", "yuv420p"},
		{limited, "mkv", ffv1 + "12 --filter recursive", "yuv420p12le", ""},
		{limited, "mkv", "--codec h264 --preset ultrafast --depth 10", "yuv420p10le", ""},
		{limited, "mkv", "--depth 10", "yuv420p10le", ""},
		{limited, "mkv", ffv1 + "10 --parts 2", "yuv420p10le", "yuv420p"},
		{limited, "mkv", hevc + "10 --compare side", "yuv420p10le", ""},
		{source("yuv422p", ""), "mkv", hevc + "auto", "yuv422p10le", ""},
		{source("yuv420p10le", ""), "mkv", ffv1 + "8", "yuv420p", ""},
		{source("yuv420p10le", ""), "mp4", "--depth 8", "yuv420p", ""},
		{source("yuv420p10le", ""), "mp4", av1 + "8 --filter denoise", "yuv420p", ""},
		{source("yuv420p12le", ""), "mkv", hevc + "auto", "yuv420p12le", ""},
		{full, "mkv", ffv1 + "10", "yuv420p10le", "yuvj420p"},
		{full, "mkv", ffv1 + "16 --filter denoise", "yuv420p16le", "yuvj420p"},
		{source("gbrp", ""), "mkv", ffv1 + "10", "gbrp10le", ""},
		{source("yuva420p", ""), "mkv", ffv1 + "10", "yuva420p10le", ""},
		{picture, "png", "--depth 16", "rgb48be", "rgb24"},
		{picture, "tif", "--depth 16 --filter denoise", "rgb48le", "rgb24"},
		{gray, "png", "--depth 16 --filter denoise", "gray16be", "gray"},
	} {
		out, said := filter(t, c.in, c.to, c.with)
		v := probe(t, out).video(t)
		if v.PixFmt != c.pixels {
			t.Errorf("%s %s: %s, want %s: %s", c.in, c.with, v.PixFmt, c.pixels, said)
		}
		if codec := map[string]string{"--depth 8": "h264", "--depth 10": "hevc"}[c.with]; codec != "" && v.Codec != codec {
			t.Errorf("%s %s: %s, want %s: %s", c.in, c.with, v.Codec, codec, said)
		}
		if codec := probe(t, out).video(t).Codec; c.with == "--depth 10" && codec != "hevc" {
			t.Errorf("%s %s: %s", c.in, c.with, codec)
		}
		if c.back != "" {
			keepsValues(t, c.in+" "+c.with, raw(t, out, c.pixels), raw(t, c.in, c.back), c.pixels, c.back)
		}
	}
	out, _ := filter(t, clip(t, "depth-16.png", "-f lavfi -i testsrc2=s=96x64 -frames:v 1 -pix_fmt rgb48be"), "png", "--depth 8")
	if got := probe(t, out).video(t).PixFmt; got != "rgb24" {
		t.Errorf("a picture of 16 bits becomes %s", got)
	}
}

// keepsValues compares samples with the 8-bit originals.
func keepsValues(t *testing.T, name string, got, want []byte, pixels, back string) {
	t.Helper()
	size, depth := 1, 8
	for d := 9; d <= 16; d++ {
		if strings.Contains(pixels, fmt.Sprintf("p%dl", d)) || d == 16 && (strings.Contains(pixels, "48") || strings.Contains(pixels, "16")) {
			size, depth = 2, d
		}
	}
	if len(got) != size*len(want) {
		t.Errorf("%s: %d bytes for %d samples", name, len(got), len(want))
		return
	}
	const luma, all = 128 * 96, 128 * 96 * 3 / 2 // of 4:2:0
	for i, v := range want {
		is, expected := int(got[size*i]), int(v)<<(depth-8)
		if size == 2 {
			is |= int(got[size*i+1]) << 8
			if strings.HasSuffix(pixels, "be") {
				is = is>>8 | is&255<<8
			}
		}
		if back == "rgb24" || back == "gray" || back == "yuvj420p" && i%all < luma {
			expected = (int(v)*(1<<depth-1) + 127) / 255
		}
		if is != expected {
			t.Errorf("%s: sample %d is %d, want %d of %d", name, i, is, expected, v)
			return
		}
	}
}
