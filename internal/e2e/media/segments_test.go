package media

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"vidfilter/internal/e2e"
)

// cuts is the output of vidfilter segments.
type cuts struct {
	TimeBase string  `json:"time_base"`
	Frames   int64   `json:"frames"`
	Seconds  float64 `json:"seconds"`
	Parts    []struct {
		span
		Around span
	}
	Whole string
}

type span struct{ Start, End, Frames int64 }

func (s span) String() string { return fmt.Sprintf("%d:%d:%d", s.Start, s.End, s.Frames) }

func segments(t *testing.T, src string, args ...string) (c cuts) {
	t.Helper()
	out := run(t, e2e.Program, append([]string{"segments", "-i", src}, args...)...)
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return c
}

// ranges are the parts as --part takes them.
func (c cuts) ranges() (list []string) {
	for _, p := range c.Parts {
		r := p.span.String()
		if p.Around != (span{}) {
			r += ":" + p.Around.String()
		}
		list = append(list, r)
	}
	return list
}

// filterParts filters each part of src apart and returns the files and a list of them.
func filterParts(t *testing.T, src string, c cuts, args string) (parts []string, list string) {
	t.Helper()
	for _, r := range c.ranges() {
		out, _ := filter(t, src, "mp4", "--part="+r+" "+args)
		parts = append(parts, out)
	}
	return parts, listOf(t, parts...)
}

func listOf(t *testing.T, parts ...string) string {
	t.Helper()
	var names []string
	for _, p := range parts {
		names = append(names, filepath.Base(p))
	}
	list := output("txt")
	e2e.Must(t, os.WriteFile(list, []byte(strings.Join(names, "\n")+"\n"), 0o644))
	return list
}

const (
	joined = "-f lavfi -i testsrc2=s=96x64:r=25:d=3.6 -f lavfi -i sine=r=48000:d=3.6 "
	keys   = "-c:v libx264 -preset fast -bf 3 -g 25 -pix_fmt yuv420p "
	// open GOPs and everything that a file can hold
	chaptered = joined + "-i @join.srt -i @join.meta -map 0 -map 1 -map 2 -map_metadata 3 " + keys + "-x264-params open-gop=1 -c:a libopus"
	lossless  = "--crf 0" // x264 makes no B-frames then
	quickHEVC = "--codec hevc --preset ultrafast --encoder-params bframes=3:b-pyramid=1"
	quickAV1  = "--codec av1 --preset 12 --crf 40"
	lossy     = "--crf 26 --x264-params bframes=3:b-pyramid=normal:keyint=20"
)

// A video filtered in parts equals one filtered whole, with all other streams. Lossless encoding
// makes every picture comparable: the parts were decoded as the whole is.
func TestJoin(t *testing.T) {
	for _, c := range []struct {
		name, args, to, with string
		quick                bool
	}{
		{"closed.mp4", joined + keys + "-c:a aac", "mp4", lossy, true},
		{"closed.mp4", joined + keys + "-c:a aac", "ts", lossless, false},
		{"open.mkv", chaptered, "mkv", lossless, false},
		{"open.mkv", chaptered, "mov", lossy, false},
		{"ntsc.mkv", "-f lavfi -i testsrc2=s=96x64:r=24000/1001:d=3.6 -f lavfi -i sine=d=3.6 " + keys + "-c:a flac", "mkv", lossy, false},
		{"hevc.mkv", joined + "-c:v libx265 -preset ultrafast -x265-params keyint=25:bframes=3:open-gop=1:log-level=none -c:a libopus", "mkv", lossless, false},
		{"mpeg2.mkv", joined + "-c:v mpeg2video -bf 2 -g 25 -qscale 3 -c:a mp2", "mp4", lossless, false},
		{"vp9.webm", joined + "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 25 -lag-in-frames 10 -auto-alt-ref 1 -c:a libopus", "mkv", lossless, false},
		{"vfr.mp4", "-f lavfi -i testsrc2=s=96x64:r=100:d=3.6,select='lt(mod(n*n\\,17)\\,5)' -f lavfi -i sine=d=3.6 -vsync vfr " + keys + "-c:a aac", "mp4", lossless, false},
		{"edited.mp4", "-ss 0.72 -i @join-closed.mp4 -c copy", "mp4", lossless, false},
		{"late.mkv", "-itsoffset 2.5 -i @join-closed.mp4 -itsoffset 2.3 -i @join-closed.mp4 -map 0:v -map 1:a -c copy", "mov", lossy, false},
		{"early.mov", "-itsoffset -0.5 -i @join-closed.mp4 -c copy", "mkv", lossless, false},
		{"fields.mov", joined + "-vf setfield=tff " + keys + "-flags +ildct+ilme -x264opts tff=1 -c:a pcm_s16le", "mov", lossless, false},
		{"closed.mp4", joined + keys + "-c:a aac", "mp4", quickHEVC, false},
		{"closed.mp4", joined + keys + "-c:a aac", "ts", quickHEVC, false},
		{"open.mkv", chaptered, "mkv", quickHEVC + " --gop 10", false},
		{"closed.mp4", joined + keys + "-c:a aac", "mp4", quickAV1, false},
		{"open.mkv", chaptered, "webm", quickAV1, false},
		{"wide.mp4", "-f lavfi -i testsrc2=s=96x64:r=25:d=3.6,setsar=4/3 -color_range pc -colorspace smpte170m -c:v prores_ks -f mov", "mp4", lossy, false},
	} {
		t.Run(c.name+"-to-"+c.to, func(t *testing.T) {
			e2e.Start(t, c.quick)
			put(t, "join.srt", []byte("1\n00:00:01,000 --> 00:00:01,800\nhello\n\n2\n00:00:02,500 --> 00:00:03,000\nthere\n\n"))
			put(t, "join.meta", []byte(";FFMETADATA1\ntitle=A title\nown=x\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1500\ntitle=one\n"+
				"[CHAPTER]\nTIMEBASE=1/1000\nSTART=1500\nEND=3600\ntitle=two\n"))
			clip(t, "join-closed.mp4", joined+keys+"-c:a aac")
			joins(t, clip(t, "join-"+c.name, c.args), c.to, c.with)
		})
	}
}

// joins filters src whole and in parts and compares.
func joins(t *testing.T, src, to, with string) {
	t.Helper()
	c := segments(t, src, append([]string{"--length", "1"}, e2e.Fields(with)...)...)
	if len(c.Parts) < 2 || c.Whole != "" {
		t.Fatalf("%d parts, %q", len(c.Parts), c.Whole)
	}
	sum := int64(0)
	for i, p := range c.Parts {
		if sum += p.Frames; i > 0 && p.Start != c.Parts[i-1].End {
			t.Errorf("a gap before part %d: %v", i, c.Parts)
		}
	}
	if n := len(frames(t, src)); sum != c.Frames || int(sum) != n {
		t.Errorf("%d frames in parts, %d in all, %d in the file", sum, c.Frames, n)
	}
	parts, list := filterParts(t, src, c, with)
	cutsAreAlike(t, src, c, parts, with)
	whole, _ := filter(t, src, to, with)
	out, _ := filter(t, src, to, "--join "+list+" "+with)
	sameVideoTimes(t, src, out, to)
	sameBesidePictures(t, out, whole)

	got := raw(t, out, "yuv420p")
	var want []byte
	for _, p := range parts {
		want = append(want, raw(t, p, "yuv420p")...)
	}
	if !bytes.Equal(got, want) {
		t.Error("the pictures are not those of the parts")
	}
	if strings.HasPrefix(with, lossless) && !bytes.Equal(got, raw(t, whole, "yuv420p")) {
		t.Error("the pictures are not those of the whole")
	}
}

// The denoiser's pictures depend on those around, which each part has, whole or as a cut.
func TestJoinDenoised(t *testing.T) {
	const grainy = "-f lavfi -i testsrc2=s=64x%d:r=25:d=2.6,noise=alls=20:allf=t "
	const denoised = lossless + " --device cpu --filter denoise"
	for _, c := range []struct {
		name   string
		height int
		args   string
		with   string
		quick  bool
	}{
		{"closed.mp4", 48, keys, denoised, true},
		{"open.mkv", 48, keys + "-x264-params open-gop=1", denoised, false},
		{"fields.mov", 96, "-vf setfield=tff " + keys + "-flags +ildct+ilme -x264opts tff=1", denoised, false},
		{"best.mp4", 48, keys, denoised + " --quality best", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e2e.Start(t, c.quick)
			src := clip(t, "denoised-"+c.name, fmt.Sprintf(grainy, c.height)+c.args)
			joins(t, src, "mkv", c.with)
			p := segments(t, src, append([]string{"--length", "1"}, e2e.Fields(c.with)...)...).Parts[1]
			with, _ := filter(t, src, "mp4", fmt.Sprintf("--part=%v:%v %s", p.span, p.Around, c.with))
			without, _ := filter(t, src, "mp4", fmt.Sprintf("--part=%v:%v %s", p.span, p.span, c.with))
			if bytes.Equal(raw(t, with, "yuv420p"), raw(t, without, "yuv420p")) {
				t.Error("the frames around a part change nothing")
			}
			more := p.Around
			more.Frames++
			_, said, code := attempt(t, src, "mp4", fmt.Sprintf("--part=%v:%v %s", p.span, more, c.with))
			if code != 1 || !strings.Contains(said, "frames lie in") {
				t.Errorf("a part that lacks a frame around it: exit code %d: %s", code, said)
			}
			if _, said, code := attempt(t, src, "mp4", "--part="+p.String()+" "+c.with); code != 2 {
				t.Errorf("a part without frames around it: exit code %d: %s", code, said)
			}
		})
	}
}

// cutsAreAlike filters cuts of src and expects the same files.
func cutsAreAlike(t *testing.T, src string, c cuts, parts []string, with string) {
	t.Helper()
	for i, r := range c.ranges() {
		cut := output("mov")
		run(t, e2e.Program, "cut", "-i", src, "-o", cut, "--part="+r)
		again, _ := filter(t, cut, "mp4", "--part="+r+" "+with)
		a := e2e.Read(t, parts[i])
		b := e2e.Read(t, again)
		if !bytes.Equal(a, b) {
			t.Errorf("part %d of a cut is another one", i)
		}
	}
}

// sameBesidePictures compares two files in everything but the coded video.
func sameBesidePictures(t *testing.T, got, want string) {
	t.Helper()
	a, b := probe(t, got), probe(t, want)
	if !reflect.DeepEqual(a.Chapters, b.Chapters) || !reflect.DeepEqual(a.Format.Tags, b.Format.Tags) || a.Format.Start != b.Format.Start || a.Format.Duration != b.Format.Duration {
		t.Errorf("the file is another one:\n got %v %v\nwant %v %v", a.Format, a.Chapters, b.Format, b.Chapters)
	}
	if len(a.Streams) != len(b.Streams) {
		t.Fatalf("%d streams instead of %d", len(a.Streams), len(b.Streams))
	}
	for i, x := range a.Streams {
		y := b.Streams[i]
		if x.Kind == "video" {
			x.BitRate, y.BitRate, x.Extradata, y.Extradata = "", "", "", ""
		}
		if !reflect.DeepEqual(x, y) {
			t.Errorf("stream %d:\n got %v\nwant %v", i, x, y)
		}
		p, q := packetsOf(a, x), packetsOf(b, y)
		if !reflect.DeepEqual(p, q) {
			t.Errorf("stream %d (%s): other packets\n got %v\nwant %v", i, x.Kind, p, q)
		}
	}
}

// packetsOf lists a stream's packets: of video the times alone, in order, since its pictures are
// coded anew.
func packetsOf(m *media, s stream) (list []string) {
	times := func(list []packet, of func(packet) *int64) (all []int64) {
		for _, p := range list {
			if v := of(p); v != nil {
				all = append(all, *v)
			}
		}
		slices.SortFunc(all, cmp.Compare)
		return all
	}
	packets := m.of(s)
	if s.Kind == "video" {
		return []string{fmt.Sprint(times(packets, func(p packet) *int64 { return p.PTS })), fmt.Sprint(times(packets, func(p packet) *int64 { return p.DTS }))}
	}
	for _, p := range packets {
		list = append(list, fmt.Sprint(p.Time, p.Duration, p.Flags, p.Hash))
	}
	return list
}

// A video that cannot be cut safely is reported with the reason, without an error.
func TestNotCut(t *testing.T) {
	for _, c := range []struct{ name, args, why string }{
		{"short.mp4", joined + keys, "two parts"},
		{"plain.ts", joined + keys, "mpegts"},
		{"refresh.mp4", joined + "-c:v libx264 -x264-params intra-refresh=1:keyint=25 -pix_fmt yuv420p", "two parts"},
		{"mpeg4.mp4", joined + "-c:v mpeg4 -g 25", "mpeg4"},
		{"full.mp4", joined + "-c:v libx264 -pix_fmt yuv444p -g 25", "4:4:4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e2e.Start(t, c.name == "plain.ts")
			length := "1"
			if c.name == "short.mp4" {
				length = "3"
			}
			if got := segments(t, clip(t, "notcut-"+c.name, c.args), "--length", length); !strings.Contains(got.Whole, c.why) || len(got.Parts) > 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Wrong or mismatched parts leave no output.
func TestWrongParts(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "join-closed.mp4", joined+keys+"-c:a aac")
	c := segments(t, src, "--length", "1")
	parts, list := filterParts(t, src, c, "")
	last := c.Parts[len(c.Parts)-1]
	half := output("mp4")
	whole, err := os.ReadFile(parts[1])
	if err == nil {
		err = os.WriteFile(half, whole[:len(whole)/2], 0o644)
	}
	e2e.Must(t, err)
	odd, _ := filter(t, src, "mp4", "--part="+c.ranges()[1]+" --crf 30 --x264-params ref=5:bframes=2")
	other := clip(t, "join-edited.mp4", "-ss 0.72 -i @join-closed.mp4 -c copy")
	for _, test := range []struct {
		name, src, args, says string
		code                  int
	}{
		{"too few", src, fmt.Sprintf("--part=%d:%d:%d", last.Start, last.End, last.Frames+1), "frames", 1},
		{"too many", src, fmt.Sprintf("--part=%d:%d:%d", last.Start, last.End, last.Frames-1), "frames", 1},
		{"behind the end", src, fmt.Sprintf("--part=%d:%d:5", last.End, last.End+10000), "0 frames", 1},
		{"before the start", src, "--part=-90000:-1:5", "key frame", 1},
		{"wrong order", src, "--join " + listOf(t, parts[0], parts[2], parts[1]), "begins at", 1},
		{"twice", src, "--join " + listOf(t, parts[0], parts[0], parts[1], parts[2]), "begins at", 1},
		{"first missing", src, "--join " + listOf(t, parts[1:]...), "begin at", 1},
		{"one missing", src, "--join " + listOf(t, parts[0], parts[2]), "in no part", 1},
		{"last missing", src, "--join " + listOf(t, parts[0], parts[1]), "in no part", 1},
		{"truncated", src, "--join " + listOf(t, parts[0], half, parts[2]), "damaged", 3},
		{"not there", src, "--join " + listOf(t, parts[0], "none.mp4"), "no such file", 3},
		{"no part", src, "--join " + listOf(t, src), "it is not H.264, HEVC or AV1 alone", 1},
		{"coded otherwise", src, "--join " + listOf(t, parts[0], odd, parts[2]), "in another way", 1},
		{"another codec", src, "--codec hevc --preset ultrafast --join " + list, "these options", 1},
		{"other options", src, "--x264-params ref=5:bframes=2 --join " + list, "these options", 1},
		{"another source", other, "--join " + list, "no frame at", 1},
	} {
		out, said, code := attempt(t, test.src, "mp4", test.args)
		if code != test.code || !strings.Contains(said, test.says) {
			t.Errorf("%s: exit code %d: %s", test.name, code, said)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*"+filepath.Base(out)+"*")); len(left) > 0 {
			t.Errorf("%s: %v is left", test.name, left)
		}
	}
	if out, err := exec.Command(e2e.Program, "cut", "-i", src, "-o", output("mov"), "--part=0:9000:1000").CombinedOutput(); err == nil || !strings.Contains(string(out), "frames lie in") {
		t.Errorf("a cut of too many frames: %v: %s", err, out)
	}
	vp8 := clip(t, "join-vp8.webm", "-f lavfi -i testsrc2=s=96x64:r=25:d=2 -c:v libvpx -deadline realtime -g 25")
	out, err := exec.Command(e2e.Program, "cut", "-i", vp8, "-o", output("mov"), "--part="+segments(t, vp8, "--length", "1").ranges()[0]).CombinedOutput()
	if code := exitOf(err); code != 1 || !strings.Contains(string(out), "cannot hold vp8") {
		t.Errorf("a cut of VP8: exit code %d: %s", code, out)
	}
}

func exitOf(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return 0
}

// A part that is ended, kindly or not, has no name.
func TestEndedParts(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "join-closed.mp4", joined+keys+"-c:a aac")
	r := segments(t, src, "--length", "1").ranges()
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGKILL: -1} {
		dir := t.TempDir()
		cmd := exec.Command(e2e.Program, "-i", src, "-o", filepath.Join(dir, "part.mp4"), "--part="+r[0], "-r", "15", "--device", "cpu",
			"--threads", "1", "--progress", "none", "--preset", "placebo")
		e2e.Must(t, cmd.Start())
		e2e.Until(t, "the part", func() bool {
			temporary, _ := filepath.Glob(filepath.Join(dir, ".part.mp4*"))
			return len(temporary) > 0
		})
		_ = cmd.Process.Signal(signal)
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%v: exit code %d", signal, got)
		}
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		if slices.Contains(left, filepath.Join(dir, "part.mp4")) || signal == syscall.SIGTERM && len(left) > 0 {
			t.Errorf("%v leaves %v", signal, left)
		}
	}
}
