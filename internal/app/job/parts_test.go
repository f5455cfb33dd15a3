package job

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vidfilter/encode"
	"vidfilter/gpu"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/internal/filters"
	"vidfilter/internal/terminal"
)

// driverLog is the environment variable that gives a child the log of its driver.
const driverLog = "VIDFILTER_TEST_LOG"

// twoGPUs returns the indexes of two GPUs, or of the only one twice.
func twoGPUs() []int {
	both := []int{0, 1}
	if all, err := gpu.Devices(); err == nil && len(all) == 1 {
		both[1] = 0
	}
	return both
}

// Parts are spread over the GPUs: each is decoded and filtered on one, its pictures cross the host
// no more than with one GPU, and the file is the same, even if NVDEC fails on the second.
func TestPartsWithNVDEC(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		name, clip, decoder, args string
		kernels                   []string // that run on both GPUs; nil: not looked at
		again                     bool     // as one stream
		fallsBack                 bool     // to the CPU, with one message
		surfaces                  int      // that are taken from decoders; 0: not looked at
	}{
		{name: "bilateral", args: "-r 1 --hwaccel auto", kernels: []string{"surface_8", "tile_lorentzian_r1"}},
		{name: "denoiser", args: "--quality fast --noise 5 --hwaccel nvdec", kernels: []string{"surface_8", "denoise_finish"}},
		{name: "software", args: "-r 1 --hwaccel none", kernels: []string{"tile_lorentzian_r1"}},
		// Each of two runs opens a decoder for the beginning and two for three parts.
		{name: "kept", clip: "parts-hevc.mp4", decoder: "create=7", args: "-r 1 --hwaccel nvdec", surfaces: 31},
		{name: "create", decoder: "create=1,device=1", args: "-r 1 --hwaccel auto"},
		{name: "map", decoder: "map=3,device=1", args: "-r 1 --hwaccel auto", fallsBack: true},
		{name: "corrupt", decoder: "corrupt=3,device=1", args: "-r 1 --hwaccel auto", fallsBack: true},
		{name: "must begin", decoder: "create=1,device=1", args: "-r 1 --hwaccel nvdec", again: true},
		{name: "refused", decoder: "none=1,device=1", args: "-r 1 --hwaccel nvdec", again: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			clip := withNVDEC(t, folder, cmp.Or(c.clip, "parts.mp4"), c.decoder)
			log, driver := os.Getenv(driverLog), ""
			if os.Getenv(testdriver.RealDevice) != "1" {
				if log == "" {
					log = filepath.Join(t.TempDir(), "log")
					t.Setenv(driverLog, log)
				}
				driver = "log=" + log
			}
			if !testdriver.OnDevice(t, driver) {
				return
			}
			dir := t.TempDir()
			run := func(name string, indexes []int, more ...string) (file, said, calls string) {
				file = filepath.Join(dir, name+".mp4")
				args := slices.Concat(quiet, []string{"-i", clip, "-o", file, "--parts", "2", "--crf", "0", "--preset", "ultrafast"}, strings.Fields(c.args), more)
				o := parsed(t, args...)
				o.Device = filters.DeviceChoice{Kind: "cuda", Indexes: indexes}
				if log != "" {
					e2e.Put(t, log, nil)
				}
				code, said := runOptions(o)
				if code != 0 || !strings.Contains(said, "encoding 3 parts, 2 side by side") {
					t.Fatalf("%s: exit code %d:\n%s", name, code, said)
				}
				if log != "" {
					calls = string(e2e.Read(t, log))
				}
				return file, said, calls
			}
			both := twoGPUs()
			want, _, _ := run("none", []int{0}, "--hwaccel", "none")
			one, _, callsOfOne := run("one", []int{0})
			two, said, calls := run("two", both)
			for _, got := range []string{one, two} {
				sameVideos(t, want, got)
			}
			if again := strings.Contains(said, "encoding it again as one stream"); again != c.again {
				t.Errorf("encoded again: %v:\n%s", again, said)
			}
			if !c.again && !bytes.Equal(e2e.Read(t, two), e2e.Read(t, want)) {
				t.Error("the file is another one")
			}
			if told := strings.Count(said, "decoding on the CPU from here on"); told > 1 || (told == 1) != c.fallsBack {
				t.Errorf("it tells %d times that the CPU decodes:\n%s", told, said)
			}
			if log == "" {
				return
			}
			for _, k := range c.kernels {
				for _, device := range []string{" device=0\n", " device=1\n"} {
					if !strings.Contains(calls, "run "+k+device) {
						t.Errorf("no %s on%s", k, device)
					}
				}
			}
			for gpus, calls := range map[int]string{1: callsOfOne, 2: calls} {
				if n := strings.Count(calls, "run surface_8 "); c.surfaces != 0 && n != 3*c.surfaces {
					t.Errorf("%d GPUs: %d launches for pictures of NVDEC", gpus, n)
				}
			}
			const copies = "cuMemcpyHtoDAsync "
			if n, m := strings.Count(calls, copies), strings.Count(callsOfOne, copies); c.kernels != nil && n != m {
				t.Errorf("%d copies from the host with two GPUs, %d with one", n, m)
			}
		})
	}
}

// A job that is stopped in a damaged part keeps its output, and reports the damage.
func TestStopInDamagedPart(t *testing.T) {
	e2e.NeedsFFmpeg(t)
	clip := filepath.Join(t.TempDir(), "clip.mp4")
	args := e2e.Fields("-v error -f lavfi -i testsrc2=s=320x180:r=10:d=24,noise=alls=20:allf=t -c:v libx264 -preset veryfast -g 50 -sc_threshold 0 -pix_fmt yuv420p")
	e2e.Run(t, "ffmpeg", append(args, clip)...)
	data := e2e.Read(t, clip)
	for i := range 60_000 { // some frames
		data[len(data)/10+i] ^= byte(i * i >> 3)
	}
	e2e.Put(t, clip, data)
	kept := 0
	for after := 200 * time.Millisecond; kept == 0 && after < time.Minute; after *= 2 {
		out := filepath.Join(t.TempDir(), "out.mov")
		o := parsed(t, append(quiet, "-i", clip, "-o", out, "--device", "cpu", "-r", "1", "--preset", "medium", "--x264-params", "bframes=0:rc-lookahead=0", "--parts", "2")...)
		stop := make(chan struct{})
		timer := time.AfterFunc(after, func() { close(stop) })
		var said strings.Builder
		u := o.OpenUI(terminal.Stdio{Err: &said, Out: io.Discard})
		res, err := Run(context.Background(), o, u, stop)
		u.Close("")
		timer.Stop()
		switch {
		case !res.Interrupted:
			t.Fatalf("it ended before it was stopped:\n%s", said.String())
		case res.Frame == 0: // it has no result to keep
		case string(res.Output) != out || !e2e.Exists(out) || errors.Is(err, encode.ErrDamaged) != (len(res.Damage) > 0):
			t.Fatalf("%v, %+v\n%s", err, res, said.String())
		case len(res.Damage) > 0: // it had come so far
			kept++
		}
	}
	if kept == 0 {
		t.Error("it was never stopped in the middle")
	}
}
