package encode

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// Verify opens the finished file again and holds it against what was put in: every video packet, the
// streams, the end of the video, chapters, rotation and tags. What the container could not keep is named
// in warnings; an error wraps ErrDamaged and means that the file is not what it should be.
func (o *Output) Verify() error {
	if o.written != o.frames {
		return fmt.Errorf("%w: %d frames went into the encoder and %d came out", ErrDamaged, o.frames, o.written)
	}
	got, err := inspect(o.path, o.opts.Format, o.nthVideo())
	if err != nil {
		return fmt.Errorf("%w: it cannot be read back: %w", ErrDamaged, err)
	}
	defer got.close()
	switch {
	case got.frames != o.written:
		return fmt.Errorf("%w: it holds %d frames instead of %d", ErrDamaged, got.frames, o.written)
	case !o.heldBy(got.fc):
		return fmt.Errorf("%w: it holds %d streams instead of %d", ErrDamaged, got.fc.nb_streams, o.oc.nb_streams)
	}
	const tolerance = 50000 // microseconds; Matroska keeps milliseconds
	if want, is := o.end-o.begin, got.end-got.begin; want-is > tolerance || is-want > tolerance {
		return fmt.Errorf("%w: its video lasts %.3f s instead of %.3f s", ErrDamaged, float64(is)/1e6, float64(want)/1e6)
	}
	o.compareTags(got)
	return nil
}

// heldBy tells whether a file has the streams of the output. MP4 adds data streams of its own, for chapters
// and timecode.
func (o *Output) heldBy(fc *C.AVFormatContext) bool {
	return fc.nb_streams >= o.oc.nb_streams && countMedia(fc) == countMedia(o.oc)
}

// countMedia counts the streams that are no data.
func countMedia(fc *C.AVFormatContext) (n int) {
	for _, st := range av.Slice(fc.streams, int(fc.nb_streams)) {
		if st.codecpar.codec_type != C.AVMEDIA_TYPE_DATA {
			n++
		}
	}
	return n
}

// inspection is what a second look at a file finds.
type inspection struct {
	fc         *C.AVFormatContext
	video      *C.AVStream
	frames     int64
	begin, end int64 // of the video, microseconds
}

func (i *inspection) close() { C.avformat_close_input(&i.fc) }

// inspect opens a file and counts the packets of its nth video stream. MP4 has the count in its index,
// which is written last of all; elsewhere every packet is read.
func inspect(path, format string, nth int) (*inspection, error) {
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	i := &inspection{begin: math.MaxInt64, end: math.MinInt64}
	if err := av.Error(int(C.avformat_open_input(&i.fc, cpath, nil, nil))); err != nil {
		return nil, err
	}
	err := av.Error(int(C.avformat_find_stream_info(i.fc, nil)))
	if err == nil {
		err = i.pickVideo(nth)
	}
	if err == nil {
		if format == "mp4" || format == "mov" {
			i.readIndex()
		} else {
			err = i.readPackets()
		}
	}
	if err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

func isVideo(st *C.AVStream) bool {
	return st.codecpar.codec_type == C.AVMEDIA_TYPE_VIDEO && st.disposition&C.AV_DISPOSITION_ATTACHED_PIC == 0
}

func (i *inspection) pickVideo(nth int) error {
	for _, st := range av.Slice(i.fc.streams, int(i.fc.nb_streams)) {
		if !isVideo(st) {
			continue
		}
		if nth == 0 {
			i.video = st
			return nil
		}
		nth--
	}
	return errors.New("the video stream is not there")
}

func (i *inspection) readIndex() {
	i.frames = int64(C.avformat_index_get_entries_count(i.video))
	i.begin = i.micros(i.video.start_time)
	i.end = i.micros(i.video.start_time + i.video.duration)
}

func (i *inspection) micros(t C.int64_t) int64 {
	return int64(C.av_rescale_q(t, i.video.time_base, C.AVRational{1, 1000000}))
}

// readPackets takes the last frame for as long as it was written, since not every container keeps that.
func (i *inspection) readPackets() error {
	for _, st := range av.Slice(i.fc.streams, int(i.fc.nb_streams)) {
		if st != i.video {
			st.discard = C.AVDISCARD_ALL
		}
	}
	p := C.av_packet_alloc()
	if p == nil {
		return errors.New("out of memory")
	}
	defer C.av_packet_free(&p)
	for {
		err := av.Error(int(C.av_read_frame(i.fc, p)))
		if errors.Is(err, astiav.ErrEof) {
			return nil
		}
		if err != nil {
			return err
		}
		if p.stream_index == i.video.index {
			i.frames++
			if p.pts != C.AV_NOPTS_VALUE {
				i.begin, i.end = min(i.begin, i.micros(p.pts)), max(i.end, i.micros(p.pts))
			}
		}
		C.av_packet_unref(p)
	}
}

// nthVideo is the place of the filtered stream among the video streams of the output.
func (o *Output) nthVideo() int {
	n := 0
	for _, st := range av.Slice(o.oc.streams, int(o.video.index)) {
		if isVideo(st) {
			n++
		}
	}
	return n
}

// compareTags warns of what the container did not keep.
func (o *Output) compareTags(got *inspection) {
	var lost []string
	for k := range tags(o.oc.metadata) {
		if k != "encoder" && k != "creation_time" && metadata(got.fc.metadata, k) == "" {
			lost = append(lost, "the tag "+k)
		}
	}
	sort.Strings(lost)
	lost = append(lost, lostLanguages(o.oc, got.fc)...)
	if got.fc.nb_chapters < o.oc.nb_chapters {
		lost = append(lost, fmt.Sprintf("%d of %d chapters", o.oc.nb_chapters-got.fc.nb_chapters, o.oc.nb_chapters))
	}
	if rotated(o.video.codecpar) && !rotated(got.video.codecpar) {
		lost = append(lost, "the rotation of the picture")
	}
	if len(lost) > 0 {
		o.opts.Warn("%s could not keep %s", o.opts.Format, strings.Join(lost, ", "))
	}
}

// lostLanguages names the languages of sound and subtitles that are not there, or on fewer streams.
func lostLanguages(want, got *C.AVFormatContext) []string {
	count := map[string]int{}
	each := func(fc *C.AVFormatContext, by int) {
		for _, st := range av.Slice(fc.streams, int(fc.nb_streams)) {
			l := metadata(st.metadata, "language")
			if to := quickTimeLanguages[l]; to != "" {
				l = to
			}
			if kind := st.codecpar.codec_type; l != "" && l != "und" && (kind == C.AVMEDIA_TYPE_AUDIO || kind == C.AVMEDIA_TYPE_SUBTITLE) {
				count[l] += by
			}
		}
	}
	each(want, 1)
	each(got, -1)
	var lost []string
	for l, n := range count {
		if n > 0 {
			lost = append(lost, "the language "+l)
		}
	}
	sort.Strings(lost)
	return lost
}

func rotated(par *C.AVCodecParameters) bool {
	return C.av_packet_side_data_get(par.coded_side_data, par.nb_coded_side_data, C.AV_PKT_DATA_DISPLAYMATRIX) != nil
}
