package decode

//#include "glue.h"
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// StreamOptions are options of OpenStream. The zero value is ready.
type StreamOptions struct {
	MaxPixels int64 // larger pictures are errors; 0 means no limit
	Threads   int   // for the slices of a picture; 0 for one per core
}

// Stream decodes single pictures, as from a browser's encoder, without delay. It is for one
// goroutine.
type Stream struct {
	decoder
	kind    streamKind
	threads int
	lost    bool   // until a key frame comes
	headers []byte // that came alone, for the next picture
	rate    pipeline.Ratio

	describeTo func(*astiav.CodecContext) error // sets known properties; may be nil
}

type streamKind struct {
	id      astiav.CodecID
	intra   bool                      // every picture can be decoded alone
	key     func(picture []byte) bool // it is a key frame; nil: always
	headers func(picture []byte) bool // the data is no picture, but belongs to the next; nil: never
}

var streamKinds = map[string]streamKind{
	"h264": {astiav.CodecIDH264, false, func(b []byte) bool { return h264Entry(startCodeUnits(b)) }, h264Headers},
	"vp8":  {astiav.CodecIDVp8, false, func(b []byte) bool { return len(b) > 0 && b[0]&1 == 0 }, nil},
	"jpeg": {astiav.CodecIDMjpeg, true, nil, nil},
}

// h264Headers reports whether there are only parameter sets and the like.
func h264Headers(picture []byte) bool {
	only := false
	for _, u := range startCodeUnits(picture) {
		if kind := u[0] & 31; kind < 6 || kind > 9 {
			return false
		}
		only = true
	}
	return only
}

// OpenStream returns a decoder of "h264" (Annex B), "vp8" or "jpeg" that begins with a key frame.
// Frames live in memory of pool.
func OpenStream(codec string, pool *pipeline.Pool, o StreamOptions) (*Stream, error) {
	kind, ok := streamKinds[codec]
	if !ok {
		return nil, &Error{Op: "decode", Err: optionError(fmt.Sprintf("no codec %q for single pictures", codec)),
			hint: "h264, vp8 and jpeg are known"}
	}
	s := &Stream{kind: kind, threads: o.Threads, lost: true}
	s.decoder = decoder{logger: logger{path: codec + " picture"}, pool: pool, maxPixels: o.MaxPixels}
	if err := s.open(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// open begins anew, with a fresh decoder.
func (s *Stream) open() error {
	s.close()
	if err := s.alloc(s.kind.id); err != nil {
		return err
	}
	if s.describeTo != nil {
		if err := s.describeTo(s.dec); err != nil {
			return &Error{Op: "decode", Path: s.path, Err: err}
		}
	}
	s.dec.SetFlags(s.dec.Flags() | astiav.CodecContextFlags(astiav.CodecContextFlagLowDelay))
	s.dec.SetThreadType(astiav.ThreadTypeSlice) // each thread of frames adds a frame of delay
	if s.kind.intra {
		// If no later picture refers to it, a damaged picture is better dropped than concealed.
		s.dec.SetErrorRecognitionFlags(astiav.ErrorRecognitionFlags(astiav.ErrorRecognitionFlagExplode))
	}
	s.found.steps.open(s.dec)
	return s.start(s.threads, C.AVRational{1, C.int(second)})
}

// Close frees it. Frames handed out stay valid. It may be called twice; Decode then returns
// errors.
func (s *Stream) Close() { s.close() }

// Decode decodes one whole picture, which it only reads, and returns its frame, owned by the
// caller and with the given PTS; nil if the picture is not shown, or not yet, by its stream. The
// format of frames follows the stream. After an error that wraps ErrKeyFrame, pictures are refused
// up to the next key frame.
func (s *Stream) Decode(picture []byte, pts int64) (*pipeline.Frame, error) {
	const mostHeaders = 1 << 16
	switch {
	case s.dec == nil:
		return nil, &Error{Op: "decode", Path: s.path, Err: errors.New("the stream is closed")}
	case len(s.headers)+len(picture) <= mostHeaders && s.kind.headers != nil && s.kind.headers(picture):
		s.headers = append(s.headers, picture...)
		return nil, nil
	case len(s.headers) > 0:
		picture = append(s.headers, picture...)
		s.headers = nil
	}
	err := av.Error(int(C.vf_packet((*C.AVPacket)(av.PacketPtr(s.pkt)), unsafe.Pointer(unsafe.SliceData(picture)), C.size_t(len(picture)), C.int64_t(pts))))
	if err != nil {
		return nil, s.damagedBy(err)
	}
	return s.take(s.pkt)
}

// take decodes a packet, which it empties.
func (s *Stream) take(p *astiav.Packet) (*pipeline.Frame, error) {
	if s.lost && s.kind.key != nil && !s.kind.key(payload(p)) {
		p.Unref()
		return nil, s.damagedBy(nil)
	}
	f, err := s.decode(p)
	if s.kind.intra {
		s.lost = false
		return f, err
	}
	if s.lost = err != nil; err == nil {
		return f, nil
	}
	if err := s.open(); err != nil { // no traces in the next picture
		return nil, err
	}
	return nil, err
}

func (s *Stream) decode(p *astiav.Packet) (*pipeline.Frame, error) {
	if s.kind.id == astiav.CodecIDMjpeg && endless(payload(p)) {
		p.Unref()
		return nil, s.damagedBy(errors.New("too many scans"))
	}
	s.found.packet(p)
	err := s.dec.SendPacket(p)
	p.Unref()
	if err != nil {
		return nil, s.damagedBy(err)
	}
	return s.newest()
}

// newest returns the last frame that the decoder has, usually the only one.
func (s *Stream) newest() (last *pipeline.Frame, err error) {
	for {
		err := s.dec.ReceiveFrame(s.frame)
		if errors.Is(err, astiav.ErrEagain) {
			return last, nil
		}
		var f *pipeline.Frame
		if err != nil {
			err = s.damagedBy(err)
		} else {
			f, err = s.convert()
			s.frame.Unref()
		}
		if last != nil {
			last.Release()
		}
		if err != nil {
			return nil, err
		}
		last = f
	}
}

func (s *Stream) convert() (*pipeline.Frame, error) {
	c := (*C.AVFrame)(s.frame.UnsafePointer())
	if concealed(c) {
		return nil, s.damagedBy(nil)
	}
	if err := tooLarge(s.path, s.maxPixels, 0, int(c.width), int(c.height), astiav.PixelFormat(c.format)); err != nil {
		return nil, err
	}
	video := s.sharedBy(s.videoOf(c))
	src, native := s.describe(c)
	s.format = src // which may change in mid-stream
	f, err := s.build(c, src, native)
	if err == nil {
		f.Video = video
	}
	return f, err
}

// damagedBy returns the error for a picture that cannot be used; a nil cause means damage.
func (s *Stream) damagedBy(cause error) error {
	if large := s.oversize(cause); large != nil {
		return &Error{Op: "decode", Path: s.path, Err: large}
	}
	what := errors.New("damaged")
	switch {
	case s.lost && cause == nil:
		what = errors.New("it depends on lost pictures")
	case errors.Is(cause, astiav.ErrInvaliddata), cause == nil:
	default:
		what = fmt.Errorf("damaged: %w", cause)
	}
	if !s.kind.intra {
		what = fmt.Errorf("%w: %w", what, ErrKeyFrame)
	}
	return &Error{Op: "decode", Path: s.path, Err: what}
}

// oversize returns the error for a picture that FFmpeg refused for its size, nil if it had another
// cause. FFmpeg does not report the sides of pictures that are far too large.
func (s *Stream) oversize(cause error) error {
	if s.maxPixels <= 0 || s.dec == nil {
		return nil
	}
	switch w, h := s.dec.Width(), s.dec.Height(); {
	case int64(w)*int64(h) > s.maxPixels:
		return errTooLarge(fmt.Sprintf("%dx%d is more than %d pixels", w, h, s.maxPixels))
	case w == 0 && syscall.Errno(av.Errno(cause)) == syscall.EINVAL:
		return errTooLarge(fmt.Sprintf("a picture has more than %d pixels", s.maxPixels))
	}
	return nil
}

// endless recognizes a JPEG that is more work than any real one: each scan may cover the whole
// picture in a few bytes. The mark of a scan cannot occur in samples.
func endless(jpeg []byte) bool {
	const mostScans = 100
	return bytes.Count(jpeg, []byte{0xff, 0xda}) > mostScans
}

// videoOf describes pictures of a stream or camera, whose times are in microseconds.
func (s *Stream) videoOf(c *C.AVFrame) pipeline.Video {
	return pipeline.Video{
		TimeBase: pipeline.Ratio{Num: 1, Den: int(second)}, Rate: s.rate,
		Aspect: pipeline.Ratio{Num: int(c.sample_aspect_ratio.num), Den: int(c.sample_aspect_ratio.den)},
		Alpha:  hasAlpha(s.dec.PixelFormat()), Matrix: matrixOf(nil, c),
	}
}
