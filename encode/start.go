package encode

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"os"
	"strings"
	"syscall"
	"unsafe"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// start opens the encoder for frames like f, then the file, and writes the header.
func (o *Output) start(f *pipeline.Frame) error {
	return o.startWith(f, func() error {
		if o.in.Part {
			o.shift = f.PTS
		}
		return nil
	})
}

// startWith calls described, with o.mu held, after opening the encoder for frames like f and
// before opening the file.
func (o *Output) startWith(f *pipeline.Frame, described func() error) error {
	if err := o.openEncoder(f); err != nil {
		return err
	}
	o.paced.Store(&o.pace)
	if _, err := o.followFields(f); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.mapStreams(); err != nil {
		return err
	}
	if err := o.describeVideo(f); err != nil {
		return err
	}
	if err := described(); err != nil {
		return err
	}
	o.timecode = av.Timecode(f)
	return o.openWith(f.PTS)
}

// openWith opens the file and writes its header and the packets that wait for it. first is the
// time of the first frame.
func (o *Output) openWith(first int64) error {
	o.first = first
	if err := o.openFile(); err != nil {
		return err
	}
	waiting := o.early
	o.early = nil
	for _, p := range waiting {
		if l := o.lanes[p.StreamIndex()]; l != nil {
			o.early = append(o.early, o.visible(l, p)...)
		} else {
			p.Free()
		}
	}
	if err := o.writeHeader(first); err != nil {
		return err
	}
	o.header = true
	early := o.early
	o.early = nil
	for i, p := range early {
		if err := o.carry(p); err != nil {
			o.early = early[i+1:] // Close frees the others
			return err
		}
	}
	return nil
}

func (o *Output) openFile() error {
	if o.oc.oformat.flags&C.AVFMT_NOFILE != 0 {
		return nil
	}
	cpath := C.CString(o.path)
	defer C.free(unsafe.Pointer(cpath))
	if err := av.Error(int(C.avio_open2(&o.oc.pb, cpath, C.AVIO_FLAG_WRITE, nil, nil))); err != nil {
		return o.writeError("open", err)
	}
	if name, ok := strings.CutPrefix(o.path, "file:"); ok && o.seekable() { // we must not be a pipe's last reader
		o.again, _ = os.Open(name) // for Verify, whatever name the folder has by then
	}
	return nil
}

// writeError describes an FFmpeg error of the output file.
func (o *Output) writeError(op string, err error) error {
	if no := av.Errno(err); no != 0 {
		err = syscall.Errno(no)
	}
	return OutputError(op, shown(o.path), err)
}

// shown returns the user's name for an URL of FFmpeg.
func shown(url string) string {
	if url == "pipe:1" {
		return "stdout"
	}
	if n, ok := strings.CutPrefix(url, "pipe:"); ok {
		return "/dev/fd/" + n
	}
	return strings.TrimPrefix(url, "file:")
}
