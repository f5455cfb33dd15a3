package batch

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/internal/hint"
	"vidfilter/internal/text"
)

const jobsHint = "a job file has output:, and jobs: with a list of files; its schema: vidfilter batch --schema"

func isJobFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(ending(name)))
}

type jobFile struct {
	output   string // as written
	name     string
	defaults []Setting
	batch    []Setting
	jobs     []jobEntry
}

type jobEntry struct {
	input    string // as written
	name     string // "": as for all
	options  []Setting
	priority int
	where    string // file:line
}

// jobReader reads a job file, strictly.
type jobReader struct {
	name       string    // of the file, for errors
	flags, own flagTable // own may be empty: the batch's options are not read

	locate func(name string) (string, error) // where a file lies that an option names; nil: as written
}

func (r *jobReader) parse(data []byte) (*jobFile, error) {
	doc, err := parseDocument(r.name, data)
	if err != nil {
		return nil, err
	}
	f := &jobFile{}
	err = r.object(doc, map[string]func(*node) error{
		"$schema":  func(n *node) error { _, err := r.text(n); return err }, // editors look there
		"output":   func(n *node) (err error) { f.output, err = r.text(n); return err },
		"name":     func(n *node) (err error) { f.name, err = r.template(n); return err },
		"defaults": func(n *node) (err error) { f.defaults, err = r.settings(r.flags, n); return err },
		"batch": func(n *node) (err error) {
			if r.own.FlagSet != nil {
				f.batch, err = r.settings(r.own, n)
			}
			return err
		},
		"jobs": func(n *node) (err error) { f.jobs, err = r.jobs(n); return err },
	})
	if err != nil {
		return nil, err
	}
	if len(f.jobs) == 0 {
		return nil, r.errorf(doc, jobsHint, "jobs: is missing")
	}
	return f, nil
}

func (r *jobReader) where(n *node) string { return fmt.Sprintf("%s:%d", r.name, n.line) }

func (r *jobReader) errorf(n *node, hint, format string, args ...any) error {
	return errorf(hint, "%s: %s", r.where(n), fmt.Sprintf(format, args...))
}

// object calls the reader of each key.
func (r *jobReader) object(n *node, keys map[string]func(*node) error) error {
	if n.kind != isObject {
		return r.errorf(n, jobsHint, "here should be %s, not %s", isObject, n.kind)
	}
	for i, k := range n.keys {
		read := keys[k.text]
		if read == nil {
			known := slices.Sorted(maps.Keys(keys))
			return r.at(k, unknown("key", k.text, known, "known here: "+strings.Join(known, ", ")))
		}
		if err := read(n.items[i]); err != nil {
			return err
		}
	}
	return nil
}

// at prefixes an error with its line.
func (r *jobReader) at(n *node, err error) error {
	return errorf(hint.Of(err), "%s: %v", r.where(n), err)
}

func (r *jobReader) text(n *node) (string, error) {
	if n.kind == isText || n.kind == isWhole || n.kind == isNumber { // a file may be called 1999
		if n.text == "" || strings.ContainsRune(n.text, 0) {
			return "", r.errorf(n, jobsHint, "the text is empty, or holds a NUL byte")
		}
		return n.text, nil
	}
	return "", r.errorf(n, "put it in quotes if it is one", "here should be %s, not %s", isText, n.kind)
}

func (r *jobReader) template(n *node) (string, error) {
	s, err := r.text(n)
	if err != nil {
		return "", err
	}
	if _, err := parseTemplate(s); err != nil {
		return "", r.at(n, err)
	}
	return s, nil
}

func (r *jobReader) jobs(n *node) (jobs []jobEntry, err error) {
	if n.kind != isList || len(n.items) == 0 {
		return nil, r.errorf(n, jobsHint, "jobs: should be a list")
	}
	for _, item := range n.items {
		j, err := r.job(item)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func (r *jobReader) job(n *node) (j jobEntry, err error) {
	j.where = r.where(n)
	if n.kind != isObject {
		j.input, err = r.text(n)
		return j, err
	}
	err = r.object(n, map[string]func(*node) error{
		"input":    func(n *node) (err error) { j.input, err = r.text(n); return err },
		"name":     func(n *node) (err error) { j.name, err = r.template(n); return err },
		"options":  func(n *node) (err error) { j.options, err = r.settings(r.flags, n); return err },
		"priority": func(n *node) (err error) { j.priority, err = r.whole(n); return err },
	})
	if err == nil && j.input == "" {
		err = r.errorf(n, "give it the file, glob or folder to filter", "the job has no input:")
	}
	return j, err
}

func (r *jobReader) whole(n *node) (int, error) {
	x, err := strconv.ParseInt(n.text, 10, 32)
	if n.kind != isWhole || err != nil {
		return 0, r.errorf(n, fmt.Sprintf("0 is usual, up to %d; larger comes first", math.MaxInt32), "a priority is a whole number")
	}
	return int(x), nil
}

// settings reads a mapping of flags to values.
func (r *jobReader) settings(flags flagTable, n *node) (all []Setting, err error) {
	if n.kind != isObject {
		return nil, r.errorf(n, "as in {radius: 3, crf: 20}", "here should be %s of options, not %s", isObject, n.kind)
	}
	for i, key := range n.keys {
		f, err := flags.find(key.text)
		if err != nil {
			return nil, r.at(key, err)
		}
		of, err := r.setting(f, n.items[i])
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	if a, b := flags.excluded(all); a != "" {
		return nil, r.errorf(n, "give one of them", "%s and %s exclude each other", a, b)
	}
	return all, nil
}

func (r *jobReader) setting(f *pflag.Flag, n *node) (all []Setting, err error) {
	if n.kind != isList || !repeats(f) {
		s, err := r.value(f, n)
		return []Setting{s}, err
	}
	for _, item := range n.items {
		s, err := r.value(f, item)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (r *jobReader) value(f *pflag.Flag, n *node) (Setting, error) {
	switch scalar := n.kind == isText || n.kind == isWhole || n.kind == isNumber; {
	case isSwitch(f) && n.kind != isBool:
		return Setting{}, r.errorf(n, "give true or false", "%s is a switch, and cannot be %s", f.Name, n.kind)
	case isSwitch(f):
	case !scalar:
		return Setting{}, r.errorf(n, takes(f), "%s: %s is no value for it", f.Name, n.kind)
	case n.text == "" || strings.ContainsRune(n.text, 0):
		return Setting{}, r.errorf(n, takes(f), "%s: the value is empty, or holds a NUL byte", f.Name)
	}
	value, err := n.text, error(nil)
	if r.locate != nil && r.isFile(f) && !isInline(value) {
		if value, err = r.locate(value); err != nil {
			return Setting{}, r.at(n, err)
		}
	}
	s, err := checked(f, value)
	if err != nil {
		return s, r.at(n, err)
	}
	s.Where = r.where(n)
	return s, nil
}

// isFile reports whether an option of jobs names a file.
func (r *jobReader) isFile(f *pflag.Flag) bool {
	return f.Value.Type() == "FILE" && r.flags.Lookup(f.Name) == f
}

//go:embed schema.json
var schemaJSON []byte

// Schema returns the JSON Schema of job files, with the flags of the main job and the batch's own
// filled in.
func Schema(flags, own *pflag.FlagSet) []byte {
	var root map[string]any
	if err := json.Unmarshal(schemaJSON, &root); err != nil {
		panic("batch: schema.json: " + err.Error()) // it is part of the program
	}
	defs := root["$defs"].(map[string]any)
	defs["options"].(map[string]any)["properties"] = properties(flags)
	defs["batch"].(map[string]any)["properties"] = properties(own)
	var b bytes.Buffer
	if err := text.JSON(&b, root); err != nil {
		panic("batch: schema.json: " + err.Error())
	}
	return b.Bytes()
}

func properties(flags *pflag.FlagSet) map[string]any {
	all := map[string]any{}
	for _, f := range (flagTable{flags}).all() {
		all[f.Name] = property(f)
	}
	return all
}

func property(f *pflag.Flag) map[string]any {
	p := map[string]any{"description": f.Usage}
	if c, ok := f.Value.(interface{ Choices() []string }); ok && len(c.Choices()) > 0 {
		p["examples"] = c.Choices()
	}
	value := map[string]any{"$ref": "#/$defs/text"}
	switch {
	case isSwitch(f):
		p["type"] = "boolean"
	case repeats(f):
		p["anyOf"] = []any{value, map[string]any{"type": "array", "items": value}}
	default:
		p["$ref"] = "#/$defs/text"
	}
	return p
}
