package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/encode/target"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"
)

// Only a complete output that passed its check replaces a file.
func TestNameOfOutput(t *testing.T) {
	for _, c := range []struct {
		done contract.Done
		want string
	}{
		{contract.Done{Verified: true}, "out.mp4"},
		{contract.Done{Interrupted: true}, "out.interrupted.mp4"},
		{contract.Done{Unverified: true}, "out.unverified.mp4"},
		{contract.Done{Unverified: true, Interrupted: true}, "out.unverified.mp4"},
	} {
		t.Chdir(t.TempDir())
		e2e.Must(t, os.WriteFile("out.mp4", []byte("old"), 0o600))
		out, err := target.Open("out.mp4", target.Replace, nil)
		e2e.Must(t, err)
		e2e.Must(t, os.WriteFile(out.Path(), []byte("fresh"), 0o600))
		j := &job{o: &Options{Output: "out.mp4"}, target: out}
		res := terminal.Result{Done: c.done}
		fault, err := j.name(&res)
		if err != nil || fault != nil {
			t.Fatal(fault, err)
		}
		spared := contract.Name("")
		if c.want != "out.mp4" {
			spared = "out.mp4"
		}
		if string(res.Output) != c.want || res.Spared != spared || res.Size != 5 {
			t.Errorf("%+v, want %s", res, c.want)
		}
		old, _ := os.ReadFile("out.mp4")
		now, _ := os.ReadFile(filepath.Clean(c.want))
		if string(now) != "fresh" || spared != "" && string(old) != "old" {
			t.Errorf("%s: %q beside %q", c.want, now, old)
		}
	}
}

// Finished work is kept when its name is taken meanwhile, or its folder gets another.
func TestFinishedOutputIsKept(t *testing.T) {
	for _, c := range []struct {
		what          string
		meanwhile     func() error
		want, message string
	}{
		{"a file appears", func() error { return os.WriteFile("dir/out.mp4", []byte("other"), 0o600) },
			"dir/out.finished.mp4", `output "dir/out.mp4" has appeared meanwhile`},
		{"a folder appears", func() error { return os.Mkdir("dir/out.mp4", 0o700) },
			"dir/out.finished.mp4", `output "dir/out.mp4" has appeared meanwhile`},
		{"the folder is renamed", func() error { return os.Rename("dir", "other") },
			"other/out.mp4", `the folder of "dir/out.mp4" was renamed or replaced meanwhile; the output is `},
		{"the folder is replaced", func() error {
			if err := os.Rename("dir", "other"); err != nil {
				return err
			}
			return os.Mkdir("dir", 0o700)
		}, "other/out.mp4", `the folder of "dir/out.mp4" was renamed or replaced meanwhile; the output is `},
	} {
		t.Chdir(t.TempDir())
		e2e.Must(t, os.Mkdir("dir", 0o700))
		out, err := target.Open("dir/out.mp4", target.Refuse, nil)
		e2e.Must(t, err)
		e2e.Must(t, os.WriteFile(out.Path(), []byte("fresh"), 0o600))
		e2e.Must(t, c.meanwhile())
		j := &job{o: &Options{Output: "dir/out.mp4"}, target: out}
		var res terminal.Result
		fault, err := j.name(&res)
		if err != nil || fault == nil || contract.ExitCode(fault) != contract.ExitOutput || !strings.HasPrefix(fault.Error(), c.message) {
			t.Errorf("%s: %v, %v", c.what, fault, err)
		}
		here, _ := os.Getwd()
		if strings.TrimPrefix(string(res.Output), here+"/") != c.want {
			t.Errorf("%s: the output is %s, want %s", c.what, res.Output, c.want)
		}
		if now, err := os.ReadFile(filepath.Clean(c.want)); string(now) != "fresh" {
			t.Errorf("%s: %q, %v", c.what, now, err)
		}
		e2e.Must(t, out.Discard())
		if left, _ := filepath.Glob("*/.out*"); left != nil {
			t.Errorf("%s: %v is left", c.what, left)
		}
	}
}

func TestOverwritePolicy(t *testing.T) {
	u := new(Options).OpenUI(terminal.Stdio{})
	if err := (&Options{Overwrite: true}).OverwritePolicy(u, nil)("x"); err != nil {
		t.Error("-y: ", err)
	}
	for name, o := range map[string]*Options{"no flag": {}, "-n": {NoOverwrite: true}} {
		if o.OverwritePolicy(u, nil)("x") == nil {
			t.Errorf("%s: replaced where nobody can be asked", name)
		}
	}
}

// Frames that wait for the encoder are limited by bytes, on any machine.
func TestInFlight(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		size  int
		onCPU bool
		want  int
	}{
		{3 * mb, true, 4}, {12 * mb, true, 4}, {25 * mb, true, 2}, {96 * mb, true, 1},
		{25 * mb, false, 4}, {48 * mb, false, 3}, {96 * mb, false, 1}, {400 * mb, false, 1},
	} {
		if got := NewOptions().inFlight(c.size, c.onCPU); got != c.want && got != 1 { // 1: little memory is free
			t.Errorf("%+v: %d", c, got)
		}
	}
	for _, c := range []struct {
		memory int64
		size   int
		want   int
	}{{1, 1 * mb, 1}, {1 << 40, 1 * mb, 0}, {12 * 9 * mb, 9 * mb, 1}} {
		if got := threadsIn(c.memory, c.size); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
