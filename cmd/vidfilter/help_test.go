package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"vidfilter/encode/formats"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/filters"
	"vidfilter/kernels"
)

// optionsHelp is vidfilter help options.
func optionsHelp(t *testing.T) string {
	_, help, _ := try(nil, "help", "options")
	return help
}

func TestHelpNamesEveryFlag(t *testing.T) {
	help := optionsHelp(t)
	fs := job.NewOptions().Flags()
	fs.VisitAll(func(f *pflag.Flag) {
		pattern := `(?m)^      --` + f.Name + `( |$)`
		if f.Shorthand != "" {
			pattern = `(?m)^  -` + f.Shorthand + `, --` + f.Name + `( |$)`
		}
		if regexp.MustCompile(pattern).MatchString(help) == f.Hidden {
			t.Errorf("--%s is missing, or shown though hidden", f.Name)
		}
		if f.Usage == "" || !slices.Contains(job.Groups, cli.GroupOf(f)) {
			t.Errorf("--%s has no text or no group", f.Name)
		}
	})
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+)`).FindAllStringSubmatch(help, -1) {
		if !slices.Contains([]string{"list", "save"}, m[1]) && fs.Lookup(m[1]) == nil { // of vidfilter lab and info
			t.Errorf("%s is in the help, but is no flag", m[0])
		}
	}
}

func TestHelpNamesValues(t *testing.T) {
	help := optionsHelp(t)
	for _, o := range kernels.Options() {
		first, _, _ := strings.Cut(o.Usage(), " ")
		if !strings.Contains(help, "--"+o.Name) || !strings.Contains(help, first) {
			t.Errorf("--%s: %q is missing", o.Name, o.Usage())
		}
	}
	for _, list := range [][]string{
		kernels.FieldOrder.Names, job.CompareNames, job.ProgressNames, filters.DeviceNames, formats.Names(),
	} {
		for _, name := range list {
			if !strings.Contains(help, name) {
				t.Errorf("%s is missing", name)
			}
		}
	}
}

func TestHelpNamesCommands(t *testing.T) {
	_, help, _ := try(nil, "--help")
	for _, cmd := range allCommands() {
		if cmd.HasParent() && regexp.MustCompile(`(?m)^  `+cmd.Name()+`  `).MatchString(help) == cmd.Hidden {
			t.Errorf("%s is missing, or shown though hidden", cmd.Name())
		}
	}
	for _, plumbing := range []string{"segments", "cut", "man", "--part", "--join"} {
		if strings.Contains(help, "  "+plumbing) {
			t.Errorf("%s is shown", plumbing)
		}
	}
}

// TestHelpDefaults holds the defaults in the texts against those in force.
func TestHelpDefaults(t *testing.T) {
	o := job.NewOptions()
	for flag, value := range map[string]any{
		"crf": o.CRF, "preset": o.Preset, "encoder": o.Encoder,
		"max-error-rate": o.MaxErrorRate, "threads": o.Threads,
		"field-order": o.FieldOrder, "device": o.Device.Kind, "progress": o.Progress,
	} {
		usage, v := o.Flags().Lookup(flag).Usage, fmt.Sprint(value)
		if !strings.Contains(usage, "(default "+v+")") && !strings.Contains(usage, v+" (default)") {
			t.Errorf("--%s: %q does not say that %s is the default", flag, usage, v)
		}
	}
}

func TestHelpNamesExitCodes(t *testing.T) {
	for _, args := range []string{"--help", "help options"} {
		_, help, _ := try(nil, strings.Fields(args)...)
		help = strings.Join(strings.Fields(help), " ")
		for i, code := range []int{0, 1, 2, 3, 4, 5, 6, 7, 130, 131, 141, 143} {
			if contract.ExitTexts[i].Code != code {
				t.Errorf("exit code %d is not in its place", code)
			}
			if !strings.Contains(help, fmt.Sprintf("%d %s", code, contract.ExitTexts[i].Text)) {
				t.Errorf("%s: exit code %d is missing", args, code)
			}
		}
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, cmd := range allCommands() {
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		code, help, stderr := try(nil, args...)
		if code != 0 || stderr != "" || !strings.Contains(help, "usage: "+cmd.UseLine()) {
			t.Errorf("%q: exit code %d: %s%s", args, code, help, stderr)
		}
		if cmd.Name() == "version" {
			continue
		}
		if !strings.Contains(help, "Exit codes: 0 done, 1 failed, 2 usage") || cmd.Example == "" || !strings.Contains(help, cmd.Example) {
			t.Errorf("%q has no exit codes or no examples: %s", args, help)
		}
	}
}

func TestHelpFitsAScreen(t *testing.T) {
	_, help, _ := try(nil, "--help")
	fits(t, help, 40)
	if lines := strings.SplitN(help, "\n", 4); len(lines) != 4 || strings.Count(strings.Join(lines[:3], "\n"), "  vidfilter ") != 3 {
		t.Errorf("the help does not start with three examples: %s", help)
	}
	fits(t, optionsHelp(t), 90)
	for _, cmd := range allCommands() {
		if cmd.HasParent() {
			_, help, _ := try(nil, cmd.Name(), "--help")
			fits(t, help, 80)
		}
	}
}

func fits(t *testing.T, help string, lines int) {
	t.Helper()
	all := strings.Split(help, "\n")
	if len(all) > lines {
		t.Errorf("%d lines: %s", len(all), all[0])
	}
	for _, line := range all {
		if len(line) > helpWidth {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}
