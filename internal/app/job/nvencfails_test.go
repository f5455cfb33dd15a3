package job

import (
	"context"
	"encoding/json"
	"io"
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
	"vidfilter/internal/terminal"
)

// A kernel or a call to NVENC that never returns ends the job with a device error, unless the file
// is complete.
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
			o := parsed(t, slices.Concat(quiet, []string{"-i", clip, "-o", out, "-r", "1", "--hwaccel"}, strings.Fields(c.args))...)
			frames := 0
			if c.encoder == "nvEncDestroyBitstreamBuffer" {
				frames = 12
			}
			checkHang(t, o, frames)
		})
	}
}

// checkHang runs a job on a GPU that stops answering. The job fails and leaves no file, unless that
// is complete by then, with this many frames.
func checkHang(t *testing.T, o *Options, frames int) {
	t.Helper()
	o.patience = time.Second
	if frames == 0 {
		checkRefusal(t, "hang", o, contract.ExitDevice, "did not answer for 1s")
		return
	}
	if code, said := runOptions(o); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, said)
	}
	if n := whatIsIn(t, o.Output).frames; n != frames {
		t.Errorf("%d frames", n)
	}
}

// A batch goes by the cause of NVENC's refusals.
func TestNVENCCauses(t *testing.T) {
	if !onDriver(t) {
		return
	}
	clip, deep := drawn(t, "clip.y4m", "420", 208, 144, 2), drawn(t, "deep.y4m", "420p12", 208, 144, 2)
	for _, c := range []struct{ encoder, clip, cause string }{
		{"sessions=0", clip, contract.CauseSession},
		{"opens=2", clip, contract.CauseSession}, // FFmpeg's own is refused
		{"none=1", clip, contract.CauseNVENC},
		{"version=111", clip, contract.CauseNVENC},
		{"side=200", clip, contract.CauseNVENC},
		{"", deep, contract.CauseNVENC},
		{"call=2", clip, ""},
	} {
		t.Setenv(testdriver.EncoderVariable, c.encoder)
		o := parsed(t, "--sandbox", "off", "--progress", "json", "-i", c.clip, "-o", filepath.Join(t.TempDir(), "out.mp4"), "-r", "1", "--hwaccel", "nvenc")
		var said strings.Builder
		u := o.OpenUI(terminal.Stdio{Err: &said, Out: io.Discard})
		code := u.Finish(Run(context.Background(), o, u, nil))
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		var done contract.Done
		e2e.Must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &done))
		if code != contract.ExitDevice || done.Cause != c.cause {
			t.Errorf("%s: exit code %d, cause %q, want %q: %s", c.encoder, code, done.Cause, c.cause, done.Error)
		}
	}
}

// Of several GPUs that filter, the one that has NVENC encodes.
func TestNVENCOfSecondGPU(t *testing.T) {
	if !testdriver.OnDevice(t, "devices=2") {
		return
	}
	clip := drawn(t, "clip.y4m", "420", 208, 144, 7)
	for _, c := range []struct {
		encoder, device string
		code            int
		says            string
	}{
		{"device=1", "cuda:0,1", 0, ""},
		{"device=0", "cuda:0,1", 0, ""},
		{"device=1", "cuda:0", contract.ExitDevice, "cuda:0 (vidfilter test device) has no NVENC"},
		{"none=1", "cuda:0,1", contract.ExitDevice, "has no NVENC"},
		{"device=1,sessions=0", "cuda:0,1", contract.ExitDevice, "NVENC on cuda:1 opens no further session"},
	} {
		t.Setenv(testdriver.EncoderVariable, c.encoder)
		out := filepath.Join(t.TempDir(), "out.mp4")
		code, said := runJob(t, append(quiet, "-i", clip, "-o", out, "-r", "1", "--hwaccel", "nvenc", "--device", c.device)...)
		if code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%s, %s: exit code %d: %s", c.encoder, c.device, code, said)
		}
		if code == 0 && (whatIsIn(t, out).frames != 7 || psnr(t, out, clip) < 30) {
			t.Errorf("%s, %s: %.1f dB", c.encoder, c.device, psnr(t, out, clip))
		}
	}
}
