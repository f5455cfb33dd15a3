package encode

//#cgo pkg-config: libavformat libavcodec libavutil
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/text"
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

// writeVideo writes the packet of a picture, which it borrows.
func (m *muxer) writeVideo(pkt *astiav.Packet) error {
	p := (*C.AVPacket)(av.PacketPtr(pkt))
	p.stream_index = m.video.index
	if err := m.insertExif(p); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	switch {
	case m.form.Family == formats.Broadcast:
		return m.step(pkt)
	case m.form.OneRate:
		return m.keepPace(pkt)
	}
	p.pts -= C.int64_t(m.shift)
	p.dts -= C.int64_t(m.shift)
	C.av_packet_rescale_ts(p, m.unit, m.video.time_base)
	if p.dts > p.pts {
		return fmt.Errorf("encode: picture %d would be decoded at %d, after it is shown at %d: a fault of vidfilter; please report it", m.written+1, p.dts, p.pts)
	}
	m.written++
	end := p.pts
	if m.mp4() {
		end += p.duration
	}
	m.begin, m.end = min(m.begin, int64(p.pts)), max(m.end, int64(end))
	if m.mp4() {
		return m.hold(pkt)
	}
	return m.write(p)
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

// carry takes p, a packet of a stream that is written.
func (m *muxer) carry(own *astiav.Packet) error {
	defer own.Free()
	l := m.lanes[own.StreamIndex()]
	p := (*C.AVPacket)(av.PacketPtr(own))
	if l.aud != nil {
		return m.pushAudio(l, own)
	}
	if l.subs != nil {
		if p.size > maxSubtitle {
			m.subsLost++
			m.warn("a subtitle of %s is left out: those up to %s are converted", text.Size(int64(p.size)), text.Size(maxSubtitle))
			return nil
		}
		if n := C.vf_subs_convert(l.subs, p); n <= 0 {
			if n < 0 {
				m.subsLost++
				m.warn("a subtitle could not be converted: %v", av.Error(int(n)))
			}
			return nil
		}
	}
	m.checkSound(l, p)
	if l.st.codecpar.codec_id == C.AV_CODEC_ID_WEBVTT {
		if err := av.Error(int(C.vf_cue_settings(p))); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
	}
	return m.carryTo(l, p, l.from)
}

// maxSubtitle is the largest subtitle, in bytes, that is converted: MP4 counts them in 16 bits, and
// FFmpeg's converters take time by the square of the length.
const maxSubtitle = 1<<16 - 1

// carryTo writes a packet whose times are in the given unit.
func (m *muxer) carryTo(l *lane, p *C.AVPacket, from C.AVRational) error {
	if m.form.Family == formats.Broadcast {
		return m.laySound(l, p, from)
	}
	p.stream_index = l.st.index
	p.pos = -1
	C.av_packet_rescale_ts(p, from, l.st.time_base)
	if p.dts == C.AV_NOPTS_VALUE {
		p.dts = p.pts
	}
	if p.duration < 0 || p.duration > math.MaxInt32 {
		p.duration = 0 // a subtitle without an end; muxers reject a number for that
	}
	if m.mp4() && p.duration == 0 && l.st.codecpar.codec_type == C.AVMEDIA_TYPE_SUBTITLE {
		// In MP4 the next subtitle ends it. The last one would not be shown at all, so it gets a
		// few seconds.
		p.duration = C.av_rescale_q(3, C.AVRational{1, 1}, l.st.time_base)
	}
	if p.dts != C.AV_NOPTS_VALUE {
		if int64(p.dts) < l.last && p.flags&C.AV_PKT_FLAG_DISCARD == 0 { // FFmpeg makes up the times of hidden ones
			m.fixed++
		}
		if int64(p.dts) <= l.last && !(m.oc.oformat.flags&C.AVFMT_TS_NONSTRICT != 0 && int64(p.dts) == l.last) {
			p.dts = C.int64_t(l.last + 1)
		}
		if p.pts != C.AV_NOPTS_VALUE && p.pts < p.dts {
			p.pts = p.dts
		}
		l.last = int64(p.dts)
	}
	return m.write(p)
}
