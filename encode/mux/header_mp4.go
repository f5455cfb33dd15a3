package mux

//#include "glue.h"
import "C"

import (
	"slices"
	"strconv"
	"strings"

	"vidfilter/encode/formats"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
)

func (m header) setISO(d **C.AVDictionary) error {
	set(d, "movflags", strings.Join(m.movFlags(), "+"))
	if m.Fragment > 0 {
		set(d, "frag_duration", strconv.FormatInt(m.Fragment.Microseconds(), 10))
		set(d, "flush_packets", "1") // or quiet video would stay in a buffer for seconds
		m.oc.flags |= C.AVFMT_FLAG_FLUSH_PACKETS
	}
	if m.In.Part {
		return m.exactTimes(d)
	}
	if scale := m.movieTimescale(); scale > 0 {
		set(d, "movie_timescale", strconv.Itoa(scale))
	}
	return nil
}

// plainQuickTime lists those that QuickTime has, too.
var plainQuickTime = []string{"title", "artist", "album", "date", "comment", "genre", "copyright", "creation_time", "timecode"}

func (m header) movFlags() []string {
	var flags []string
	switch {
	case m.Fragment > 0:
		flags = append(flags, "delay_moov", "default_base_moof")
	case !m.seekable():
		flags = append(flags, "frag_keyframe", "delay_moov", "default_base_moof")
	}
	if hasSideData(m.video.codecpar, C.AV_PKT_DATA_ICC_PROFILE) && m.coloursInPictures() {
		flags = append(flags, "prefer_icc")
	}
	if tagged, whole := colourTags(m.video.codecpar); tagged && !whole {
		flags = append(flags, "write_colr")
	}
	if m.hasCover() {
		return flags // the newer scheme has no place for cover art
	}
	atoms := plain
	if m.Format == formats.MOV {
		atoms = plainQuickTime
	}
	for k := range tags(m.oc.metadata) {
		if !slices.Contains(atoms, k) {
			return append(flags, "use_metadata_tags")
		}
	}
	return flags
}

// colourTags reports whether a video has tags of colour that MP4 has a place for, and whether it
// has all three: by itself, FFmpeg writes no fewer.
func colourTags(par *C.AVCodecParameters) (some, all bool) {
	tags := 0
	for _, is := range []bool{
		par.color_primaries != C.AVCOL_PRI_UNSPECIFIED, par.color_trc != C.AVCOL_TRC_UNSPECIFIED, par.color_space != C.AVCOL_SPC_UNSPECIFIED,
	} {
		if is {
			tags++
		}
	}
	return tags > 0 || par.color_range == C.AVCOL_RANGE_JPEG, tags == 3
}

// movieTimescale returns a unit in which the start of every stream is a whole number. MP4 writes a
// late start in it, and the usual millisecond would round. 0 keeps the usual one.
func (m header) movieTimescale() int {
	scale := int64(1)
	late := false
	for _, st := range m.outputs() {
		scale = lcm(scale, int64(st.time_base.den))
		if scale <= 0 || scale > 1<<30 {
			return 90000
		}
	}
	for _, s := range append(slices.Clone(m.In.Others), m.In.Video) {
		if t := s.StartTime(); t != av.NoPTS && t != 0 {
			late = true
		}
	}
	if !late || scale <= 1000 {
		return 0
	}
	return int(scale)
}

func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// exactTimes makes MP4 count in the unit of the input, so that differences of times survive.
func (m header) exactTimes(d **C.AVDictionary) error {
	const finest = 1e7 // durations have 32 bits
	den := m.Unit.Den
	if den <= 0 || den > finest {
		return target.Refusal("filter the file whole", "a part cannot be exact in units of %d/%d s", m.Unit.Num, den)
	}
	if fraction(m.Unit) != rational(m.In.Video.TimeBase()) {
		return target.Refusal("filter the file whole", "a part has the times of its source, and the filters change their unit")
	}
	set(d, "video_track_timescale", strconv.Itoa(den))
	set(d, "movie_timescale", strconv.Itoa(den))
	if m.Precoded {
		set(d, "use_editlist", "0") // times begin at 0, and are read back as they are
	}
	return nil
}
