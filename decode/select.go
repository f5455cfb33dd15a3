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

// choice says which streams are read.
type choice struct {
	maps            []string
	rules           []mapRule // of maps
	noAudio, noSubs bool
	videoOnly       bool
}

func choiceOf(o Options) (choice, error) {
	rules, err := parseMaps(o.Maps)
	return choice{o.Maps, rules, o.NoAudio, o.NoSubs, o.VideoOnly || o.Part != nil}, err
}

// streamTraits are the properties that --map rules match.
type streamTraits struct {
	index    int
	kind     byte // v a s d t
	nth      int  // among its kind
	language string
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

// pickVideo chooses the stream to filter: the first one that --map names, else FFmpeg's best;
// cover art only if there is nothing else.
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

// selectStreams chooses the other streams to copy: all but those dropped by options.
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

// tellLate counts a stream that begins after the input was opened, and warns at its first packet.
// last stands for that packet's time if it has none.
func (d *demuxer) tellLate(p *astiav.Packet, last int64) {
	i, m := p.StreamIndex(), &d.moves
	if late := i >= m.opened || m.aside[i]; !late || m.told[i] || d.choice.videoOnly || !d.movable(i) {
		return
	}
	put(&m.told, i, true)
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
