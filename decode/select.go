package decode

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

func (in *Input) isPicture(i int) bool {
	return in.stream(i).disposition&C.AV_DISPOSITION_ATTACHED_PIC != 0
}

// pickVideo chooses the stream to filter: the first one that --map names, else FFmpeg's best;
// cover art only if there is nothing else.
func (in *Input) pickVideo() (*astiav.Stream, error) {
	for _, s := range in.fc.Streams() {
		if s.CodecParameters().MediaType() == astiav.MediaTypeVideo && !in.isPicture(s.Index()) && in.moves.first(s.Index()) == s.Index() && mapped(in.rules, in.traits(s), false) {
			return s, nil
		}
	}
	best, _, err := in.fc.FindBestStream(astiav.MediaTypeVideo, -1, -1)
	if err != nil || best == nil {
		return nil, in.noVideo()
	}
	return in.fc.Streams()[in.moves.first(best.Index())], nil
}

// noVideo is the error of a file in which FFmpeg finds no video that it can decode.
func (in *Input) noVideo() error {
	err := errors.New("the file has no video stream")
	for i := range in.fc.NbStreams() {
		par := in.stream(i).codecpar
		if par.codec_type != C.AVMEDIA_TYPE_VIDEO || in.isPicture(i) {
			continue
		}
		name := C.GoString(C.avcodec_get_name(par.codec_id))
		if par.codec_id == C.AV_CODEC_ID_NONE {
			name = tagName(par.codec_tag)
		}
		err = fmt.Errorf("this build cannot decode the video's codec, %s", name)
		break
	}
	return &Error{Op: "decode", Path: in.path, Err: err}
}

// selectStreams chooses the other streams to copy: all but those dropped by options.
func (in *Input) selectStreams() error {
	matched := make([]bool, len(in.rules))
	for _, s := range in.fc.Streams() {
		if in.moves.first(s.Index()) != s.Index() || in.moves.aside[s.Index()] {
			continue
		}
		t := in.traits(s)
		for i, r := range in.rules {
			matched[i] = matched[i] || r.matches(t)
		}
		kind := s.CodecParameters().MediaType()
		drop := in.videoOnly() || in.opts.NoAudio && kind == astiav.MediaTypeAudio || in.opts.NoSubs && kind == astiav.MediaTypeSubtitle ||
			!mapped(in.rules, t, true) || in.isChapterTrack(s.Index())
		if s.Index() != in.video.Index() && !drop {
			in.selected[s.Index()] = true
			if kind == astiav.MediaTypeVideo && !in.isPicture(s.Index()) {
				in.videos[s.Index()] = newCopiedVideo(in.stream(s.Index()), s, frameRate(in.fc, s))
			}
		} else if s.Index() != in.video.Index() {
			s.SetDiscard(astiav.DiscardAll)
		}
	}
	for i, ok := range matched {
		if !ok && !in.rules[i].optional && in.cutFrom == nil { // a cut file has lost the others
			return &Error{Op: "map", Path: in.path, Err: fmt.Errorf("no stream matches %q", in.opts.Maps[i]),
				hint: "vidfilter info lists the streams"}
		}
	}
	return nil
}

// isChapterTrack recognizes the text track in which MP4 keeps its chapters, which are copied as
// such.
func (in *Input) isChapterTrack(i int) bool {
	st := in.stream(i)
	return st.codecpar.codec_type == C.AVMEDIA_TYPE_DATA && st.codecpar.codec_id == C.AV_CODEC_ID_BIN_DATA &&
		st.codecpar.codec_tag == tag("text") && (*C.AVFormatContext)(av.FormatPtr(in.fc)).nb_chapters > 0
}

// streamTraits are the properties that --map rules match.
type streamTraits struct {
	index    int
	kind     byte // v a s d t
	nth      int  // among its kind
	language string
}

func (in *Input) traits(s *astiav.Stream) streamTraits {
	t := streamTraits{index: s.Index(), kind: kindLetter(s.CodecParameters().MediaType())}
	for _, o := range in.fc.Streams()[:s.Index()] {
		if kindLetter(o.CodecParameters().MediaType()) == t.kind && in.moves.first(o.Index()) == o.Index() {
			t.nth++
		}
	}
	if m := s.Metadata(); m != nil {
		if e := m.Get("language", nil, 0); e != nil {
			t.language = e.Value()
		}
	}
	return t
}

func kindLetter(m astiav.MediaType) byte {
	switch m {
	case astiav.MediaTypeVideo:
		return 'v'
	case astiav.MediaTypeAudio:
		return 'a'
	case astiav.MediaTypeSubtitle:
		return 's'
	case astiav.MediaTypeAttachment:
		return 't'
	}
	return 'd'
}

// mapRule is a --map in ffmpeg's syntax, for one input: [-][0:]INDEX, or
// [-][0:]KIND[:N|:m:language:LANG][?].
type mapRule struct {
	negative, optional bool
	index              int // -1 for any
	kind               byte
	nth                int // -1 for any
	language           string
}

var mapSyntax = regexp.MustCompile(`^(-?)(?:0:)?(?:(\d+)|([vastd])(?::(\d+)|:m:language:(\w+))?)(\??)$`)

func parseMaps(specs []string) ([]mapRule, error) {
	var rules []mapRule
	for _, s := range specs {
		if s == "0" {
			rules = append(rules, mapRule{index: -1, nth: -1})
			continue
		}
		m := mapSyntax.FindStringSubmatch(s)
		if m == nil {
			return nil, &Error{Op: "map", Err: fmt.Errorf("%q is no stream", s), hint: "examples: --map v --map a:0 --map s:m:language:eng --map -a:1"}
		}
		r := mapRule{negative: m[1] != "", optional: m[6] != "", index: number(m[2]), nth: number(m[4]), language: m[5]}
		if m[3] != "" {
			r.kind = m[3][0]
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func number(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return -1
}

func (r mapRule) matches(t streamTraits) bool {
	return (r.index < 0 || r.index == t.index) && (r.kind == 0 || r.kind == t.kind) && (r.nth < 0 || r.nth == t.nth) &&
		(r.language == "" || r.language == t.language)
}

// mapped applies the rules in order; the last match wins. Without a positive rule everything is
// selected, or, if all is false, only named streams.
func mapped(rules []mapRule, t streamTraits, all bool) bool {
	in := all && !slices.ContainsFunc(rules, func(r mapRule) bool { return !r.negative })
	for _, r := range rules {
		if r.matches(t) {
			in = !r.negative
		}
	}
	return in
}

// zero returns the time of the output at which the wanted part begins, in microseconds.
func (in *Input) zero() int64 {
	if in.opts.Start > 0 {
		return 0
	}
	return in.clock.mainFrom + in.clock.shift
}

// latestStart is the latest start that is kept. A clock that starts later says when something was
// recorded, not that nothing is shown for so long.
const latestStart = 10 * second

// seek sets the clock, and goes to the last key frame before the start. Frames in between are
// decoded and dropped, so the cut is exact. A pipe is read from its beginning.
func (in *Input) seek() error {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	in.times.untimed = fc.iformat.flags&C.AVFMT_NOTIMESTAMPS != 0
	start := in.clock.mainFrom
	if in.opts.Part != nil {
		return in.seekPart()
	}
	if in.opts.Start <= 0 {
		in.ownClock(start)
		return nil
	}
	start = max(start, 0) // audio may begin a little earlier
	target := start + in.opts.Start.Microseconds()
	in.clock.shift = -target
	target -= toMicros(in.edits.late[in.video.Index()], in.video.TimeBase())
	if in.forwards {
		return nil
	}
	in.ahead.drop()
	// Containers that seek by decode time need room for reordered frames.
	if fc.iformat.flags&C.AVFMT_SEEK_TO_PTS == 0 && in.stream(in.video.Index()).codecpar.video_delay > 0 {
		target -= 3 * second / 23
	}
	if !in.seekTo(target) {
		in.warn("the input cannot be seeked; it is read from its beginning up to --start")
	}
	return nil
}

// seekTo seeks to a key frame at or before a time, in microseconds. Where a container has no index,
// FFmpeg may land between two key frames: then it tries further back.
func (in *Input) seekTo(target int64) bool {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	seek := func(at int64) bool {
		return C.avformat_seek_file(fc, -1, C.INT64_MIN, C.int64_t(at), C.int64_t(at), 0) >= 0
	}
	if in.container().cuttable {
		return seek(target)
	}
	at := target
	for back := int64(second / 2); back < farBack && seek(at) && !in.keyBefore(target); back *= 2 {
		at = target - back
	}
	return seek(at) || seek(target)
}

// farBack is further than key frames are apart.
const farBack = 200 * second

// keyBefore reads on to the next key frame, and reports whether it is shown at a time or before.
func (in *Input) keyBefore(target int64) bool {
	tb := in.video.TimeBase()
	for in.fc.ReadFrame(in.pkt) == nil {
		ours, key, at := in.pkt.StreamIndex() == in.video.Index(), in.pkt.Flags().Has(astiav.PacketFlagKey), in.pkt.Pts()
		if at == av.NoPTS {
			at = in.pkt.Dts()
		}
		in.pkt.Unref()
		if at == av.NoPTS || !ours {
			continue
		}
		if late := toMicros(at, tb) > target; key || late {
			return key && !late
		}
	}
	return false
}

// ownClock removes a late start. If input and output have arbitrary clocks, it only undoes the
// demuxer, which makes times before the wrap of a 33-bit clock negative.
func (in *Input) ownClock(start int64) {
	wrapped := in.clock.jumpy && start < 0
	switch {
	case in.clock.jumpy && in.opts.KeepClock:
		if wrapped {
			in.clock.shift = wrap33
		}
	case wrapped || start > latestStart:
		in.clock.shift = -start
		if wrapped {
			start += wrap33
		}
		in.warn("the clock of the input starts at %.3f s; the output starts at 0", float64(start)/float64(second))
	}
}

// wrap33 is the period of a 33-bit clock of 90 kHz in microseconds, exact once it is rounded back.
const wrap33 = (1<<33*100 + 4) / 9

// route keeps a packet of another stream until the video is as far, and drops it outside of the
// wanted part.
func (in *Input) route() error {
	i := in.pkt.StreamIndex()
	if in.isPicture(i) {
		return in.pending.add(in.pkt, in.zero(), in.onPacket)
	}
	if v := in.videos[i]; v != nil {
		return v.add(in.pkt, in.hold)
	}
	return in.hold(in.pkt)
}

func (in *Input) hold(p *astiav.Packet) error {
	t := packetTime(p, in.stream(p.StreamIndex()))
	switch {
	case t == av.NoPTS:
		t = in.last
	case in.opts.Start > 0 && t < 0, in.opts.Duration > 0 && t >= in.zero()+in.opts.Duration.Microseconds():
		return nil
	}
	return in.pending.add(p, t, in.onPacket)
}

// settle passes on the packets whose decode times had to wait for others.
func (in *Input) settle() error {
	for _, s := range in.fc.Streams() {
		if v := in.videos[s.Index()]; v != nil {
			if err := v.flush(in.hold); err != nil {
				return err
			}
		}
	}
	return nil
}
