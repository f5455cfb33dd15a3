package batch

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"vidfilter/internal/durable"
)

// Request is what the person asked for.
type Request struct {
	Sources []string  // folders, globs, files, @LIST, - (a list on Stdin), or one job file
	Stdin   io.Reader // for -
	Root    string    // where outputs go, relative to Dir; "" leaves it to the job file
	Name    string    // template of names; "" leaves it to the job file, then DefaultName
	Args    []string  // flags of the main job as typed, without those that a batch sets itself
	Shallow bool      // leave out what lies in folders below those given
	Watch   bool      // files are added later, too: names cannot depend on their number, and no sources are fine

	Dir   string   // what relative names are relative to; absolute
	Home  string   // what ~ stands for in a job file
	Env   []string // VIDFILTER_CRF=20 and the like count as flags of the lowest rank
	Flags []Flag   // of the main job
	Own   []Flag   // of the batch, that a job file may set under batch:

	// Check judges the flags of a job, in the order of Flags and with --, as the main job would. May be nil.
	Check func(args []string) error
}

// Plan is a request understood.
type Plan struct {
	Root     string    // absolute
	Items    []Item    // in the order of the request; priorities are the caller's to heed
	Problems []Problem // sources that are left out, while the rest goes on
	Batch    []Setting // what the job file says under batch:

	req   Request
	flags flagTable
	taken taken
	base  jobEntry  // what holds where a job says nothing
	low   []Setting // environment and defaults
	high  []Setting // the command line
	index int       // of the last file
}

// Item is one output to be made.
type Item struct {
	Source   string   // absolute
	Output   string   // below the root, with slashes; never absolute, never begins with a dash
	Args     []string // flags of the main job: in the order of its table, as --name=value
	Deciding []string // those of Args that decide about the result
	Priority int      // larger comes first

	where string // of the job, for errors
}

// OutputPath returns where the output goes.
func (i Item) OutputPath(root string) string {
	return filepath.Join(root, filepath.FromSlash(i.Output))
}

// Problem is a source that is left out.
type Problem struct {
	Source string
	Where  string // file:line of the job file or list, or ""
	Err    error
}

func (p Problem) Error() string {
	if p.Where != "" {
		return p.Where + ": " + p.Err.Error()
	}
	return p.Err.Error()
}

func (p Problem) Unwrap() error { return p.Err }

// Hint says what to do, or is "".
func (p Problem) Hint() string { return hintOf(p.Err) }

// Expand finds out what is to be done. It reads folders, lists and job files, and no video. An error means that nothing is to be
// begun: the request is not what the person meant. What is wrong with a single file of a list, a job file or a folder is a
// Problem of the plan instead. ctx ends the reading of large folders.
//
// Where flags are given in more than one place, a job's own options win over the command line, the command line over the job file's
// defaults, and these over the environment; a job's own name wins over the command line's, and that over the job file's.
func Expand(ctx context.Context, req Request) (*Plan, error) {
	p := &Plan{req: req, flags: req.Flags, taken: newTaken()}
	jobs, err := p.read()
	if err != nil {
		return nil, err
	}
	if p.Root, err = p.root(); err != nil {
		return nil, err
	}
	e := expansion{Plan: p, ctx: ctx}
	for _, j := range jobs {
		if err := e.job(j); err != nil {
			return nil, err
		}
	}
	if err := p.taken.check(p.Root); err != nil {
		return nil, err
	}
	if len(p.Items)+len(p.Problems) == 0 && !req.Watch {
		return nil, errorf("videos are known by their endings, as .mp4 .mkv .avi; any file can be named itself", "there is no video to filter")
	}
	return p, nil
}

// source is a source with what is said of it.
type source struct {
	jobEntry
	dir     string // what input is relative to
	literal bool   // no glob
	lenient bool   // what is wrong with it is a Problem
}

// read reads the arguments, and the job file if there is one, into sources.
func (p *Plan) read() (all []source, err error) {
	if p.low, err = p.flags.environment(p.req.Env); err != nil {
		return nil, err
	}
	if p.high, err = p.flags.parse(p.req.Args); err != nil {
		return nil, err
	}
	if a, b := p.flags.excluded(p.high); a != "" {
		return nil, errorf("give one of them", "--%s and --%s exclude each other", a, b)
	}
	if len(p.req.Sources) == 0 && !p.req.Watch {
		return nil, errorf("vidfilter batch FOLDER -o FOLDER", "no sources: what is to be filtered?")
	}
	p.base.name = firstOf(p.req.Name, DefaultName)
	for _, s := range p.req.Sources {
		of, err := p.argument(s)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	t, err := parseTemplate(p.base.name)
	if err == nil && p.req.Watch && t.uses("index") {
		err = errorf("use {stem} or {name}", "files that come one by one cannot be numbered: another run would count anew")
	}
	return all, err
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func (p *Plan) argument(s string) ([]source, error) {
	list, isList := strings.CutPrefix(s, "@")
	switch {
	case s == "":
		return nil, errorf("leave it out", "a source has no name")
	case s == "-":
		return p.list("stdin", p.req.Stdin)
	case isList && !exists(p.absolute(s)):
		return p.listFile(list)
	case isJobFile(s) && !durable.IsDir(p.absolute(s)):
		if len(p.req.Sources) > 1 {
			return nil, errorf("write the other sources into it, or run it by itself", "the job file %q is not the only source", s)
		}
		return p.jobFile(s)
	}
	return []source{{jobEntry: jobEntry{input: s}, dir: p.req.Dir}}, nil
}

func (p *Plan) absolute(name string) string { return under(p.req.Dir, name) }

func under(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// root returns where outputs go. It need not be there yet.
func (p *Plan) root() (string, error) {
	if p.Root == "" && p.req.Root == "" {
		return "", errorf("vidfilter batch FOLDER -o FOLDER, or output: in a job file", "no output: -o FOLDER is missing")
	}
	root := p.Root
	if p.req.Root != "" {
		root = p.absolute(p.req.Root)
	}
	if exists(root) && !durable.IsDir(root) {
		return "", errorf("a batch writes into a folder: -o FOLDER", "the output %q is not a folder", root)
	}
	return root, nil
}
