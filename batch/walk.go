package batch

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// StateDir is the folder below the root in which a batch keeps its state.
const StateDir = ".vidfilter"

type foundFile struct {
	path string // as the walk reached it
	rel  string // its folder below the walked one, with slashes; "" at the top
	info fs.FileInfo
	link bool
}

// name returns the path below the walked folder.
func (f foundFile) name() string { return path.Join(f.rel, filepath.Base(f.path)) }

// inode identifies a file under any name.
type inode struct{ dev, ino uint64 }

func inodeOf(i fs.FileInfo) inode {
	s := i.Sys().(*syscall.Stat_t)
	return inode{uint64(s.Dev), s.Ino} // Dev is narrower on some systems
}

// walk goes through a folder in natural order. It follows links, except to folders above. It
// enters each folder once, and takes each linked file once, under its own name if that is below
// the folder.
type walk struct {
	skip    func(i fs.FileInfo) bool     // leaves files and folders out
	problem func(path string, err error) // for unreadable files and folders; the walk continues

	seen  map[inode]bool
	links []foundFile // linked folders, walked last
	files []foundFile
}

func (w *walk) run(dir string) error {
	w.seen = map[inode]bool{}
	i, err := os.Stat(dir)
	if err != nil {
		return err
	}
	w.above(dir)
	if err := w.folder(foundFile{path: dir, info: i}); err != nil {
		return err
	}
	for len(w.links) > 0 {
		next := w.links[0]
		w.links = w.links[1:]
		if err := w.folder(next); err != nil {
			w.problem(next.path, err)
		}
	}
	w.once()
	slices.SortStableFunc(w.files, func(a, b foundFile) int { return comparePaths(a.name(), b.name()) })
	return nil
}

// above marks the folders above dir as seen, so that no link leads up there.
func (w *walk) above(dir string) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	for err == nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if i, err := os.Stat(dir); err == nil {
			w.seen[inodeOf(i)] = true
		}
	}
}

// once drops links to files that were found themselves.
func (w *walk) once() {
	there := map[inode]bool{}
	for _, f := range w.files {
		if !f.link {
			there[inodeOf(f.info)] = true
		}
	}
	w.files = slices.DeleteFunc(w.files, func(f foundFile) bool {
		id := inodeOf(f.info)
		twice := f.link && there[id]
		there[id] = true
		return twice
	})
}

func (w *walk) folder(f foundFile) error {
	id := inodeOf(f.info)
	if w.seen[id] {
		return nil
	}
	w.seen[id] = true
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return compareNatural(a.Name(), b.Name()) })
	for _, e := range entries {
		w.entry(f, e)
	}
	return nil
}

func (w *walk) entry(in foundFile, e fs.DirEntry) {
	name := filepath.Join(in.path, e.Name())
	if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && !isVideo(e.Name()) && e.Type()&fs.ModeSymlink == 0 {
		return
	}
	i, err := os.Stat(name)
	switch {
	case err != nil:
		if isVideo(e.Name()) || e.IsDir() {
			w.problem(name, err)
		}
	case w.skip(i):
	case i.Mode().IsRegular() && isVideo(e.Name()):
		w.files = append(w.files, foundFile{name, in.rel, i, e.Type()&fs.ModeSymlink != 0})
	case i.IsDir():
		below := foundFile{name, path.Join(in.rel, e.Name()), i, e.Type()&fs.ModeSymlink != 0}
		if below.link {
			w.links = append(w.links, below)
		} else if err := w.folder(below); err != nil {
			w.problem(name, err)
		}
	}
}

// comparePaths is compareNatural folder by folder.
func comparePaths(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "/"), strings.Split(b, "/"), compareNatural)
}

// compareNatural sorts tape 2 before tape 10, and ignores case.
func compareNatural(a, b string) int {
	x, y := strings.ToLower(a), strings.ToLower(b)
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m > 0 && n > 0 {
			if c := compareDigits(x[:m], y[:n]); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if c := len(x) - len(y); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

func digits(s string) (n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := len(a) - len(b); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}
