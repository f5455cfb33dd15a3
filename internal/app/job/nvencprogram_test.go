package job

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/gpu"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

// The program encodes on NVENC in its sandbox, or reports that the GPU has no NVENC. The test also
// covers real devices, whose drivers open more files than the test driver.
func TestNVENCInSandbox(t *testing.T) {
	if e2e.Sanitized {
		t.Skip("sanitizers and the sandbox do not go together")
	}
	if !testdriver.OnDevice(t, "") {
		return
	}
	e2e.Note(t)
	program, err := e2e.Build()
	e2e.Must(t, err)
	devices, err := gpu.Devices()
	e2e.Must(t, err)
	_, refused := devices[0].Encodes()
	for _, without := range []string{"H100", "H200", "A100"} {
		if strings.Contains(devices[0].Name, without) && (refused == nil || !strings.Contains(refused.Error(), "has no NVENC")) {
			t.Errorf("%s is a chip without NVENC, and says %v", devices[0].Name, refused)
		}
	}
	clip, out := drawn(t, "clip.y4m", "420", 320, 192, 12), filepath.Join(t.TempDir(), "out.mp4")
	run := func() (*e2e.Process, int) {
		p := e2e.Begin(t, exec.Command(program, "-v", "--progress", "none", "-i", clip, "-o", out, "-r", "1", "--hwaccel", "nvenc", "--sandbox", "on"))
		code := p.Wait()
		if strings.Contains(p.Said(), "test driver:") {
			t.Error("the test driver complains")
		}
		return p, code
	}
	p, code := run()
	if refused != nil {
		if code != contract.ExitDevice || !strings.Contains(p.Said(), refused.Error()) || e2e.Exists(out) {
			t.Errorf("exit code %d, without %q", code, refused)
		}
		return
	}
	if code != 0 || !strings.Contains(p.Said(), "sandbox: no_new_privs") {
		t.Fatalf("exit code %d", code)
	}
	apart := filepath.Join(t.TempDir(), "apart.mp4")
	mustRun(t, append(quiet, "-i", clip, "-o", apart, "-r", "1", "--hwaccel", "nvenc")...)
	if got, want := psnr(t, out, clip), psnr(t, apart, clip); got < 30 || got < want-0.1 || whatIsIn(t, out).frames != 12 {
		t.Errorf("%.1f dB, without the sandbox %.1f dB", got, want)
	}
	if os.Getenv(testdriver.RealDevice) == "" {
		sameVideos(t, out, apart)
		// Errors inside the sandbox advise --sandbox off. Errors for missing features do not.
		for encoder, advice := range map[string]bool{"call=70": true, "none=1": false, "sessions=0": false, "side=200": false} {
			t.Setenv(testdriver.EncoderVariable, encoder)
			_ = os.Remove(out)
			p, code := run()
			if code != contract.ExitDevice || strings.Contains(p.Said(), "--sandbox off shows") != advice || e2e.Exists(out) {
				t.Errorf("%s: exit code %d: %s", encoder, code, p.Said())
			}
		}
	}
}
