// Package mux writes packets to a file: it makes streams and header, brings the times of packets
// into order, and checks the finished file. It knows no encoder of pictures.
package mux

//#cgo pkg-config: libavformat libavcodec libavutil
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"maps"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/spec"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// Muxer writes a file. Its methods may run beside each other, except Describe and methods called
// after Finish.
type Muxer struct {
	mu sync.Mutex // guards pictures
	pictures
	open bool // the header is written
}

// New prepares a file at path; "pipe:1" and the like mean the same as for FFmpeg. Close frees it.
func New(s *spec.Spec, path string) (*Muxer, error) {
	f := &file{Spec: s, path: path, given: map[int]*digest{}}
	m := &Muxer{pictures: pictures{streams: &streams{file: f, tracks: map[int]*track{}, undescribed: map[int]bool{}}, begin: math.MaxInt64, end: math.MinInt64}}
	name := C.CString(s.Form.Muxer())
	defer C.free(unsafe.Pointer(name))
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	if err := av.Error(int(C.avformat_alloc_output_context2(&f.oc, nil, name, cpath))); err != nil {
		return nil, target.OutputError("choose the format "+s.Format+" for", path, err)
	}
	// Boxes of MP4 for Dolby Vision, stereo and spherical video count as unofficial.
	f.oc.strict_std_compliance = C.FF_COMPLIANCE_UNOFFICIAL
	return m, nil
}

// Start makes the streams, calls describe for the video, and writes the header and the packets that
// wait for it. The first picture has a time, and a timecode or "".
func (m *Muxer) Start(first int64, timecode string, describe func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.mapStreams(); err != nil {
		return err
	}
	if err := describe(); err != nil {
		return err
	}
	m.first = first
	if m.In.Part {
		m.shift = first
	}
	if err := m.file.open(); err != nil {
		return err
	}
	m.showEarly()
	if err := (header{m.streams, first}).write(timecode); err != nil {
		return err
	}
	m.open = true
	early := m.early
	m.early = nil
	return m.carryAll(early)
}

// Describe describes the video, of pictures like f, within Start.
func (m *Muxer) Describe(f *pipeline.Frame, c Coded) error { return description{m.file}.of(f, c) }

// Copy describes the video, whose packets are the input's own, within Start. The first one is
// decoded at a time.
func (m *Muxer) Copy(first int64) error {
	m.shift = first
	return description{m.file}.copied()
}

// TakesCopy reports whether the format holds the video of the input as it is, within Start.
func (m *Muxer) TakesCopy() bool {
	c := m.candidate(m.In.Video)
	return C.vf_can_mux(m.oc.oformat, c.in, c.codecTag()) != 0
}

// Header returns the codec's header of the video. It is the muxer's.
func (m *Muxer) Header() []byte {
	par := m.video.codecpar
	return av.Slice((*byte)(par.extradata), int(par.extradata_size))
}

// SetHeader replaces the codec's header by a copy of another, within Start.
func (m *Muxer) SetHeader(header []byte) error {
	return av.SetExtradata(unsafe.Pointer(m.video.codecpar), header)
}

// WriteVideo writes the packet of a picture, which it changes, in decode order.
func (m *Muxer) WriteVideo(p *astiav.Packet) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writeVideo(p)
}

// WritePacket writes a packet of another stream, which it borrows.
func (m *Muxer) WritePacket(p *astiav.Packet) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.take(p, m.open)
}

// Opened reports whether the header is written.
func (m *Muxer) Opened() bool { return m.open }

// Finish writes all that is kept back, and the trailer.
func (m *Muxer) Finish() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, write := range []func() error{m.flushAudio, m.finish, m.flush} {
		if err := write(); err != nil {
			return err
		}
	}
	if err := av.Error(int(C.av_write_trailer(m.oc))); err != nil {
		return m.writeError("finish", err)
	}
	m.nameEmpty()
	if m.oc.pb != nil {
		m.bytes.Store(int64(m.oc.pb.bytes_written))
		if n := C.avio_size(m.oc.pb); n > 0 { // bytes that were overwritten count once
			m.bytes.Store(int64(n))
		}
	}
	if err := m.close(); err != nil {
		return m.writeError("close", err)
	}
	return nil
}

// Close frees the muxer.
func (m *Muxer) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest != nil {
		m.latest.Free()
		m.latest = nil
	}
	m.discard()
	if m.oc != nil {
		_ = m.close()
		C.avformat_free_context(m.oc)
		m.oc = nil
	}
	if m.again != nil {
		_ = m.again.Close()
		m.again = nil
	}
}

// Bytes returns the size written so far.
func (m *Muxer) Bytes() int64 { return m.bytes.Load() }

// Damage counts faults of packets on their way out, by their names in messages.
func (m *Muxer) Damage() map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var undecoded int64
	for _, l := range m.tracks {
		if l.aud != nil {
			undecoded += l.aud.Errors()
		}
	}
	all := map[string]int64{
		"audio decode errors": undecoded, "repaired packet times": m.fixed, "streams left out": m.leftOut, "subtitles left out": m.subsLost,
		"packets that " + m.Format + " refused": m.refused, "packets of sound that changed": m.otherSound,
	}
	maps.DeleteFunc(all, func(_ string, n int64) bool { return n == 0 })
	return all
}

// HasChapter reports whether the file has a chapter of this title.
func (m *Muxer) HasChapter(title string) bool {
	return slices.ContainsFunc(av.Slice(m.oc.chapters, int(m.oc.nb_chapters)), func(c *C.AVChapter) bool {
		return metadata(c.metadata, "title") == title
	})
}
