package decode

//#cgo pkg-config: libavformat libavcodec libavutil
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/asticode/go-astiav"
	"golang.org/x/sys/unix"

	"vidfilter/internal/av"
)

// locate returns FFmpeg's URL for the input's path. Names of files are never taken for addresses.
func (d *demuxer) locate(network bool) (location, error) {
	const local = "file,pipe,fd,crypto,data"
	if isAddress(d.path) {
		if !network {
			return location{}, &Error{Op: "open", Path: d.path, Err: errors.New("a network address"),
				hint: "give --allow-network to read from the network"}
		}
		return location{d.path, "http,tcp,udp,rtp,crypto,data", -1, false}, nil
	}
	if err := readable(d.path); err != nil {
		return location{}, err
	}
	pipe, err := d.openPipe(d.path)
	switch {
	case err != nil:
		return location{}, err
	case pipe >= 0:
		return location{fmt.Sprintf("pipe:%d", pipe), local, pipe, true}, nil
	case d.path == "-" && !seekableStdin():
		return location{"pipe:0", local, -1, true}, nil
	case d.path == "-":
		return location{"file:/dev/fd/0", local, -1, false}, nil
	}
	return location{"file:" + FileOf(d.path), local, -1, false}, nil
}

// seekableStdin reports whether stdin is a file, at its beginning, that can be opened again: then
// formats that need seeking can be read. Sockets are set to give up where FFmpeg would block in
// the system.
func seekableStdin() bool {
	st, err := os.Stdin.Stat()
	if err != nil {
		return false
	}
	if st.Mode()&fs.ModeSocket != 0 {
		_ = unix.SetNonblock(0, true)
	}
	at, err := os.Stdin.Seek(0, io.SeekCurrent)
	return err == nil && at == 0 && st.Mode().IsRegular() && unix.Access("/dev/fd/0", unix.R_OK) == nil
}

// readable rewords errors for which FFmpeg only has a number.
func readable(path string) error {
	if path == "-" {
		return nil
	}
	file := FileOf(path)
	st, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Op: "open", Path: path, Err: errors.New("no such file")}
	case err != nil:
		return &Error{Op: "open", Path: path, Err: errors.Unwrap(err)}
	case st.IsDir():
		return &Error{Op: "open", Path: path, Err: errors.New("it is a folder"),
			hint: "vidfilter batch FOLDER -o FOLDER filters all videos in one"}
	case st.Mode().IsRegular() && st.Size() == 0:
		return &Error{Op: "open", Path: path, Err: errors.New("the file is empty")}
	}
	if err := unix.Access(file, unix.R_OK); err != nil {
		return &Error{Op: "open", Path: path, Err: err}
	}
	return nil
}

func (d *demuxer) openContainer(ctx context.Context, from location, formatName string, watch func(*astiav.FormatContext)) error {
	d.fc = astiav.AllocFormatContext()
	if d.fc == nil {
		return &Error{Op: "open", Path: d.path, Err: errors.New("out of memory")}
	}
	C.vf_interruptible(d.context(), d.stop, maxStreams)
	watch(d.fc)
	dict := astiav.NewDictionary()
	defer dict.Free()
	set := func(k, v string) { _ = dict.Set(k, v, 0) }
	set("protocol_whitelist", from.protocols)
	set("probesize", "33554432")
	set("analyzeduration", "10000000")

	var format *astiav.InputFormat
	if formatName != "" {
		if format = astiav.FindInputFormat(formatName); format == nil {
			return &Error{Op: "open", Path: d.path, Err: optionError(fmt.Sprintf("no input format %q in this build", formatName)),
				hint: "leave --input-format out to let the file speak for itself"}
		}
	} else {
		set("format_whitelist", safeFormats())
	}
	if err := d.fc.OpenInput(from.url, format, dict); err != nil {
		d.fc = nil // OpenInput frees the context when it fails
		return d.openError(ctx, from, formatName, err)
	}
	d.opened = true
	d.form = containerOf(C.GoString(d.context().iformat.name))
	if err := d.checkLimits(d.path); err != nil {
		return err
	}
	said := d.containerColours()
	var err error
	d.refused.w, d.refused.h = av.RefusedSize(func() { err = d.fc.FindStreamInfo(nil) })
	if err := d.checkLimits(d.path); err != nil { // streams of broadcasts appear only now
		return err
	}
	if err != nil {
		return &Error{Op: "read", Path: d.path, Err: fmt.Errorf("no streams found: %w", err)}
	}
	if err := d.checkPictures(d.path); err != nil {
		return err
	}
	d.keepColours(said)
	d.contained = said
	return nil
}

func (d *demuxer) openError(ctx context.Context, from location, formatName string, cause error) error {
	e := &Error{Op: "open", Path: d.path, Err: cause}
	if err := y4mProblem(d.path); err != nil {
		e.Err = err
		return e
	}
	busy, cut := av.Errno(cause) == int(syscall.EBUSY), av.Errno(cause) == int(syscall.EINVAL)
	if (busy || cut && d.forwards) && !isAddress(d.path) { // from a pipe with YUV4MPEG
		cause, e.Err = astiav.ErrInvaliddata, astiav.ErrInvaliddata
	}
	if no := av.Errno(cause); no != 0 && syscall.Errno(no) != syscall.EINVAL {
		e.Err = syscall.Errno(no)
	}
	switch known := !errors.Is(cause, astiav.ErrInvaliddata); {
	case isAddress(d.path):
		return addressError(ctx, e, from, formatName)
	case formatName != "" && known, d.forwards && known:
		return e
	case formatName != "":
		e.Err = fmt.Errorf("not %s, or damaged", formatName)
		return e
	case d.forwards:
		e.Err = errors.New("not media that this build knows, or damaged")
		return e
	}
	name := probe(from)
	if isHLS(d.path) {
		name = "hls"
	}
	switch {
	case name == "":
		if errors.Is(cause, astiav.ErrInvaliddata) || e.Err == cause {
			e.Err = errors.New("not a media file that this build knows")
		}
	case containerOf(name).refers:
		e.Err = fmt.Errorf("a %s playlist: it names other files", name)
		e.hint = "if you trust it, give --input-format " + name
	case errors.Is(cause, astiav.ErrInvaliddata), errors.Is(cause, astiav.ErrEof):
		e.Err = fmt.Errorf("damaged or incomplete %s", name)
	}
	return e
}

// isHLS recognizes a playlist by its content. FFmpeg's own probe also goes by the name, and takes
// a playlist called .mp4 for a damaged film.
func isHLS(path string) bool {
	f, err := os.Open(FileOf(path))
	if err != nil {
		return false
	}
	defer f.Close()
	const mark = "#EXTM3U"
	b := make([]byte, len(mark))
	_, err = io.ReadFull(f, b)
	return err == nil && string(b) == mark
}

// copies are the local copies of inputs, by the names of the inputs.
var copies map[string]string

// UseCopies makes Open read local copies of inputs, by the inputs' names, which messages keep. It
// must be called before any input is opened.
func UseCopies(of map[string]string) { copies = of }

// Copies returns the copies by the inputs' names.
func Copies() map[string]string { return copies }

// FileOf returns the file that Open reads for a path: its copy, or the path itself.
func FileOf(path string) string {
	if file, ok := copies[path]; ok {
		return file
	}
	return path
}
