package mux

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/spec"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/hint"
)

// file is the target of FFmpeg's muxer, with the fate of the packets that it got.
type file struct {
	*spec.Spec
	path  string
	again *os.File // the same; nil if it cannot be read
	oc    *C.AVFormatContext
	given map[int]*digest // input of the muxer, by stream of the output

	video   *C.AVStream
	first   int64  // time of the first picture
	written int64  // pictures
	exif    []byte // a segment that goes into a JPEG

	failed     error
	inARow     int   // packets that the muxer rejected since the last one that it accepted
	refused    int64 // all that it rejected
	fixed      int64 // packets with other times than they had
	otherSound int64 // packets of AAC that contradict their track
	leftOut    int64 // streams that the muxer rejected for their data
	subsLost   int64 // subtitles that could not be converted
	bytes      atomic.Int64
}

func (m *file) open() error {
	if m.oc.oformat.flags&C.AVFMT_NOFILE != 0 {
		return nil
	}
	cpath := C.CString(m.path)
	defer C.free(unsafe.Pointer(cpath))
	if err := av.Error(int(C.avio_open2(&m.oc.pb, cpath, C.AVIO_FLAG_WRITE, nil, nil))); err != nil {
		return m.writeError("open", err)
	}
	if name, ok := strings.CutPrefix(m.path, "file:"); ok && m.seekable() { // we must not be a pipe's last reader
		m.again, _ = os.Open(name) // for Verify, even if the folder was renamed
	}
	return nil
}

func (m *file) close() error {
	if m.oc.oformat.flags&C.AVFMT_NOFILE != 0 || m.oc.pb == nil {
		return nil
	}
	return av.Error(int(C.avio_closep(&m.oc.pb)))
}

func (m *file) outputs() []*C.AVStream { return av.Slice(m.oc.streams, int(m.oc.nb_streams)) }

// maxRefused packets rejected in a row are not single faults.
const maxRefused = 50

// write hands a packet to the muxer, which takes its references.
func (m *file) write(p *C.AVPacket) error {
	if m.failed != nil {
		return m.failed
	}
	m.note(p)
	if _, err := m.took(C.av_interleaved_write_frame(m.oc, p)); err != nil {
		return err
	}
	if m.oc.pb != nil {
		m.bytes.Store(int64(m.oc.pb.bytes_written))
	}
	return nil
}

func (m *file) note(p *C.AVPacket) {
	i := int(p.stream_index)
	if m.given[i] == nil {
		m.given[i] = newDigest(m.Format, av.Slice(m.oc.streams, int(m.oc.nb_streams))[i])
	}
	m.given[i].add(p)
}

// took counts and leaves out an invalid packet: one bad subtitle is no reason to lose a video.
func (m *file) took(code C.int) (ok bool, _ error) {
	err := av.Error(int(code))
	switch {
	case err == nil:
		m.inARow = 0
		return true, nil
	case m.inARow < maxRefused && (errors.Is(err, astiav.ErrInvaliddata) || av.Errno(err) == int(syscall.EINVAL) ||
		errors.Is(err, astiav.ErrPatchwelcome)): // the last by libavcodec/bsf/aac_adtstoasc.c
		m.inARow++
		m.refused++
		return false, nil
	}
	m.failed = m.writeError("write", err)
	return false, m.failed
}

func (m *file) flush() error {
	for done := false; !done && m.failed == nil; {
		done, _ = m.took(C.av_interleaved_write_frame(m.oc, nil))
	}
	if m.failed == nil && m.refused > 0 {
		_, _ = m.took(C.av_write_frame(m.oc, nil)) // Matroska's muxer keeps one more
	}
	return m.failed
}

// seekable reports whether the muxer can go back in the output.
func (m *file) seekable() bool {
	return m.oc.pb == nil || m.oc.pb.seekable&C.AVIO_SEEKABLE_NORMAL != 0
}

func (m *file) hasCover() bool {
	return slices.ContainsFunc(av.Slice(m.oc.streams, int(m.oc.nb_streams)), func(st *C.AVStream) bool {
		return st.disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0
	})
}

func (m *file) writeError(op string, err error) error {
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

// coloursInPictures: MP4 has a place for colour tags or for an ICC profile, not for both.
func (m *file) coloursInPictures() bool {
	switch m.video.codecpar.codec_id {
	case C.AV_CODEC_ID_H264, C.AV_CODEC_ID_HEVC, C.AV_CODEC_ID_AV1, C.AV_CODEC_ID_PRORES:
		return true
	}
	return false
}
