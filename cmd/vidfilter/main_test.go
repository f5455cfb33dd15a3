package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// try runs the program in this process.
func try(env []string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, terminal.Stdio{In: strings.NewReader(""), Out: &out, Err: &err, Env: env})
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
		{"version --licenses", 0, "GNU General Public License, version 3", ""},
		{"--version", 0, "vidfilter ", ""},
		{"devices", 0, "cpu ", ""},
		{"devices --compile", 5, "", "hint: "},
		{"bench --help", 0, "usage: vidfilter bench", ""},
		{"bench -h", 0, "  --kernel GLOB", ""},
		{"help bench", 0, "usage: vidfilter bench", ""},
		{"help options", 0, "  --max-error-rate X", ""},
		{"help bnech", 2, "", `did you mean "bench"?`},
		{"help nonsense", 2, "", "hint: commands: agent, batch, bench"},
		{"bench x", 2, "", "hint: vidfilter bench -i FILE"},
		{"bench --size 4.5k", 2, "", "hint: a size is"},
		{"bench --size 63x48", 2, "", "hint: both sides are even"},
		{"bench --size 8x8", 2, "", "hint: both sides are even"},
		{"bench --kernel tile_lorentzain_r3", 2, "", `did you mean "tile_lorentzian_r3"?`},
		{"bench --kernel none", 2, "", "hint: there are tile_*"},
		{"bench --kernel [", 2, "", "not a pattern"},
		{"bench --kernel tensor_* -r 1", 2, "", "no such kernel has these radii"},
		{"bench --kernel tile_* --device cpu", 2, "", "--kernel names kernels of a GPU"},
		{"bench --kernel tile_* --only step", 2, "", "--kernel names kernels of a GPU"},
		{"bench --only kernels", 2, "", `did you mean "kernel"?`},
		{"bench --only cpu -i a.mp4", 2, "", "hint: add end to --only"},
		{"bench --device cuda:all", 2, "", "bench measures one GPU"},
		{"bench --device cuda:0,1", 2, "", "bench measures one GPU"},
		{"bench -r 16", 2, "", "hint: "},
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
		{"completion tcsh", 2, "", "hint: choose from bash, fish, powershell, zsh"},
		{"inof", 2, "", `did you mean "info"?`},
		{"in.mp4 out.mp4", 2, "", "hint: one file: vidfilter in.mp4"},
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

// TestVersionVariable: packagers like VIDFILTER_VERSION, which must not ask for the version.
func TestVersionVariable(t *testing.T) {
	if code, stdout, stderr := try([]string{"VIDFILTER_VERSION=1.2"}, "-i", "a"); code != contract.ExitUsage || stdout != "" || !strings.Contains(stderr, "no output") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestUsageErrorsInJSON(t *testing.T) {
	for _, args := range []string{"--progress json", "--bad --progress json", "-i a -o b.mp4 --progress json -r 24"} {
		code, stdout, stderr := try(nil, strings.Fields(args)...)
		done := e2e.JSONLines(t, stderr, contract.ExitUsage)
		if code != contract.ExitUsage || stdout != "" || done["hint"] == nil {
			t.Errorf("%q: exit code %d, %v", args, code, done)
		}
	}
}

func TestCompletion(t *testing.T) {
	for words, want := range map[string]string{
		"--bor":                 "--border",
		"-i a --ra":             "--radius --range",
		"--range gau":           "lorentzian gaussian",
		"--range=lo":            "lorentzian gaussian", // shells filter by the prefix
		"--border ":             "reflect clamp",
		"dev":                   "devices",
		"completion f":          "fish",
		"-i ":                   "",
		"--crf 2":               "",
		"info a":                "",
		"info --j":              "--json",
		"ben":                   "bench",
		"bench --k":             "--kernel",
		"bench --only s":        "denoise filters kernel step end cpu live start",
		"bench --device cuda":   "auto cpu cuda",
		"bench -i ":             "",
		"segments --le":         "--length",
		"cut --pa":              "--part",
		"seg":                   "",
		"-i a -o b.mp4 --devic": "--device",
	} {
		if got := strings.Join(complete(t, words), " "); got != want {
			t.Errorf("%q completes to %q, want %q", words, got, want)
		}
	}
}

// complete returns the words that a shell offers when tab is pressed.
func complete(t *testing.T, words string) (offered []string) {
	t.Helper()
	code, out, _ := try(nil, append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Split(words, " ")...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || !strings.HasPrefix(lines[len(lines)-1], ":") {
		t.Fatalf("%q: exit code %d: %q", words, code, out)
	}
	return lines[:len(lines)-1]
}

func TestCompletionOffersEveryFlag(t *testing.T) {
	shortSkip(t)
	for _, cmd := range allCommands() {
		path := strings.TrimPrefix(cmd.CommandPath()+" ", "vidfilter ")
		offered := complete(t, path+"--")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !slices.Contains(offered, "--"+f.Name) {
				t.Errorf("%s--%s is not offered: %q", path, f.Name, offered)
			}
			c, named := f.Value.(interface{ Choices() []string })
			before := " "
			if f.NoOptDefVal != "" {
				before = "="
			}
			if named && !slices.Equal(complete(t, path+"--"+f.Name+before), append([]string(nil), c.Choices()...)) {
				t.Errorf("%s--%s: its values are not offered", path, f.Name)
			}
		})
	}
}

// allCommands are the root command and all below it that we define.
func allCommands() []*cobra.Command {
	a := new(app)
	root := a.command()
	a.addAllCommands(root)
	return slices.DeleteFunc(append(root.Commands(), root), func(c *cobra.Command) bool {
		return slices.Contains([]string{"help", "completion", "options", "footage"}, c.Name())
	})
}

// TestCompletionScripts asks the shells that are installed whether they can read their scripts.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, script, stderr := try(nil, "completion", shell)
		if code != 0 || len(script) < 1000 {
			t.Errorf("%s: exit code %d, %q", shell, code, stderr)
		}
		path, err := exec.LookPath(shell)
		if err != nil || shell == "powershell" {
			continue
		}
		check := exec.Command(path, "-n")
		check.Stdin = strings.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}

// TestManual: each command that is not hidden has a page, which lists its options.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := try(nil, "man", dir); code != 0 {
		t.Fatal(stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "vidfilter.1"))
	if err != nil || !strings.Contains(string(page), `\fB\-\-radius\fP=N`) || strings.Contains(string(page), "--join") {
		t.Errorf("%v: %s", err, page)
	}
	for _, cmd := range allCommands() {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil == cmd.Hidden {
			t.Errorf("%s: hidden %v, error %v", name, cmd.Hidden, err)
		}
	}
	if code, _, _ := try(nil, "man", "/dev/null/x"); code != contract.ExitOutput {
		t.Errorf("exit code %d for a folder that cannot be made", code)
	}
}

// TestStart: a start builds the commands that its arguments name, and packages leave their tables
// and patterns to their first use.
func TestStart(t *testing.T) {
	for line, want := range map[string]string{
		"-i a -o b": "", "--version": "", "batch a -o b": "batch", "help": "all", "__complete ": "all", "--quiet info a": "info",
	} {
		a := new(app)
		root := a.command()
		a.addCommands(root, strings.Fields(line))
		names := slices.DeleteFunc(commandNames(root), func(n string) bool { return n == "help" || n == "completion" })
		if got := strings.Join(names, " "); got != want && (want != "all" || len(names) < 12) {
			t.Errorf("%q builds %q instead of %q", line, got, want)
		}
	}
	cmd := exec.Command("vidfilter", "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	e2e.Must(t, err)
	all := 0
	for _, m := range regexp.MustCompile(`(?m)^init vidfilter/.* (\d+) bytes`).FindAllSubmatch(out, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		all += n
	}
	if all < 1000 || all > 640<<10 {
		t.Errorf("packages take %d bytes before anything runs", all)
	}
}
