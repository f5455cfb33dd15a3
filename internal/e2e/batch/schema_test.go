package batch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"vidfilter/internal/e2e"
)

// property is an option in the schema of job files.
type property struct {
	Type, Description string
	Examples          []string
}

// samples are valid values of options that have neither examples nor a number as their default.
var samples = map[string]string{
	"format": "mkv", "input-format": "mov", "encoder": "libx264", "bitrate": "5M", "gop": "12", "x264-params": "ref=2", "encoder-params": "ref=2",
	"pixel-format": "yuv420p", "map": "[v, 'a?']", "start": "'0:00.1'", "duration": "10", "frames": "5", "max-pixels": "100M",
	"sigma-s": "1.5", "noise": "7", "noise-from": "0", "retries": "3", "priority": "1", "hours": "'00:00-24:00'", "quarantine-after": "2", "segment": "30", "stall-timeout": "5m", "min-free": "1MB", "report": "r.json",
	"before": "bwdif=1", "crop": "'64:48'", "chroma-shift": "'-4,-2'", "scale": "0.5", "fps": "'25'", "after": "hflip",
}

var byDefault = regexp.MustCompile(`\(default ([0-9.]+)|([0-9.]+) \(default\)`)

// good returns a value that the option takes, or "".
func (p property) good(name string) string {
	switch m := byDefault.FindStringSubmatch(p.Description); {
	case p.Type == "boolean":
		return "true"
	case samples[name] != "":
		return samples[name]
	case len(p.Examples) > 0:
		return p.Examples[0]
	case m != nil:
		return m[1] + m[2]
	}
	return ""
}

// bad returns a value that the option refuses, such as an empty text.
func (p property) bad(name string) string {
	if samples[name] != "" {
		return "''"
	}
	return "'no such value'"
}

// TestSchemaOptions has the built program read each option that the schema lists, in a job file.
func TestSchemaOptions(t *testing.T) {
	e2e.Start(t, true)
	dir := filepath.Dir(folder(t, "short.mp4"))
	var schema struct {
		Defs map[string]struct{ Properties map[string]property } `json:"$defs"`
	}
	profile := filepath.Join(dir, "noise.json")
	begin(t, "info", "--noise", "--save", profile, filepath.Join(dir, "in", "short.mp4")).end(0)
	e2e.Must(t, json.Unmarshal([]byte(printed(t, "batch", "--schema")), &schema))
	try := func(section, name, value string, code int) string {
		file := filepath.Join(dir, fmt.Sprintf("%s-%s-%d.yaml", section, name, code))
		e2e.Put(t, file, fmt.Appendf(nil, "output: out\njobs: [in/short.mp4]\n%s:\n  %s: %s\n", section, name, value))
		return begin(t, "batch", file, "--dry-run").end(code)
	}
	for def, section := range map[string]string{"options": "defaults", "batch": "batch"} {
		options := schema.Defs[def].Properties
		if len(options) < 5 {
			t.Errorf("the schema lists %d options under %s", len(options), def)
		}
		for _, name := range slices.Sorted(maps.Keys(options)) {
			p := options[name]
			good := p.good(name)
			switch name {
			case "noise-profile":
				good = profile
			case "previews":
				good += "\n  report: r.html"
			}
			try(section, name, cmp.Or(good, "no sample of "+name), 0)
			e2e.Contains(t, try(section, name, p.bad(name), 2), fmt.Sprintf("%s-%s-2.yaml:", section, name), name, "hint: ")
		}
	}
}

// TestFormat: format in a job file chooses the container, and the name's ending follows.
func TestFormat(t *testing.T) {
	e2e.Start(t, true)
	dir := filepath.Dir(folder(t, "short.mp4"))
	e2e.Put(t, filepath.Join(dir, "night.yaml"), []byte("output: out\njobs:\n  - {input: in/short.mp4, options: {format: mkv}}\n"))
	e2e.Contains(t, begin(t, "batch", filepath.Join(dir, "night.yaml")).end(0), "1 done")
	if got := look(t, filepath.Join(dir, "out", "short.mkv")); got.frames != 15 {
		t.Errorf("%+v", got)
	}
	e2e.Put(t, filepath.Join(dir, "null.yaml"), []byte("output: none\njobs:\n  - {input: in/short.mp4, options: {format: 'null'}}\n"))
	e2e.Contains(t, begin(t, "batch", filepath.Join(dir, "null.yaml")).end(2), "null.yaml:3", "a batch keeps what it makes")
}
