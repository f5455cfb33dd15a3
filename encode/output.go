package encode

//#cgo pkg-config: libavformat libavcodec libavutil
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/text"
	"vidfilter/pipeline"
)

// Options of Create.
type Options struct {
	Format  string // FFmpeg's name: see package formats
	Encoder string // FFmpeg's name; "" for the default, or a picture's own

	CRF     float64 // constant quality if Bitrate is 0; below 0 for the encoder's own
	OwnCRF  bool    // CRF is the user's, not a default
	Bitrate int64   // bits a second
	Preset  string  // "" for the encoder's own
	Tune    string
	GOP     int    // most frames from one key frame to the next; 0: the encoder chooses
	Params  Params // of --x264-params
	// EncoderParams are further parameters of the encoder, by its own names.
	EncoderParams Params
	PixelFormat   string // "" keeps the frames' own
	Depth         int    // bits of the samples that are coded; 0: those of the frames
	LeastDepth    int    // the same for frames with fewer; not with Depth
	// Device is for encoders that work on one, as Codec.OnDevice says; nil: there is none.
	Device  Device
	Threads int // 0: one per core

	// Fragment makes an mp4 or mov that plays while it is written, and after writing was cut off,
	// up to the last fragment of about this length. 0 makes an ordinary file.
	Fragment time.Duration

	// CodeSound codes uncompressed sound, which a recording of packets would not keep in step.
	CodeSound bool

	// FilmGrain makes room for the grain of frames in AV1. That of a source in AV1 has it anyway.
	FilmGrain bool

	// Interlaced means that there are interlaced pictures, of this order, though the first is none.
	Interlaced    bool
	TopFieldFirst bool

	// Undecided means that an encoder of interlaced pictures is chosen if there are some.
	Undecided bool

	clocks bool // pictures get timecodes

	Software string       // written as the encoder of the file
	Log      *slog.Logger // warnings for the user; nil drops them
}

// Template describes the input that the output takes streams and metadata from. The input must
// stay open until the output is closed.
type Template struct {
	Context    *astiav.FormatContext
	Video      *astiav.Stream // what frames say goes before it
	Others     []*astiav.Stream
	Shift      int64 // microseconds added to the input's times, for chapters
	Start, End int64 // part of the output's clock, in microseconds; End 0 is open
	Cut        bool  // cut chapters to that part
	// Facts returns what the input says of itself, once there is a frame. What the format has no
	// place for is a warning then; nil says nothing.
	Facts func() fidelity.Facts
	// Look returns what the first frame of the input says. What the first frame that is put says
	// otherwise was changed on purpose. nil: nothing was.
	Look func() *fidelity.Look
	// Allow refuses changes, by the keys of Look.Turned, before anything is written. It borrows the
	// first frame that is put; may be nil.
	Allow func(first *pipeline.Frame, turned []string) error
	// Again means that the job can begin again: Put may return a LateFieldsError.
	Again bool

	// Part writes the video alone, without metadata, into an mp4 or mov. Times count from the
	// first frame and are exact in the unit of Video, which must be that of frames. Tag then adds
	// a tag to the file.
	Part bool
	Tag  func(first int64) (key, value string)
}

// Output writes one file: a pipeline.Sink for frames, and WritePacket for the other streams.
type Output struct {
	coder
	path  string
	again *os.File // the same; nil if it cannot be read

	exif     []byte         // a segment that goes into a JPEG
	precoded *precoded      // for packets that are already encoded, nil for frames
	timecode string         // of the first picture
	found    fidelity.Facts // in the finished file
	shift    int64          // subtracted from the video's times, in their unit
	first    int64          // time of the first frame, likewise

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
	paced atomic.Pointer[float64] // the coder's pace
	from  atomic.Int64            // time of the first frame, microseconds
	time  atomic.Int64            // end of the last frame put, microseconds
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

// Create prepares an output at path; "pipe:1" and the like mean the same as for FFmpeg. The first
// frame opens the file and writes its header. Close frees the output; only Finish completes the
// file.
func Create(path string, in Template, o Options) (*Output, error) {
	out := &Output{path: path, coder: newCoder(in, o), lanes: map[int]*lane{}, undescribed: map[int]bool{}, given: map[int]*digest{}, begin: math.MaxInt64, end: math.MinInt64}
	out.give = out.giveVideo
	name := C.CString(out.form.Muxer())
	defer C.free(unsafe.Pointer(name))
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	if err := av.Error(int(C.avformat_alloc_output_context2(&out.oc, nil, name, cpath))); err != nil {
		return nil, OutputError("choose the format "+o.Format+" for", path, err)
	}
	// Boxes of MP4 for Dolby Vision, stereo and spherical video count as unofficial.
	out.oc.strict_std_compliance = C.FF_COMPLIANCE_UNOFFICIAL
	return out, nil
}

// mp4 reports whether the file is of the MP4 family.
func (o *Output) mp4() bool { return o.form.Family == formats.ISO }

// Frames returns how many frames of the video were put or, if encoded before, written.
func (o *Output) Frames() int64 { return o.frames }

// Bytes returns the size written so far; safe from any goroutine.
func (o *Output) Bytes() int64 { return o.bytes.Load() }

// Time returns the length of the video so far; safe from any goroutine.
func (o *Output) Time() time.Duration {
	return time.Duration(o.time.Load()-o.from.Load()) * time.Microsecond
}

func (o *Output) micros(t int64) int64 {
	return int64(C.av_rescale_q(C.int64_t(t), o.unit, C.AVRational{1, 1000000}))
}

// Damage counts faults of packets on their way out, by their names in messages.
func (o *Output) Damage() map[string]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := map[string]int64{}
	for _, l := range o.lanes {
		if l.aud != nil && l.aud.c.errors > 0 {
			m["audio decode errors"] += int64(l.aud.c.errors)
		}
	}
	if o.fixed > 0 {
		m["repaired packet times"] = o.fixed
	}
	if o.leftOut > 0 {
		m["streams left out"] = o.leftOut
	}
	if o.subsLost > 0 {
		m["subtitles left out"] = o.subsLost
	}
	if o.refused > 0 {
		m["packets that "+o.opts.Format+" refused"] = o.refused
	}
	if o.otherSound > 0 {
		m["packets of sound that changed"] = o.otherSound
	}
	return m
}

// Close frees everything. The file remains; without Finish it is incomplete.
func (o *Output) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.close()
	if o.latest != nil {
		o.latest.Free()
		o.latest = nil
	}
	for _, p := range o.early {
		p.Free()
	}
	o.early = nil
	for _, l := range o.lanes {
		l.close()
	}
	o.lanes = nil
	if o.oc != nil {
		_ = o.closeFile()
		C.avformat_free_context(o.oc)
		o.oc = nil
	}
	if o.again != nil {
		_ = o.again.Close()
		o.again = nil
	}
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

func (o *Output) closeFile() error {
	if o.oc.oformat.flags&C.AVFMT_NOFILE != 0 || o.oc.pb == nil {
		return nil
	}
	return av.Error(int(C.avio_closep(&o.oc.pb)))
}

// Put encodes a frame, which it takes. The first one fixes size, format and colour of the video.
func (o *Output) Put(_ context.Context, f *pipeline.Frame) error {
	if o.enc == nil {
		if err := o.start(f); err != nil {
			f.Release()
			return err
		}
		o.from.Store(o.micros(f.PTS))
	}
	if o.frames > 0 && o.isPicture() {
		f.Release()
		return Refusal("give --frames 1, or the name of a video file", "%s holds one picture, and the input has more", o.opts.Format)
	}
	end := o.micros(f.PTS + f.Duration)
	o.time.Store(end)
	return o.put(f)
}

// giveVideo writes the encoder's packet.
func (o *Output) giveVideo() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writeVideo()
}

func (o *Output) writeVideo() error {
	p := (*C.AVPacket)(av.PacketPtr(o.pkt))
	p.stream_index = o.video.index
	if err := o.insertExif(p); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	switch {
	case o.form.Family == formats.Broadcast:
		return o.step()
	case o.form.OneRate:
		return o.keepPace()
	}
	p.pts -= C.int64_t(o.shift)
	p.dts -= C.int64_t(o.shift)
	C.av_packet_rescale_ts(p, o.unit, o.video.time_base)
	if p.dts > p.pts {
		return fmt.Errorf("encode: picture %d would be decoded at %d, after it is shown at %d: a fault of vidfilter; please report it", o.written+1, p.dts, p.pts)
	}
	o.written++
	end := p.pts
	if o.mp4() {
		end += p.duration
	}
	o.begin, o.end = min(o.begin, int64(p.pts)), max(o.end, int64(end))
	if o.mp4() {
		return o.hold()
	}
	return o.write(p)
}

// hold keeps the packet in o.pkt until the next one comes. MP4 counts from one decode time to the
// next, so the packet decoded last must last until the end of the video, not as long as its own
// picture is shown.
func (o *Output) hold() error {
	if o.written == 1 {
		o.decoded = o.pkt.Dts()
	} else if err := o.writeLatest(); err != nil {
		return err
	}
	if o.latest = o.pkt.Clone(); o.latest == nil {
		return errors.New("encode: out of memory")
	}
	return nil
}

func (o *Output) writeLatest() error {
	p := o.latest
	o.latest = nil
	defer p.Free()
	return o.write((*C.AVPacket)(av.PacketPtr(p)))
}

func (o *Output) writeLast() error {
	if o.latest == nil {
		return nil
	}
	rest := o.end - o.begin - (o.latest.Dts() - o.decoded)
	o.latest.SetDuration(max(o.latest.Duration(), rest)) // or its picture is also shown last
	return o.writeLatest()
}

// maxRefused packets rejected in a row are not single faults.
const maxRefused = 50

// write hands a packet to the muxer, which takes its references.
func (o *Output) write(p *C.AVPacket) error {
	if o.failed != nil {
		return o.failed
	}
	o.note(p)
	if _, err := o.took(C.av_interleaved_write_frame(o.oc, p)); err != nil {
		return err
	}
	if o.oc.pb != nil {
		o.bytes.Store(int64(o.oc.pb.bytes_written))
	}
	return nil
}

// note adds a packet for the muxer to the digests of Verify.
func (o *Output) note(p *C.AVPacket) {
	i := int(p.stream_index)
	if o.given[i] == nil {
		o.given[i] = newDigest(o.opts.Format, av.Slice(o.oc.streams, int(o.oc.nb_streams))[i])
	}
	o.given[i].add(p)
}

// took evaluates the muxer's result. An invalid packet is counted and left out, since one bad
// subtitle is no reason to lose a video. Verify notices if it was a frame.
func (o *Output) took(code C.int) (ok bool, _ error) {
	err := av.Error(int(code))
	switch {
	case err == nil:
		o.inARow = 0
		return true, nil
	case o.inARow < maxRefused && (errors.Is(err, astiav.ErrInvaliddata) || av.Errno(err) == int(syscall.EINVAL) ||
		errors.Is(err, astiav.ErrPatchwelcome)): // the last by libavcodec/bsf/aac_adtstoasc.c
		o.inARow++
		o.refused++
		return false, nil
	}
	o.failed = o.writeError("write", err)
	return false, o.failed
}

// flushMuxer empties the muxer's queue, so that a packet rejected at the end does not keep it from
// finishing the file.
func (o *Output) flushMuxer() error {
	for done := false; !done && o.failed == nil; {
		done, _ = o.took(C.av_interleaved_write_frame(o.oc, nil))
	}
	if o.failed == nil && o.refused > 0 {
		_, _ = o.took(C.av_write_frame(o.oc, nil)) // Matroska's muxer keeps one more
	}
	return o.failed
}

// WritePacket writes a packet of another stream, which it borrows. It may run beside Put.
func (o *Output) WritePacket(p *astiav.Packet) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := p.StreamIndex(); !o.carries() || o.mapped && o.lanes[i] == nil {
		if o.undescribed[i] {
			delete(o.undescribed, i)
			o.leftOut++
		}
		return nil
	}
	own := p.Clone()
	if own == nil {
		return errors.New("encode: out of memory")
	}
	if !o.header {
		o.early = append(o.early, own)
		return nil
	}
	list := o.visible(o.lanes[own.StreamIndex()], own)
	for i, p := range list {
		if err := o.carry(p); err != nil {
			for _, rest := range list[i+1:] {
				rest.Free()
			}
			return err
		}
	}
	return nil
}

// carry takes p, a packet of a stream that is written.
func (o *Output) carry(own *astiav.Packet) error {
	defer own.Free()
	l := o.lanes[own.StreamIndex()]
	p := (*C.AVPacket)(av.PacketPtr(own))
	if l.aud != nil {
		return o.pushAudio(l, own)
	}
	if l.subs != nil {
		if p.size > maxSubtitle {
			o.subsLost++
			o.warn("a subtitle of %s is left out: those up to %s are converted", text.Size(int64(p.size)), text.Size(maxSubtitle))
			return nil
		}
		if n := C.vf_subs_convert(l.subs, p); n <= 0 {
			if n < 0 {
				o.subsLost++
				o.warn("a subtitle could not be converted: %v", av.Error(int(n)))
			}
			return nil
		}
	}
	o.checkSound(l, p)
	if l.st.codecpar.codec_id == C.AV_CODEC_ID_WEBVTT {
		if err := av.Error(int(C.vf_cue_settings(p))); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
	}
	return o.carryTo(l, p, l.from)
}

// maxSubtitle is the largest subtitle, in bytes, that is converted: MP4 counts them in 16 bits, and
// FFmpeg's converters take time by the square of the length.
const maxSubtitle = 1<<16 - 1

// carryTo writes a packet whose times are in the given unit.
func (o *Output) carryTo(l *lane, p *C.AVPacket, from C.AVRational) error {
	if o.form.Family == formats.Broadcast {
		return o.laySound(l, p, from)
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
	if o.mp4() && p.duration == 0 && l.st.codecpar.codec_type == C.AVMEDIA_TYPE_SUBTITLE {
		// In MP4 the next subtitle ends it. The last one would not be shown at all, so it gets a
		// few seconds.
		p.duration = C.av_rescale_q(3, C.AVRational{1, 1}, l.st.time_base)
	}
	if p.dts != C.AV_NOPTS_VALUE {
		if int64(p.dts) < l.last && p.flags&C.AV_PKT_FLAG_DISCARD == 0 { // FFmpeg makes up the times of hidden ones
			o.fixed++
		}
		if int64(p.dts) <= l.last && !(o.oc.oformat.flags&C.AVFMT_TS_NONSTRICT != 0 && int64(p.dts) == l.last) {
			p.dts = C.int64_t(l.last + 1)
		}
		if p.pts != C.AV_NOPTS_VALUE && p.pts < p.dts {
			p.pts = p.dts
		}
		l.last = int64(p.dts)
	}
	return o.write(p)
}

// Finish flushes the encoder and writes the trailer. The file is then complete, under its present
// name.
func (o *Output) Finish(context.Context) error {
	if !o.header {
		return Refusal("", "there is no frame to write")
	}
	if o.precoded == nil {
		if err := o.flush(); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.lanes {
		if l.aud != nil {
			if err := o.pushAudio(l, nil); err != nil {
				return err
			}
		}
	}
	last := o.writeLast
	switch {
	case o.form.Family == formats.Broadcast:
		last = o.finishBroadcast
	case o.form.OneRate:
		last = o.finishPace
	}
	if err := last(); err != nil {
		return err
	}
	if err := o.flushMuxer(); err != nil {
		return err
	}
	if err := av.Error(int(C.av_write_trailer(o.oc))); err != nil {
		return o.writeError("finish", err)
	}
	o.nameEmpty()
	if o.oc.pb != nil {
		o.bytes.Store(int64(o.oc.pb.bytes_written))
		if n := C.avio_size(o.oc.pb); n > 0 { // bytes that were overwritten count once
			o.bytes.Store(int64(n))
		}
	}
	if err := o.closeFile(); err != nil {
		return o.writeError("close", err)
	}
	return nil
}

func rational(r astiav.Rational) C.AVRational { return C.AVRational{C.int(r.Num()), C.int(r.Den())} }

func fraction(r pipeline.Ratio) C.AVRational { return C.AVRational{C.int(r.Num), C.int(r.Den)} }
