package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vidfilter/kernels"
)

func TestHelpNamesEveryFlag(t *testing.T) {
	help := helpText()
	fs := defaultOptions().flags()
	for _, name := range longNames(fs) {
		f := fs.Lookup(name)
		if !regexp.MustCompile(`(?m)^  (-\w, )?--` + name + ` `).MatchString(help) {
			t.Errorf("--%s is missing", name)
		}
		if f.Shorthand != "" && !strings.Contains(help, "-"+f.Shorthand+", --"+name) {
			t.Errorf("-%s is missing", f.Shorthand)
		}
		if f.Usage == "" || !slices.Contains(groups, f.Annotations[groupKey][0]) {
			t.Errorf("--%s has no text or no group", name)
		}
	}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+)`).FindAllStringSubmatch(help, -1) {
		if !slices.Contains([]string{"json", "state", "server", "compile", "list"}, m[1]) && fs.Lookup(m[1]) == nil { // those are of commands
			t.Errorf("%s is in the help, but is no flag", m[0])
		}
	}
}

func TestHelpNamesValues(t *testing.T) {
	help := helpText()
	for _, list := range [][]string{
		kernels.FilterNames(), kernels.RangeNames(), kernels.DistanceNames(), kernels.BorderNames(), fieldOrders, compareNames,
		progressNames, deviceNames, formatNames(), shells, commandNames(),
	} {
		for _, name := range list {
			if !strings.Contains(help, name) {
				t.Errorf("%s is missing", name)
			}
		}
	}
}

// TestHelpDefaults holds the defaults in the texts against those in force.
func TestHelpDefaults(t *testing.T) {
	o, p := defaultOptions(), kernels.DefaultParams(3)
	for flag, value := range map[string]any{
		"radius": o.Params.Radius, "filter": p.Filter, "iterations": kernels.DefaultIterations, "sigma-r": p.SigmaR, "crf": o.CRF, "preset": o.Preset, "encoder": o.Encoder,
		"max-error-rate": o.MaxErrorRate, "threads": o.Threads, "range": o.Params.Range, "distance": o.Params.Distance,
		"border": o.Params.Border, "field-order": o.FieldOrder, "device": o.Device.Kind, "progress": o.Progress,
	} {
		usage, v := o.flags().Lookup(flag).Usage, fmt.Sprint(value)
		if !strings.Contains(usage, "(default "+v+")") && !strings.Contains(usage, v+" (default)") {
			t.Errorf("--%s: %q does not say that %s is the default", flag, usage, v)
		}
	}
	if usage, want := o.flags().Lookup("sigma-s").Usage, fmt.Sprintf("; recursive %d)", kernels.DefaultRecursiveSigmaS); !strings.Contains(usage, want) {
		t.Errorf("--sigma-s: %q does not say %q", usage, want)
	}
}

func TestHelpNamesExitCodes(t *testing.T) {
	help := strings.Join(strings.Fields(helpText()), " ")
	for i, code := range []int{0, 1, 2, 3, 4, 5, 6, 7, 130, 143} {
		if exitTexts[i].code != code {
			t.Errorf("exit code %d is not in its place", code)
		}
		if !strings.Contains(help, fmt.Sprintf("%d %s", code, exitTexts[i].text)) {
			t.Errorf("exit code %d is missing", code)
		}
	}
}

func TestHelpFitsAScreen(t *testing.T) {
	fits(t, helpText(), 72)
	for name := range ownFlags() {
		var out strings.Builder
		if code := run([]string{name, "--help"}, stdio{out: &out, err: &out}); code != 0 || out.Len() == 0 {
			t.Errorf("%s --help: exit code %d: %s", name, code, out.String())
		}
		fits(t, out.String(), 45)
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
