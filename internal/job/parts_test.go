package job

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/gpu"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
)

// driverLog is the environment variable that tells a child the log of its driver.
const driverLog = "VIDFILTER_TEST_LOG"

// Parts are spread over the GPUs: each is decoded and filtered on one, its pictures cross the host
// no more than with one GPU, and the file is the same, whatever becomes of NVDEC on the second.
func TestPartsWithNVDEC(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		name, clip, decoder, args string
		kernels                   []string // that run on both GPUs; nil: not looked at
		again                     bool     // as one stream
		surfaces                  int      // that are taken from decoders; 0: not looked at
	}{
		{name: "bilateral", args: "-r 1 --hwaccel auto", kernels: []string{"surface_8", "tile_lorentzian_r1"}},
		{name: "denoiser", args: "--quality fast --noise 5 --hwaccel nvdec", kernels: []string{"surface_8", "denoise_finish"}},
		{name: "software", args: "-r 1 --hwaccel none", kernels: []string{"tile_lorentzian_r1"}},
		// Each of two runs opens a decoder for the beginning and two for three parts.
		{name: "kept", clip: "parts-hevc.mp4", decoder: "create=7", args: "-r 1 --hwaccel nvdec", surfaces: 31},
		{name: "create", decoder: "create=1,device=1", args: "-r 1 --hwaccel auto"},
		{name: "map", decoder: "map=3,device=1", args: "-r 1 --hwaccel auto"},
		{name: "corrupt", decoder: "corrupt=3,device=1", args: "-r 1 --hwaccel auto"},
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
				o, err := Parse(args, nil)
				e2e.Must(t, err)
				o.Device = Device{Kind: "cuda", Indexes: indexes}
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
			both := []int{0, 1}
			if all, err := gpu.Devices(); err == nil && len(all) == 1 {
				both[1] = 0
			}
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
