package batch

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

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
