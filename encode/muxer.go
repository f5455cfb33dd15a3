package encode

//#cgo pkg-config: libavformat libavcodec libavutil
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/hint"
)

// muxer writes packets to a file: it makes the streams and the header, and brings the times of
// packets into order. It knows no encoder of pictures.
type muxer struct {
	*common
	path  string
	again *os.File // the same; nil if it cannot be read

	exif     []byte    // a segment that goes into a JPEG
	precoded *precoded // for packets that are already encoded, nil for frames
	timecode string    // of the first picture
	shift    int64     // subtracted from the video's times, in their unit
	first    int64     // time of the first frame, likewise

	mu         sync.Mutex // guards the fields below: frames and packets come from two goroutines
	oc         *C.AVFormatContext
	video      *C.AVStream
	lanes      map[int]*lane   // by input stream
	given      map[int]*digest // input of the muxer, by stream of the output
	mapped     bool            // streams exist; until then, first packets wait in early
	early      []*astiav.Packet
	header     bool
	failed     error
	written    int64 // video packets
	repeated   int64 // of those: see step and keepPace
	skipped    int64 // video packets that came too early for the rate: see keepPace
	fixed      int64
	refused    int64 // packets that the muxer rejected
	otherSound int64 // packets of AAC that are not as their track says
	inARow     int   // of those, since the last one that it accepted
	leftOut    int64 // streams that the muxer rejected for their data
	subsLost   int64 // subtitles that could not be converted
	// undescribed are streams that are left out for it: damage if they have packets.
	undescribed map[int]bool
	begin       int64          // earliest time of a video packet, in the stream's unit
	end         int64          // latest time; in MP4, which stores the last frame's duration, its end
	latest      *astiav.Packet // in MP4, MXF and Y4M, the latest video packet: see hold, step and keepPace
	decoded     int64          // DTS of the first

	bytes atomic.Int64
}

// lane is a stream that is copied or converted.
type lane struct {
	st    *C.AVStream
	from  C.AVRational
	last  int64 // dts
	subs  *C.vf_subs
	aud   *audioConverter
	sound *sound           // in MXF
	adts  adtsHeader       // of AAC that is copied
	held  []*astiav.Packet // hidden by an edit list: see visible
	bytes int              // of those
	shown bool             // a packet that is not hidden has come
	told  bool             // that they are shown, or left out
}

func (l *lane) close() {
	for _, p := range l.held {
		p.Free()
	}
	l.held = nil
	if l.subs != nil {
		C.vf_subs_close(l.subs)
		C.free(unsafe.Pointer(l.subs))
		l.subs = nil
	}
	if l.aud != nil {
		l.aud.close()
		l.aud = nil
	}
}

func (m *muxer) closeFile() error {
	if m.oc.oformat.flags&C.AVFMT_NOFILE != 0 || m.oc.pb == nil {
		return nil
	}
	return av.Error(int(C.avio_closep(&m.oc.pb)))
}

// hold keeps a packet until the next one comes. MP4 counts from one decode time to the
// next, so the packet decoded last must last until the end of the video, not as long as its own
// picture is shown.
func (m *muxer) hold(pkt *astiav.Packet) error {
	if m.written == 1 {
		m.decoded = pkt.Dts()
	} else if err := m.writeLatest(); err != nil {
		return err
	}
	if m.latest = pkt.Clone(); m.latest == nil {
		return errors.New("encode: out of memory")
	}
	return nil
}

func (m *muxer) writeLatest() error {
	p := m.latest
	m.latest = nil
	defer p.Free()
	return m.write((*C.AVPacket)(av.PacketPtr(p)))
}

func (m *muxer) writeLast() error {
	if m.latest == nil {
		return nil
	}
	rest := m.end - m.begin - (m.latest.Dts() - m.decoded)
	m.latest.SetDuration(max(m.latest.Duration(), rest)) // or its picture is also shown last
	return m.writeLatest()
}

// maxRefused packets rejected in a row are not single faults.
const maxRefused = 50

// write hands a packet to the muxer, which takes its references.
func (m *muxer) write(p *C.AVPacket) error {
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

// note adds a packet for the muxer to the digests of Verify.
func (m *muxer) note(p *C.AVPacket) {
	i := int(p.stream_index)
	if m.given[i] == nil {
		m.given[i] = newDigest(m.opts.Format, av.Slice(m.oc.streams, int(m.oc.nb_streams))[i])
	}
	m.given[i].add(p)
}

// took evaluates the muxer's result. An invalid packet is counted and left out, since one bad
// subtitle is no reason to lose a video. Verify notices if it was a frame.
func (m *muxer) took(code C.int) (ok bool, _ error) {
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

// flushMuxer empties the muxer's queue, so that a packet rejected at the end does not keep it from
// finishing the file.
func (m *muxer) flushMuxer() error {
	for done := false; !done && m.failed == nil; {
		done, _ = m.took(C.av_interleaved_write_frame(m.oc, nil))
	}
	if m.failed == nil && m.refused > 0 {
		_, _ = m.took(C.av_write_frame(m.oc, nil)) // Matroska's muxer keeps one more
	}
	return m.failed
}

// newStream makes an output stream with all properties but the codec's.
func (m *muxer) newStream(s *astiav.Stream) (*C.AVStream, error) {
	st := C.avformat_new_stream(m.oc, nil)
	if st == nil {
		return nil, errors.New("encode: out of memory")
	}
	in := inputStream(s)
	st.disposition = in.disposition
	st.time_base = in.time_base
	st.avg_frame_rate, st.r_frame_rate = in.avg_frame_rate, in.r_frame_rate
	st.sample_aspect_ratio = in.sample_aspect_ratio
	st.discard = in.discard
	if m.form.KeepsIDs {
		st.id = in.id // the PID
	}
	if err := av.Error(int(C.av_dict_copy(&st.metadata, in.metadata, 0))); err != nil {
		return st, err
	}
	stampTime(&st.metadata)
	if to := m.form.LanguageCode(metadata(st.metadata, "language")); to != "" {
		set(&st.metadata, "language", to)
	}
	m.keepNames(&st.metadata, "encoding_tool")
	m.nameHandler(st)
	return st, nil
}

// nameHandler writes a stream's title where most programs look for it in MP4.
func (m *muxer) nameHandler(st *C.AVStream) {
	if title := metadata(st.metadata, "title"); title != "" && m.mp4() {
		setDefault(&st.metadata, "handler_name", title)
	}
}

// keepNames keeps FFmpeg's muxer for Matroska from leaving out tags of the given names, and from
// renaming those that end like a language of two letters: no language at the end is none.
func (m *muxer) keepNames(d **C.AVDictionary, omitted ...string) {
	if m.form.Family != formats.Matroska {
		return
	}
	for k, v := range tags(*d) {
		name := strings.ToLower(k)
		if slices.Contains(omitted, name) || len(k) > 3 && k[len(k)-3] == '-' {
			set(d, k, "")
			set(d, k+"-und", v)
		}
	}
}

// seekable reports whether the muxer can go back in the output. A muxer without a file counts as
// seekable.
func (m *muxer) seekable() bool {
	return m.oc.pb == nil || m.oc.pb.seekable&C.AVIO_SEEKABLE_NORMAL != 0
}

func (m *muxer) hasCover() bool {
	return slices.ContainsFunc(av.Slice(m.oc.streams, int(m.oc.nb_streams)), func(st *C.AVStream) bool {
		return st.disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0
	})
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
	if name, ok := strings.CutPrefix(m.path, "file:"); ok && m.seekable() { // we must not be a pipe's last reader
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

// precoded is the state of an output whose video is already encoded.
type precoded struct {
	joined bool
	order  order
}
