package live

import (
	"bytes"
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

// A virtual camera gets pictures in a format and size that it takes, beside a camera.
func TestVirtualCamera(t *testing.T) {
	library, cameras := testcamera.Build(t), testcamera.Folder(t.TempDir())
	cameras.Plug(t, "video0", testcamera.Device{Modes: []string{"YUYV 160x120 30"}})
	for _, c := range []struct {
		takes, keeps, file string
		size               int
	}{
		{"YU12 YUYV", "", "YU12-160x120", 160 * 120 * 3 / 2}, {"NV12", "", "NV12-160x120", 160 * 120 * 3 / 2},
		{"YUYV", "320x120", "YUYV-320x120", 320 * 120 * 2},
	} {
		cameras.Plug(t, "video9", testcamera.Device{Takes: c.takes, Keeps: c.keeps})
		p := begin(t, cameras.Environ(library), nil, "-i", "/dev/video0", "--output", "/dev/video9")
		name := filepath.Join(string(cameras), "video9-"+c.file)
		written := func() (b []byte) { b, _ = os.ReadFile(name); return b }
		p.Until("pictures in "+name, func() bool { return len(written()) >= 5*c.size })
		b := written()
		first, later := b[:c.size], b[4*c.size:5*c.size]
		if bytes.Equal(first, later) {
			t.Errorf("%s: the picture stands", c.file)
		}
		if bar := first[320*20 : 320*20+60]; c.keeps != "" && (bar[0] != 16 || bar[1] != 128 || !bytes.Equal(bar[:2], bar[58:])) {
			t.Errorf("%s: no bars beside a picture of another shape: %d", c.file, bar)
		}
		cameras.Unplug(t, "video9")
		if code := p.Wait(); code != 4 || !strings.Contains(p.Err.String(), "/dev/video9") {
			t.Errorf("%s: the device goes away: exit code %d: %s", c.file, code, p.Err)
		}
	}
	// A usual camera takes no pictures.
	p := begin(t, cameras.Environ(library), nil, "-i", "test", "--output", "/dev/video0")
	if code := p.Wait(); code != 4 || !strings.Contains(p.Err.String(), "takes no pictures") || !strings.Contains(p.Err.String(), "modprobe") {
		t.Errorf("exit code %d: %s", code, p.Err)
	}
}

// reader is a program that reads 20 pictures from stdin or an address, and fails if it gets none.
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
			n = len(different)
		}
	}
	if n < 10 {
		t.Errorf("%s by %s: %d pictures: %s%s", what, r.name, n, &trouble, tail(out.String()))
	}
}

func tail(s string) string { return s[max(0, len(s)-1000):] }

// Programs read stdout, and when one goes away the session ends, with its recording whole.
func TestStdout(t *testing.T) {
	for format, option := range map[string]string{"yuv4mpegpipe": "y4m", "mpegts": "mpegts"} {
		for _, r := range readers(t, format, "-") {
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
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

// Players look on by HTTP and RTSP with the token of those who look.
func TestPlayers(t *testing.T) {
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

// Without a page nobody can play a file again, and the session ends with it.
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
