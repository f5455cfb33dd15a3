package batch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"vidfilter/internal/netfile"
)

// maxText limits lists and job files, in bytes.
const maxText = 64 << 20

func readText(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, errorf("", "cannot read %q: %v", name, bare(err))
	}
	if len(data) > maxText {
		return nil, errorf("check that it is a list of names", "%q is longer than %d MB", name, maxText>>20)
	}
	return data, nil
}

func (p *Plan) readFile(name string) ([]byte, error) {
	f, err := os.Open(p.absolute(name))
	if err != nil {
		return nil, missing(name, err)
	}
	defer f.Close()
	return readText(name, f)
}

// bare strips the operation and the path from an error: the message has them already.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func missing(name string, err error) error {
	hint := ""
	if errors.Is(err, fs.ErrNotExist) {
		hint = "check the name; a mount may be away"
	}
	if errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.ENOTDIR) {
		hint = "check the name"
	}
	return errorf(hint, "cannot read %q: %v", name, bare(err))
}

func (p *Plan) listFile(name string) ([]source, error) {
	data, err := p.readFile(name)
	if err != nil {
		return nil, err
	}
	return p.list(name, bytes.NewReader(data))
}

// list reads names, one per line or as written by find -print0. As with find, they are relative
// to the working directory.
func (p *Plan) list(name string, r io.Reader) (all []source, err error) {
	if r == nil {
		return nil, errorf("give the names in a file: @FILE", "there is nothing on %s", name)
	}
	data, err := readText(name, r)
	if err != nil {
		return nil, err
	}
	text := strings.TrimPrefix(string(data), "\xef\xbb\xbf")
	end := "\n"
	if strings.Contains(text, "\x00") {
		end = "\x00"
	}
	n := 0
	for line := range strings.SplitSeq(text, end) {
		n++
		if end == "\n" {
			line = strings.TrimSuffix(line, "\r")
		}
		if line != "" {
			j := jobEntry{input: line, where: fmt.Sprintf("%s:%d", name, n)}
			all = append(all, source{jobEntry: j, dir: p.req.Dir, literal: true, lenient: true})
		}
	}
	if len(all) == 0 {
		return nil, errorf("one name a line", "the list %s is empty", name)
	}
	return all, nil
}

func (p *Plan) jobFile(name string) (all []source, err error) {
	data, err := p.readFile(name)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(p.absolute(name))
	r := jobReader{name: name, flags: p.flags, own: flagTable{p.req.Own}, locate: func(file string) (string, error) {
		base, rest, err := p.home(dir, file)
		return under(base, rest), err
	}}
	f, err := r.parse(data)
	if err != nil {
		return nil, err
	}
	if netfile.IsStored(f.output) {
		if err := p.store(f.output); err != nil {
			return nil, err
		}
	} else if f.output != "" {
		base, output, err := p.home(dir, f.output)
		if err != nil {
			return nil, err
		}
		p.Root = under(base, output)
	}
	p.base.name = cmp.Or(p.req.Name, f.name, DefaultName)
	p.low = p.flags.merge(p.low, f.defaults)
	p.Batch = f.batch
	for _, j := range f.jobs {
		s := source{jobEntry: j, dir: dir, lenient: true}
		if s.dir, s.input, err = p.home(dir, j.input); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// home expands ~ as the shell does with arguments. It returns the base folder and the rest of the
// name.
func (p *Plan) home(dir, name string) (base, rest string, err error) {
	if name != "~" && !strings.HasPrefix(name, "~/") {
		return dir, name, nil
	}
	if p.req.Home == "" {
		return "", "", errorf("set HOME, or give the folder", "%q: HOME is not set", name)
	}
	return p.req.Home, "." + name[1:], nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
