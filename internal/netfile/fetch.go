package netfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"vidfilter/internal/durable"
	"vidfilter/internal/hint"
)

// Info describes the content of a file at an address.
type Info struct {
	Size int64  // bytes; -1 if unknown
	Tag  string // another for other content; "" if unknown
	Hash string // of Upload; "" for files that Store has not written
}

func (i Info) same(known Info) bool { return i.Size == known.Size && i.Tag == known.Tag }

// reader opens the content of a file from an offset. It returns where the content begins, which is
// 0 if the server knows no offsets. known is the result of an earlier call, or zero.
type reader interface {
	open(ctx context.Context, from int64, known Info) (body io.ReadCloser, now Info, start int64, err error)
}

func readerOf(address string) (reader, error) {
	if IsStored(address) {
		return newStored(opRead, address)
	}
	return newWeb(address)
}

// Variables for tests.
var (
	firstPause = 500 * time.Millisecond // before a try after a fault; doubles each time
	stall      = time.Minute            // without a byte: the connection is given up
)

// mostTries are the tries without a byte after which a fault is final.
const mostTries = 6

// Stat looks a file up. It tries again after faults that may pass.
func Stat(ctx context.Context, address string) (Info, error) {
	r, err := readerOf(address)
	if err != nil {
		return Info{}, err
	}
	for try := 1; ; try++ {
		body, now, _, err := r.open(ctx, 0, Info{})
		if err == nil {
			return now, body.Close()
		}
		err = failure(opRead, address, err)
		if try == mostTries || IsLasting(err) || !rest(ctx, try) {
			return Info{}, err
		}
	}
}

// rest waits before the next try, and returns false if ctx has ended.
func rest(ctx context.Context, try int) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(firstPause << (try - 1)):
		return true
	}
}

// Fetch copies a file to name, which it creates, and returns the version read. It goes on where a
// connection broke off, and fails if the content changed meanwhile. It fails before the first byte
// if the disk has no room. After an error there is no file.
func Fetch(ctx context.Context, address, name string) (Info, error) {
	r, err := readerOf(address)
	if err != nil {
		return Info{}, err
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return Info{}, err
	}
	f := fetch{reader: r, address: address, file: file}
	err = errors.Join(f.run(ctx), file.Close())
	if err != nil {
		_ = os.Remove(name)
		return Info{}, err
	}
	return f.info, nil
}

// fetch is one Fetch.
type fetch struct {
	reader
	address string
	file    *os.File
	info    Info
	known   bool
	at      int64
}

func (f *fetch) run(ctx context.Context) error {
	for try := 1; ; try++ {
		was := f.at
		err := f.read(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, errWrite) {
			return err
		}
		if err = failure(opRead, f.address, err); IsLasting(err) || errors.Is(err, ErrChanged) {
			return err
		}
		if f.at > was {
			try = 1
		}
		if try == mostTries || !rest(ctx, try) {
			return err
		}
	}
}

// read reads on from where an earlier call has stopped, to the end or to a fault.
func (f *fetch) read(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, now, start, err := f.open(ctx, f.at, f.info)
	if err != nil {
		return err
	}
	defer body.Close()
	switch {
	case !f.known:
		f.info, f.known = now, true
		if err := f.room(); err != nil {
			return err
		}
	case !now.same(f.info):
		return &statusError{http.StatusPreconditionFailed}
	}
	if _, err := f.file.Seek(start, io.SeekStart); err != nil {
		return err
	}
	f.at = start
	alive := time.AfterFunc(stall, func() { cancel(fmt.Errorf("no byte for %v", stall)) })
	defer alive.Stop()
	err = f.copy(body, alive)
	switch {
	case err != nil:
		return cmp.Or(context.Cause(ctx), err)
	case f.info.Size >= 0 && f.at != f.info.Size:
		return io.ErrUnexpectedEOF
	}
	return nil
}

// errWrite is wrapped by errors of the copy.
var errWrite = errors.New("the copy of a file at an address cannot be written")

func (f *fetch) copy(body io.Reader, alive *time.Timer) error {
	buffer := make([]byte, 1<<20)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			alive.Reset(stall)
			if _, err := f.file.Write(buffer[:n]); err != nil {
				return fmt.Errorf("%w: %w", errWrite, err)
			}
			f.at += int64(n)
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// room fails if the disk cannot hold the file.
func (f *fetch) room() error {
	dir := filepath.Dir(f.file.Name())
	free, _, err := durable.Space(dir)
	if err != nil || f.info.Size <= free {
		return err
	}
	return hint.Errorf("make room, or choose another disk: TMPDIR for one file, -o for a batch",
		"read %s: its %d bytes do not fit into %s, which has %d bytes free: %w", Shown(f.address), f.info.Size, dir, free, syscall.ENOSPC)
}
