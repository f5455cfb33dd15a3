package media

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// A copied video stream keeps its order and times, also from containers that store only
// presentation times.
func TestSecondVideo(t *testing.T) {
	const two = pictures + "-f lavfi -i testsrc=s=64x48:r=25:d=0.8 -map 0 -map 1 "
	const pyramid = "-c:v libx264 -preset veryfast -x264-params log-level=none:threads=1:bframes=3:b-pyramid=normal:keyint=12 "
	for i, c := range []struct{ name, args string }{
		{"h264.mkv", two + pyramid + yuv},
		{"h264.mp4", two + pyramid + yuv},
		{"h264.ts", two + pyramid + yuv},
		{"open.mkv", two + strings.Replace(pyramid, "keyint=12", "open-gop=1:keyint=5", 1) + yuv},
		{"hevc.mkv", two + yuv + "-c:v:0 libx264 -preset ultrafast -c:v:1 libx265 -x265-params log-level=none:pools=1:bframes=3:keyint=12"},
		{"mpeg2.mkv", two + yuv + "-c:v:0 libx264 -preset ultrafast -c:v:1 mpeg2video -bf 2"},
	} {
		for j, to := range containers() {
			if i > 0 && i%2 != j%2 {
				continue // each into two of them, to save time
			}
			t.Run(c.name+"-to-"+to, func(t *testing.T) {
				e2e.Start(t, i == 0 && j == 0)
				sameSecondVideo(t, clip(t, "two-"+c.name, c.args), to)
			})
		}
	}
	// Frames are reordered further than the codec's header allows.
	for _, to := range []string{"mkv", "ts"} {
		t.Run("swapped-to-"+to, func(t *testing.T) {
			e2e.Start(t, false)
			clip(t, "two-plain.mkv", two+h264+yuv)
			sameSecondVideo(t, clip(t, "two-swapped.mkv", "-i @two-plain.mkv -map 0 -c copy -bsf:v:1 setts=pts=PTS+40*(1-2*mod(N\\,2))"), to)
		})
	}
}

func sameSecondVideo(t *testing.T, src, to string) {
	t.Helper()
	out, said := filter(t, src, to, "")
	was, shown := secondVideo(t, src)
	is, shownNow := secondVideo(t, out)
	// MPEG-TS has headers elsewhere.
	if to != "ts" && !strings.HasSuffix(src, "ts") && !slices.Equal(was, is) {
		t.Errorf("the packets differ: %d instead of %d: %s", len(is), len(was), said)
	}
	if shown != shownNow || len(shown) < 20*32 {
		t.Errorf("the pictures differ: %s", said)
	}
	sameTimes(t, "second video", shownTimes(t, out), shownTimes(t, src), 0.0011)
}

// secondVideo returns hashes of its packets, and of its frames when it is decoded.
func secondVideo(t *testing.T, path string) (packets []string, decoded string) {
	t.Helper()
	m := probe(t, path)
	for _, p := range m.of(m.kind("video")[1]) {
		packets = append(packets, p.Hash)
	}
	out := run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", "file:"+path, "-map", "0:v:1", "-vsync", "passthrough", "-f", "framemd5", "pipe:1")
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(line, ","); len(f) == 6 {
			decoded += f[5]
		}
	}
	return packets, decoded
}

// shownTimes returns the times of the second video stream less the first one's.
func shownTimes(t *testing.T, path string) (list []float64) {
	t.Helper()
	m := probe(t, path)
	second := m.kind("video")[1]
	zero := times(t, path)[0]
	for _, p := range m.of(second) {
		list = append(list, p.seconds(t, second)-zero)
	}
	slices.Sort(list)
	return list
}

// A stream whose content the muxer refuses does not affect the others.
func TestSpoiltSound(t *testing.T) {
	for _, c := range []struct{ name, ending string }{{"one", "mp4"}, {"two", "mp4"}, {"one", "flv"}} {
		t.Run(c.name+"."+c.ending, func(t *testing.T) {
			e2e.Start(t, c.name == "one" && c.ending == "mp4")
			second := ""
			if c.name == "two" {
				second = "-f lavfi -i sine=f=880:r=48000:d=0.8 -map 0 -map 1 -map 2 "
			}
			data := e2e.Read(t, clip(t, "sound-"+c.name+"."+c.ending, both+second+bframes+yuv+"-c:a aac"))
			data = bytes.Clone(data)
			if c.ending == "flv" { // the packet that describes the sound goes by as sound
				at := bytes.Index(data, []byte{0xaf, 0})
				if at < 0 {
					t.Fatal("no description of the sound")
				}
				data[at+1] = 1
			} else {
				copy(data[bytes.Index(data, []byte("esds")):], "free")
			}
			src := put(t, "spoilt-"+c.name+"."+c.ending, data)
			out, said, code := attempt(t, src, "mkv", "")
			if code != 6 || !strings.Contains(said, "stream 1 (audio aac") || !strings.Contains(said, "is left out") || !strings.Contains(said, "streams left out: 1") {
				t.Errorf("exit code %d: %s", code, said)
			}
			if n := len(frames(t, out)); n != 20 {
				t.Errorf("%d frames instead of 20", n)
			}
			if n, want := len(probe(t, out).kind("audio")), strings.Count(second, "sine"); n != want {
				t.Errorf("%d audio streams instead of %d: %s", n, want, said)
			}
			if len(probe(t, out).Streams) != 1+strings.Count(second, "sine") {
				t.Errorf("%+v", probe(t, out).Streams)
			}
		})
	}
}

// notKept returns the data in the terminal's warning, and checks that --progress json has the same,
// and info no other.
func notKept(t *testing.T, src, said string) string {
	t.Helper()
	var line string
	for l := range strings.Lines(said) {
		if _, after, ok := strings.Cut(l, "warning: not kept: "); ok {
			if line != "" {
				t.Errorf("two lines: %s", said)
			}
			line = strings.TrimSpace(after)
		}
	}
	var info struct {
		Streams []struct {
			NotKept []string `json:"not_kept"`
		}
	}
	e2e.Must(t, json.Unmarshal(run(t, e2e.Program, "info", "--json", src), &info))
	words := string(run(t, e2e.Program, "info", src))
	for _, name := range info.Streams[0].NotKept { // lost by every output, this one included
		if !strings.Contains(words, name) || !strings.Contains(line, name) {
			t.Errorf("info --json says %q is not kept, info %q and the job %q", name, words, line)
		}
	}
	cmd := exec.Command(e2e.Program, "-i", src, "-o", "-", "--format", "null", "-r", "0", "--threads", "1", "--progress", "json")
	progress, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, progress)
	}
	lines := strings.Split(strings.TrimSpace(string(progress)), "\n")
	var done struct {
		NotKept []string `json:"not_kept"`
	}
	e2e.Must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &done))
	if got := strings.Join(done.NotKept, ", "); got != line {
		t.Errorf("--progress json says %q is not kept, the terminal %q", got, line)
	}
	return line
}

// One line names the data of the pictures that H.264 cannot carry.
func TestNotKept(t *testing.T) {
	const half = "-f lavfi -i testsrc2=s=96x64:r=25:d=0.2,format=rgba,colorchannelmixer=aa=0.5 "
	const short = "-f lavfi -i testsrc2=s=96x64:r=25:d=0.2 "
	for _, c := range []struct{ name, args, want string }{
		{"alpha-vp8.webm", half + "-c:v libvpx -auto-alt-ref 0 -pix_fmt yuva420p", "alpha"},
		{"alpha-vp9.webm", half + "-c:v libvpx-vp9 -pix_fmt yuva420p", "alpha"},
		{"alpha-prores.mov", half + "-c:v prores_ks -profile:v 4444 -pix_fmt yuva444p10le", "alpha"},
		{"opaque-ffv1.mkv", short + "-vf format=rgb24 -c:v ffv1 -pix_fmt yuva420p", ""},
		{"alpha-qtrle.mov", half + "-c:v qtrle -pix_fmt argb", "alpha"},
		{"alpha-ffv1.mkv", half + "-c:v ffv1 -pix_fmt bgra", "alpha"},
		{"alpha-ffv1-yuv.mkv", half + "-c:v ffv1 -pix_fmt yuva420p", "alpha"},
		{"opaque-qtrle.mov", short + "-c:v qtrle -pix_fmt argb", ""},
		{"opaque.gif", short, ""},
		{"plain.mp4", short + h264 + yuv, ""},
		{"plain.mpg", short + "-c:v mpeg2video", ""},
		{"timecode.mpg", short + "-c:v mpeg2video -timecode 01:02:03:04", ""}, // becomes the file's timecode
		{"grain.mkv", short + yuv + "-c:v libaom-av1 -cpu-used 8 -threads 1 -aom-params film-grain-test=1", "film grain parameters"},
		{"grainless.mkv", short + yuv + "-c:v libaom-av1 -cpu-used 8 -threads 1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e2e.Start(t, c.name == "alpha-ffv1.mkv")
			src := clip(t, "kept-"+c.name, c.args)
			_, said := filter(t, src, "mkv", "")
			if got := notKept(t, src, said); got != c.want {
				t.Errorf("not kept: %q instead of %q: %s", got, c.want, said)
			}
		})
	}
	t.Run("dolby-vision", func(t *testing.T) {
		e2e.Start(t, true)
		data := e2e.Read(t, clip(t, "kept-undescribed.mp4", short+h264+yuv))
		src := put(t, "kept-dovi.mp4", withDolbyVision(t, data))
		_, said := filter(t, src, "mp4", "")
		if got := notKept(t, src, said); got != "Dolby Vision" {
			t.Errorf("not kept: %q: %s", got, said)
		}
	})
	t.Run("alpha-is-kept", func(t *testing.T) { // by an encoder that can
		e2e.Start(t, false)
		src := clip(t, "kept-alpha-ffv1.mkv", half+"-c:v ffv1 -pix_fmt bgra")
		out, said := filter(t, src, "mkv", "--encoder ffv1")
		if f := probe(t, out).video(t).PixFmt; f != "bgra" || strings.Contains(said, "not kept") {
			t.Errorf("%s: %s", f, said)
		}
		if a, b := raw(t, src, "rgba"), raw(t, out, "rgba"); !bytes.Equal(a, b) || len(a) == 0 {
			t.Error("the alpha differs")
		}
	})
}

// withDolbyVision puts a configuration record of profile 8.4 into the only track of an MP4 with
// its index at the end.
func withDolbyVision(t *testing.T, mp4 []byte) []byte {
	t.Helper()
	record := append([]byte("\x00\x00\x00\x20dvvC\x01\x00\x10\x0d\x40"), make([]byte, 19)...)
	out := bytes.Clone(mp4)
	end := 0
	for _, box := range []string{"moov", "trak", "mdia", "minf", "stbl", "stsd", "avc1"} {
		at := bytes.LastIndex(out, []byte(box)) - 4
		if at < 0 {
			t.Fatalf("no box %s", box)
		}
		size := binary.BigEndian.Uint32(out[at:])
		end = at + int(size)
		binary.BigEndian.PutUint32(out[at:], size+uint32(len(record)))
	}
	return slices.Insert(out, end, record...)
}

// Film grain that a stream describes is not applied before the filter: the output is the same as
// without the description.
func TestDescribedGrainIsNotApplied(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "grain.mkv", "-f lavfi -i color=gray:s=96x64:r=25:d=0.2 "+yuv+"-c:v libaom-av1 -cpu-used 8 -threads 1 -aom-params film-grain-test=1")
	out, _ := filter(t, src, "mkv", "--encoder ffv1")
	decode := func(args ...string) []byte {
		args = append([]string{"-v", "error", "-nostdin"}, args...)
		return run(t, "ffmpeg", append(args, "-f", "rawvideo", "-pix_fmt", "yuv420p", "pipe:1")...)
	}
	clean, grainy := decode("-c:v", "libdav1d", "-filmgrain", "0", "-i", src), decode("-c:v", "libdav1d", "-filmgrain", "1", "-i", src)
	got := decode("-i", out)
	if bytes.Equal(clean, grainy) {
		t.Fatal("the clip describes no grain")
	}
	if n := differing(got, clean, 1); n > 0 || len(got) != len(clean) {
		t.Errorf("%d of %d samples differ from those without grain", n, len(clean))
	}
}

// Marks, titles and times of streams are kept, or named.
func TestWhatStreamsSay(t *testing.T) {
	for _, c := range []struct {
		to    string
		lost  []string
		title string // of the sound, as it comes out
	}{
		{"mkv", nil, "title"},
		{"mp4", nil, "handler_name"},
		{"mov", []string{`the mark "forced" of stream 3`, `the mark "hearing impaired" of stream 2`}, "handler_name"},
		{"ts", []string{"the title of stream 1 (Main sound)"}, ""},
	} {
		t.Run(c.to, func(t *testing.T) {
			e2e.Start(t, c.to == "mov")
			out, said := filter(t, richMKV(t), c.to, "")
			for _, what := range c.lost {
				if strings.Count(said, what) != 1 || strings.Count(said, "cannot keep") != 1 {
					t.Errorf("%s is not named in one line: %s", what, said)
				}
			}
			if n := strings.Count(said, "the mark ") + strings.Count(said, "the title "); n != len(c.lost) && c.to != "ts" {
				t.Errorf("%d things are named instead of %d: %s", n, len(c.lost), said)
			}
			if got := probe(t, out).kind("audio")[0].Tags[c.title]; c.title != "" && got != "Main sound" {
				t.Errorf("the title is %q: %s", got, said)
			}
		})
	}
	t.Run("creation-time", func(t *testing.T) {
		e2e.Start(t, false)
		src := clip(t, "created.mp4", both+h264+yuv+"-c:a aac -metadata creation_time=2020-02-02T02:02:02Z")
		if _, said := filter(t, src, "mkv", ""); strings.Contains(said, "creation time") {
			t.Errorf("the file says when it was made: %s", said)
		}
		data := e2e.Read(t, src)
		data = bytes.Clone(data)
		at := bytes.Index(data, []byte("mdhd"))
		binary.BigEndian.PutUint32(data[at+8:], 3600000000)
		src = put(t, "created-apart.mp4", data)
		for _, to := range []string{"mkv", "mp4"} {
			if _, said := filter(t, src, to, ""); strings.Count(said, "the creation time of video (2018-01-28T16:00:00Z)") != 1 {
				t.Errorf("to %s: %s", to, said)
			}
		}
	})
}

// Stereo video is marked in its pictures, and in MP4 and Matroska also in the container.
func TestStereo(t *testing.T) {
	for _, codec := range []string{"h264", "hevc"} {
		for _, to := range containers() {
			t.Run(codec+"-"+to, func(t *testing.T) {
				e2e.Start(t, false)
				src := clip(t, "stereo.mkv", pictures+h264+yuv+"-metadata:s:v:0 stereo_mode=top_bottom")
				out, said := filter(t, src, to, "--codec "+codec)
				bare := output(codec)
				run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", out, "-map", "0:v", "-c", "copy", bare)
				if got := fmt.Sprint(frames(t, bare)[0].SideData); !strings.Contains(got, "Stereo 3D") {
					t.Errorf("the pictures say %s: %s", got, said)
				}
				if got := fmt.Sprint(probe(t, out).video(t).SideData); (to == "mp4" || to == "mkv") && !strings.Contains(got, "top and bottom") {
					t.Errorf("the container says %s: %s", got, said)
				}
				if strings.Contains(said, "not kept") {
					t.Error(said)
				}
			})
		}
	}
	t.Run("not in the transport stream", func(t *testing.T) {
		e2e.Start(t, false)
		_, said := filter(t, clip(t, "stereo-rows.mkv", pictures+h264+yuv+"-metadata:s:v:0 stereo_mode=row_interleaved_lr"), "ts", "--codec hevc")
		if !strings.Contains(said, "not kept: stereo 3D") {
			t.Error(said)
		}
	})
}

// The output of DV has the frame rate of the source.
func TestFrameRateOfDV(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-f lavfi -i testsrc2=s=720x576:r=25:d=0.2 -f lavfi -i sine=r=48000:d=0.2 -target pal-dv", "25/1"},
		{"-f lavfi -i testsrc2=s=720x480:r=30000/1001:d=0.2 -f lavfi -i sine=r=48000:d=0.2 -target ntsc-dv", "30000/1001"},
	} {
		t.Run(c.want, func(t *testing.T) {
			e2e.Start(t, false)
			name := "rate-" + strings.ReplaceAll(c.want, "/", "-") + ".dv"
			out, said := filter(t, clip(t, name, c.args), "mkv", "")
			if got := ratio(probe(t, out).video(t).Rate) / ratio(c.want); got < 0.999 || got > 1.001 {
				t.Errorf("%s frames a second instead of %s: %s", probe(t, out).video(t).Rate, c.want, said)
			}
		})
	}
}

// Every picture of bottom field first video is marked so, also the first ones, which the encoder
// holds back.
func TestBottomFieldFirst(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "bottom.mov", "-f lavfi -i testsrc2=s=96x64:r=50:d=1.6,tinterlace=interleave_bottom,setfield=bff "+yuv+
		"-c:v libx264 -flags +ilme+ildct -preset veryfast -x264-params log-level=none:bff=1:threads=1")
	out, said := filter(t, src, "mov", "--encoder libx264 --preset medium")
	trace, err := exec.Command("ffmpeg", "-v", "trace", "-nostdin", "-i", out, "-map", "0:v", "-c", "copy", "-bsf:v", "trace_headers", "-f", "null", "-").CombinedOutput()
	e2e.Must(t, err)
	orders := map[string]int{}
	for line := range strings.Lines(string(trace)) {
		if f := strings.Fields(line); len(f) > 3 && slices.Contains(f, "pic_struct") {
			orders[f[len(f)-1]]++
		}
	}
	if want := map[string]int{"4": 40}; !maps.Equal(orders, want) { // bottom field, top field
		t.Errorf("pictures by pic_struct: %v: %s", orders, said)
	}
}

// SCTE-35 marks follow the clock of the transport stream, ahead of the pictures. A job cannot write
// them: it names them, keeps the other streams' times, and reports no damage.
func TestSpliceTable(t *testing.T) {
	for _, to := range containers() {
		t.Run(to, func(t *testing.T) {
			e2e.Start(t, to == "ts")
			data := e2e.Read(t, clip(t, "unspliced.ts", both+bframes+yuv+"-c:a mp2"))
			src := put(t, "spliced.ts", withSplices(t, data))
			if n := len(probe(t, src).of(probe(t, src).kind("data")[0])); n < 5 {
				t.Fatalf("the clip has %d splices", n)
			}
			out, said := filter(t, src, to, "")
			if strings.Count(said, "(data scte_35) is left out") != 1 {
				t.Errorf("the stream is not named: %s", said)
			}
			sameVideoTimes(t, src, out, to)
			if to == "ts" {
				sameTimes(t, "video", times(t, out), times(t, src), 0.5/90000)
			}
		})
	}
}

// withSplices adds a stream of SCTE-35 to the only program of a transport stream: an empty splice
// every ten packets.
func withSplices(t *testing.T, ts []byte) (out []byte) {
	t.Helper()
	const size, table, splices = 188, 0x1000, 0x1f0
	splice := append([]byte{0x47, 0x40 | splices>>8, splices & 255, 0x10, 0}, sectionOf([]byte{
		0xfc, 0x30, 17, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xf0, 0, 0, 0, 0,
	})...)
	splice = append(splice, bytes.Repeat([]byte{0xff}, size-len(splice))...)
	told := false
	for i := 0; i+size <= len(ts); i += size {
		p := bytes.Clone(ts[i : i+size])
		if int(p[1]&31)<<8|int(p[2]) == table && p[1]&0x40 != 0 {
			section := p[5:]
			length := int(section[1]&15)<<8 | int(section[2])
			described := int(section[10]&15)<<8 | int(section[11])
			more := slices.Concat(section[:12], []byte("\x05\x04CUEI"), section[12+described:length-1], []byte{0x86, 0xe0 | splices>>8, splices & 255, 0xf0, 0})
			more[2], more[11] = byte(len(more)+1), 6
			copy(section, sectionOf(more))
			told = true
		}
		out = append(out, p...)
		if told && i/size%10 == 0 {
			out = append(out, splice...)
		}
	}
	return out
}

// sectionOf adds the checksum of MPEG.
func sectionOf(b []byte) []byte {
	crc := uint32(0xffffffff)
	for _, x := range b {
		crc ^= uint32(x) << 24
		for range 8 {
			if crc&(1<<31) != 0 {
				crc = crc<<1 ^ 0x04c11db7
			} else {
				crc <<= 1
			}
		}
	}
	return binary.BigEndian.AppendUint32(slices.Clone(b), crc)
}
