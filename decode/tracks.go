package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// find finds the video and the streams that continue each other.
func (d *demuxer) find(c choice) error {
	d.choice, d.selected = c, map[int]bool{}
	d.clock = newClock(d.fc)
	d.findMoves()
	d.moves.opened = len(d.fc.Streams())
	var err error
	if d.video, err = d.pickVideo(); err != nil {
		return err
	}
	d.startMain()
	d.putAside()
	if d.cutFrom != nil {
		d.videoStream().codecpar.video_delay = C.int(d.cutFrom.delay)
	}
	return nil
}

// pickVideo chooses the stream to filter: the first one that --map names, else FFmpeg's best, and
// cover art only without another.
func (d *demuxer) pickVideo() (*astiav.Stream, error) {
	for _, s := range d.fc.Streams() {
		if s.CodecParameters().MediaType() == astiav.MediaTypeVideo && !d.isPicture(s.Index()) && d.moves.first(s.Index()) == s.Index() && mapped(d.choice.rules, d.traits(s), false) {
			return s, nil
		}
	}
	best, _, err := d.fc.FindBestStream(astiav.MediaTypeVideo, -1, -1)
	if err != nil || best == nil {
		return nil, d.noVideo()
	}
	return d.fc.Streams()[d.moves.first(best.Index())], nil
}

// noVideo is the error of a file in which FFmpeg finds no video that it can decode.
func (d *demuxer) noVideo() error {
	err := errors.New("the file has no video stream")
	for i := range d.fc.NbStreams() {
		par := d.stream(i).codecpar
		if par.codec_type != C.AVMEDIA_TYPE_VIDEO || d.isPicture(i) {
			continue
		}
		name := C.GoString(C.avcodec_get_name(par.codec_id))
		if par.codec_id == C.AV_CODEC_ID_NONE {
			name = tagName(par.codec_tag)
		}
		err = fmt.Errorf("this build cannot decode the video's codec, %s", name)
		break
	}
	return &Error{Op: "decode", Path: d.path, Err: err}
}

// putAside leaves out streams of a broadcast without size or sample rate, which a track needs:
// FFmpeg found only their names, at the end of the file.
func (d *demuxer) putAside() {
	if !d.clock.jumpy {
		return
	}
	for _, s := range d.fc.Streams() {
		par := d.stream(s.Index()).codecpar
		if par.codec_type == C.AVMEDIA_TYPE_VIDEO && par.width <= 0 || par.codec_type == C.AVMEDIA_TYPE_AUDIO && par.sample_rate <= 0 {
			if i := s.Index(); i != d.video.Index() {
				setIn(&d.moves.aside, i, true)
			}
		}
	}
}

// selectStreams chooses the other streams to copy: all that options do not drop.
func (d *demuxer) selectStreams() error {
	matched := make([]bool, len(d.choice.rules))
	for _, s := range d.fc.Streams() {
		if d.moves.first(s.Index()) != s.Index() || d.moves.aside[s.Index()] {
			continue
		}
		t := d.traits(s)
		for i, r := range d.choice.rules {
			matched[i] = matched[i] || r.matches(t)
		}
		kind := s.CodecParameters().MediaType()
		drop := d.choice.videoOnly || d.choice.noAudio && kind == astiav.MediaTypeAudio || d.choice.noSubs && kind == astiav.MediaTypeSubtitle ||
			!mapped(d.choice.rules, t, true) || d.isChapterTrack(s.Index())
		if s.Index() != d.video.Index() && !drop {
			d.selected[s.Index()] = true
		} else if s.Index() != d.video.Index() {
			s.SetDiscard(astiav.DiscardAll)
		}
	}
	for i, ok := range matched {
		if !ok && !d.choice.rules[i].optional && d.cutFrom == nil { // a cut file has lost the others
			return &Error{Op: "map", Path: d.path, Err: fmt.Errorf("no stream matches %q", d.choice.maps[i]),
				hint: "vidfilter info lists the streams"}
		}
	}
	return nil
}

func (d *demuxer) traits(s *astiav.Stream) streamTraits {
	t := streamTraits{index: s.Index(), kind: kindLetter(s.CodecParameters().MediaType())}
	for _, o := range d.fc.Streams()[:s.Index()] {
		if kindLetter(o.CodecParameters().MediaType()) == t.kind && d.moves.first(o.Index()) == o.Index() {
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

// leavesOut reports whether there are streams that are not read, which may be the longest.
func (d *demuxer) leavesOut() bool {
	for _, s := range d.fc.Streams() {
		if i := s.Index(); i != d.video.Index() && !d.selected[i] && !d.isPicture(i) && d.moves.first(i) == i && !d.moves.aside[i] {
			return true
		}
	}
	return false
}

// accept counts a packet just read and reports whether it is wanted. last is the end of the frames
// so far, in microseconds.
func (d *demuxer) accept(p *astiav.Packet, last int64) bool {
	i := p.StreamIndex()
	if d.form.dense {
		d.countHole(p)
	}
	d.bytes = max(d.bytes, p.Pos()+int64(p.Size()))
	if i != d.video.Index() && !d.selected[i] {
		d.tellLate(p, last)
		return false
	}
	if d.cutFrom != nil {
		shiftTimes(p, d.cutFrom.offset) // back onto the source's clock
	}
	d.edits.correct(p, d.sparse(i))
	return true
}

// tellLate counts a stream that begins after the input was opened, and warns at its first packet.
// last stands for a missing time of that packet.
func (d *demuxer) tellLate(p *astiav.Packet, last int64) {
	i, m := p.StreamIndex(), &d.moves
	if late := i >= m.opened || m.aside[i]; !late || m.told[i] || d.choice.videoOnly || !d.movable(i) {
		return
	}
	setIn(&m.told, i, true)
	t := d.traits(d.fc.Streams()[i])
	if t.kind == 'a' && d.choice.noAudio || t.kind == 's' && d.choice.noSubs || !mapped(d.choice.rules, t, true) {
		return
	}
	d.late++
	at := packetTime(p, d.stream(i))
	if at == av.NoPTS {
		at = last
	}
	when := fmt.Sprintf("%.3f s", float64(max(at, 0))/float64(second))
	if t.kind == 'v' && d.clock.jumpy && d.listed(i) && !d.listed(d.moves.at(d.video.Index())) {
		d.warn("the video goes on from %s in another codec, as %s: that part is left out; filter it as a file of its own", when, d.nameOf(i))
		return
	}
	d.warn("%s begins at %s and is left out: the output was begun without it", d.nameOf(i), when)
}
