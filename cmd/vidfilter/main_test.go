package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// try runs the program in this process.
func try(env []string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, stdio{strings.NewReader(""), &out, &err, env})
	return code, out.String(), err.String()
}

func TestCommands(t *testing.T) {
	tests := []struct {
		args   string
		code   int
		stdout string // a part
		stderr string // a part
	}{
		{"help", 0, "usage: ", ""},
		{"--help", 0, "usage: ", ""},
		{"-h", 0, "usage: ", ""},
		{"info --help", 0, "usage: ", ""},
		{"-i a -o b.mp4 -h", 0, "usage: ", ""},
		{"version", 0, "vidfilter ", ""},
		{"--version", 0, "vidfilter ", ""},
		{"devices", 0, "cpu ", ""},
		{"devices --compile", 5, "", "hint: "},
		{"bench --help", 0, "usage: vidfilter bench", ""},
		{"bench -h", 0, "  --kernel GLOB", ""},
		{"bench x", 2, "", "hint: vidfilter bench -i FILE"},
		{"bench --size 4.5k", 2, "", "hint: a size is"},
		{"bench --size 63x48", 2, "", "hint: both sides are even"},
		{"bench --size 8x8", 2, "", "hint: both sides are even"},
		{"bench --kernel tile_lorentzain_r3", 2, "", `did you mean "tile_lorentzian_r3"?`},
		{"bench --kernel none", 2, "", "hint: there are paper, tile_*"},
		{"bench --kernel [", 2, "", "not a pattern"},
		{"bench --kernel tensor_* -r 1", 2, "", "no such kernel has these radii"},
		{"bench --kernel tile_* --device cpu", 2, "", "--kernel names kernels of a GPU"},
		{"bench --kernel tile_* --only step", 2, "", "--kernel names kernels of a GPU"},
		{"bench --only kernels", 2, "", `did you mean "kernel"?`},
		{"bench --only cpu -i a.mp4", 2, "", "hint: add end to --only"},
		{"bench --only end --plot a.svg", 2, "", "hint: add kernel or cpu to --only"},
		{"bench --device cuda:all", 2, "", "bench measures one GPU"},
		{"bench --device cuda:0,1", 2, "", "bench measures one GPU"},
		{"bench -r 16", 2, "", "hint: "},
		{"bench --plot /nonexistent/a.svg", 4, "", "nonexistent"},
		{"segments --help", 0, "usage: vidfilter segments", ""},
		{"segments", 2, "", "hint: vidfilter segments -i FILE"},
		{"segments -i a.mp4 b.mp4", 2, "", "unexpected argument"},
		{"segments -i a.mp4 --length 0", 2, "", "longer than 0"},
		{"segments -i /nonexistent/a.mp4", 3, "", "no such file"},
		{"cut --help", 0, "usage: vidfilter cut", ""},
		{"cut -i a.mp4 -o b.mov", 2, "", "--part A:B:N is missing"},
		{"cut -i a.mp4 --part 0:5:1", 2, "", "-o FILE is missing"},
		{"cut -i - -o b.mov --part 0:5:1", 2, "", "cut reads the input twice"},
		{"cut -i /nonexistent/a.mp4 -o b.mov --part 0:5:1", 3, "", "no such file"},
		{"devices x", 2, "", "hint: "},
		{"version x", 2, "", "hint: "},
		{"completion", 2, "", "hint: "},
		{"completion tcsh", 2, "", "hint: choose from bash, zsh, fish"},
		{"inof", 2, "", `did you mean "info"?`},
		{"in.mp4 out.mp4", 2, "", "hint: files go behind flags"},
		{"", 2, "", "vidfilter: no input"},
		{"-i a -o b.mp4 -y -n", 2, "", "hint: "},
	}
	for _, test := range tests {
		code, stdout, stderr := try(nil, strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", test.args, code, stdout, stderr)
		}
		if (stdout == "") != (test.code != 0) || (stderr == "") != (test.code == 0) {
			t.Errorf("%q: stdout %q, stderr %q", test.args, stdout, stderr)
		}
	}
}

func TestUsageErrorsInJSON(t *testing.T) {
	for _, args := range []string{"--progress json", "--bad --progress json", "-i a -o b.mp4 --progress json -r 24"} {
		code, stdout, stderr := try(nil, strings.Fields(args)...)
		done := wantJSONStream(t, stderr, exitUsage)
		if code != exitUsage || stdout != "" || done["hint"] == nil {
			t.Errorf("%q: exit code %d, %v", args, code, done)
		}
	}
}

func TestBashCompletion(t *testing.T) {
	_, script, _ := try(nil, "completion", "bash")
	check := exec.Command("bash", "-n")
	check.Stdin = strings.NewReader(script)
	if out, err := check.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tests := []struct{ words, want string }{
		{"vidfilter --dis", "--distance"},
		{"vidfilter -i a --ra", "--radius --range"},
		{"vidfilter --range gau", "gaussian"},
		{"vidfilter --range = lo", "lorentzian"},
		{"vidfilter --border =", "reflect clamp zero skip"},
		{"vidfilter dev", "devices"},
		{"vidfilter completion f", "fish"},
		{"vidfilter -i ", ""},
		{"vidfilter --crf 2", ""},
		{"vidfilter info a", ""},
		{"vidfilter info --j", "--json"},
		{"vidfilter ben", "bench"},
		{"vidfilter bench --k", "--kernel"},
		{"vidfilter bench --only s", "step"},
		{"vidfilter bench --device cuda", "cuda"},
		{"vidfilter bench -i ", ""},
		{"vidfilter segments --le", "--length"},
		{"vidfilter cut --pa", "--part"},
	}
	for _, test := range tests {
		if got := complete(t, script, test.words); got != test.want {
			t.Errorf("%q completes to %q, want %q", test.words, got, test.want)
		}
	}
}

// complete calls the function as bash does when tab is pressed behind words.
func complete(t *testing.T, script, words string) string {
	t.Helper()
	list := strings.Split(words, " ")
	var call strings.Builder
	call.WriteString(script + "\nCOMP_WORDS=(")
	for _, w := range list {
		call.WriteString("'" + w + "' ")
	}
	call.WriteString(")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_vidfilter\necho \"${COMPREPLY[*]}\"\n")
	out, err := exec.Command("bash", "-c", call.String()).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestCompletionsNameEveryFlag(t *testing.T) {
	completionsName(t, defaultOptions().flags())
	for _, fs := range ownFlags() {
		completionsName(t, fs)
	}
}

func completionsName(t *testing.T, fs *pflag.FlagSet) {
	t.Helper()
	for _, shell := range shells {
		_, script, _ := try(nil, "completion", shell)
		for _, name := range longNames(fs) {
			long := map[string]string{"bash": "--" + name, "zsh": "--" + name, "fish": "-l " + name}[shell]
			if !strings.Contains(script, long) {
				t.Errorf("%s: --%s is missing", shell, name)
			}
			for _, v := range valuesOf(fs.Lookup(name)) {
				if !strings.Contains(script, v) {
					t.Errorf("%s: %s of --%s is missing", shell, v, name)
				}
			}
		}
		if out, err := checkSyntax(shell, script); err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}

// checkSyntax asks the shell itself, where it is installed.
func checkSyntax(shell, script string) ([]byte, error) {
	path, err := exec.LookPath(shell)
	if err != nil {
		return nil, nil
	}
	c := exec.Command(path, "-n")
	c.Stdin = strings.NewReader(script)
	return c.CombinedOutput()
}
