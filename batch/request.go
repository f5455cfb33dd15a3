package batch

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// requestFile and requestJob are a job file to be read by another machine.
type requestFile struct {
	Output   string         `json:"output"`
	Name     string         `json:"name"`
	Defaults map[string]any `json:"defaults,omitempty"`
	Batch    map[string]any `json:"batch,omitempty"`
	Jobs     []requestJob   `json:"jobs"`
}

type requestJob struct {
	Input    string         `json:"input"`
	Name     string         `json:"name,omitempty"`
	Options  map[string]any `json:"options,omitempty"`
	Priority int            `json:"priority,omitempty"`
}

// JobFile returns a job file that makes the same plan in every folder and environment. Its names
// are absolute. own are the options under batch:, whose names of files are absolute.
func (p *Plan) JobFile(own []Setting) ([]byte, error) {
	values := func(flags flagTable, of []Setting) map[string]any {
		all := map[string]any{}
		for _, s := range of {
			switch f := flags.Lookup(s.Name); {
			case isSwitch(f):
				all[s.Name] = s.Value == "true"
			case repeats(f):
				list, _ := all[s.Name].([]string)
				all[s.Name] = append(list, s.Value)
			default:
				all[s.Name] = p.absoluteFile(f, s.Value)
			}
		}
		return all
	}
	file := requestFile{
		Output: p.Root, Name: p.base.name, Defaults: values(p.flags, p.flags.merge(p.low, p.high)),
		Batch: values(flagTable{p.req.Own}, own),
	}
	for _, s := range p.sources {
		file.Jobs = append(file.Jobs, requestJob{s.absolute(), s.name, values(p.flags, s.options), s.priority})
	}
	return json.Marshal(file)
}

// absoluteFile returns the value of an option, which may be the name of a file.
func (p *Plan) absoluteFile(f *pflag.Flag, value string) string {
	if f.Value.Type() == "FILE" && !isInline(value) {
		return p.absolute(value)
	}
	return value
}

// isInline reports whether an option has the content of a file in place of its name.
func isInline(value string) bool { return strings.HasPrefix(value, "{") }

// absolute returns the name or the pattern of a source.
func (s source) absolute() string {
	name := under(s.dir, s.input)
	if filepath.IsAbs(s.input) || s.literal || exists(name) || !strings.ContainsAny(s.input, `*?[`) {
		return name
	}
	return filepath.Join(quoteMeta(s.dir), s.input)
}

// CheckJobFile checks a job file that another machine is to run, and returns the folder of its
// outputs. All names must be absolute. name stands for the file in errors, which name the line.
func CheckJobFile(name string, data []byte, flags, own *pflag.FlagSet, check func(output string, args []string) error) (root string, err error) {
	if !isJobFile(name) {
		name += ".yaml"
	}
	p := &Plan{flags: flagTable{flags}, req: Request{Check: check}, checked: map[string]error{}}
	r := jobReader{name: name, flags: p.flags, own: flagTable{own}, locate: func(file string) (string, error) {
		return file, isAbsolute(file)
	}}
	f, err := r.parse(data)
	if err != nil {
		return "", err
	}
	p.base.name, p.low = DefaultName, f.defaults
	for _, s := range f.batch {
		if own.Lookup(s.Name).Value.Type() == "FILE" {
			err = errors.Join(err, source{jobEntry: jobEntry{where: s.Where}}.located(isAbsolute(s.Value)))
		}
	}
	if err == nil && f.output == "" {
		err = errorf(jobsHint, "%s: output: is missing", name)
	}
	if err == nil {
		err = isAbsolute(f.output)
	}
	for _, j := range f.jobs {
		if err == nil {
			err = source{jobEntry: j}.located(isAbsolute(j.input))
		}
		if err == nil {
			_, err = p.resolve(source{jobEntry: j})
			err = source{jobEntry: j}.located(err)
		}
	}
	return filepath.Clean(f.output), err
}

func isAbsolute(name string) error {
	if filepath.IsAbs(name) {
		return nil
	}
	return errorf("write it from the root, as /films/tape.mkv", "%q is not an absolute name", name)
}

// ErrOutside is the error of a name that is not below Request.Within.
var ErrOutside = errors.New("it is outside of the folder of this agent")

// within refuses names outside of Request.Within.
func (p *Plan) within(name string) error {
	if p.req.Within == "" {
		return nil
	}
	_, err := Below(p.req.Within, name)
	if err == nil && slices.Contains(strings.Split(name, "/"), "..") { // a link may lead elsewhere
		err = outside(p.req.Within, name)
	}
	return err
}

// Below returns an absolute name relative to the folder of an agent, or ErrOutside. It goes by the
// name alone, so links still need an os.Root.
func Below(folder, name string) (rel string, err error) {
	rel, err = filepath.Rel(folder, name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", outside(folder, name)
	}
	return rel, nil
}

func outside(folder, name string) error { return fmt.Errorf("%q: %w, %q", name, ErrOutside, folder) }

// allWithin refuses a source and its options if they name files outside of Request.Within.
func (p *Plan) allWithin(from source) error {
	err := p.within(from.input)
	for _, s := range p.flags.merge(p.low, p.high, from.options) {
		if f := p.flags.Lookup(s.Name); err == nil && f.Value.Type() == "FILE" && !isInline(s.Value) {
			err = p.within(s.Value)
		}
	}
	return err
}

// OneJob is a job file for one source, to be written by another part of the program.
type OneJob struct {
	Comment string // its first line, without the #
	Output  string // folder
	Name    string // template
	Input   string
	Options []Option // as defaults: jobs that are added to the file have them too
}

// Option is an option with its value: a number, a text or a bool.
type Option struct {
	Name  string
	Value any
}

// YAML returns the file.
func (j OneJob) YAML() ([]byte, error) {
	file := yaml.MapSlice{{Key: "output", Value: j.Output}, {Key: "name", Value: j.Name}}
	if len(j.Options) > 0 {
		var options yaml.MapSlice
		for _, o := range j.Options {
			options = append(options, yaml.MapItem{Key: o.Name, Value: o.Value})
		}
		file = append(file, yaml.MapItem{Key: "defaults", Value: options})
	}
	b, err := yaml.Marshal(append(file, yaml.MapItem{Key: "jobs", Value: []string{j.Input}}))
	if err != nil {
		return nil, fmt.Errorf("write a job file: %w", err)
	}
	return append([]byte("# "+j.Comment+"\n"), b...), nil
}

// FirstOptions returns the options of the first job in a job file, with the defaults below them.
// flags are those of the main job; the options of the batch itself are not looked at. name stands
// for the file in errors, which name the line.
func FirstOptions(name string, data []byte, flags *pflag.FlagSet) ([]Setting, error) {
	r := jobReader{name: name, flags: flagTable{flags}}
	f, err := r.parse(data)
	if err != nil {
		return nil, err
	}
	return r.flags.merge(f.defaults, f.jobs[0].options), nil
}
