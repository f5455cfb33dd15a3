package encode

//#cgo pkg-config: libavformat libavcodec libavutil
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// Options of Create.
type Options struct {
	Format  string // mp4, mov, matroska, mpegts, null, or an image: png, mjpeg, bmp, tiff, ppm
	Encoder string // FFmpeg's name, "" for libx264 or the image's own

	CRF         float64 // constant quality, used when Bitrate is 0; below 0 for the encoder's own
	Bitrate     int64   // bits a second
	Preset      string  // "" for the encoder's own
	Tune        string
	GOP         int    // frames between key frames at most, 0 for the encoder's choice
	Params      string // --x264-params
	PixelFormat string // "" keeps the frames' own
	Threads     int    // 0 for one a core

	// Fragment makes an mp4 or mov that can be played while it is written, and whenever writing stops, up to the
	// last fragment of about this length. 0 makes an ordinary one.
	Fragment time.Duration

	Software string // written as the encoder of the file
	Warn     func(format string, args ...any)
}

// Template is what the output takes over from an open input. It must stay open until the output is closed.
type Template struct {
	Context    *astiav.FormatContext
	Video      *astiav.Stream
	Others     []*astiav.Stream
	FrameRate  astiav.Rational // 0/1 when unknown
	Shift      int64           // microseconds added to the input's times: chapters move along
	Start, End int64           // the part of the output's clock that is filled, in microseconds; End 0 is open
	Cut        bool            // chapters are cut to the part

	// Part writes the video and nothing that is said of it, with times that count from the first frame's. Tag is
	// added to the file then. For mp4 and mov; times are exact to the unit of Video.
	Part bool
	Tag  func(first int64) (key, value string)
}

// Output writes one file: a pipeline.Sink for frames, and WritePacket for the other streams.
type Output struct {
	path string
	opts Options
	in   Template

	enc    *astiav.CodecContext
	pkt    *astiav.Packet
	scaler av.Scaler
	to     *encoderInput // conversion in front of the encoder, nil for none
	frames int64
	exif   []byte // a segment that goes into a JPEG
	ready  *ready // for packets that are coded already, nil for frames
	shift  int64  // subtracted from the video's times, in the input's unit

	mu      sync.Mutex // guards what follows: frames and packets come from two goroutines
	oc      *C.AVFormatContext
	video   *C.AVStream
	lanes   map[int]*lane // by input stream
	early   []*astiav.Packet
	header  bool
	failed  error
	written int64 // video packets
	fixed   int64
	refused int64 // packets that the muxer turned down
	inARow  int   // of them, since the last one that it took
	begin   int64 // earliest time of a video packet, microseconds
	end     int64 // latest; in MP4, which keeps the length of the last frame, its end

	bytes atomic.Int64
	from  atomic.Int64 // time of the first frame, microseconds
	time  atomic.Int64 // end of the last frame put, microseconds
}

// lane is one stream that is carried along.
type lane struct {
	st   *C.AVStream
	from C.AVRational
	last int64 // dts
	subs *C.vf_subs
	aud  *audioConverter
}

// Create prepares an output at path ("pipe:1" and the like are taken as FFmpeg does). The file is opened and
// its header written when the first frame arrives. Close frees it; only Finish makes it whole.
func Create(path string, in Template, o Options) (*Output, error) {
	out := &Output{path: path, opts: o, in: in, lanes: map[int]*lane{}, begin: math.MaxInt64, end: math.MinInt64}
	if out.opts.Warn == nil {
		out.opts.Warn = func(string, ...any) {}
	}
	name := C.CString(muxer(o.Format))
	defer C.free(unsafe.Pointer(name))
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	if err := av.Error(int(C.avformat_alloc_output_context2(&out.oc, nil, name, cpath))); err != nil {
		return nil, outputError("choose the format "+o.Format+" for", path, err)
	}
	out.pkt = astiav.AllocPacket()
	if err := out.mapStreams(); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// Image tells whether a format holds a single picture.
func Image(format string) bool { return imageEncoder(format) != "" }

func imageEncoder(format string) string {
	switch format {
	case "png", "mjpeg", "bmp", "tiff", "ppm":
		return format
	}
	return ""
}

func muxer(format string) string {
	if Image(format) {
		return "image2pipe"
	}
	return format
}

// Bytes returns the size written so far; safe from any goroutine.
func (o *Output) Bytes() int64 { return o.bytes.Load() }

// Time returns how much of the video's time has been put; safe from any goroutine.
func (o *Output) Time() time.Duration {
	return time.Duration(o.time.Load()-o.from.Load()) * time.Microsecond
}

func (o *Output) micros(t int64) int64 {
	return int64(C.av_rescale_q(C.int64_t(t), rational(o.in.Video.TimeBase()), C.AVRational{1, 1000000}))
}

// Damage counts what was wrong with packets on their way out, by a name for people.
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
	if o.refused > 0 {
		m["packets that "+o.opts.Format+" refused"] = o.refused
	}
	return m
}

// Close frees everything. What was written stays where it is; without Finish it is not a whole file.
func (o *Output) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.enc != nil {
		o.enc.Free()
		o.enc = nil
	}
	if o.pkt != nil {
		o.pkt.Free()
		o.pkt = nil
	}
	for _, p := range o.early {
		p.Free()
	}
	o.early = nil
	for _, l := range o.lanes {
		l.close()
	}
	o.lanes = nil
	o.scaler.Close()
	if o.oc != nil {
		_ = o.closeFile()
		C.avformat_free_context(o.oc)
		o.oc = nil
	}
}

func (l *lane) close() {
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

// Put encodes a frame; the first one fixes size, format and colour of the video.
func (o *Output) Put(_ context.Context, f *pipeline.Frame) error {
	if o.enc == nil {
		if err := o.start(f); err != nil {
			f.Release()
			return err
		}
		o.from.Store(o.micros(f.PTS))
	}
	if o.frames > 0 && Image(o.opts.Format) {
		f.Release()
		return refusal("give --frames 1, or the name of a video file", "%s holds one picture, and the input has more", o.opts.Format)
	}
	end := o.micros(f.PTS + f.Duration)
	frame, err := av.Wrap(f) // takes f
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	defer func() { frame.Free() }()
	if o.to != nil {
		converted, err := o.to.convert(frame)
		if err != nil {
			return fmt.Errorf("encode: convert to %s: %w", o.enc.PixelFormat(), err)
		}
		frame.Free()
		frame = converted
	}
	o.frames++
	o.time.Store(end)
	if err := o.enc.SendFrame(frame); err != nil {
		return fmt.Errorf("encode frame %d: %w", o.frames, err)
	}
	return o.drain()
}

// drain writes the packets that the encoder has ready.
func (o *Output) drain() error {
	for {
		err := o.enc.ReceivePacket(o.pkt)
		if errors.Is(err, astiav.ErrEagain) || errors.Is(err, astiav.ErrEof) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		o.mu.Lock()
		err = o.writeVideo()
		o.mu.Unlock()
		o.pkt.Unref()
		if err != nil {
			return err
		}
	}
}

func (o *Output) writeVideo() error {
	p := (*C.AVPacket)(av.PacketPtr(o.pkt))
	p.stream_index = o.video.index
	if err := o.insertExif(p); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	p.pts -= C.int64_t(o.shift)
	p.dts -= C.int64_t(o.shift)
	tb := o.in.Video.TimeBase()
	C.av_packet_rescale_ts(p, rational(tb), o.video.time_base)
	o.written++
	end := p.pts
	if o.mp4() {
		end += p.duration
	}
	us := C.AVRational{1, 1000000}
	o.begin = min(o.begin, int64(C.av_rescale_q(p.pts, o.video.time_base, us)))
	o.end = max(o.end, int64(C.av_rescale_q(end, o.video.time_base, us)))
	return o.write(p)
}

// A muxer that turns so many packets down one after another does not mean single packets.
const maxRefused = 50

// write hands a packet to the muxer, which takes what it refers to. A packet that the muxer finds invalid
// is counted and left out, since one bad subtitle is no reason to lose a video; a frame that is lost this
// way shows when the file is verified.
func (o *Output) write(p *C.AVPacket) error {
	if o.failed != nil {
		return o.failed
	}
	err := av.Error(int(C.av_interleaved_write_frame(o.oc, p)))
	switch {
	case err == nil:
		o.inARow = 0
	case (errors.Is(err, astiav.ErrInvaliddata) || av.Errno(err) == int(syscall.EINVAL)) && o.inARow < maxRefused:
		o.inARow++
		o.refused++
	default:
		o.failed = o.writeError("write", err)
		return o.failed
	}
	if o.oc.pb != nil {
		o.bytes.Store(int64(o.oc.pb.bytes_written))
	}
	return nil
}

// WritePacket carries a packet of another stream along; it borrows p. Safe beside Put.
func (o *Output) WritePacket(p *astiav.Packet) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lanes[p.StreamIndex()] == nil {
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
	return o.carry(own)
}

// carry takes p.
func (o *Output) carry(own *astiav.Packet) error {
	defer own.Free()
	l := o.lanes[own.StreamIndex()]
	p := (*C.AVPacket)(av.PacketPtr(own))
	if l.aud != nil {
		return l.aud.push(o, l, own)
	}
	if l.subs != nil {
		if n := C.vf_subs_convert(l.subs, p); n <= 0 {
			if n < 0 {
				o.opts.Warn("a subtitle could not be converted: %v", av.Error(int(n)))
			}
			return nil
		}
	}
	return o.carryTo(l, p, l.from)
}

// carryTo writes a packet whose times are in the given unit.
func (o *Output) carryTo(l *lane, p *C.AVPacket, from C.AVRational) error {
	p.stream_index = l.st.index
	p.pos = -1
	C.av_packet_rescale_ts(p, from, l.st.time_base)
	if p.dts == C.AV_NOPTS_VALUE {
		p.dts = p.pts
	}
	if p.duration < 0 || p.duration > math.MaxInt32 {
		p.duration = 0 // a subtitle that nothing ends; muxers refuse a number for that
	}
	if o.mp4() && p.duration == 0 && l.st.codecpar.codec_type == C.AVMEDIA_TYPE_SUBTITLE {
		// In MP4 the next one ends it. The last one would not be shown at all, so it gets a few seconds.
		p.duration = C.av_rescale_q(3, C.AVRational{1, 1}, l.st.time_base)
	}
	if p.dts != C.AV_NOPTS_VALUE {
		if int64(p.dts) < l.last {
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

// flush gets the rest out of the encoder, if there is one.
func (o *Output) flush() error {
	if o.ready != nil {
		return nil
	}
	if err := o.enc.SendFrame(nil); err != nil && !errors.Is(err, astiav.ErrEof) {
		return fmt.Errorf("encode: flush: %w", err)
	}
	return o.drain()
}

// Finish flushes the encoder and writes the trailer. The file is then complete, under the name it has.
func (o *Output) Finish(context.Context) error {
	if !o.header {
		return refusal("", "there is no frame to write")
	}
	if err := o.flush(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.lanes {
		if l.aud != nil {
			if err := l.aud.push(o, l, nil); err != nil {
				return err
			}
		}
	}
	if o.failed != nil {
		return o.failed
	}
	if err := av.Error(int(C.av_write_trailer(o.oc))); err != nil {
		return o.writeError("finish", err)
	}
	if o.oc.pb != nil {
		o.bytes.Store(int64(o.oc.pb.bytes_written))
		if n := C.avio_size(o.oc.pb); n > 0 { // what was written twice counts once
			o.bytes.Store(int64(n))
		}
	}
	if err := o.closeFile(); err != nil {
		return o.writeError("close", err)
	}
	return nil
}

func rational(r astiav.Rational) C.AVRational { return C.AVRational{C.int(r.Num()), C.int(r.Den())} }
