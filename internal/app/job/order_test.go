package job

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/gpu/testdriver"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/filters"
)

// One encoder gets the frames of parts in order: the file is the same as with one stream, for any
// number of decoders and GPUs.
func TestPartsInOrder(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		name, decoder, to, args string
		says                    string // with parts
	}{
		{name: "ffv1", to: "mov", args: "-r 1 --codec ffv1", says: "decoding"},
		{name: "nvenc", to: "mp4", args: "-r 1 --hwaccel nvenc --preset ultrafast"},
		{name: "passed", to: "mp4", args: "-r 0 --hwaccel nvenc --preset ultrafast"},
		{name: "chain for nvenc", to: "mp4", args: "-r 1 --hwaccel nvdec,nvenc --preset ultrafast --crop 128:48 --scale 2 --after eq=gamma=1.1"},
		{name: "bitrate", to: "mp4", args: "-r 1 --bitrate 300k --preset ultrafast"},
		{name: "denoiser", to: "mov", args: "--quality fast --noise 5 --hwaccel nvdec --codec ffv1"},
		{name: "measured", to: "mov", args: "--quality fast --codec ffv1"},
		{name: "measured for nvenc", to: "mp4", args: "--quality fast --hwaccel nvdec,nvenc --preset ultrafast"},
		{name: "corrupt", decoder: "corrupt=12,device=1", to: "mov", args: "-r 1 --codec ffv1"},
		{name: "create", decoder: "create=1,device=1", to: "mov", args: "-r 1 --codec ffv1"},
		{name: "refused", decoder: "none=1,device=1", to: "mov", args: "-r 1 --codec ffv1 --hwaccel nvdec", says: "encoding it again as one stream"},
		{name: "refused for nvenc", decoder: "none=1,device=1", to: "mp4", args: "-r 1 --hwaccel nvdec,nvenc --preset ultrafast", says: "encoding it again as one stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clip := withNVDEC(t, folder, "parts.mp4", c.decoder)
			if !testdriver.OnDevice(t, "") {
				return
			}
			if strings.Contains(c.args, "nvenc") && os.Getenv(testdriver.RealDevice) != "" {
				needsNVENC(t)
			}
			dir := t.TempDir()
			run := func(name string, indexes []int, more ...string) (file []byte, said string) {
				path := filepath.Join(dir, name+"."+c.to)
				o := parsed(t, slices.Concat(quiet, []string{"-i", clip, "-o", path}, strings.Fields(c.args), more)...)
				o.Device = filters.DeviceChoice{Kind: "cuda", Indexes: indexes}
				code, said := runOptions(o)
				if code != 0 {
					t.Fatalf("%s: exit code %d:\n%s", name, code, said)
				}
				return e2e.Read(t, path), said
			}
			both := twoGPUs()
			want, _ := run("whole", []int{0}, "--parts", "1")
			gpus, numbers := map[string][]int{"one": {0}, "two": both}, []string{"2", "5"}
			if c.name != "ffv1" && c.name != "nvenc" { // one on the host and one on a GPU stand for the others
				delete(gpus, "one")
				numbers = numbers[1:]
			}
			for name, indexes := range gpus {
				for _, parts := range numbers {
					got, said := run(name+parts, indexes, "--parts", parts)
					if !strings.Contains(said, "filtering 6 parts, "+parts+" side by side") || name == "two" && !strings.Contains(said, c.says) {
						t.Errorf("%s GPU, %s parts: it says\n%s", name, parts, said)
					}
					if !bytes.Equal(got, want) {
						t.Errorf("%s GPU, %s parts: the file is another one", name, parts)
					}
				}
			}
			if strings.Contains(c.args, "--quality") { // slow on the test driver
				return
			}
			got, _ := run("least", both, "--parts", "5", "--frames-in-flight", "1")
			if !bytes.Equal(got, want) {
				t.Error("with room for one frame, the file is another one")
			}
		})
	}
}

// By default several decoders work for an encoder that may be faster than one, unless the filter is
// slow.
func TestPartsByDefault(t *testing.T) {
	clip := withNVDEC(t, t.TempDir(), "parts.mp4", "device=-1")
	if !testdriver.OnDevice(t, "") {
		return
	}
	for args, want := range map[string]string{
		"--format null --encoder rawvideo -r 1":                 "filtering 6 parts, 4 side by side",
		"--format null --encoder rawvideo -r 1 --hwaccel none":  "as one stream: the CPU decodes",
		"--format null --encoder rawvideo --device cpu -r 1":    "as one stream: the CPU decodes",
		"--format null --encoder rawvideo --noise 5":            "as one stream: the denoiser is no faster",
		"--format null --encoder ffv1 -r 1":                     "as one stream: ffv1 has no parts",
		"--format null --encoder rawvideo -r 1 --parts 1":       "as one stream: --parts 1",
		"--format null --encoder rawvideo -r 1 --device cuda:0": "filtering 6 parts, 4 side by side",
	} {
		o := parsed(t, slices.Concat(quiet, []string{"-i", clip, "-o", "-"}, strings.Fields(args))...)
		if code, said := runOptions(o); code != 0 || !strings.Contains(said, want) {
			t.Errorf("%s: exit code %d:\n%s", args, code, said)
		}
	}
}

// Frames for NVENC stay on its GPU. Frames of another GPU come through the host.
func TestPartsOnTheirGPU(t *testing.T) {
	clip := withNVDEC(t, t.TempDir(), "parts.mp4", "device=-1")
	log := os.Getenv(driverLog)
	if log == "" {
		log = filepath.Join(t.TempDir(), "log")
		t.Setenv(driverLog, log)
	}
	if !testdriver.OnDevice(t, "log="+log) {
		return
	}
	for _, args := range []string{"-r 1", "-r 0"} {
		for gpus, throughHost := range map[int]bool{1: false, 2: true} {
			e2e.Put(t, log, nil)
			o := parsed(t, slices.Concat(quiet, []string{"-i", clip, "-o", filepath.Join(t.TempDir(), "out.mp4"), "--hwaccel", "nvenc", "--parts", "4"}, strings.Fields(args))...)
			o.Device = filters.DeviceChoice{Kind: "cuda", Indexes: []int{0, 1}[:gpus]}
			if code, said := runOptions(o); code != 0 || !strings.Contains(said, "4 side by side") {
				t.Fatalf("exit code %d:\n%s", code, said)
			}
			const own = 30 // of the test driver's NVENC, which codes on the CPU
			calls := string(e2e.Read(t, log))
			if n := strings.Count(calls, "cuMemcpyDtoHAsync "); n < own || (n > own) != throughHost {
				t.Errorf("%s, %d GPUs: %d copies to the host", args, gpus, n)
			}
		}
	}
}

// An encoder that fails in the middle ends the job: all parts stop, and no file is left.
func TestEncoderFailsInOrder(t *testing.T) {
	if os.Getenv(testdriver.RealDevice) != "" {
		t.Skip("asks for what only the test driver has: faults")
	}
	clip := withNVDEC(t, t.TempDir(), "parts.mp4", "")
	if !testdriver.OnDevice(t, "") {
		return
	}
	for _, call := range []string{"60", "90"} {
		t.Setenv(testdriver.EncoderVariable, "call="+call)
		o := parsed(t, append(quiet, "-i", clip, "-o", filepath.Join(t.TempDir(), "out.mp4"), "-r", "1", "--hwaccel", "nvenc", "--parts", "5", "--frames-in-flight", "2")...)
		checkRefusal(t, "call "+call, o, contract.ExitDevice, "NVENC")
	}
}
