package job

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/gpu"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
)

// One encoder gets the frames of parts in order: the file is that of one stream, for any number of
// decoders and GPUs.
func TestPartsInOrder(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		name, decoder, to, args string
		says                    string // with parts
	}{
		{name: "ffv1", to: "mov", args: "-r 1 --codec ffv1", says: "decoding"},
		{name: "nvenc", to: "mp4", args: "-r 1 --hwaccel auto,nvenc --preset ultrafast"},
		{name: "passed", to: "mp4", args: "-r 0 --hwaccel auto,nvenc --preset ultrafast"},
		{name: "bitrate", to: "mp4", args: "-r 1 --bitrate 300k --preset ultrafast"},
		{name: "denoiser", to: "mov", args: "--quality fast --noise 5 --hwaccel nvdec --codec ffv1"},
		{name: "measured", to: "mov", args: "--quality fast --codec ffv1"},
		{name: "measured for nvenc", to: "mp4", args: "--quality fast --hwaccel nvdec,nvenc --preset ultrafast"},
		{name: "corrupt", decoder: "corrupt=12,device=1", to: "mov", args: "-r 1 --codec ffv1"},
		{name: "create", decoder: "create=1,device=1", to: "mov", args: "-r 1 --codec ffv1"},
		{name: "refused", decoder: "none=1,device=1", to: "mov", args: "-r 1 --codec ffv1 --hwaccel nvdec", says: "encoding it again as one stream"},
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
				o, err := Parse(slices.Concat(quiet, []string{"-i", clip, "-o", path}, strings.Fields(c.args), more), nil)
				e2e.Must(t, err)
				o.Device = Device{Kind: "cuda", Indexes: indexes}
				code, said := runOptions(o)
				if code != 0 {
					t.Fatalf("%s: exit code %d:\n%s", name, code, said)
				}
				return e2e.Read(t, path), said
			}
			both := []int{0, 1}
			if all, err := gpu.Devices(); err == nil && len(all) == 1 {
				both[1] = 0
			}
			want, _ := run("whole", []int{0}, "--parts", "1")
			for name, indexes := range map[string][]int{"one": {0}, "two": both} {
				for _, parts := range []string{"2", "5"} {
					got, said := run(name+parts, indexes, "--parts", parts)
					if !strings.Contains(said, "filtering 6 parts, "+parts+" side by side") || name == "two" && !strings.Contains(said, c.says) {
						t.Errorf("%s GPU, %s parts: it says\n%s", name, parts, said)
					}
					if !bytes.Equal(got, want) {
						t.Errorf("%s GPU, %s parts: the file is another one", name, parts)
					}
				}
			}
			got, _ := run("least", both, "--parts", "5", "--frames-in-flight", "1")
			if !bytes.Equal(got, want) {
				t.Error("with room for one frame, the file is another one")
			}
		})
	}
}
