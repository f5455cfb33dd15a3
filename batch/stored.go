package batch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vidfilter/internal/hint"
	"vidfilter/internal/netfile"
)

// lookTime is how long a store or a web server may take to describe a file.
const lookTime = time.Minute

// PrintOf returns the fingerprint of a file at an address, by its size and its server's version of
// its content. Outputs have the fingerprint of the file that was uploaded.
func PrintOf(i netfile.Info) Fingerprint {
	if i.Hash != "" {
		return Fingerprint{Size: i.Size, Hash: i.Hash}
	}
	return Fingerprint{Size: i.Size, Hash: "tag:" + i.Tag}
}

func fingerprintAt(address string) (Fingerprint, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	i, err := netfile.Stat(ctx, address)
	return PrintOf(i), err
}

// Address returns the source with the query that its record lacks.
func (i Item) Address() string {
	if i.address != "" {
		return i.address
	}
	return i.Source
}

// At returns the item with an address that Address has returned. "" is the item itself.
func (i Item) At(address string) Item {
	i.address = address
	return i
}

// Place returns where the outputs go: the root, or a folder of a store.
func (p *Plan) Place() string {
	if p.Store != "" {
		return p.Store
	}
	return p.Root
}

// store puts the outputs into a folder of a store. The root, with the state of the batch, becomes a
// folder of its own below the request's State.
func (p *Plan) store(address string) error {
	if p.req.State == "" {
		return errorf("set HOME or XDG_STATE_HOME", "there is no folder for the state of a batch with outputs in %s", address)
	}
	p.Store = strings.TrimRight(address, "/")
	sum := sha256.Sum256([]byte(p.Store))
	p.Root = filepath.Join(p.req.State, path.Base(p.Store)+"-"+hex.EncodeToString(sum[:6]))
	return nil
}

// at adds the files at an address: one, or those below s3://BUCKET/FOLDER/ or of a pattern.
func (e *expansion) at(o resolvedSource) error {
	magic := strings.IndexAny(o.input, `*?[`)
	switch {
	case !netfile.IsStored(o.input), magic < 0 && netfile.Base(o.input) != "":
		return e.add(o, o.input, sourceFolder{dir: netfile.Dir(o.input)})
	case magic < 0 || o.literal:
		return e.below(o, o.input, "")
	}
	if _, err := path.Match(o.input, ""); err != nil {
		return o.located(errorf("a [ that is part of a name is written \\[", "the pattern %q has a mistake", o.input))
	}
	return e.below(o, o.input[:magic], o.input)
}

// below adds the videos in a store whose addresses begin with prefix and match a pattern, if there
// is one.
func (e *expansion) below(o resolvedSource, prefix, pattern string) error {
	all, err := netfile.List(e.ctx, prefix)
	if err != nil {
		return e.fail(o, o.input, err)
	}
	slices.SortFunc(all, comparePaths)
	o.lenient = true
	found := 0
	for _, address := range all {
		if !isVideo(path.Base(address)) || e.Store != "" && strings.HasPrefix(address, e.Store+"/") {
			continue
		}
		at := sourceFolder{dir: netfile.Dir(address)}
		if pattern == "" {
			at = sourceFolder{dir: strings.Trim(path.Dir(strings.TrimPrefix(address, prefix)), "/."), below: true}
		} else if matches, _ := path.Match(pattern, address); !matches {
			continue
		}
		found++
		if err := e.add(o, address, at); err != nil {
			return err
		}
	}
	if found == 0 {
		return e.fail(o, o.input, errorf("check the spelling; a star matches no slash", "no video matches %q", o.input))
	}
	return nil
}

func (e *expansion) add(o resolvedSource, address string, at sourceFolder) error {
	if netfile.Base(address) == "" {
		return e.fail(o, netfile.Shown(address), errorf("as in https://host/film.mp4", "%q names no file", netfile.Shown(address)))
	}
	e.index++
	item, err := e.item(o, netfile.Shown(address), at, e.index)
	if err != nil {
		return o.located(err)
	}
	item.address = address
	known, err := e.taken.claim(item, claim{item.Source, inode{}, o.settings})
	if err == nil && !known {
		e.taken.addresses[item.Source] = true
		e.Items = append(e.Items, item)
	}
	return o.located(err)
}

// upload puts the finished file into its store, unless an earlier attempt has.
func (f finisher) upload(r Record) error {
	address := Item{Output: r.Output, Store: r.Store}.OutputPath(f.Root)
	there, err := fingerprintIf(address)
	if err != nil {
		return err
	}
	return f.Outputs.at(r.Temp, func(temp string) error {
		if there == nil || !r.OutputFile.Same(*there) {
			if err := f.mayReplaceAt(r, address); err != nil {
				return err
			}
			ctx := f.Uploads
			if ctx == nil {
				ctx = context.Background()
			}
			err := netfile.Store(ctx, temp, address, netfile.Upload{Replace: there != nil, Hash: r.OutputFile.Hash, Alone: true})
			if errors.Is(err, fs.ErrExist) {
				err = hint.Wrap(fmt.Errorf("%q: %w", address, ErrTaken), hint.Of(ErrTaken))
			}
			if err != nil {
				return err
			}
		}
		if err := os.Remove(temp); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
