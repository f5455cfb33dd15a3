package live

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/decode/testcamera"

	"vidfilter/internal/e2e"
	"vidfilter/live/access"
)

// begin runs vidfilter live without a page until the test ends.
func begin(t *testing.T, env []string, out io.Writer, args ...string) *e2e.Process {
	t.Helper()
	e2e.Note(t)
	cmd := exec.Command(e2e.Program, append([]string{"live", "--no-page", "--device", "cpu", "-r", "1"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout = out
	return e2e.Begin(t, cmd)
}

// A virtual camera gets pictures in a format and size that it takes, beside a camera, and from
// within the sandbox.
func TestVirtualCamera(t *testing.T) {
	t.Parallel()
	library, cameras := testcamera.Build(t), testcamera.Folder(t.TempDir())
	cameras.Plug(t, "video0", testcamera.Device{Modes: []string{"YUYV 160x120 30"}})
	for _, c := range []struct {
		takes, keeps, gets, sandbox string
		size                        int
	}{
		{"YU12 YUYV", "", "YU12 160x120", "off", 160 * 120 * 3 / 2}, {"NV12", "", "NV12 160x120", "off", 160 * 120 * 3 / 2},
		{"YUYV", "320x120", "YUYV 320x120", "off", 320 * 120 * 2}, {"YU12", "", "YU12 160x120", "on", 160 * 120 * 3 / 2},
	} {
		cameras.Plug(t, "video9", testcamera.Device{Takes: c.takes, Keeps: c.keeps})
		env, input := append(cameras.Environ(library), "VIDFILTER_SANDBOX="+c.sandbox), "-i /dev/video0"
		if c.sandbox == "on" {
			input = "-i test --size 160x120" // the fake camera is a file
		}
		p := begin(t, env, nil, append(strings.Fields(input), "-v", "--output", "/dev/video9")...)
		name := filepath.Join(string(cameras), "video9-pictures")
		written := func() (format string, b []byte) {
			b, _ = os.ReadFile(name)
			line, b, _ := bytes.Cut(b, []byte("\n"))
			return string(line), b
		}
		p.Until("pictures in "+name, func() bool { _, b := written(); return len(b) >= 5*c.size })
		format, b := written()
		first, later := b[:c.size], b[4*c.size:5*c.size]
		if format != c.gets || bytes.Equal(first, later) {
			t.Errorf("%s, not %s, or the picture stands", format, c.gets)
		}
		if bar := first[320*20 : 320*20+60]; c.keeps != "" && (bar[0] != 16 || bar[1] != 128 || !bytes.Equal(bar[:2], bar[58:])) {
			t.Errorf("%s: no bars beside a picture of another shape: %d", c.gets, bar)
		}
		cameras.Unplug(t, "video9")
		_ = os.Remove(name)
		if code := p.Wait(); code != 4 || !strings.Contains(p.Err.String(), "/dev/video9") {
			t.Errorf("%s: the device goes away: exit code %d: %s", c.gets, code, p.Err)
		}
		if inside := strings.Contains(p.Err.String(), "sandbox: no_new_privs"); inside != (c.sandbox == "on") {
			t.Errorf("in the sandbox: %v: %s", inside, p.Err)
		}
	}
	// A usual camera takes no pictures.
	p := begin(t, cameras.Environ(library), nil, "-i", "test", "--output", "/dev/video0")
	if code := p.Wait(); code != 4 || !strings.Contains(p.Err.String(), "takes no pictures") || !strings.Contains(p.Err.String(), "modprobe") {
		t.Errorf("exit code %d: %s", code, p.Err)
	}
}

// reader is a program that reads 20 pictures from stdin or an address, and fails without them.
type reader struct {
	name string
	cmd  *exec.Cmd
}

// readers returns the programs that are installed to read from an address, or stdin if it is "-".
func readers(t *testing.T, format, from string) (all []reader) {
	t.Helper()
	e2e.NeedsFFmpeg(t)
	args := []string{"-v", "error", "-nostdin", "-analyzeduration", "500000"}
	switch format {
	case "rtsp":
		args = append(args, "-rtsp_transport", "tcp")
	case "mpegts", "yuv4mpegpipe":
		args = append(args, "-f", format)
	}
	all = append(all, reader{"ffmpeg", exec.Command("ffmpeg", append(args, "-i", from, "-frames:v", "20", "-f", "framemd5", "-")...)})
	if _, err := exec.LookPath("gst-launch-1.0"); err != nil {
		t.Log("GStreamer is not installed: not tried")
		return all
	}
	source := "fdsrc fd=0"
	switch {
	case format == "rtsp":
		source = "rtspsrc location=" + from + " protocols=tcp ! rtph264depay"
	case from != "-":
		source = "souphttpsrc location=" + from
	}
	chain := map[string]string{
		"rtsp": "", "mpegts": " ! tsdemux", "yuv4mpegpipe": " ! y4mdec", "mpjpeg": " ! multipartdemux ! jpegdec",
	}[format]
	switch format {
	case "rtsp", "mpegts":
		chain += " ! h264parse ! avdec_h264"
	}
	for _, element := range []string{"rtspsrc", "souphttpsrc", "tsdemux", "y4mdec", "multipartdemux", "avdec_h264"} {
		if strings.Contains(source+chain, element) && exec.Command("gst-inspect-1.0", "--exists", element).Run() != nil {
			t.Logf("GStreamer has no %s here: not tried", element)
			return all
		}
	}
	line := source + chain + " ! identity name=counted eos-after=21 silent=false ! fakesink sync=false"
	return append(all, reader{"GStreamer", exec.Command("gst-launch-1.0", append([]string{"-v"}, strings.Fields(line)...)...)})
}

// gets runs a reader and checks that it gets moving pictures and ends well.
func (r reader) gets(t *testing.T, what string, in io.Reader) {
	t.Helper()
	var out, trouble bytes.Buffer
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = in, &out, &trouble
	timer := time.AfterFunc(time.Minute, func() { _ = r.cmd.Process.Kill() })
	defer timer.Stop()
	if err := r.cmd.Run(); err != nil {
		t.Errorf("%s by %s: %v: %s%s", what, r.name, err, &trouble, tail(out.String()))
		return
	}
	different := map[string]bool{}
	n := strings.Count(out.String(), "chain   *******") // GStreamer's, which gives no sums
	for line := range strings.Lines(out.String()) {
		if fields := strings.Fields(line); r.name == "ffmpeg" && len(fields) == 6 && !strings.HasPrefix(line, "#") {
			different[fields[5]] = true
			n++
		}
	}
	// A busy machine repeats pictures to keep the rate.
	if n < 10 || r.name == "ffmpeg" && len(different) < 2 {
		t.Errorf("%s by %s: %d pictures, %d different: %s%s", what, r.name, n, len(different), &trouble, tail(out.String()))
	}
}

func tail(s string) string { return s[max(0, len(s)-1000):] }

// Programs read stdout, and when one goes away the session ends, with its recording whole.
func TestStdout(t *testing.T) {
	for format, option := range map[string]string{"yuv4mpegpipe": "y4m", "mpegts": "mpegts"} {
		for _, r := range readers(t, format, "-") {
			in, out, err := os.Pipe()
			e2e.Must(t, err)
			record := filepath.Join(t.TempDir(), "r.mkv")
			p := begin(t, nil, out, "-i", "test", "--size", "160x90", "--output", "-", "--format", option, "--record", record)
			out.Close()
			r.gets(t, option, in)
			in.Close()
			if code := p.Wait(); code != 0 || !strings.Contains(p.Err.String(), "reader of stdout has gone away") {
				t.Errorf("%s: exit code %d: %s", option, code, p.Err)
			}
			if !e2e.Exists(record) {
				t.Errorf("%s: no recording: %s", option, p.Err)
			}
		}
	}
}

// Players get the picture by HTTP and RTSP with the viewers' token.
func TestPlayers(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "160x90", "--rtsp=127.0.0.1:0", "--max-viewers", "2")
	base, token, _ := strings.Cut(s.url, "#")
	view := "?token=" + access.ViewToken(token)
	for _, r := range readers(t, "mpegts", base+"stream.ts"+view) {
		r.gets(t, "/stream.ts", nil)
	}
	for _, r := range readers(t, "mpjpeg", base+"mjpeg"+view+"&view=filtered") {
		r.gets(t, "/mjpeg", nil)
	}
	_, address, _ := strings.Cut(s.Err.String(), "for players: ")
	address = strings.Fields(address)[0]
	if !strings.HasPrefix(address, "rtsp://127.0.0.1:") || !strings.HasSuffix(address, view) {
		t.Fatalf("the address for players: %s", s.Err)
	}
	for _, r := range readers(t, "rtsp", address) {
		r.gets(t, "RTSP", nil)
	}
	at := strings.TrimSuffix(address, view)
	user := strings.Replace(at, "://", "://me:"+access.ViewToken(token)+"@", 1)
	readers(t, "rtsp", user)[0].gets(t, "RTSP with a password", nil)
	for _, wrong := range []string{at, at + "?token=wrong", strings.Replace(at, "://", "://me:wrong@", 1)} {
		out, err := readers(t, "rtsp", wrong)[0].cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "401") {
			t.Errorf("%s: %v: %s", wrong, err, out)
		}
	}
}

// Programs get rotated videos upright, and each picture in its shape: y4m has the shape of its
// pixels, the others get square pixels.
func TestOutputsAreUpright(t *testing.T) {
	t.Parallel()
	e2e.NeedsFFmpeg(t)
	library := testcamera.Build(t)
	for name, c := range map[string]struct {
		clip  string
		shape float64
		red   [2]float64 // a red point, with blue on the other side
	}{
		"turned": {flag(t, "null", 90), 90.0 / 160, [2]float64{0.5, 0.25}}, "wide": {flag(t, "setsar=2", 0), 320.0 / 90, [2]float64{0.25, 0.5}}, "both": {flag(t, "setsar=2", 90), 90.0 / 320, [2]float64{0.5, 0.25}},
	} {
		check := func(by string, width, height int, aspect float64, rgb []byte) {
			t.Helper()
			if shape := float64(width) / float64(height) * aspect; shape < 0.97*c.shape || shape > 1.03*c.shape {
				t.Errorf("%s, %s: %dx%d of %g", name, by, width, height, aspect)
			}
			at := func(x, y float64) []byte { return rgb[3*(int(y*float64(height))*width+int(x*float64(width))):][:3] }
			red, blue := at(c.red[0], c.red[1]), at(1-c.red[0], 1-c.red[1])
			if red[0] < 150 || red[2] > 100 || blue[2] < 150 || blue[0] > 100 {
				t.Errorf("%s, %s: %v and %v instead of red and blue", name, by, red, blue)
			}
		}
		for _, format := range []string{"y4m", "mpegts"} {
			in, out, err := os.Pipe()
			e2e.Must(t, err)
			p := begin(t, nil, out, "-i", c.clip, "--output", "-", "--format", format)
			out.Close()
			cmd := exec.Command("ffmpeg", "-v", "info", "-nostdin", "-analyzeduration", "300000", "-i", "-", "-vf", "showinfo", "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
			var said bytes.Buffer
			cmd.Stdin, cmd.Stderr = in, &said
			rgb, err := cmd.Output()
			in.Close()
			if err != nil {
				t.Fatalf("%v: %s", err, &said)
			}
			var aspect [2]int
			var width, height int
			_, line, _ := strings.Cut(said.String(), " sar:")
			if _, err := fmt.Sscanf(line, "%d/%d s:%dx%d", &aspect[0], &aspect[1], &width, &height); err != nil {
				t.Fatalf("%v: %s", err, &said)
			}
			check(format, width, height, float64(max(aspect[0], 1))/float64(aspect[1]), rgb)
			p.Wait()
		}
		cameras := testcamera.Folder(t.TempDir())
		cameras.Plug(t, "video9", testcamera.Device{Takes: "NV12"})
		p := begin(t, cameras.Environ(library), nil, "-i", c.clip, "--output", "/dev/video9")
		var width, height int
		var line, b []byte
		p.Until("a picture", func() bool {
			b, _ = os.ReadFile(filepath.Join(string(cameras), "video9-pictures"))
			line, b, _ = bytes.Cut(b, []byte("\n"))
			_, err := fmt.Sscanf(string(line), "NV12 %dx%d", &width, &height)
			return err == nil && len(b) >= width*height*3/2
		})
		cmd := exec.Command("ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "nv12", "-s", fmt.Sprintf("%dx%d", width, height), "-i", "-", "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
		cmd.Stdin = bytes.NewReader(b[:width*height*3/2])
		rgb, err := cmd.Output()
		e2e.Must(t, err)
		check("camera", width, height, 1, rgb)
		cameras.Unplug(t, "video9")
		p.Wait()
	}
}

// Without a page a file plays only once, and the session ends with it.
func TestEndsWithTheFile(t *testing.T) {
	clip := e2e.Clip(t, "short.mp4", "-f lavfi -i testsrc2=s=160x90:r=25 -t 1 -pix_fmt yuv420p")
	record := filepath.Join(t.TempDir(), "r.mkv")
	var out bytes.Buffer
	p := begin(t, nil, &out, "-i", clip, "--output", "-", "--record", record)
	if code := p.Wait(); code != 0 || !e2e.Exists(record) {
		t.Errorf("exit code %d: %s", code, p.Err)
	}
	head, pictures, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	if want := "YUV4MPEG2 W160 H90 F25:1 Ip A1:1 C420jpeg"; !strings.HasPrefix(string(head), want) {
		t.Errorf("%s", head)
	}
	const size = len("FRAME\n") + 160*90*3/2
	if n := len(pictures) / size; len(pictures)%size != 0 || n < 15 || n > 35 {
		t.Errorf("%d bytes: %d pictures", len(pictures), n)
	}
}

func TestOutputOptions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	for args, want := range map[string]string{
		"--output " + file:        "--record writes a file",
		"--format y4m":            "--output -",
		"--output - --format avi": "mpegts",
		"--no-page":               "nothing to see",
		"--no-page --record x.mkv --listen 127.0.0.1:0":     "exclude",
		"--no-page --output - --webrtc":                     "--webrtc is for the page",
		"--no-page --output - --token x":                    "--token is for the page",
		"--no-page --rtsp=127.0.0.1:0 --allow-host example": "--allow-host is for the page",
		"--rtsp=0.0.0.0:0":                                  "needs TLS",
		"--rtsp=localhost":                                  "neither a port",
		"--rtsp 127.0.0.1:0":                                "--rtsp=127.0.0.1:0",
		"--output /dev/video97":                             "modprobe",
	} {
		out, err, code := run(t, append([]string{"-i", "test"}, strings.Fields(args)...)...)
		if code != 2 && code != 4 || !strings.Contains(err, want) || out != "" {
			t.Errorf("%s: exit code %d: %s", args, code, err)
		}
	}
}
