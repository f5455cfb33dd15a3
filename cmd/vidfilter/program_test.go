package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"

	"golang.org/x/sys/unix"
)

// program is a run of the real program in a process of its own.
type program struct {
	*exec.Cmd
	t   *testing.T
	run *e2e.Process // nil before start
}

// vidfilterIn prepares vidfilter with its working directory set to dir. testscript.Main has put
// it on PATH.
func vidfilterIn(t *testing.T, dir string, args ...string) *program {
	return programIn(t, dir, "vidfilter", args...)
}

func programIn(t *testing.T, dir, name string, args ...string) *program {
	p := &program{Cmd: exec.Command(name, args...), t: t}
	p.Dir = dir
	return p
}

func (p *program) start() *program {
	p.t.Helper()
	p.run = e2e.Begin(p.t, p.Cmd)
	return p
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	p.run.Signal(s)
}

// said returns its stderr.
func (p *program) said() string { return p.run.Err.String() }

// await waits until stderr holds part.
func (p *program) await(part string) {
	p.t.Helper()
	p.awaitTimes(part, 1)
}

func (p *program) awaitTimes(part string, times int) {
	p.t.Helper()
	p.run.Until(part, func() bool { return strings.Count(p.said(), part) >= times })
}

// exit waits for the end and returns the exit code; 128 and the signal for a death by one. A
// program that takes longer than limit is stuck.
func (p *program) exit(limit time.Duration) int {
	p.t.Helper()
	if !e2e.Within(limit, p.run.Ended) {
		p.t.Errorf("not done after %v", limit)
	}
	if code := p.run.Wait(); code >= 0 {
		return code
	}
	return 128 + int(p.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

// wantExit is exit with the code that it should be.
func (p *program) wantExit(want int) {
	p.t.Helper()
	if got := p.exit(time.Minute); got != want {
		p.t.Fatalf("exit code %d, want %d: %s", got, want, p.said())
	}
}

// ffprobe returns the output of that program, or skips the test.
func ffprobe(t *testing.T, args ...string) string {
	t.Helper()
	e2e.Needs(t, "ffprobe")
	return strings.TrimSpace(string(e2e.Run(t, "ffprobe", append([]string{"-v", "error", "-of", "csv=p=0"}, args...)...)))
}

// playable returns how many frames of a file's video can be decoded.
func playable(t *testing.T, file string) float64 {
	t.Helper()
	frames := ffprobe(t, "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames", file)
	return wantFloat(t, strings.Split(frames, "\n")[0]) // MPEG-TS programs repeat it
}

func wantFloat(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(strings.Trim(s, ",\n "), 64)
	e2e.Must(t, err)
	return x
}

// wantOnly fails when dir holds anything but names.
func wantOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	e2e.Must(t, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	if strings.Join(found, "\n") != strings.Join(names, "\n") {
		t.Errorf("%q is in the directory, want %q", found, names)
	}
}

// longClip takes seconds to filter with slow options, so that a signal finds it in the middle.
func longClip(t *testing.T) string {
	t.Helper()
	return e2e.Clip(t, "long.mp4", "-f lavfi -i testsrc2=s=320x180:r=25:d=20 -f lavfi -i sine=d=20 -shortest -c:v libx264 -preset ultrafast -c:a aac")
}

// slow makes the filter the bottleneck.
var slow = []string{"-r", "9", "--threads", "1", "--preset", "ultrafast", "--progress", "json"}

func shortSkip(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow under the race detector")
	}
}

func TestSignalKeepsPlayableFile(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	clip := longClip(t)
	for _, test := range []struct {
		signal syscall.Signal
		code   int
		name   string
	}{{syscall.SIGINT, 130, "out.mp4"}, {syscall.SIGTERM, 143, "out.mkv"}, {syscall.SIGHUP, 143, "out.ts"}} {
		dir := t.TempDir()
		p := vidfilterIn(t, dir, append([]string{"-i", clip, "-o", test.name}, slow...)...).start()
		p.await(`"type":"progress"`)
		p.signal(test.signal)
		p.wantExit(test.code)
		wantOnly(t, dir, test.name)
		said := e2e.JSONLines(t, p.said(), test.code)
		if n := playable(t, filepath.Join(dir, test.name)); n != said["frame"] || n == 0 || n >= 500 {
			t.Errorf("%v: %v frames, but %v are said to be there", test.signal, n, said["frame"])
		}
		if said["interrupted"] != true || said["output"] != test.name || said["verified"] != true {
			t.Errorf("%v: %v", test.signal, said)
		}
		wantAudioInStep(t, filepath.Join(dir, test.name))
	}
}

// TestSignalReplacesNothing: an interrupted job's output lies beside the existing file.
func TestSignalReplacesNothing(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	clip, dir := longClip(t), t.TempDir()
	old := []byte("a finished file")
	e2e.Must(t, os.WriteFile(filepath.Join(dir, "out.mp4"), old, 0o600))
	names := []string{"out.interrupted.mp4", "out.interrupted-2.mp4", "out.interrupted-3.mp4"}
	for i, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		p := vidfilterIn(t, dir, append([]string{"-i", clip, "-o", "out.mp4", "-y"}, slow...)...).start()
		p.await(`"type":"progress"`)
		p.signal(s)
		code := map[syscall.Signal]int{syscall.SIGINT: 130}[s]
		if code == 0 {
			code = 143
		}
		p.wantExit(code)
		said := e2e.JSONLines(t, p.said(), code)
		if said["output"] != names[i] || said["not_replaced"] != "out.mp4" || said["verified"] != true {
			t.Errorf("%v: %v", s, said)
		}
		if n := playable(t, filepath.Join(dir, names[i])); n != said["frame"] {
			t.Errorf("%v: %s holds %v frames of %v", s, names[i], n, said["frame"])
		}
	}
	wantOnly(t, dir, "out.interrupted-2.mp4", "out.interrupted-3.mp4", "out.interrupted.mp4", "out.mp4")
	if now, err := os.ReadFile(filepath.Join(dir, "out.mp4")); err != nil || !bytes.Equal(now, old) {
		t.Errorf("%q, %v", now, err)
	}
}

// TestEarlySignal: after a signal at any time the output passes the program's own check, even
// if a stream has no packet yet.
func TestEarlySignal(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	clip, dir := longClip(t), t.TempDir()
	for i := range 10 {
		p := vidfilterIn(t, dir, append([]string{"-i", clip, "-o", "out.mp4", "-y"}, slow...)...).start()
		p.await(`"type":"info"`) // the first word
		time.Sleep(time.Duration(i) * 10 * time.Millisecond)
		p.signal(syscall.SIGTERM)
		p.wantExit(143)
	}
}

// wantAudioInStep allows a tenth of a second: a packet of sound is 23 ms, and is never split.
func wantAudioInStep(t *testing.T, file string) {
	t.Helper()
	end := map[string]float64{}
	for _, kind := range []string{"v", "a"} {
		for _, line := range strings.Fields(ffprobe(t, "-select_streams", kind, "-show_entries", "packet=pts_time", file)) {
			end[kind] = max(end[kind], wantFloat(t, strings.Split(line, ",")[0]))
		}
	}
	if d := end["a"] - end["v"]; d > 0.1 || d < -0.2 {
		t.Errorf("%s: sound ends at %.3f s, the video at %.3f s", filepath.Base(file), end["a"], end["v"])
	}
}

// TestSignalsLeaveNothing: a second signal leaves no file, and SIGQUIT ends at once without a file
// or a dump.
func TestSignalsLeaveNothing(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	clip := longClip(t)
	for code, signals := range map[int][]syscall.Signal{130: {syscall.SIGINT, syscall.SIGINT}, 131: {syscall.SIGQUIT}} {
		dir := t.TempDir()
		p := vidfilterIn(t, dir, append([]string{"-i", clip, "-o", "out.mp4", "--frames-in-flight", "64"}, slow...)...).start()
		p.await(`"type":"progress"`)
		p.signal(signals[0])
		for _, s := range signals[1:] {
			p.await("ending the file here")
			p.signal(s)
		}
		p.wantExit(code)
		wantOnly(t, dir)
		e2e.JSONLines(t, p.said(), code)
	}
}

func TestKilledRunIsCleanedUpByTheNext(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	clip, dir := longClip(t), t.TempDir()
	p := vidfilterIn(t, dir, append([]string{"-i", clip, "-o", "out.mp4"}, slow...)...).start()
	p.await(`"type":"progress"`)
	p.signal(syscall.SIGKILL)
	p.wantExit(128 + int(syscall.SIGKILL))
	if _, err := os.Stat(filepath.Join(dir, "out.mp4")); err == nil || len(leftovers(dir)) != 1 {
		t.Fatalf("the name exists (%v), or no temporary file was left: %q", err == nil, leftovers(dir))
	}
	vidfilterIn(t, dir, "-i", clip, "-o", "out.mp4", "--frames", "2").start().wantExit(0)
	wantOnly(t, dir, "out.mp4")
}

// TestSignalAtASilentPipe: complete frames are kept, less than a frame leaves no file, and missing
// data is no damage.
func TestSignalAtASilentPipe(t *testing.T) {
	t.Parallel()
	head := e2e.Read(t, committedSample(t))
	for name, data := range map[string][]byte{"silent": nil, "a little": head[:100], "half": head[:len(head)/2], "a part": head[:200000]} {
		for _, named := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", named"}[named], func(t *testing.T) {
				t.Parallel()
				signalAtASilentPipe(t, data, named)
			})
		}
	}
}

func signalAtASilentPipe(t *testing.T, data []byte, named bool) {
	dir := t.TempDir()
	fifo := filepath.Join(t.TempDir(), "fifo")
	e2e.Must(t, syscall.Mkfifo(fifo, 0o600))
	pipe, err := os.OpenFile(fifo, os.O_RDWR, 0) // both ends, lest opening block
	e2e.Must(t, err)
	defer pipe.Close()
	go pipe.Write(data)
	p := vidfilterIn(t, dir, "-i", fifo, "-o", "out.mp4", "-v", "--preset", "ultrafast")
	if !named {
		p.Args[2] = "-"
		p.Stdin = pipe
	}
	p.start()
	p.await("filtering on")
	time.Sleep(300 * time.Millisecond) // for the read to wait; sooner is a test as well
	if len(data) > 1000 {
		untilWritten(dir)
	}
	p.signal(syscall.SIGINT)
	if code := p.exit(5 * time.Second); code != 130 {
		t.Errorf("exit code %d: %s", code, p.said())
	}
	if len(data) < 1000 {
		wantOnly(t, dir)
	} else if s := p.said(); !strings.Contains(s, "out.mp4 holds the part done so far") {
		t.Error(s)
	}
}

// TestSignalsEndAStuckWrite writes to a pipe that is never read.
func TestSignalsEndAStuckWrite(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	r, w, err := os.Pipe()
	e2e.Must(t, err)
	defer r.Close()
	p := vidfilterIn(t, t.TempDir(), "-i", longClip(t), "-o", "-", "--format", "mkv", "--encoder", "ffv1", "--progress", "json")
	p.Stdout = w
	p.start()
	w.Close()
	p.await(`"type":"progress"`)
	time.Sleep(200 * time.Millisecond)
	p.signal(syscall.SIGINT)
	p.await("ending the file here")
	p.signal(syscall.SIGINT)
	if code := p.exit(terminal.Patience + 5*time.Second); code != 130 {
		t.Errorf("exit code %d", code)
	}
	e2e.JSONLines(t, p.said(), 130)
}

func TestReaderLeavesInTheMiddle(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	p := vidfilterIn(t, t.TempDir(), "-i", longClip(t), "-o", "-", "--format", "ts")
	out, err := p.StdoutPipe()
	e2e.Must(t, err)
	p.start()
	if _, err := io.CopyN(io.Discard, out, 10000); err != nil {
		t.Fatal(err)
	}
	out.Close()
	p.wantExit(141)
	if s := p.said(); strings.Contains(s, "pipe") {
		t.Error(s)
	}
}

// The program accepts descriptors by any name, file names of any bytes, and memory limits.
func TestShell(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	for script, want := range map[string]struct {
		code int
		says string
	}{
		`vidfilter "$@" -o /dev/fd/5 --format mkv 5>out.mkv`:                                           {0, ""},
		`vidfilter "$@" -o /dev/stdout --format mkv >out.mkv`:                                          {0, ""},
		`ln -s /dev/fd/6 "$0"; vidfilter "$@" -o "$0" --format mkv 6>out.mkv`:                          {0, ""},
		`n=$(printf 'd/K\344se.mkv'); vidfilter "$@" -o "$n" && mv "$n" out.mkv`:                       {0, ""},
		`vidfilter "$@" -o /dev/fd/5 5>out.mkv`:                                                        {2, "-o /dev/fd/5 needs --format"},
		`ulimit -v 1500000; vidfilter "$@" -o out.mkv`:                                                 {1, "out of memory: the program needs"},
		`ulimit -v 2300000; vidfilter "$@" -o out.mkv --codec hevc --threads 64 --frames-in-flight 64`: {1, "hint: raise the limit on "},
	} {
		dir := t.TempDir()
		e2e.Must(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
		p := programIn(t, dir, "sh", "-c", script, "link.mkv", "-i", longClip(t), "--frames", "2", "-r", "1", "--device", "cpu", "-q")
		code := p.start().exit(time.Minute)
		if code != want.code || !strings.Contains(p.said(), want.says) {
			t.Errorf("%s: exit code %d: %s", script, code, p.said())
		}
		if st, err := os.Stat(filepath.Join(dir, "out.mkv")); want.code == 0 && (err != nil || st.Size() == 0) {
			t.Errorf("%s: %v, %v", script, st, err)
		}
	}
}

// TestFileSizeLimit: the limit's signal does not kill the program.
func TestFileSizeLimit(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	dir := t.TempDir()
	const name = "o\n.mkv" // the error must have this name, not the temporary file's
	old := []byte("an old file")
	e2e.Must(t, os.WriteFile(filepath.Join(dir, name), old, 0o600))
	p := programIn(t, dir, "sh", "-c", `ulimit -f 100; exec vidfilter "$@"`, "sh", "-i", longClip(t), "-o", name, "-y")
	p.start().wantExit(4)
	if s := p.said(); !strings.Contains(s, `write "o\n.mkv": file too large`) || !strings.Contains(s, "hint: see ulimit -f") {
		t.Error(s)
	}
	wantOnly(t, dir, name)
	if got, _ := os.ReadFile(filepath.Join(dir, name)); !bytes.Equal(got, old) {
		t.Errorf("the old file was touched: %q", got)
	}
}

// TestFullDisk works on a file system of one megabyte. Mounting it takes root, or a user
// namespace.
func TestFullDisk(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	for _, name := range []string{"out.mp4", "out.mkv", "out.ts"} {
		dir := t.TempDir()
		script := `mount -t tmpfs -o size=1m none . || exit 77; cd "$PWD"; echo old >"$1"
		ulimit -c 0; vidfilter -i "$2" -o "$1" -y --crf 0; code=$?
		cat "$1"; ls -A; exit $code`
		p := programIn(t, dir, "unshare", "-m", "sh", "-c", script, "sh", name, longClip(t))
		if os.Geteuid() != 0 {
			p.Args = slices.Insert(p.Args, 1, "-r")
		}
		switch code := p.start().exit(time.Minute); {
		case code == 77 || code == 1 && strings.Contains(p.said(), "unshare"):
			t.Skip("a small file system cannot be mounted here: ", p.said())
		case code != 4:
			t.Fatalf("exit code %d: %s", code, p.said())
		}
		if s := p.said(); !strings.Contains(s, `"`+name+`": disk full, 0.`) || !strings.Contains(s, "hint: free some space") {
			t.Error(s)
		}
		if out := p.run.Out.String(); out != "old\n"+name+"\n" {
			t.Errorf("left: %q", out)
		}
		wantOnly(t, dir)
	}
}

func TestClosedDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	e2e.Must(t, os.Chmod(dir, 0o555))
	p := vidfilterIn(t, "", "-i", committedSample(t), "-o", filepath.Join(dir, "out.mp4")).start()
	p.wantExit(4)
	if s := p.said(); !strings.Contains(s, "no permission") {
		t.Error(s)
	}
}

// TestMemoryDoesNotGrow holds a film of a minute against one of five seconds.
func TestMemoryDoesNotGrow(t *testing.T) {
	shortSkip(t)
	e2e.Needs(t, "ffmpeg")
	dir := t.TempDir()
	peak := func(seconds float64) float64 {
		name := strconv.FormatFloat(seconds, 'f', -1, 64) + ".mp4"
		e2e.Must(t, makeClip(filepath.Join(dir, name), "320x180", seconds, "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac"))
		p := vidfilterIn(t, dir, "-i", name, "-o", "out.mp4", "-y", "-r", "1", "--preset", "ultrafast").start()
		p.wantExit(0)
		return float64(p.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
	}
	short, long := peak(5), peak(60)
	t.Logf("%.0f MB for 5 s, %.0f MB for 60 s", short, long)
	// A fifth is room for the index of MP4, which grows by some bytes a frame, and for the
	// collector's moods.
	if long > short*1.2 {
		t.Errorf("%.0f MB for 5 s, but %.0f MB for 60 s", short, long)
	}
}

// untilWritten waits until there is something in a file of a folder, as long as a busy machine
// may take for that.
func untilWritten(dir string) {
	e2e.Within(10*time.Second, func() bool {
		files, _ := os.ReadDir(dir)
		return slices.ContainsFunc(files, func(f os.DirEntry) bool { i, err := f.Info(); return err == nil && i.Size() > 0 })
	})
}

func TestClosedPipeIsQuiet(t *testing.T) {
	r, w, err := os.Pipe()
	e2e.Must(t, err)
	r.Close()
	old, err := syscall.Dup(1)
	e2e.Must(t, err)
	defer syscall.Close(old)
	if err := syscall.Dup3(int(w.Fd()), 1, 0); err != nil { // SIGPIPE kills Go only on fds 1 and 2
		t.Fatal(err)
	}
	said := new(strings.Builder)
	code := run([]string{"help"}, terminal.Stdio{In: os.Stdin, Out: os.Stdout, Err: said, Env: nil})
	e2e.Must(t, syscall.Dup3(old, 1, 0))
	if code != contract.ExitPipe || said.Len() > 0 {
		t.Errorf("exit code %d, want %d; it says %q", code, contract.ExitPipe, said.String())
	}
}

// TestBenchInterrupted: a signal ends a measurement with the exit code that it has everywhere,
// and no file is left.
func TestBenchInterrupted(t *testing.T) {
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		dir := t.TempDir()
		p := vidfilterIn(t, dir, "bench", "--device", "cpu", "--only", "end,cpu", "--size", "1080p")
		p.Env = append(os.Environ(), "TMPDIR="+dir)
		p.start()
		p.run.Until("a clip", func() bool {
			clips, _ := filepath.Glob(filepath.Join(dir, "vidfilter-bench-*", "*.mp4"))
			return len(clips) > 0
		})
		p.signal(s)
		p.wantExit(code)
		wantOnly(t, dir)
	}
}

func TestMediaAndTerminals(t *testing.T) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	tty := os.NewFile(uintptr(fd), "ptmx")
	defer tty.Close()
	for _, args := range [][]string{{"-i", "-", "-o", "x.mp4"}, {"-i", "x.mp4", "-o", "-", "--format", "ts"}} {
		var s strings.Builder
		code := run(args, terminal.Stdio{In: tty, Out: tty, Err: &s, Env: nil})
		if code != contract.ExitUsage || !strings.Contains(s.String(), "is a terminal") {
			t.Errorf("%q: exit code %d, %q", args, code, s.String())
		}
	}
}
