package media

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// psnr of two runs of samples, in decibels; 100 when they are equal.
func psnr(a, b []byte) float64 {
	var sum float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	if sum == 0 {
		return 100
	}
	return 10 * math.Log10(255*255*float64(len(a))/sum)
}

// Formats without a layout of their own are converted, with a line that names them, to the colours
// of ffmpeg's conversion.
func TestConvertedFormats(t *testing.T) {
	for _, c := range []struct{ pf, codec, ending, as string }{
		{"rgb24", "ffv1 -pix_fmt gbrp", "mkv", "rgba"}, {"bgr0", "ffv1", "mkv", "rgba"}, {"pal8", "gif", "gif", "rgba"},
		{"gray10be", "rawvideo", "nut", "gray10le"}, {"yuv411p", "ffv1", "mkv", "yuv422p"}, {"yuv440p", "ffv1", "mkv", "yuv444p"},
		{"yuv410p", "ffv1", "mkv", "yuv420p"}, {"nv21", "rawvideo", "nut", "yuv420p"}, {"yuyv422", "rawvideo", "nut", "yuv422p"},
	} {
		t.Run(c.pf, func(t *testing.T) {
			e2e.Start(t, c.pf == "rgb24")
			src := clip(t, "pf-"+c.pf+"."+c.ending, strings.Replace(mild, "64", "96", 1)+"-pix_fmt "+c.pf+" -c:v "+c.codec)
			out, said := filter(t, src, "mkv", "--encoder ffv1")
			if strings.Count(said, "is converted to ") != 1 || !strings.Contains(said, "is converted to "+c.as+" ") {
				t.Errorf("the conversion to %s is not said once: %s", c.as, said)
			}
			got, want := raw(t, out, "rgb24"), raw(t, src, "rgb24")
			if len(got) != len(want) || len(want) == 0 {
				t.Fatalf("%d bytes instead of %d", len(got), len(want))
			}
			// The two convert 8-bit planes to RGB differently: rounding at each step leaves 40 dB,
			// and another filter for doubled chroma 33.
			least := 40.0
			if strings.Contains(c.pf, "41") || strings.Contains(c.pf, "440") {
				least = 33
			}
			if p := psnr(got, want); p < least {
				t.Errorf("%.1f dB from ffmpeg's conversion", p)
			}
		})
	}
}

// Unfiltered samples of more than 8 bits keep all bits, without a message.
func TestDepth(t *testing.T) {
	for _, c := range []struct{ pf, codec, ending, as string }{
		{"yuv420p10le", "ffv1", "mkv", "yuv420p10le"}, {"yuv422p9le", "ffv1", "mkv", "yuv422p9le"}, {"yuv444p12le", "ffv1", "mkv", "yuv444p12le"},
		{"yuv420p16le", "ffv1", "mkv", "yuv420p16le"}, {"yuv422p10be", "rawvideo", "nut", "yuv422p10le"},
		{"yuv420p10le", "libx264 -qp 0", "mp4", "yuv420p10le"},
		{"gbrp9le", "ffv1", "mkv", "gbrp9le"}, {"gbrp12le", "ffv1", "mkv", "gbrp12le"}, {"gbrp16le", "ffv1", "mkv", "gbrp16le"},
		{"gbrp10be", "rawvideo", "nut", "gbrp10le"}, {"rgb48be", "rawvideo", "nut", "gbrp16le"},
		{"gray", "ffv1", "mkv", "gray"}, {"gray9le", "ffv1", "mkv", "gray9le"}, {"gray12le", "ffv1", "mkv", "gray12le"}, {"gray16be", "rawvideo", "nut", "gray16le"},
	} {
		t.Run(c.pf+"-"+c.ending, func(t *testing.T) {
			e2e.Start(t, c.ending == "mp4")
			src := clip(t, "depth-"+c.pf+"."+c.ending, strings.Replace(mild, "64", "96", 1)+"-pix_fmt "+c.pf+" -c:v "+c.codec)
			out, said := filter(t, src, "mkv", "--encoder ffv1")
			if !bytes.Equal(raw(t, out, c.as), raw(t, src, c.as)) {
				t.Errorf("the samples are others: %s", said)
			}
			if strings.Contains(said, "bits become") {
				t.Errorf("it says %s", said)
			}
			if pf := probe(t, out).video(t).PixFmt; pf != c.as {
				t.Errorf("the output is %s", pf)
			}
		})
	}
}

// Pictures without colour stay so in every codec that supports it. Others add neutral chroma and
// keep luma exactly.
func TestColourless(t *testing.T) {
	for _, c := range []struct{ pf, args, ending, want, as string }{
		{"gray", "--codec h264 --crf 0", "mp4", "yuvj420p", "gray"}, // 4:0:0, which FFmpeg decodes so
		{"gray", "--codec hevc --encoder-params lossless=1", "mp4", "gray", "gray"},
		{"gray10le", "--codec hevc --encoder-params lossless=1", "mkv", "gray10le", "gray10le"},
		{"gray12le", "--codec hevc --encoder-params lossless=1", "mkv", "gray12le", "gray12le"},
		{"gray10le", "--codec ffv1 --pixel-format yuv422p10le", "mkv", "yuv422p10le", "gray10le"},
		{"gray", "--codec ffv1 --pixel-format yuv420p", "mkv", "yuv420p", "gray"},
		{"gray10le", "--encoder rawvideo", "mkv", "gray10le", "gray10le"},
		{"ya8", "--codec ffv1", "mkv", "ya8", "ya8"},
	} {
		t.Run(c.pf+c.args, func(t *testing.T) {
			e2e.Start(t, c.want == "gray12le")
			src := clip(t, "colourless-"+c.pf+".mkv", mild+"-pix_fmt "+c.pf+" -c:v ffv1")
			out, said := filter(t, src, c.ending, c.args)
			if pf := probe(t, out).video(t).PixFmt; pf != c.want {
				t.Errorf("%s: %s", pf, said)
			}
			if !bytes.Equal(raw(t, out, c.as), raw(t, src, c.as)) {
				t.Errorf("the samples are others: %s", said)
			}
			if !strings.HasPrefix(c.want, "yuv422") {
				if score := string(run(t, e2e.Program, "compare", src, out)); !strings.HasPrefix(score, "PSNR inf dB (Y inf") {
					t.Errorf("compare: %s", score)
				}
			}
			for _, f := range []string{"bilateral", "recursive", "denoise --noise 9"} {
				filtered, said := filter(t, src, "mkv", "--codec ffv1 --filter "+f)
				a, b := raw(t, filtered, c.pf), raw(t, src, c.pf)
				if bytes.Equal(a, b) || len(a) != len(b) {
					t.Errorf("%s: nothing was filtered: %s", f, said)
				}
			}
		})
	}
}

// RGB stays RGB, at its depth, in every codec that has it. Others report the change.
func TestPlanarRGB(t *testing.T) {
	const lossless = "--codec hevc --encoder-params lossless=1"
	for _, c := range []struct{ pf, args, ending, want string }{
		{"gbrp", lossless, "mp4", "gbrp"}, {"gbrp10le", lossless, "mkv", "gbrp10le"}, {"gbrp12le", lossless, "mkv", "gbrp12le"},
		{"gbrp", "--encoder rawvideo", "mkv", "gbrp"}, {"gbrp", "--codec ffv1", "mkv", "bgr0"}, {"gbrp", "--codec h264", "mp4", "yuv444p"},
		{"gbrp10le", "--codec h264", "mp4", "yuv444p10le"}, {"gbrp10le", "--codec prores --preset 4444", "mov", "yuv444p12le"},
		{"gbrp10le", "--codec dnxhd --preset 444", "mov", "gbrp10le"},
	} {
		t.Run(c.pf+c.args, func(t *testing.T) {
			e2e.Start(t, c.want == "gbrp10le")
			src := clip(t, "planes-"+c.pf+".mp4", strings.Replace(pictures, "96x64", "256x128", 1)+"-pix_fmt "+c.pf+" -c:v libx265 -preset ultrafast -x265-params lossless=1:log-level=none:pools=1")
			out, said := filter(t, src, c.ending, c.args)
			if pf := probe(t, out).video(t).PixFmt; pf != c.want {
				t.Errorf("%s: %s", pf, said)
			}
			if rgb := !strings.HasPrefix(c.want, "yuv"); rgb == strings.Contains(said, "yuv444p") {
				t.Errorf("it says %s", said)
			}
			if c.want == "bgr0" {
				if score := string(run(t, e2e.Program, "compare", src, out)); !strings.HasPrefix(score, "PSNR inf dB (R inf") {
					t.Errorf("compare: %s", score)
				}
			}
			exact := c.want == c.pf && !strings.Contains(c.args, "dnxhd") || c.want == "bgr0"
			if got, want := raw(t, out, c.pf), raw(t, src, c.pf); exact && !bytes.Equal(got, want) || len(got) != len(want) {
				t.Errorf("the samples are others: %s", said)
			}
		})
	}
}

// A ramp in steps of one level of 10 bits keeps its levels and the width of its bands with every
// filter, and its levels in H.264 as well. In 8 bits it is dithered.
func TestRamp(t *testing.T) {
	e2e.Start(t, false)
	const levels, width = 100, 8 * 100
	src := clip(t, "ramp.mkv", "-f lavfi -i nullsrc=s=800x64:r=25:d=0.2,format=yuv420p10le,geq=lum='300+floor(X/8)':cb=512:cr=512 -c:v ffv1")
	bands := func(file, pf string, size int) (levels map[int]bool, widest int) {
		row, last, n := raw(t, file, pf)[:width*size], -1, 0
		levels = map[int]bool{}
		for x := range width {
			v := int(row[x*size])
			if size == 2 {
				v |= int(row[x*size+1]) << 8
			}
			levels[v] = true
			if v != last {
				last, n = v, 0
			}
			n++
			widest = max(widest, n)
		}
		return levels, widest
	}
	for _, options := range []string{
		"--filter bilateral -r 0", "--filter bilateral -r 3", "--filter bilateral -r 9 --range gaussian", "--filter recursive --sigma-s 2",
	} {
		out, said := filter(t, src, "mkv", "--encoder ffv1 "+options)
		if got, widest := bands(out, "yuv420p10le", 2); len(got) != levels || widest*10 > 8*12 {
			t.Errorf("%s: %d levels, the widest band has %d columns: %s", options, len(got), widest, said)
		}
	}
	out, said := filter(t, src, "mkv", "--crf 1")
	if got, widest := bands(out, "yuv420p10le", 2); len(got) != levels || widest > 8 {
		t.Errorf("%d levels, the widest band has %d columns: %s", len(got), widest, said)
	}
	out, said = filter(t, src, "mkv", "--encoder ffv1 --pixel-format yuv420p")
	if got, widest := bands(out, "yuv420p", 1); len(got) != levels/4+1 || widest > 8*4*3/2 {
		t.Errorf("%d levels of 8 bits, the widest band has %d columns: %s", len(got), widest, said)
	}
}

// Colour tags come out as they went in, and untagged stays untagged.
func TestColourTags(t *testing.T) {
	for _, c := range []struct{ name, ending, args string }{
		{"709", "mp4", "-colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv -chroma_sample_location left"},
		{"601", "mkv", "-colorspace smpte170m -color_primaries smpte170m -color_trc smpte170m -color_range tv -chroma_sample_location topleft"},
		{"pal", "ts", "-colorspace bt470bg -color_primaries bt470bg -color_trc gamma28"},
		{"2020", "mp4", "-colorspace bt2020nc -color_primaries bt2020 -color_trc smpte2084 -color_range tv"},
		{"full", "mp4", "-colorspace bt709 -color_primaries bt709 -color_trc iec61966-2-1 -color_range pc"},
		{"untagged", "mp4", ""},
		{"untagged", "mkv", ""},
	} {
		for _, to := range []string{"mp4", "mkv", "ts"} {
			t.Run(c.name+"."+c.ending+"-to-"+to, func(t *testing.T) {
				e2e.Start(t, false)
				src := clip(t, "colour-"+c.name+"."+c.ending, pictures+h264+yuv+c.args)
				out, said := filter(t, src, to, "")
				a, b := frames(t, src)[0], frames(t, out)[0]
				show := func(f frame) string {
					return fmt.Sprint(f.Range, " ", f.Matrix, " ", f.Transfer, " ", f.Primaries, " ", f.Chroma)
				}
				x, y := show(a), show(b)
				if a.Chroma == "left" || a.Chroma == "unspecified" { // H.264's default is left
					x, y = strings.Replace(x, "unspecified", "left", -1), strings.Replace(y, "unspecified", "left", -1)
				}
				if x != y {
					t.Errorf("%s instead of %s: %s", y, x, said)
				}
				if p := psnr(raw(t, out, "yuv420p"), raw(t, src, "yuv420p")); p < 30 { // CRF 18
					t.Errorf("the picture is %.1f dB from the input", p)
				}
			})
		}
	}
}

// Full-range video keeps its brightness and its full-range tag.
func TestFullRange(t *testing.T) {
	for _, to := range containers() {
		t.Run(to, func(t *testing.T) {
			e2e.Start(t, to == "mp4")
			src := clip(t, "full.mov", "-f lavfi -i color=white:s=96x64:r=25:d=0.2 -c:v mjpeg -q:v 2 -pix_fmt yuvj420p")
			out, _ := filter(t, src, to, "")
			if f := frames(t, out)[0]; f.Range != "pc" {
				t.Errorf("the range is %q", f.Range)
			}
			if y := raw(t, out, "yuvj420p")[0]; y < 253 {
				t.Errorf("white is %d", y)
			}
		})
	}
}

// Rotation and aspect ratio come along where the container has a place for them.
func TestRotationAndAspect(t *testing.T) {
	for _, to := range containers() {
		t.Run(to, func(t *testing.T) {
			e2e.Start(t, to == "mp4")
			clip(t, "upright.mp4", pictures+bframes+yuv+"-vf setsar=16/11")
			data := e2e.Read(t, filepath.Join(e2e.Work, "upright.mp4"))
			turnTrack(t, data)
			src := put(t, "rotated.mp4", data)
			if turned(t, src) == 0 {
				t.Fatal("the clip is not rotated")
			}
			out, said := filter(t, src, to, "")
			if a, b := probe(t, src).video(t).Aspect, probe(t, out).video(t).Aspect; a != b || a != "16:11" {
				t.Errorf("aspect %s instead of %s", b, a)
			}
			switch a, b := turned(t, src), turned(t, out); {
			case to == "ts":
				if strings.Count(said, "the rotation of video") != 1 {
					t.Errorf("the lost rotation is not named once: %s", said)
				}
			case to == "mkv":
				// Matroska's roll, which ffprobe 5.1 does not read; our own reader does.
				if s := string(run(t, e2e.Program, "info", out)); !strings.Contains(s, "rotation") {
					t.Errorf("not rotated: %s", s)
				}
			case a != b:
				t.Errorf("turned by %v instead of %v", b, a)
			}
		})
	}
}

// turnTrack writes a turn by 90 degrees into the matrix of an MP4 file's first track. Versions of
// ffmpeg differ in the option for it.
func turnTrack(t *testing.T, mp4 []byte) {
	t.Helper()
	at := bytes.Index(mp4, []byte("tkhd"))
	if at < 0 || mp4[at+4] != 0 {
		t.Fatal("no track header, or of another version")
	}
	for i, v := range []int32{0, 1 << 16, 0, -1 << 16, 0, 0, 0, 0, 1 << 30} {
		binary.BigEndian.PutUint32(mp4[at+44+4*i:], uint32(v))
	}
}

func turned(t *testing.T, path string) float64 {
	for _, d := range probe(t, path).video(t).SideData {
		if r, ok := d["rotation"].(float64); ok {
			return r
		}
	}
	return 0
}

// HDR metadata is kept, also when 10 bits become 8, and whether it was in the container or in the
// pictures.
func TestHDR(t *testing.T) {
	for _, from := range []string{"mkv", "ts"} {
		for _, to := range containers() {
			t.Run(from+"-to-"+to, func(t *testing.T) {
				e2e.Start(t, false)
				src := clip(t, "hdr."+from, pictures+"-pix_fmt yuv420p10le -c:v libx265 -preset ultrafast -x265-params "+
					"log-level=none:pools=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:max-cll=1000,400:"+
					"master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)")
				out, said := filter(t, src, to, "")
				f := frames(t, out)[0]
				if f.Transfer != "smpte2084" || f.Matrix != "bt2020nc" || f.Primaries != "bt2020" {
					t.Errorf("%+v: %s", f, said)
				}
				// In the pictures: two SEI messages, of types 137 and 144, which ffprobe 5.1 does
				// not read.
				data := run(t, "ffmpeg", "-v", "quiet", "-nostdin", "-i", out, "-c", "copy", "-map", "0:v:0", "-bsf:v", "hevc_mp4toannexb", "-f", "hevc", "pipe:1")
				for _, sei := range []string{"\x00\x01\x4e\x01\x89\x18\x33\xc2", "\x00\x01\x4e\x01\x90\x04\x03\xe8"} {
					if !bytes.Contains(data, []byte(sei)) {
						t.Errorf("no SEI %x in the pictures: %s", sei, said)
					}
				}
				if to == "ts" {
					return
				}
				kinds := fmt.Sprint(f.SideData, probe(t, out).video(t).SideData)
				for _, k := range []string{"max_content:1000", "max_luminance:1000"} {
					if !strings.Contains(kinds, k) && to != "mov" { // QuickTime: in frames only
						t.Errorf("no %s in %s: %s", k, kinds, said)
					}
				}
			})
		}
	}
}

// Closed captions travel inside the pictures.
func TestClosedCaptions(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "captions.h264", pictures+h264+yuv)
	data := e2e.Read(t, src)
	// A user data SEI of ATSC A/53 with two pairs of bytes, in front of the first picture.
	nal := []byte{0, 0, 0, 1, 6, 4, 17, 0xb5, 0, 0x31, 'G', 'A', '9', '4', 3, 0xc2, 0xff, 0xfc, 0x94, 0x20, 0xfc, 0x94, 0x2c, 0xff, 0x80}
	at := strings.Index(string(data), "\x00\x00\x00\x01\x65")
	if at < 0 {
		at = strings.Index(string(data), "\x00\x00\x01\x65")
	}
	if at < 0 {
		t.Fatal("no key frame in the clip")
	}
	src = put(t, "captioned.h264", append(append(append([]byte{}, data[:at]...), nal...), data[at:]...))
	if !strings.Contains(fmt.Sprint(frames(t, src)[0].SideData), "Closed Captions") {
		t.Fatal("the clip has no captions")
	}
	older := output("ts")
	run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", src, "-c:v", "mpeg2video", older)
	for _, c := range []struct{ src, codec string }{{src, "h264"}, {older, "h264"}, {older, "hevc"}} {
		out, said := filter(t, c.src, "mp4", "--codec "+c.codec)
		if !strings.Contains(fmt.Sprint(frames(t, out)[0].SideData), "Closed Captions") {
			t.Errorf("the captions are lost in %s: %s", c.codec, said)
		}
	}
}

// Fields are filtered apart and coded as fields, in the order that they had.
func TestInterlaced(t *testing.T) {
	for _, c := range []struct{ name, ending, args string }{
		{"mpeg2-tff", "ts", "-vf setfield=tff -c:v mpeg2video -flags +ilme+ildct -q:v 2 -bf 2"},
		{"mpeg2-bff", "mkv", "-vf setfield=bff -c:v mpeg2video -flags +ilme+ildct -q:v 2"},
		{"h264-tff", "mp4", "-vf setfield=tff -c:v libx264 -flags +ilme+ildct -preset veryfast -x264-params log-level=none:tff=1:threads=1"},
		{"h264-bff", "ts", "-vf setfield=bff -c:v libx264 -flags +ilme+ildct -preset veryfast -x264-params log-level=none:bff=1:threads=1"},
		{"h264-fake", "mkv", "-c:v libx264 -preset veryfast -x264-params log-level=none:fake-interlaced=1:threads=1"},
		{"prores-tff", "mov", "-vf setfield=tff -c:v prores_ks -pix_fmt yuv422p10le -flags +ildct"},
	} {
		for _, to := range []string{"mp4", "mkv", "ts"} {
			t.Run(c.name+"-to-"+to, func(t *testing.T) {
				e2e.Start(t, c.name == "h264-tff" && to == "mp4")
				src := clip(t, c.name+"."+c.ending, "-f lavfi -i testsrc2=s=96x64:r=50:d=0.8,tinterlace=interleave_top -pix_fmt yuv420p "+c.args)
				out, said := filter(t, src, to, "-r 1")
				a, b := frames(t, src), frames(t, out)
				if len(a) != len(b) {
					t.Fatalf("%d frames instead of %d: %s", len(b), len(a), said)
				}
				for i := range a {
					if a[i].Interlaced != b[i].Interlaced || a[i].Interlaced == 1 && a[i].Top != b[i].Top {
						t.Fatalf("frame %d: interlaced %d, top first %d instead of %d, %d: %s", i, b[i].Interlaced, b[i].Top, a[i].Interlaced, a[i].Top, said)
					}
				}
			})
		}
	}
}

// joinedParts is a file of other files, one behind the other.
func joinedParts(t *testing.T, name string, parts ...string) string {
	t.Helper()
	var all []byte
	for _, p := range parts {
		data := e2e.Read(t, p)
		all = append(all, data...)
	}
	return put(t, name, all)
}

// runs describes pictures one behind the other: "10 progressive, 10 top".
func runs(list []frame, of func(frame) string) string {
	var said []string
	for i := 0; i < len(list); {
		n := i
		for n < len(list) && of(list[n]) == of(list[i]) {
			n++
		}
		said = append(said, fmt.Sprintf("%d %s", n-i, of(list[i])))
		i = n
	}
	return strings.Join(said, ", ")
}

func fieldsOf(f frame) string {
	switch {
	case f.Interlaced == 0:
		return "progressive"
	case f.Top == 1:
		return "top"
	}
	return "bottom"
}

// Interlaced and progressive pictures of one video are each filtered and coded as their kind, in
// any order. A codec that cannot do that causes one warning.
func TestMixedFields(t *testing.T) {
	parts := map[string]string{}
	for name, args := range map[string]string{
		"progressive": "-vf setfield=prog", "top": "-vf setfield=tff -flags +ildct+ilme", "bottom": "-vf setfield=bff -flags +ildct+ilme",
	} {
		parts[name] = clip(t, "mixed-"+name+".m2v", "-f lavfi -i testsrc2=s=96x64:r=25:d=0.4 "+args+" -c:v mpeg2video -q:v 2 -g 5")
	}
	const named = "the output is tagged progressive from "
	for _, c := range []struct{ order, codec, ending, want, said string }{
		{"top progressive", "h264 --preset medium", "mkv", "10 top, 10 progressive", ""},
		{"progressive top", "h264 --preset medium", "mp4", "10 progressive, 10 top", "the pictures from 400ms on are interlaced"},
		{"progressive bottom progressive", "h264 --preset medium", "ts", "10 progressive, 10 bottom, 10 progressive", "from 400ms on are interlaced"},
		{"top bottom progressive top", "h264 --preset medium", "mp4", "10 top, 10 bottom, 10 progressive, 10 top", ""},
		{"progressive top bottom", "ffv1", "mkv", "10 progressive, 10 top, 10 bottom", ""},
		{"bottom progressive top", "prores", "mov", "10 bottom, 10 progressive, 10 top", ""},
		{"progressive top progressive top", "hevc --preset ultrafast", "mkv", "40 progressive", named + "400ms on"},
		{"progressive top", "ffv1 --encoder-params level=1", "mkv", "20 progressive", "tagged progressive from 400ms on"},
	} {
		t.Run(c.order+" "+c.codec, func(t *testing.T) {
			e2e.Start(t, c.order == "progressive top")
			var list []string
			for name := range strings.FieldsSeq(c.order) {
				list = append(list, parts[name])
			}
			src := joinedParts(t, strings.ReplaceAll(c.order, " ", "-")+".m2v", list...)
			out, said := filter(t, src, c.ending, "-r 3 --sigma-r 40 --codec "+c.codec)
			if got := runs(frames(t, out), fieldsOf); got != c.want {
				t.Errorf("%s: %s", got, said)
			}
			if strings.Count(said, c.said) != 1 && c.said != "" || strings.Count(said, "warning") > strings.Count(c.said, "tagged") {
				t.Errorf("%s", said)
			}
			if !strings.HasPrefix(c.codec, "ffv1") {
				return
			}
			var want []byte
			for _, part := range list {
				alone, _ := filter(t, part, c.ending, "-r 3 --sigma-r 40 --codec "+c.codec)
				want = append(want, raw(t, alone, "yuv420p")...)
			}
			if n := differing(raw(t, out, "yuv420p"), want, 0); n > 0 {
				t.Errorf("%d samples differ from pictures that are filtered without the others", n)
			}
		})
	}
}

// A video of both kinds is not cut into parts. One of more than 8 bits is H.264, as all that have
// fields.
func TestMixedFieldsWhole(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "mixed-deep.mkv", "-f lavfi -i testsrc2=s=96x64:r=25:d=0.4 -vf setfield=prog,split[a][b];[b]setfield=tff[c];[a][c]concat "+
		"-pix_fmt yuv420p10le -c:v ffv1 -level 3")
	out, said := filter(t, src, "mkv", "")
	if got := runs(frames(t, out), fieldsOf); got != "10 progressive, 10 top" || probe(t, out).video(t).Codec != "h264" || strings.Contains(said, "warning") {
		t.Errorf("%s: %s", got, said)
	}
	src = clip(t, "mixed-cut.mov", "-f lavfi -i testsrc2=s=96x64:r=25:d=0.8 -vf setfield=tff -c:v prores_ks -pix_fmt yuv422p10le -flags +ildct")
	if c := segments(t, src, "--length", "0.1"); len(c.Parts) < 2 {
		t.Errorf("%+v", c)
	}
	data := e2e.Read(t, src)
	for at, n := 0, 0; n < 10; n++ { // the flags of the first pictures
		at += bytes.Index(data[at:], []byte("icpf")) + 4
		data[at+12] &^= 3 << 2
	}
	if c := segments(t, put(t, "mixed-flags.mov", data), "--length", "0.1"); !strings.Contains(c.Whole, "some of its pictures are interlaced") {
		t.Errorf("%+v", c)
	}
}

// The output follows changes of the pictures' properties, or one warning gives the time.
func TestStatedChanges(t *testing.T) {
	e2e.Start(t, true)
	var list []string
	for _, tags := range []string{"sample_aspect_ratio=1/1:colour_primaries=1", "sample_aspect_ratio=16/11:colour_primaries=9"} {
		name := "stated-" + strings.NewReplacer("/", "-", ":", "-", "=", "-").Replace(tags) + ".h264"
		list = append(list, clip(t, name, "-f lavfi -i testsrc2=s=96x64:r=25:d=0.4 "+h264+yuv+"-bsf:v h264_metadata="+tags+" -f h264"))
	}
	src := joinedParts(t, "stated.h264", list[0], list[1], list[0], list[1])
	stated := func(f frame) string { return f.Aspect + " " + f.Primaries }
	if out, said := filter(t, src, "ts", ""); runs(frames(t, out), stated) != "10 1:1 bt709, 10 16:11 bt2020, 10 1:1 bt709, 10 16:11 bt2020" || strings.Contains(said, "warning") {
		t.Errorf("%s: %s", runs(frames(t, out), stated), said)
	}
	out, said := filter(t, src, "mkv", "")
	want := "warning: the pictures change their colour primaries from bt709 to bt2020, from 400ms on; the output has one for all, that of the first\n"
	if got := runs(frames(t, out), stated); got != "40 1:1 bt709" || strings.Count(said, "warning") != 2 || !strings.Contains(said, want) ||
		!strings.Contains(said, "sample aspect from 1:1 to 16:11, from 400ms on") {
		t.Errorf("%s: %s", got, said)
	}
}

// The edges that a container hides stay hidden where the output can hide them. Otherwise a warning
// precedes their display.
func TestCrop(t *testing.T) {
	e2e.Start(t, true)
	data := e2e.Read(t, clip(t, "uncropped.mov", "-f lavfi -i testsrc2=s=96x64:r=25:d=0.2 "+h264+yuv+"-aspect 2:1"))
	src := put(t, "cropped.mov", withClap(data, 80, 60))
	for _, ending := range []string{"mov", "mp4", "mkv"} {
		out, said := filter(t, src, ending, "")
		words := string(run(t, e2e.Program, "info", out))
		if !strings.Contains(words, "top 2, bottom 2, left 8, right 8") || !strings.Contains(words, "4:3") || strings.Contains(said, "warning") {
			t.Errorf("%s: %s%s", ending, words, said)
		}
		if src = out; ending != "mkv" {
			continue
		}
		for _, args := range []string{"ts", "mkv --compare side", "png --frames 1"} {
			ending, more, _ := strings.Cut(args, " ")
			if _, said := filter(t, out, ending, more); strings.Count(said, "warning: the edges that the input's container hides are shown") != 1 {
				t.Errorf("%s: %s", args, said)
			}
		}
	}
}

// withClap has a file of QuickTime whose index is at its end show a part of its pictures only.
func withClap(file []byte, width, height uint32) []byte {
	box := binary.BigEndian.AppendUint32(nil, 40)
	box = append(box, "clap"...)
	for _, n := range []uint32{width, 1, height, 1, 0, 1, 0, 1} {
		box = binary.BigEndian.AppendUint32(box, n)
	}
	at := bytes.LastIndex(file, []byte("moov")) - 4
	grow := func(at int) {
		binary.BigEndian.PutUint32(file[at:], binary.BigEndian.Uint32(file[at:])+uint32(len(box)))
	}
	grow(at)
	for _, name := range []string{"trak", "mdia", "minf", "stbl", "stsd"} {
		at += bytes.Index(file[at:], []byte(name)) - 4
		grow(at)
	}
	entry := at + 16
	end := entry + int(binary.BigEndian.Uint32(file[entry:]))
	grow(entry)
	return slices.Insert(file, end, box...)
}

// Two fields of different flat colours stay flat and do not mix. Read as progressive they mix, so
// the test can detect it.
func TestFieldsDoNotMix(t *testing.T) {
	for _, h := range []int{64, 62, 66} {
		t.Run(fmt.Sprint(h), func(t *testing.T) {
			e2e.Start(t, h == 64)
			size := fmt.Sprintf("96x%d", h)
			src := clip(t, "fields-"+size+".mkv", "-f lavfi -i color=gray:s="+size+":r=25:d=0.2,format=yuv444p,geq=lum=64+48*mod(Y\\,2):cb=128:cr=128 -c:v ffv1")
			want := raw(t, src, "yuv444p")
			mixed := func(args string) int {
				out, _ := filter(t, src, "mkv", "--encoder ffv1 -r 3 --sigma-r 100 "+args)
				return differing(raw(t, out, "yuv444p"), want, 1)
			}
			if n := mixed("--field-order tff"); n > 0 {
				t.Errorf("%d samples took something from the other field", n)
			}
			if mixed("--field-order progressive") == 0 {
				t.Error("the clip cannot tell fields that mix")
			}
			out, said := filter(t, src, "mp4", "--field-order tff --pixel-format yuv420p")
			if f := frames(t, out)[0]; f.Interlaced != 1 && !strings.Contains(said, "interlaced") {
				t.Errorf("neither coded as interlaced nor said: %s", said)
			}
		})
	}
}

// Sizes and formats that change in mid-stream end in one film of the first size.
func TestFormatChanges(t *testing.T) {
	for _, ending := range []string{"ts", "h264"} {
		t.Run(ending, func(t *testing.T) {
			e2e.Start(t, ending == "ts")
			var data []byte
			for i, size := range []string{"96x64", "128x96", "96x64"} {
				args := fmt.Sprintf("-f lavfi -i testsrc2=s=%s:r=25:d=0.4 %s%s", size, h264, yuv)
				if ending == "ts" {
					args += fmt.Sprintf(" -output_ts_offset %g -muxdelay 0", 5+0.4*float64(i))
				}
				part := e2e.Read(t, clip(t, fmt.Sprintf("part-%d.%s", i, ending), args))
				data = append(data, part...)
			}
			src := put(t, "changes."+ending, data)
			out, said, code := attempt(t, src, "mp4", "")
			if code != 6 || !strings.Contains(said, "changes to yuv420p 128x96") || !strings.Contains(said, "from 400ms on") || !strings.Contains(said, "format changes: 1\n") {
				t.Errorf("exit code %d: %s", code, said)
			}
			list := frames(t, out)
			if len(list) != 30 {
				t.Errorf("%d frames instead of 30: %s", len(list), said)
			}
			for i, f := range list {
				if f.Width != 96 || f.Height != 64 {
					t.Fatalf("frame %d is %dx%d", i, f.Width, f.Height)
				}
			}
		})
	}
}

// odd is a source of any size. lavfi rounds sizes to even ones.
func odd(size, duration string) string {
	var w, h int
	fmt.Sscanf(size, "%dx%d", &w, &h)
	return fmt.Sprintf("-f lavfi -i testsrc2=s=%dx%d:r=25:d=%s,format=rgba,crop=%d:%d:0:0:exact=1 ", max(w+w%2, 16), max(h+h%2, 16), duration, w, h)
}

// Sizes from one pixel to the maximum work, odd ones too.
func TestSizes(t *testing.T) {
	for _, size := range []string{"1x1", "2x2", "1x7", "7x1", "35x17", "16384x16", "16x16384"} {
		for _, pf := range []string{"yuv420p", "yuv422p", "yuv444p"} {
			if strings.Contains(size, "16384") && pf != "yuv420p" {
				continue // 4:2:0 has the most corners, and these take long
			}
			t.Run(size+"-"+pf, func(t *testing.T) {
				e2e.Start(t, size == "35x17" && pf == "yuv420p")
				src := clip(t, size+"-"+pf+".nut", odd(size, "0.12")+"-pix_fmt "+pf+" -c:v rawvideo")
				for _, args := range []string{"-r 2", "-r 1 --compare side", "-r 1 --compare split"} {
					// Twice as wide exceeds H.264's limit.
					if strings.HasPrefix(size, "16384") && strings.Contains(args, "side") {
						if _, said, code := attempt(t, src, "mkv", args); code != 4 || !strings.Contains(said, "sides are at most 16384") {
							t.Errorf("exit code %d: %s", code, said)
						}
						continue
					}
					out, said := filter(t, src, "mkv", args)
					list := frames(t, out)
					var w, h int
					fmt.Sscanf(size, "%dx%d", &w, &h)
					if strings.Contains(args, "side") {
						if pf != "yuv444p" {
							w = (w + 1) / 2 * 2
						}
						w *= 2
					}
					if len(list) != 3 || list[0].Width != w || list[0].Height != h {
						t.Errorf("%s: %d frames, %+v: %s", args, len(list), list, said)
					}
				}
			})
		}
	}
}

// Images stay images, with the same content.
func TestImages(t *testing.T) {
	for _, c := range []struct{ name, ending, pf, to, want string }{
		{"rgb", "png", "rgb24", "png", "rgb24"}, {"alpha", "png", "rgba", "png", "rgba"}, {"palette", "png", "pal8", "png", ""}, {"gray", "png", "gray", "png", "gray"},
		{"gray16", "png", "gray16be", "png", "gray16be"}, {"gray", "png", "gray", "jpg", ""}, {"gray", "png", "gray", "ppm", "rgb24"}, {"gray-alpha", "png", "ya8", "png", "ya8"},
		{"gray-alpha16", "png", "ya16be", "png", "ya16be"},
		{"deep", "png", "rgb48be", "png", "rgb48be"}, {"deep-alpha", "png", "rgba64be", "png", "rgba64be"}, {"photo", "jpg", "yuvj420p", "jpg", "yuvj420p"}, {"photo444", "jpg", "yuvj444p", "jpg", "yuvj444p"},
		{"rgb", "bmp", "bgr24", "bmp", ""}, {"rgb", "tif", "rgb24", "tif", "rgb24"}, {"rgb", "ppm", "rgb24", "ppm", "rgb24"}, {"photo2", "jpg", "yuvj422p", "png", "rgb24"},
	} {
		t.Run(c.name+"."+c.ending+"-to-"+c.to, func(t *testing.T) {
			e2e.Start(t, c.name == "alpha")
			source := odd("37x23", "0.04")
			if c.ending == "jpg" {
				source += "-vf lutrgb=r=val/2+64:g=val/2+64:b=val/2+64"
			}
			if c.name == "alpha" {
				source += "-vf colorchannelmixer=aa=0.5"
			}
			src := clip(t, "image-"+c.name+"."+c.ending, source+" -frames:v 1 -update 1 -pix_fmt "+c.pf)
			out, said := filter(t, src, c.to, "")
			s := probe(t, out).video(t)
			if s.Width != 37 || s.Height != 23 || c.want != "" && s.PixFmt != c.want {
				t.Errorf("%dx%d %s: %s", s.Width, s.Height, s.PixFmt, said)
			}
			pf := "rgb24"
			if c.name == "alpha" {
				pf = "rgba"
			}
			least := 45.0
			if c.ending == "jpg" || c.to == "jpg" {
				least = 28 // JPEG anew, or ffmpeg's own way of spreading chroma
			}
			if p := psnr(raw(t, out, pf), raw(t, src, pf)); p < least {
				t.Errorf("%.1f dB from the input", p)
			}
		})
	}
}

// EXIF orientation is kept in JPEG, becomes a rotation in video, and is reported as lost
// elsewhere.
func TestOrientation(t *testing.T) {
	for orientation := byte(2); orientation <= 8; orientation++ {
		t.Run(fmt.Sprint(orientation), func(t *testing.T) {
			e2e.Start(t, orientation == 6)
			data := e2e.Read(t, clip(t, "upright.jpg", odd("38x24", "0.04")+"-frames:v 1 -update 1 -pix_fmt yuvj420p"))
			segment := []byte("\xff\xe1\x00\x22Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
			segment[28] = orientation
			src := put(t, fmt.Sprintf("turned-%d.jpg", orientation), bytes.Join([][]byte{data[:2], segment, data[2:]}, nil))
			show := func(path string) string {
				for _, d := range frames(t, path)[0].SideData {
					if m, ok := d["displaymatrix"]; ok {
						return fmt.Sprint(m)
					}
				}
				return ""
			}
			if show(src) == "" {
				t.Fatal("the clip is not turned")
			}
			out, said := filter(t, src, "jpg", "")
			if show(out) != show(src) {
				t.Errorf("turned by %s instead of %s: %s", show(out), show(src), said)
			}
			if _, said := filter(t, src, "png", ""); strings.Count(said, "must be turned") != 1 {
				t.Errorf("the turn is not named: %s", said)
			}
			if out, said = filter(t, src, "mp4", ""); !strings.Contains(fmt.Sprint(probe(t, out).video(t).SideData), "displaymatrix") {
				t.Errorf("the video is not turned: %s", said)
			}
		})
	}
}

// Grey video keeps its luma, as full range unless tagged otherwise.
func TestGray(t *testing.T) {
	e2e.Start(t, false)
	for _, c := range []struct{ name, tag, want, as string }{
		{"untagged", "", "pc", "yuvj420p"}, {"full", "-color_range pc ", "pc", "yuvj420p"}, {"limited", "-color_range tv ", "tv", "yuv420p"},
	} {
		src := clip(t, "gray-"+c.name+".mkv", pictures+"-pix_fmt gray "+c.tag+"-c:v ffv1")
		out, _ := filter(t, src, "mkv", "--crf 0")
		if v := probe(t, out).video(t); v.Range != c.want || v.PixFmt != c.as {
			t.Errorf("%s: range %q, %s", c.name, v.Range, v.PixFmt)
		}
		const w, h = 96, 64
		got, want := raw(t, out, c.as), raw(t, src, "gray")
		if len(want) == 0 || len(got)*2 != len(want)*3 {
			t.Fatalf("%s: %d bytes for %d", c.name, len(got), len(want))
		}
		for n := 0; n*w*h < len(want); n++ {
			for i, y := range want[n*w*h : (n+1)*w*h] {
				if is := got[n*w*h*3/2+i]; is != y {
					t.Fatalf("%s: frame %d, sample %d is %d instead of %d", c.name, n, i, is, y)
				}
			}
		}
	}
}

// A codec that the program chose takes pictures of any size: AV1 gets edges that the container
// hides, and codecs that cannot give way to others.
func TestDefaultCodecTakesAnySize(t *testing.T) {
	for _, c := range []struct{ size, how, to, codec, says string }{
		{"97x65", "", "webm", "av1", "tells players to show 97x65"},
		{"17x13", "", "webm", "av1", "tells players to show 17x13"},
		{"64x48", "", "mxf", "prores", "the output is PRORES"},
		{"2x2", "-pix_fmt yuv420p10le -color_trc smpte2084 ", "mkv", "h264", ""},
	} {
		t.Run(c.size+"-"+c.to, func(t *testing.T) {
			e2e.Start(t, c.size == "97x65")
			src := clip(t, "any-"+c.size+".mkv", "-f lavfi -i testsrc2=s=256x128:r=25:d=0.12,crop="+strings.Replace(c.size, "x", ":", 1)+
				":exact=1 -c:v ffv1 "+cmp.Or(c.how, "-pix_fmt yuv444p "))
			out := output(c.to)
			said := string(run(t, "sh", "-c", fmt.Sprintf("%s -i %s -o %s --progress none -r 0 2>&1", e2e.Program, src, out)))
			v := probe(t, out).video(t)
			if v.Codec != c.codec || !strings.Contains(said, c.says) {
				t.Fatalf("%s: %s", v.Codec, said)
			}
			w, h, _ := strings.Cut(c.size, "x")
			if c.codec != "av1" {
				if fmt.Sprintf("%dx%d", v.Width, v.Height) != c.size {
					t.Errorf("%dx%d", v.Width, v.Height)
				}
				return
			}
			// ffmpeg before 7.1 shows all, later ones only the container's crop.
			shown := run(t, "ffmpeg", "-v", "quiet", "-nostdin", "-i", "file:"+out, "-vf", fmt.Sprintf("crop=%s:%s:0:0:exact=1", w, h), "-f", "rawvideo", "-pix_fmt", "gray", "pipe:1")
			if x := psnr(shown, raw(t, src, "gray")); x < 30 {
				t.Errorf("the pictures differ by %.1f dB", x)
			}
			if info := string(run(t, e2e.Program, "info", out)); !strings.Contains(info, c.codec) {
				t.Error(info)
			}
			if data := e2e.Read(t, out); !bytes.Contains(data, []byte{0x54, 0xaa, 0x81}) || !bytes.Contains(data, []byte{0x54, 0xdd, 0x81}) {
				t.Error("the container does not crop at the right and at the bottom")
			}
		})
	}
}

// A message names tags of the container that differ from the pictures'.
func TestColourConflict(t *testing.T) {
	e2e.Start(t, true)
	src := clip(t, "conflict.webm", "-f lavfi -i testsrc2=s=64x64:r=25:d=0.12 -pix_fmt yuv420p -c:v libvpx -colorspace bt709")
	if _, said := filter(t, src, "mkv", ""); !strings.Contains(said, "matrix: the container says bt709, and the pictures bt470bg, which are believed") {
		t.Error(said)
	}
}
