package enhance

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

// Matrices as phones write them.
var (
	turned90  = [9]int32{0, 1 << 16, 0, -1 << 16, 0, 0, 0, 0, 1 << 30}
	turned180 = [9]int32{-1 << 16, 0, 0, 0, -1 << 16, 0, 0, 0, 1 << 30}
	turned270 = [9]int32{0, -1 << 16, 0, 1 << 16, 0, 0, 0, 0, 1 << 30}
)

func video(width, height int) Facts {
	return Facts{Format: pipeline.Format{Layout: pipeline.YUV420P, Width: width, Height: height}, Progressive: true}
}

func (f Facts) shaped(num, den int) Facts  { f.Aspect = pipeline.Ratio{Num: num, Den: den}; return f }
func (f Facts) in(l pipeline.Layout) Facts { f.Format.Layout = l; return f }
func (f Facts) turned(m [9]int32) Facts    { f.Matrix = m; return f }
func (f Facts) fields() Facts              { f.Interlaced, f.Progressive = true, false; return f }
func (f Facts) perhapsFields() Facts       { f.Progressive = false; return f }

// graph reads a value of an option and returns its graph.
func graph(option, value string, f Facts) (string, error) {
	type grapher interface{ Graph(Facts) (string, error) }
	var g grapher
	var err error
	switch option {
	case "deinterlace":
		g = Deinterlace(slices.Index(DeinterlaceNames, value))
	case "crop":
		g, err = ParseCrop(value)
	case "scale":
		g, err = ParseScale(value)
	case "fps":
		g, err = ParseRate(value)
	case "sharpen":
		var x float64
		x, err = strconv.ParseFloat(value, 64)
		g = Sharpen(x)
	case "deband":
		g = Deband(value == "")
	}
	if err != nil {
		return "", err
	}
	return g.Graph(f)
}

const debands = "deband=range=32:1thr=0.006:2thr=0.006:3thr=0.006:4thr=0.006:blur=0"

func TestGraphs(t *testing.T) {
	hd := video(1920, 1080)
	for _, c := range []struct {
		option, value string
		facts         Facts
		want          string
	}{
		{"deinterlace", "bob", hd.fields(), "bwdif=mode=send_field:deint=interlaced"},
		{"deinterlace", "bob", hd.perhapsFields(), "bwdif=mode=send_field:deint=interlaced"},
		{"deinterlace", "bob", hd, ""},
		{"deinterlace", "bob", hd.in(pipeline.NV12).fields(), "format=yuv420p,bwdif=mode=send_field:deint=interlaced"},
		{"deinterlace", "bob", hd.in(pipeline.GRAY.At(10)).fields(), "format=gray16le,bwdif=mode=send_field:deint=interlaced,format=gray10le"},
		{"deinterlace", "off", hd.fields(), ""},

		{"crop", "1920:800:0:140", hd, "crop=1920:800:0:140"},
		{"crop", "1920:800", hd, "crop=1920:800:0:140"},
		{"crop", "1920:802", hd, "crop=1920:802:0:138"},
		{"crop", "1920:1080:0:0", hd, ""},
		{"crop", "720:432:0:72", video(720, 576).fields(), "crop=720:432:0:72"},
		{"crop", "720:434:0:70", video(720, 576).in(pipeline.YUV422P).fields(), "crop=720:434:0:70"},
		{"crop", "578:340", video(579, 340).in(pipeline.GRAY), "crop=578:340:0:0"},
		{"crop", "579:300:0:40", video(579, 340), "crop=579:300:0:40:exact=1"},
		{"crop", "1080:1600:0:200", hd.turned(turned90), "crop=1600:1080:200:0"},
		{"crop", "800:1000:100:200", hd.turned(turned90), "crop=1000:800:200:180"},
		{"crop", "800:1000:100:200", hd.turned(turned270), "crop=1000:800:720:100"},
		{"crop", "800:600:100:200", hd.turned(turned180), "crop=800:600:1020:280"},

		{"scale", "720p", hd, "zscale=w=1280:h=720:filter=lanczos,setsar=1"},
		{"scale", "1080p", hd, ""},
		{"scale", "1080P", video(1280, 720), "zscale=w=1920:h=1080:filter=lanczos,setsar=1"},
		{"scale", "4k", hd, "zscale=w=3840:h=2160:filter=lanczos,setsar=1"},
		{"scale", "1080p", video(3840, 1600), "zscale=w=1920:h=800:filter=lanczos,setsar=1"},
		{"scale", "1080p", video(1440, 1080), ""},
		{"scale", "480p", hd, "zscale=w=854:h=480:filter=lanczos,setsar=1"},
		{"scale", "720p", video(1080, 1920), "zscale=w=720:h=1280:filter=lanczos,setsar=1"},
		{"scale", "720p", hd.turned(turned90), "zscale=w=1280:h=720:filter=lanczos,setsar=1"},
		{"scale", "1080p", video(720, 576).shaped(16, 15), "zscale=w=1440:h=1080:filter=lanczos,setsar=1"},
		{"scale", "1080p", video(720, 576).shaped(64, 45), "zscale=w=1920:h=1080:filter=lanczos,setsar=1"},
		{"scale", "1080p", video(720, 480).shaped(8, 9), "zscale=w=1440:h=1080:filter=lanczos,setsar=1"},
		{"scale", "1080p", video(720, 480).shaped(32, 27), "zscale=w=1920:h=1080:filter=lanczos,setsar=1"},
		{"scale", "1080p", video(1440, 1080).shaped(4, 3).fields(), "zscale=w=1920:h=1080:filter=lanczos,setsar=1"},
		{"scale", "1280:720", video(1440, 1080), "zscale=w=960:h=720:filter=lanczos,setsar=1"},
		{"scale", "1280x720", hd, "zscale=w=1280:h=720:filter=lanczos,setsar=1"},
		{"scale", "1280:-2", video(1920, 800), "zscale=w=1280:h=534:filter=lanczos,setsar=1"},
		{"scale", "-1:720", hd, "zscale=w=1280:h=720:filter=lanczos,setsar=1"},
		{"scale", ":720", hd, "zscale=w=1280:h=720:filter=lanczos,setsar=1"},
		{"scale", "640:", hd, "zscale=w=640:h=360:filter=lanczos,setsar=1"},
		{"scale", "720:720", hd, "zscale=w=720:h=404:filter=lanczos,setsar=1"},
		{"scale", "540:", hd.turned(turned90), "zscale=w=960:h=540:filter=lanczos,setsar=1"},
		{"scale", "0.5", hd, "zscale=w=960:h=540:filter=lanczos,setsar=1"},
		{"scale", "2x", video(320, 240), "zscale=w=640:h=480:filter=lanczos,setsar=1"},
		{"scale", "1", video(720, 576).shaped(64, 45), "zscale=w=1024:h=576:filter=lanczos,setsar=1"},
		{"scale", "1", video(854, 480).shaped(1280, 1281), "setsar=1"},
		{"scale", "1", hd, ""},
		{"scale", "1", video(579, 341), "scale=w=578:h=340:flags=lanczos+accurate_rnd,setsar=1"},
		{"scale", "0.5", video(579, 340).in(pipeline.YUV444P), "zscale=w=290:h=170:filter=lanczos,setsar=1"},
		{"scale", "0.5", hd.in(pipeline.GRAY), "scale=w=960:h=540:flags=lanczos+accurate_rnd,setsar=1"},

		{"fps", "25", hd, "fps=25/1"},
		{"fps", "film", hd, "fps=24/1"},
		{"fps", "PAL", hd, "fps=25/1"},
		{"fps", "ntsc", hd, "fps=30000/1001"},
		{"fps", "ntsc-film", hd, "fps=24000/1001"},
		{"fps", "23.976", hd, "fps=24000/1001"},
		{"fps", "23.98", hd, "fps=24000/1001"},
		{"fps", "29.97", hd, "fps=30000/1001"},
		{"fps", "59.94", hd, "fps=60000/1001"},
		{"fps", "12.5", hd, "fps=25/2"},
		{"fps", "60000/1001", hd, "fps=60000/1001"},
		{"fps", "1/2", hd, "fps=1/2"},

		{"sharpen", "0.3", hd, "unsharp=5:5:0.3:5:5:0"},
		{"sharpen", "0", hd, ""},
		{"sharpen", "1", hd.in(pipeline.YUV420P.At(10)), "unsharp=5:5:1:5:5:0"},
		{"sharpen", "1", hd.in(pipeline.YUV420P.At(14)), "format=yuv420p16le,unsharp=5:5:1:5:5:0,zscale=dither=ordered,format=yuv420p14le"},
		{"sharpen", "1", hd.in(pipeline.NV12.At(10)), "format=yuv420p10le,unsharp=5:5:1:5:5:0"},

		{"deband", "", hd, "format=yuv420p12le," + debands + ",zscale=dither=ordered,format=yuv420p"},
		{"deband", "", hd.in(pipeline.YUV422P.At(10)), "format=yuv422p12le," + debands + ",zscale=dither=ordered,format=yuv422p10le"},
		{"deband", "", hd.in(pipeline.NV12.At(10)), "format=yuv420p12le," + debands + ",zscale=dither=ordered,format=yuv420p10le"},
		{"deband", "", hd.in(pipeline.YUV444P.At(12)), debands},
		{"deband", "", hd.in(pipeline.GBRP), "format=gbrp12le," + debands + ",zscale=dither=ordered,format=gbrp"},
		{"deband", "", hd.in(pipeline.RGBA), "format=gbrap16le," + debands + ",zscale=dither=ordered,format=rgba"},
		{"deband", "", video(579, 340), "format=yuv420p12le," + debands + ",format=yuv420p"},
		{"deband", "off", hd, ""},
	} {
		got, err := graph(c.option, c.value, c.facts)
		if err != nil || got != c.want {
			t.Errorf("--%s %s of %+v: %q, %v; want %q", c.option, c.value, c.facts, got, err, c.want)
		}
	}
}

func TestBadValues(t *testing.T) {
	hd := video(1920, 1080)
	for _, c := range []struct {
		option, value string
		facts         Facts
		text, hint    string
	}{
		{"crop", "1920", hd, "not W:H:X:Y", "1920:800:0:140"},
		{"crop", "1920:800:140", hd, "not W:H:X:Y", "give auto"},
		{"crop", "1920:h:0:0", hd, `"h" is not a number of pixels`, "give auto"},
		{"crop", "1920:800:0:-4", hd, `"-4" is not a number of pixels`, "give auto"},
		{"crop", "8:8", hd, "a picture of 8x8 is too small", "at least 16x16"},
		{"crop", "auto", hd, "the bars are not measured", "W:H:X:Y"},
		{"crop", "1920:800:0:300", hd, "1920x800 at 0,300 reaches beyond the picture of 1920x1080", "the order is width, height"},
		{"crop", "1920:1600", hd, "1920x1600 reaches beyond the picture of 1920x1080", "as it is shown"},
		{"crop", "1920:1080:0:0", hd.turned(turned90), "reaches beyond the picture of 1080x1920", "as it is shown"},
		{"crop", "1919:801:1:139", hd, "--crop 1919:801:1:139: columns are cut in multiples of 2, and rows of 2", "the nearest is --crop 1918:800:2:140"},
		{"crop", "100:100:1:3", hd.in(pipeline.YUV444P), "multiples of 2, and rows of 2", "the nearest is --crop 98:98:2:4"},
		{"crop", "720:432:0:70", video(720, 576).fields(), "rows of 4, as the frames may be interlaced", "the nearest is --crop 720:428:0:72"},
		{"crop", "720:432:0:70", video(720, 576).perhapsFields(), "may be interlaced", "the nearest"},
		{"crop", "1079:1600:1:200", hd.turned(turned90), "columns are cut in multiples of 2", "the nearest is --crop 1078:1600:2:200"},
		{"scale", "big", hd, "unknown", "give a name (720p"},
		{"scale", "7p", hd, "unknown", "give a name"},
		{"scale", "721p", hd, "no such format", "give a name"},
		{"scale", "720", hd, "a factor is at most 16", "did you mean 720p, 720:-2 or -2:720?"},
		{"scale", "0", hd, "a factor is above 0", "give a name"},
		{"scale", "nan", hd, "unknown", "give a name"},
		{"scale", "17.5", hd, "at most 16", "give a name"},
		{"scale", "-2:-2", hd, "a side must be given", "give a name"},
		{"scale", "8:720", hd, `"8" is not a side of 16 to 16384 pixels`, "give a name"},
		{"scale", "iw/2:ih/2", hd, "is not a side", "give a name"},
		{"scale", "16", hd, "would become 30720x17280", "sides are 16 to 16384 pixels"},
		{"scale", "0.01", hd, "would become 20x10", "sides are 16"},
		{"scale", "720p", hd.fields(), "the frames are interlaced", "add --deinterlace"},
		{"fps", "fast", hd, "not a frame rate", "give frames a second"},
		{"fps", "0", hd, "above 0 and at most 1000", "give frames"},
		{"fps", "-25", hd, "above 0", "give frames"},
		{"fps", "30/0", hd, "not a frame rate", "give frames"},
		{"fps", "1e2", hd, "not a frame rate", "give frames"},
		{"fps", "25.00000000000001", hd, "too many digits", "give frames"},
	} {
		got, err := graph(c.option, c.value, c.facts)
		if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(hint.Of(err), c.hint) {
			t.Errorf("--%s %s: %q, %v (%s); want %q (%s)", c.option, c.value, got, err, hint.Of(err), c.text, c.hint)
		}
	}
}

// TestStoredShown turns boxes there and back.
func TestStoredShown(t *testing.T) {
	b := Box{800, 600, 100, 50}
	for _, m := range [][9]int32{{}, turned90, turned180, turned270, {-1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30}} {
		f := video(1920, 1080).turned(m)
		if got := f.Shown(f.Stored(b)); got != b {
			t.Errorf("%v: %v became %v", m, b, got)
		}
	}
}
