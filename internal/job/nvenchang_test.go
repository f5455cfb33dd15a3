package job

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"vidfilter/gpu/testdriver"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
)

// A kernel or a call of NVENC's that never ends does not hold up a job: it ends with an error of
// the device, and leaves nothing.
func TestNVENCHangs(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct{ driver, encoder, args string }{
		{"hang=1", "", "nvenc"}, {"hang=2", "", "nvenc"}, {"hang=9", "", "nvenc --parts 2"},
		{"hang=2", "", "nvdec"}, {"hang=4", "", "nvdec,nvenc"},
		{"", "nvEncOpenEncodeSessionEx", "nvenc"}, {"", "nvEncInitializeEncoder", "nvenc"}, {"", "nvEncRegisterResource", "nvenc"},
		{"", "nvEncEncodePicture", "nvenc"}, {"", "nvEncLockBitstream", "nvenc"}, {"", "nvEncDestroyBitstreamBuffer", "nvenc"},
	} {
		t.Run(strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return '_'
		}, c.driver+c.encoder+" "+c.args), func(t *testing.T) {
			if os.Getenv(testdriver.RealDevice) != "" {
				t.Skip("asks for what only the test driver has: faults")
			}
			clip := ""
			if strings.Contains(c.args, "nvdec") {
				clip = withNVDEC(t, folder, "h264.mp4", "")
			}
			if !testdriver.OnDevice(t, c.driver) {
				return
			}
			if clip == "" {
				clip = drawn(t, "clip.y4m", "420", 160, 96, 12)
			}
			if c.encoder != "" {
				t.Setenv(testdriver.EncoderVariable, "hang="+c.encoder)
			}
			out := filepath.Join(t.TempDir(), "out.mp4")
			o, err := Parse(slices.Concat(quiet, []string{"-i", clip, "-o", out, "-r", "1", "--hwaccel"}, strings.Fields(c.args)), nil)
			e2e.Must(t, err)
			o.patience = 2 * time.Second
			u := o.OpenUI(nowhere)
			_, err = Run(context.Background(), o, u, nil)
			u.Close("")
			t.Log(err)
			if c.encoder == "nvEncDestroyBitstreamBuffer" { // the file is complete
				e2e.Must(t, err)
				if n := whatIsIn(t, out).frames; n != 12 {
					t.Errorf("%d frames", n)
				}
				return
			}
			if ExitCode(err) != contract.ExitDevice || !strings.Contains(err.Error(), "did not answer for 2s") || hint.Of(err) == "" || e2e.Exists(out) {
				t.Errorf("exit code %d: %v", ExitCode(err), err)
			}
		})
	}
}
