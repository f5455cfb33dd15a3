package media

import (
	"bytes"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// between are pixel formats of clips that go through pipes, with the programs that read them.
var between = []struct {
	pixels  string
	readers string // x264, x265, SvtAv1EncApp; ffmpeg reads all
	nutOnly bool
}{
	{"yuv420p", "x264 x265 SvtAv1EncApp", false},
	{"yuv420p10le", "x264 x265 SvtAv1EncApp", false},
	{"yuv422p10le", "x264 x265", false},
	{"yuv444p12le", "x265", false},
	{"yuv420p16le", "", false},
	{"gray", "", false},
	{"gray16le", "", false},
	{"yuva444p", "", false},
	{"gbrp10le", "", true},
	{"yuva420p", "", true},
}

// through filters a file or a pipe and returns the output.
func through(t *testing.T, in string, data []byte, args string) []byte {
	t.Helper()
	out, said, code := piped(t, in, bytes.NewReader(data), args)
	if code != 0 {
		t.Fatalf("-i %s %s: exit code %d: %s", in, args, code, said)
	}
	return out
}

func piped(t *testing.T, in string, stdin io.Reader, args string) (out []byte, said string, code int) {
	t.Helper()
	cmd := exec.Command(e2e.Program, append([]string{"-i", in, "--progress", "none", "--threads", "1"}, e2e.Fields(args)...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	_ = cmd.Run()
	return stdout.Bytes(), stderr.String(), cmd.ProcessState.ExitCode()
}

// into gives data to a program's standard input.
func into(t *testing.T, data []byte, name, args string) {
	t.Helper()
	cmd := exec.Command(name, e2e.Fields(args)...)
	cmd.Stdin = bytes.NewReader(data)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, args, err, said)
	}
}

// readers encode y4m from a pipe; those without loss return the same samples.
var readers = map[string]struct {
	args, ending string
	lossless     bool
}{
	"x264":         {"--demuxer y4m --quiet --preset ultrafast -q 0 --threads 1 --output-depth DEPTH --output-csp CSP -o OUT -", "mkv", true},
	"x265":         {"--y4m --log-level error --lossless --preset ultrafast --pools 1 -D DEPTH - -o OUT", "hevc", true},
	"SvtAv1EncApp": {"-i stdin --preset 12 --crf 20 --lp 1 -b OUT", "ivf", false},
}

// Raw video goes to other programs and comes from them sample for sample.
func TestBetweenPrograms(t *testing.T) {
	const filtering = "--filter bilateral -r 1 "
	for _, c := range between {
		t.Run(c.pixels, func(t *testing.T) {
			e2e.Start(t, c.pixels == "yuv420p10le")
			src := clip(t, "between-"+c.pixels+".mkv", "-f lavfi -i testsrc2=s=96x64:r=24000/1001:d=0.5 -f lavfi -i sine=d=0.5 -vf format=yuva444p16le,hue=h=20*t,format="+
				c.pixels+" -c:v ffv1 -level 3 -g 1 -c:a flac")
			same := func(what, path string, want []byte) {
				t.Helper()
				if got := raw(t, path, c.pixels); !bytes.Equal(got, want) {
					t.Errorf("%s: %d bytes of samples differ from %d", what, len(got), len(want))
				}
			}
			put := func(ending string, data []byte) string {
				path := output(ending)
				e2e.Put(t, path, data)
				return path
			}
			direct := output("mkv")
			through(t, src, nil, filtering+"--codec ffv1 -o "+direct)
			want := raw(t, direct, c.pixels)
			source := raw(t, src, c.pixels)

			nut := through(t, src, nil, filtering+"-o - --format nut")
			path := put("nut", nut)
			same("nut", path, want)
			if sound := framesOf(t, path, "audio"); len(sound) == 0 {
				t.Error("nut has no sound")
			}
			again := output("mkv")
			if c.nutOnly {
				through(t, "-", nut, "-r 0 --codec ffv1 -o "+again)
				same("nut, read again", again, want)
				again = output("mkv")
				through(t, "-", run(t, "ffmpeg", "-v", "error", "-i", src, "-c:v", "rawvideo", "-f", "nut", "-"), "-r 0 --codec ffv1 -o "+again)
				same("ffmpeg's nut", again, source)
				return
			}

			y4m := through(t, src, nil, filtering+"-o - --format y4m")
			same("y4m", put("y4m", y4m), want)
			if file := output("y4m"); c.pixels == between[0].pixels {
				through(t, src, nil, filtering+"-o "+file)
				if !bytes.Equal(e2e.Read(t, file), y4m) {
					t.Error("a file is not what a pipe gets")
				}
			}
			through(t, "-", y4m, "-r 0 --codec ffv1 -o "+again)
			same("y4m, read again", again, want)
			again = output("mkv")
			through(t, "-", run(t, "ffmpeg", "-v", "error", "-i", src, "-strict", "-1", "-f", "yuv4mpegpipe", "-"), "-r 0 --codec ffv1 -o "+again)
			same("ffmpeg's y4m", again, source)
			for _, name := range strings.Fields(c.readers) {
				t.Run(name, func(t *testing.T) {
					e2e.Needs(t, name)
					reader := readers[name]
					depth, csp := "8", "i420"
					if _, deep, found := strings.Cut(c.pixels, "p1"); found {
						depth = "1" + strings.TrimSuffix(deep, "le")
					}
					if strings.Contains(c.pixels, "422") {
						csp = "i422"
					}
					coded := output(reader.ending)
					into(t, y4m, name, strings.NewReplacer("DEPTH", depth, "CSP", csp, "OUT", coded).Replace(reader.args))
					if v := probe(t, coded).video(t); v.PixFmt != c.pixels || len(frames(t, coded)) != 12 {
						t.Errorf("%s codes %d frames of %s", name, len(frames(t, coded)), v.PixFmt)
					}
					if reader.lossless {
						same(name, coded, want)
					}
				})
			}
		})
	}
}

// Headers have all that y4m can hold. y4m has one rate, nut a time for each picture.
func TestBetweenHeaders(t *testing.T) {
	e2e.Start(t, false)
	rich := clip(t, "between-rich.mkv", "-f lavfi -i testsrc2=s=96x64:r=50:d=0.48 "+tone+tone+
		"-map 0 -map 1 -map 2 -vf tinterlace=4,setfield=tff,setsar=16/15,format=yuv422p10le -c:v ffv1 -level 3 -color_range pc -color_primaries bt2020 -color_trc smpte2084"+
		" -colorspace bt2020nc -metadata title=Film -metadata:s:v title=Pictures -c:a flac -shortest")
	pauses := clip(t, "between-pauses.mkv", "-f lavfi -i testsrc2=s=96x64:r=25:d=1 -vf setpts=N*(N+25)/625/TB -vsync vfr -c:v ffv1")
	for _, c := range []struct{ in, args, header, says string }{
		{rich, "", "YUV4MPEG2 W96 H64 F25:1 It A16:15 C422p10 XYSCSS=422P10 XCOLORRANGE=FULL",
			"y4m holds pictures alone, without audio, tags, colour primaries (bt2020), transfer (smpte2084), matrix (bt2020nc), title (Pictures)"},
		{rich, "--pixel-format yuv420p --field-order progressive", "YUV4MPEG2 W96 H64 F25:1 Ip A16:15 C420jpeg XYSCSS=420JPEG XCOLORRANGE=FULL", "without audio"},
		{pauses, "", "YUV4MPEG2 W96 H64 F25:1 Ip A1:1 C420jpeg XYSCSS=420JPEG", "pictures are repeated, 0 left out"},
	} {
		data, said, code := piped(t, c.in, nil, "-r 0 -o - --format y4m "+c.args)
		header, _, _ := strings.Cut(string(data), "\n")
		if header != c.header || !strings.Contains(said, c.says) || code != 0 {
			t.Errorf("%s %s: exit code %d, header %q, message %q", c.in, c.args, code, header, said)
		}
		if n := strings.Count(said, "warning: y4m") + strings.Count(said, "warning: not kept"); n != 1 {
			t.Errorf("%d warnings: %s", n, said)
		}
	}
	out, _ := filter(t, pauses, "nut", "--encoder rawvideo")
	sameTimes(t, "nut", times(t, out), times(t, pauses), 0.0005)
}

// A reader that closes early gives exit code 141, and a truncated input 6.
func TestBetweenEnds(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "between-ends.mkv", "-f lavfi -i testsrc2=s=320x240:r=25:d=1 -c:v ffv1")
	for _, format := range []string{"y4m", "nut"} {
		whole := through(t, src, nil, "-r 0 -o - --format "+format)
		cmd := exec.Command(e2e.Program, "-i", src, "-r", "0", "-o", "-", "--format", format, "--progress", "none", "--device", "cpu")
		var said bytes.Buffer
		cmd.Stderr = &said
		reader, err := cmd.StdoutPipe()
		e2e.Must(t, err)
		e2e.Must(t, cmd.Start())
		head := make([]byte, 100_000)
		_, err = io.ReadFull(reader, head)
		e2e.Must(t, err)
		_ = reader.Close()
		_ = cmd.Wait()
		if said.Len() > 0 || cmd.ProcessState.ExitCode() != 141 || !bytes.Equal(head, whole[:len(head)]) {
			t.Errorf("%s, closed by its reader: exit code %d: %s", format, cmd.ProcessState.ExitCode(), said.String())
		}
		cut := whole[:len(whole)/2]
		out, text, code := piped(t, "-", bytes.NewReader(cut), "-r 0 -o - --format "+format)
		if want := len(out) > len(cut)*8/10 && code == 6; !want {
			t.Errorf("%s, cut off: exit code %d, %d bytes of %d: %s", format, code, len(out), len(cut), text)
		}
		if format == "y4m" && !slices.Equal(out, whole[:len(out)]) {
			t.Error("the pictures before the end are not the same")
		}
	}
}
