package media

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"vidfilter/internal/e2e"
)

// offered skips tests on kernels without a sandbox.
func offered(t *testing.T) {
	t.Helper()
	var found struct {
		Kernel struct {
			Landlock int
			Seccomp  bool
		}
	}
	text, _ := exec.Command(e2e.Program, "doctor", "--json").Output() // exit code 1 if it lacks one
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if found.Kernel.Landlock < 3 || !found.Kernel.Seccomp {
		t.Skipf("%+v", found.Kernel)
	}
}

// doctor proves that the doors are closed, and that its attempts work outside.
func TestDoctor(t *testing.T) {
	offered(t)
	var found struct {
		Doors []struct {
			Door         string
			Wanted, Open bool
		}
		OK bool
	}
	text := run(t, e2e.Program, "doctor", "--json")
	if err := json.Unmarshal(text, &found); err != nil || !found.OK || len(found.Doors) < 25 {
		t.Fatalf("%v: %s", err, text)
	}
	open := 0
	for _, d := range found.Doors {
		if d.Open != d.Wanted {
			t.Errorf("%+v", d)
		}
		if d.Open {
			open++
		}
	}
	if open != 3 {
		t.Errorf("%d doors are open", open)
	}
	cmd := exec.Command(e2e.Program, "doctor", "--sandbox", "off")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "!  read another file") || !strings.Contains(string(out), "a door is open") {
		t.Errorf("exit code %d: %s", cmd.ProcessState.ExitCode(), out)
	}
}

// Commands without a filter warn as well.
func TestSandboxOffSaid(t *testing.T) {
	in := clip(t, "h264.mp4", inputArgs("h264.mp4"))
	cut := []string{"cut", "-i", in, "-o", output("mov"), "--part", segments(t, in, "--length", "0.3").ranges()[0]}
	for _, args := range [][]string{{"info", in}, {"compare", in, in}, {"segments", "-i", in}, cut} {
		cmd := exec.Command(e2e.Program, append(args, "--sandbox", "off")...)
		if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "--sandbox off: the input is decoded with all rights") {
			t.Errorf("%s: %v: %s", args[0], err, said)
		}
	}
}

// The bits are the same with and without the sandbox, also around the CUDA test driver.
func TestSandboxModes(t *testing.T) {
	offered(t)
	in := clip(t, "h264.mp4", inputArgs("h264.mp4"))
	outcome := map[string]string{}
	for mode, says := range map[string]string{"on": "sandbox: no_new_privs", "off": "--sandbox off: the input is decoded with all rights"} {
		out, said := filter(t, in, "mkv", "-v --progress plain --sandbox "+mode)
		if !strings.Contains(said, says) {
			t.Errorf("%s: %s", mode, said)
		}
		outcome[mode] = string(raw(t, out, "yuv420p"))
	}
	if outcome["on"] != outcome["off"] {
		t.Error("the pictures differ")
	}
}

func TestSandboxOfDriver(t *testing.T) {
	offered(t)
	root, err := e2e.Root()
	e2e.Must(t, err)
	e2e.Needs(t, "clang-19")
	folder := strings.TrimSpace(string(run(t, filepath.Join(root, "scripts/testdriver.sh"))))
	in, outcome := clip(t, "h264.mp4", inputArgs("h264.mp4")), map[string]string{}
	for mode, says := range map[string]string{"on": "sandbox: no_new_privs", "off": "--sandbox off"} {
		out := output("mkv")
		cmd := exec.Command(e2e.Program, "-i", in, "-o", out, "-r", "1", "--frames", "5", "--preset", "ultrafast", "--threads", "1", "-v", "--progress", "plain", "--sandbox", mode)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+folder)
		said, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(said), says) || !strings.Contains(string(said), "filtering on cuda:0") {
			t.Fatalf("%s: %v: %s", mode, err, said)
		}
		outcome[mode] = string(raw(t, out, "yuv420p"))
	}
	if outcome["on"] != outcome["off"] {
		t.Error("the pictures differ")
	}
	out := output("mp4")
	large := clip(t, "sandbox-nvenc.mp4", "-f lavfi -i testsrc2=s=192x128:r=25:d=0.2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p")
	cmd := exec.Command(e2e.Program, "-i", large, "-o", out, "-r", "1", "--hwaccel", "nvenc", "-v")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+folder)
	if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "sandbox: no_new_privs") || len(raw(t, out, "yuv420p")) == 0 {
		t.Errorf("NVENC inside: %v: %s", err, said)
	}
	cmd = exec.Command(e2e.Program, "doctor")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+folder)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "filter on cuda:0") {
		t.Errorf("%v: %s", err, out)
	}
}

// A crash of the decoding process is an error and leaves no file.
func TestCrashInside(t *testing.T) {
	offered(t)
	in, out := clip(t, "h264.mp4", inputArgs("h264.mp4")), output("mp4")
	cmd := exec.Command(e2e.Program, "-i", in, "-o", out, "-r", "15", "--preset", "veryslow", "--threads", "1", "--progress", "plain")
	p := e2e.Begin(t, cmd)
	p.Until("the child writes", func() bool { return temporary(t, out) && len(children(p.PID())) == 1 })
	for _, child := range children(p.PID()) {
		e2e.Must(t, syscall.Kill(child, syscall.SIGSEGV))
	}
	if code := p.Wait(); code != 1 || !strings.Contains(p.Said(), "crashed") || !strings.Contains(p.Said(), "please report it") {
		t.Errorf("exit code %d: %s", code, p.Said())
	}
	if e2e.Exists(out) || temporary(t, out) {
		t.Error("something is left")
	}
}

// temporary reports whether an output has a temporary file.
func temporary(t *testing.T, out string) bool {
	t.Helper()
	stem := strings.TrimSuffix(filepath.Base(out), filepath.Ext(out))
	names, err := filepath.Glob(filepath.Join(filepath.Dir(out), "*"+stem+"*"))
	e2e.Must(t, err)
	return len(names) > 0
}

// children returns the processes that a process has started.
func children(pid int) (pids []int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range threads {
		text, _ := os.ReadFile(name)
		for _, field := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(field)
			pids = append(pids, child)
		}
	}
	return pids
}
