package encode

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/hint"
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

// startWith calls described, with mu held, after opening the encoder for frames like f and
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
func (m *muxer) openWith(first int64) error {
	m.first = first
	if err := m.openFile(); err != nil {
		return err
	}
	waiting := m.early
	m.early = nil
	for _, p := range waiting {
		if l := m.lanes[p.StreamIndex()]; l != nil {
			m.early = append(m.early, m.visible(l, p)...)
		} else {
			p.Free()
		}
	}
	if err := m.writeHeader(first); err != nil {
		return err
	}
	m.header = true
	early := m.early
	m.early = nil
	for i, p := range early {
		if err := m.carry(p); err != nil {
			m.early = early[i+1:] // Close frees the others
			return err
		}
	}
	return nil
}

func (m *muxer) openFile() error {
	if m.oc.oformat.flags&C.AVFMT_NOFILE != 0 {
		return nil
	}
	cpath := C.CString(m.path)
	defer C.free(unsafe.Pointer(cpath))
	if err := av.Error(int(C.avio_open2(&m.oc.pb, cpath, C.AVIO_FLAG_WRITE, nil, nil))); err != nil {
		return m.writeError("open", err)
	}
	if name, ok := strings.CutPrefix(m.path, "file:"); ok {
		m.again, _ = os.Open(name) // for Verify, whatever name the folder has by then
	}
	return nil
}

// writeError describes an FFmpeg error of the output file.
func (m *muxer) writeError(op string, err error) error {
	if no := av.Errno(err); no != 0 {
		err = syscall.Errno(no)
	}
	if errors.Is(err, astiav.ErrPatchwelcome) {
		return hint.Says(fmt.Sprintf("%s %q: FFmpeg cannot write this", op, shown(m.path)), "choose another format or codec", target.ErrOutput, err)
	}
	return target.OutputError(op, shown(m.path), err)
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
