package decode

//#include "glue.h"
import "C"

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// Cuts describes how a video can be cut into parts to filter apart.
type Cuts struct {
	TimeBase string  `json:"time_base"` // the unit of all times, as 1/90000
	Frames   int64   `json:"frames"`    // counted, or else by the file's header; 0 if unknown
	Seconds  float64 `json:"seconds"`   // the same
	Parts    []Range `json:"parts"`     // in order, without a gap; empty if it must not be cut
	Whole    string  `json:"whole"`     // why it must not be cut
}

// Scan reads the video stream that Open would choose, without decoding it, and finds parts that
// begin at key frames and last at least length each. A file that cannot be cut safely is no error.
func Scan(ctx context.Context, path string, o Options, length time.Duration, w pipeline.Window) (
	*Cuts, error,
) {
	o.VideoOnly = true
	in, err := Open(ctx, path, nil, o)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s := scan{in: in, promised: in.promised, begin: math.MaxInt64, end: math.MinInt64, latest: math.MinInt64, seen: map[int64]bool{}}
	s.fields = C.vf_fields_open((*C.AVStream)(av.StreamPtr(in.video)).codecpar)
	defer C.vf_fields_close(s.fields)
	whole := in.notSeekable()
	if whole == "" && in.clock.shift != 0 {
		whole = "its clock starts late, and parts keep its times"
	}
	if whole == "" {
		whole, err = s.read(ctx)
	}
	if err != nil {
		return nil, err
	}
	c := &Cuts{TimeBase: in.video.TimeBase().String(), Frames: int64(len(s.seen)), Parts: []Range{}, Whole: whole}
	tb := in.video.TimeBase().Float64()
	if c.Frames == 0 || whole != "" {
		frames, length := in.Estimate()
		c.Frames, c.Seconds = frames, length.Seconds()
		return c, nil
	}
	c.Seconds = float64(s.end-s.begin) * tb
	c.Parts = s.parts(int64(math.Ceil(length.Seconds()/tb)), w)
	if len(c.Parts) < 2 {
		c.Parts, c.Whole = []Range{}, fmt.Sprintf("it has no two parts of %g s that begin with a key frame", length.Seconds())
	}
	return c, nil
}

// scan is the state of Scan.
type scan struct {
	in         *Input
	promised   int64
	packets    int64
	begin, end int64          // of the frames shown; end with the length of the last
	latest     int64          // the highest PTS
	seen       map[int64]bool // PTS of the frames shown
	hidden     []int64        // PTS of frames that edit lists hide
	entries    []int64        // PTS of key frames at which decoding can begin
	headers    []byte         // the first ones of a key frame
	fields     *C.struct_vf_fields
	order      C.enum_AVFieldOrder // of the pictures so far
}

// read goes through the file and returns why it must not be cut, or "".
func (s *scan) read(ctx context.Context) (whole string, err error) {
	for whole == "" {
		err := s.in.fc.ReadFrame(s.in.pkt)
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errors.Is(err, astiav.ErrEof):
			return s.conclude(), nil
		case err != nil:
			return "it is damaged: " + err.Error(), nil
		}
		if s.in.pkt.StreamIndex() == s.in.video.Index() {
			whole = s.packet()
		}
		s.in.pkt.Unref()
	}
	return whole, nil
}

// packet takes the video packet just read and returns why it prevents cutting, or "".
func (s *scan) packet() string {
	p, codec := s.in.pkt, s.in.video.CodecParameters().CodecID()
	pts, flags := p.Pts(), p.Flags()
	switch c := (*C.AVPacket)(av.PacketPtr(p)); {
	case pts == av.NoPTS:
		return "a frame has no time"
	case flags.Has(astiav.PacketFlagCorrupt):
		return "it is damaged"
	case C.av_packet_get_side_data(c, C.AV_PKT_DATA_NEW_EXTRADATA, nil) != nil || C.av_packet_get_side_data(c, C.AV_PKT_DATA_PARAM_CHANGE, nil) != nil:
		return "the way it is coded changes in its midst"
	case !showsPicture(codec, payload(p)):
		return "not every packet is a frame"
	case s.packets == 0 && !flags.Has(astiav.PacketFlagKey):
		return "it does not begin with a key frame"
	}
	if s.mixes() {
		return "some of its pictures are interlaced, others are not, or in another order"
	}
	first := s.packets == 0
	s.packets++
	if flags.Has(astiav.PacketFlagDiscard) {
		s.hidden = append(s.hidden, pts)
		return ""
	}
	if s.seen[pts] {
		return "two frames have the same time"
	}
	if flags.Has(astiav.PacketFlagKey) && s.changes() {
		return "the way it is coded changes in its midst"
	}
	// A part that begins here would lack frames decoded earlier and shown later.
	if flags.Has(astiav.PacketFlagKey) && (first || pts > s.latest) && canBegin(s.in.video, s.in.pkt) {
		s.entries = append(s.entries, pts)
	}
	if len(s.seen) == 0 || pts > s.latest {
		s.latest, s.end = pts, pts+max(p.Duration(), s.in.times.step)
	}
	s.seen[pts] = true
	s.begin = min(s.begin, pts)
	return ""
}

// changes reports whether a key frame has other headers than one before.
func (s *scan) changes() bool {
	par := s.in.videoStream().codecpar
	h := headersOf(s.in.video.CodecParameters().CodecID(), av.Slice((*byte)(par.extradata), int(par.extradata_size)), payload(s.in.pkt))
	if s.headers == nil {
		s.headers = bytes.Clone(h)
	}
	return len(h) > 0 && !bytes.Equal(h, s.headers)
}

// mixes reports whether the picture of the packet just read has other fields than one before.
func (s *scan) mixes() bool {
	if s.fields == nil {
		return false
	}
	before, now := s.order, C.vf_fields_of(s.fields, (*C.AVPacket)(av.PacketPtr(s.in.pkt)))
	if now != C.AV_FIELD_UNKNOWN {
		s.order = now
	}
	return before != C.AV_FIELD_UNKNOWN && before != s.order
}

// conclude judges the whole file after reading.
func (s *scan) conclude() string {
	switch {
	case len(s.seen) == 0:
		return "it has no frame"
	case s.promised >= 0 && s.packets > s.promised:
		return "its index is in fragments"
	case s.promised > s.packets || missingBytes(s.in.path) > 0:
		return "it is not complete"
	}
	for _, pts := range s.hidden {
		if pts >= s.begin && pts <= s.latest {
			return "an edit list hides frames in its midst"
		}
	}
	return ""
}

// parts makes parts of at least length, in the stream's unit; a rest of less than half joins the
// last.
func (s *scan) parts(length int64, w pipeline.Window) []Range {
	all := []Range{{Span: Span{Start: s.begin}}}
	for _, pts := range s.entries {
		if last := &all[len(all)-1]; pts-last.Start >= length {
			last.End = pts
			all = append(all, Range{Span: Span{Start: pts}})
		}
	}
	if n := len(all); n > 1 && 2*(s.end-all[n-1].Start) < length {
		all = all[:n-1]
	}
	all[len(all)-1].End = s.latest + 1
	frames := slices.Sorted(maps.Keys(s.seen))
	for i := range all {
		countFrames(&all[i], frames, w)
	}
	return all
}

// countFrames counts the frames of a part, and finds its Around for a filter with window w. frames
// are the PTS of all frames, sorted.
func countFrames(r *Range, frames []int64, w pipeline.Window) {
	first, _ := slices.BinarySearch(frames, r.Start)
	end, _ := slices.BinarySearch(frames, r.End)
	r.Frames = int64(end - first)
	if w == (pipeline.Window{}) {
		return
	}
	first, end = max(first-w.Before, 0), min(end+w.After, len(frames))
	first -= first % max(w.Step, 1)
	r.Around = Span{Start: min(frames[first], r.Start), End: max(frames[end-1]+1, r.End), Frames: int64(end - first)}
}
