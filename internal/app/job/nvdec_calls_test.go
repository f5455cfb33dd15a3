package job

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vidfilter/gpu/testdriver"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

// wantedFile is the environment variable that gives a child the result without faults.
const wantedFile = "VIDFILTER_TEST_WANTED"

// Each kind of call that FFmpeg makes in a job that NVDEC decodes for fails once, and some of its
// copies of pictures. The job ends with a device error, or its result is as without.
func TestNVDECCalls(t *testing.T) {
	if os.Getenv(testdriver.RealDevice) != "" {
		t.Skip("asks for what only the test driver has: faults")
	}
	clip := withNVDEC(t, t.TempDir(), "h264.mp4", "")
	want := os.Getenv(wantedFile)
	if want == "" {
		want = filepath.Join(t.TempDir(), "want.mkv")
		t.Setenv(wantedFile, want)
	}
	args := []string{"-i", clip, "-r", "1", "--device", "cuda", "--codec", "ffv1", "--sandbox", "off", "--progress", "none", "-o"}
	if testdriver.OnDevice(t, "") { // the child of any of these calls goes on here
		if !e2e.Exists(want) {
			mustRun(t, append(args, want, "--hwaccel", "none")...)
			return
		}
		got := filepath.Join(t.TempDir(), "got.mkv")
		switch code, said := runJob(t, append(args, got)...); code {
		case 0:
			sameVideos(t, want, got)
		case contract.ExitDevice:
		default:
			t.Errorf("exit code %d:\n%s", code, said)
		}
		return
	}
	log := filepath.Join(t.TempDir(), "log")
	testdriver.OnDevice(t, "log="+log)
	calls := slices.DeleteFunc(strings.Split(string(e2e.Read(t, log)), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "run ") || strings.HasPrefix(line, "cuInit")
	})
	places := map[string][]int{}
	for i, line := range calls {
		name, _, _ := strings.Cut(line, " ")
		places[name] = append(places[name], i+1)
	}
	const copies = "cuMemcpy2DAsync"
	if len(places[copies]) == 0 {
		t.Fatalf("FFmpeg copies no picture: %v", places)
	}
	for _, name := range []string{"cuCtxPushCurrent", "cuCtxPopCurrent", "cuMemAlloc", "cuMemcpyHtoDAsync", copies} {
		at := places[name]
		for _, n := range slices.Compact([]int{at[0], at[len(at)/2], at[len(at)-1]}) {
			testdriver.OnDevice(t, "call="+strconv.Itoa(n))
		}
	}
}

// A call to NVDEC that never returns ends the job with a device error, unless the file is complete.
func TestNVDECHangs(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		call, parts string
		ends        bool // the file is complete by then
	}{
		{call: "cuvidCreateDecoder"}, {call: "cuvidDecodePicture"}, {call: "cuvidMapVideoFrame"}, {call: "cuvidUnmapVideoFrame"},
		{call: "cuvidMapVideoFrame", parts: "2"}, {call: "cuvidDestroyDecoder", ends: true},
	} {
		t.Run(c.call+c.parts, func(t *testing.T) {
			if os.Getenv(testdriver.RealDevice) != "" {
				t.Skip("asks for what only the test driver has: faults")
			}
			clip := withNVDEC(t, folder, "parts.mp4", "hang="+c.call)
			if !testdriver.OnDevice(t, "") {
				return
			}
			out := filepath.Join(t.TempDir(), "out.mkv")
			o := parsed(t, append(quiet, "-i", clip, "-o", out, "-r", "1", "--codec", "ffv1", "--parts", cmp.Or(c.parts, "1"))...)
			frames := 0
			if c.ends {
				frames = 30
			}
			checkHang(t, o, frames)
		})
	}
}
