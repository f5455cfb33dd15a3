package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"vidfilter/internal/contract"
	"vidfilter/internal/durable"
	"vidfilter/internal/sandbox"
)

// Folder takes outputs that are named only when a process is in its sandbox. They are written in a
// working folder inside, made and locked by the process with the user's rights, and moved out by
// Publish. The process in the sandbox cannot reach the folder itself.
type Folder struct {
	name string // as the user gave it
	dir  string
	work string
	left []string     // see Left
	lock *os.File     // the working folder; nil if the parent has it
	box  *sandbox.Box // the parent, or nil
}

// workMark begins the name of a working folder.
const workMark = ".vidfilter-unfinished-"

// folderAnswer is the answer to a request for a folder.
type folderAnswer struct {
	Dir  contract.Name   `json:"dir"`
	Work contract.Name   `json:"work"`
	Left []contract.Name `json:"left,omitempty"`
}

// OpenFolder makes a working folder in an existing folder. Files left by killed runs are moved out
// first. Errors wrap ErrOutput.
func OpenFolder(name string) (*Folder, error) {
	if box := sandbox.Inside(); box != nil {
		var a folderAnswer
		if err := sandbox.Restore(box.Ask("folder", request{Name: contract.Name(name)}, &a), faultKinds); err != nil {
			return nil, err
		}
		return &Folder{name: name, dir: string(a.Dir), work: string(a.Work), left: as[string](a.Left), box: box}, nil
	}
	dir, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Refusal(fmt.Sprintf("make it first: mkdir -p %q", name), "there is no folder %q", name)
	}
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, OutputError("write into", name, err)
	}
	if !durable.IsDir(dir) {
		return nil, Refusal("name a folder", "%q is not a folder", name)
	}
	f := &Folder{name: name, dir: dir, left: rescue(dir)}
	if f.work, err = os.MkdirTemp(dir, workMark+"*"); err != nil {
		return nil, OutputError("write into", name, bare(err))
	}
	if f.lock, err = lockFolder(f.work); err != nil {
		_ = os.Remove(f.work)
		return nil, OutputError("write into", name, bare(err))
	}
	return f, nil
}

func lockFolder(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// rescue empties the working folders of killed runs, and returns the names of their files.
func rescue(dir string) (left []string) {
	works, _ := filepath.Glob(filepath.Join(globQuote(dir), workMark+"*"))
	for _, work := range works {
		lock, err := lockFolder(work)
		if err != nil {
			continue // in use
		}
		left = append(left, clear(work, dir)...)
		_ = lock.Close()
	}
	return left
}

func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// clear moves recordings out of a working folder, and removes it with all else in it. It returns
// the new names.
func clear(work, dir string) (moved []string) {
	entries, err := os.ReadDir(work)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		from := filepath.Join(work, e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || e.Name()[0] == '.' {
			_ = os.Remove(from)
		} else if name, err := moveNew(from, dir); err == nil {
			moved = append(moved, name)
		}
	}
	_ = os.Remove(work)
	return moved
}

// moveNew moves a file into a folder, under a name that is free, and returns the name.
func moveNew(from, dir string) (name string, err error) {
	base := filepath.Base(from)
	stem, ending := strings.TrimSuffix(base, filepath.Ext(base)), filepath.Ext(base)
	for n := 1; n <= MaxBeside; n++ {
		name = base
		if n > 1 {
			name = stem + "-" + strconv.Itoa(n) + ending
		}
		if err = durable.RenameNew(from, filepath.Join(dir, name)); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return name, err
}

// Left returns the names of recordings that killed runs had not finished. They are in the folder.
func (f *Folder) Left() []string { return f.left }

// Work returns the working folder: targets in it can be opened at any time.
func (f *Folder) Work() string { return f.work }

// Name returns a file's name in the folder, as the user would give it.
func (f *Folder) Name(base string) string { return filepath.Join(f.name, base) }

// Publish moves a committed target of the working folder into the folder, and returns its name
// there. No file is replaced.
func (f *Folder) Publish(base string) (name string, err error) {
	if f.box != nil {
		var published contract.Name
		err = sandbox.Restore(f.box.Ask("publish", request{Name: contract.Name(base)}, &published), faultKinds)
		return string(published), err
	}
	if !isPlain(base) {
		return "", fmt.Errorf("publish %q: not a plain name", base)
	}
	if name, err = moveNew(filepath.Join(f.work, base), f.dir); err != nil {
		return "", OutputError("finish", base, err)
	}
	return name, OutputError("sync the folder of", base, bare(durable.SyncDir(f.dir)))
}

// Close moves unfinished recordings out and removes the working folder. In a sandbox the parent
// does.
func (f *Folder) Close() {
	if f.lock != nil {
		_ = clear(f.work, f.dir)
		_ = f.lock.Close()
		f.lock = nil
	}
}

// isPlain reports whether a name is of a visible file in a folder.
func isPlain(base string) bool {
	return base != "" && base[0] != '.' && len(base) <= 200 && filepath.Base(base) == base && !strings.ContainsRune(base, 0)
}

// openFolder is OpenFolder for a process that is about to enter its sandbox.
func (b *Broker) openFolder(r request) (any, error) {
	if b.sealed || b.folder != nil {
		return nil, fmt.Errorf("another folder %q", r.Name)
	}
	f, err := OpenFolder(string(r.Name))
	if err != nil {
		return nil, err
	}
	b.folder = f
	return folderAnswer{contract.Name(f.dir), contract.Name(f.work), as[contract.Name](f.left)}, nil
}

func (b *Broker) publish(r request) (any, error) {
	if b.folder == nil {
		return nil, fmt.Errorf("publish %q: there is no folder", r.Name)
	}
	name, err := b.folder.Publish(string(r.Name))
	return contract.Name(name), err
}

// mostUnfinished limits the targets that a process in a sandbox has in its working folder.
const mostUnfinished = 4

// mayName reports whether a process in a sandbox may name a target: only in the working folder.
func (b *Broker) mayName(name string) bool {
	unfinished := 0
	for _, t := range b.targets {
		if t.state < committed {
			unfinished++
		}
	}
	return b.folder != nil && filepath.Dir(name) == b.folder.work && isPlain(filepath.Base(name)) && unfinished <= mostUnfinished
}
