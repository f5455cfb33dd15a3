package mux

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"
	"golang.org/x/sys/unix"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
)

// Verify reopens the finished file, compares frames, streams, length and packets (see digest) with
// those that were written, and returns the file's description. An error means that the file is
// damaged. mixed means that pictures differ in their fields.
func (m *Muxer) Verify(mixed bool) (fidelity.Facts, error) {
	if came := m.written - m.repeated + m.skipped; came != m.Frames {
		return nil, fmt.Errorf("%d frames went into the encoder and %d came out", m.Frames, came)
	}
	got, err := inspect(m.readable(), m.Format, m.nthVideo(), mixed)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read back: %w", err)
	}
	defer got.close()
	if got.frames != m.written {
		return nil, fmt.Errorf("it holds %d frames instead of %d", got.frames, m.written)
	}
	if n, least, most := countStreams(got.fc, isMedia), m.filled(isMedia), countStreams(m.oc, isMedia); n < least || n > most {
		return nil, fmt.Errorf("it holds %d streams of sound, pictures and text instead of %d", n, least)
	}
	if n, least := countStreams(got.fc, all), m.filled(all); n < least {
		return nil, fmt.Errorf("it holds %d streams instead of %d", n, least)
	}
	const tolerance = 50000 // microseconds; Matroska keeps milliseconds
	want := int64(C.av_rescale_q(C.int64_t(m.end-m.begin), m.video.time_base, C.AVRational{1, 1000000}))
	if is := got.end - got.begin; want-is > tolerance || is-want > tolerance {
		return nil, fmt.Errorf("its video lasts %.3f s instead of %.3f s", float64(is)/1e6, float64(want)/1e6)
	}
	if name := m.altered(got); name != "" {
		return nil, fmt.Errorf("%s is not what was written", name)
	}
	return fidelity.Read(fidelity.File{Context: unsafe.Pointer(got.fc), Video: int(got.video.index), Seen: &got.seen}), nil
}

// readable returns the finished file's name for FFmpeg. Its folder may have another name by now.
func (m *file) readable() string {
	var file unix.Stat_t
	_, err := os.Lstat(strings.TrimPrefix(m.path, "file:"))
	if err == nil || m.again == nil || unix.Fstat(int(m.again.Fd()), &file) != nil || file.Nlink == 0 {
		return m.path
	}
	return fmt.Sprintf("file:/proc/self/fd/%d", m.again.Fd())
}

// altered names a stream that differs when read back. Refused packets are reported as damage.
func (m *file) altered(got *inspection) string {
	if m.refused > 0 {
		return ""
	}
	left := slices.Collect(maps.Values(got.read))
	streams := m.outputs()
	for _, unknown := range []bool{false, true} { // which takes any of its kind
		for i, st := range streams {
			want := m.given[i]
			if want == nil || want.unknown != unknown || want.packets == 0 || unknown && want.kind != C.AVMEDIA_TYPE_AUDIO {
				continue
			}
			// Containers may reorder streams.
			at := slices.IndexFunc(left, func(d *digest) bool { return d.matches(want) })
			if at < 0 {
				kind := C.GoString(C.av_get_media_type_string(st.codecpar.codec_type))
				return fmt.Sprintf("stream %d (%s %s)", i, kind, C.GoString(C.avcodec_get_name(st.codecpar.codec_id)))
			}
			left = slices.Delete(left, at, at+1)
		}
	}
	return ""
}

func (m *file) filled(count func(*C.AVStream) bool) int {
	return countStreams(m.oc, func(st *C.AVStream) bool {
		given := m.given[int(st.index)]
		return count(st) && (given != nil && given.packets > 0 || st.codecpar.codec_type == C.AVMEDIA_TYPE_ATTACHMENT)
	})
}

func (m *file) nthVideo() int {
	n := 0
	for _, st := range av.Slice(m.oc.streams, int(m.video.index)) {
		if isVideo(st) {
			n++
		}
	}
	return n
}

func all(*C.AVStream) bool { return true }

// isMedia leaves out data: MP4 adds data streams of its own, for chapters and timecode.
func isMedia(st *C.AVStream) bool { return st.codecpar.codec_type != C.AVMEDIA_TYPE_DATA }

func countStreams(fc *C.AVFormatContext, count func(*C.AVStream) bool) (n int) {
	for _, st := range av.Slice(fc.streams, int(fc.nb_streams)) {
		if count(st) {
			n++
		}
	}
	return n
}

type inspection struct {
	format     string
	fc         *C.AVFormatContext
	video      *C.AVStream
	frames     int64
	begin, end int64 // of the video, microseconds
	read       map[int]*digest
	seen       fidelity.Seen
}

func (i *inspection) close() {
	i.seen.Close()
	fc := i.fc
	C.avformat_close_input(&fc)
}

// inspect reads a file. mixed: the fields of all pictures of the nth video count, not of the first.
func inspect(path, format string, nth int, mixed bool) (*inspection, error) {
	i := &inspection{format: format, begin: math.MaxInt64, end: math.MinInt64, read: map[int]*digest{}}
	if mixed {
		i.seen.DecodeWhole()
	}
	var err error
	if i.fc, err = openInput(path, nil); err != nil {
		return nil, err
	}
	if err = av.Error(int(C.avformat_find_stream_info(i.fc, nil))); err == nil {
		err = i.pickVideo(nth)
	}
	if err == nil {
		if formats.Of(format).Family == formats.ISO {
			err = i.readMP4(path)
		} else {
			err = i.readPackets(i.fc, i.countFrame)
		}
		i.seen.Decode(unsafe.Pointer(i.video), nil) // a decoder may hold the only picture back
	}
	if err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

func openInput(path string, options map[string]string) (fc *C.AVFormatContext, err error) {
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	var d *C.AVDictionary
	defer C.av_dict_free(&d)
	for k, v := range options {
		set(&d, k, v)
	}
	if err := av.Error(int(C.avformat_open_input(&fc, cpath, nil, &d))); err != nil {
		return nil, err // the context is freed
	}
	return fc, nil
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

// readMP4 takes times from the index, as players do, and packets as stored: edit lists hide some.
func (i *inspection) readMP4(path string) error {
	i.frames = int64(C.avformat_index_get_entries_count(i.video))
	i.begin = i.micros(i.video.start_time)
	i.end = i.micros(i.video.start_time + i.video.duration)
	stored, err := openInput(path, map[string]string{"ignore_editlist": "1"})
	if err != nil {
		return err
	}
	defer C.avformat_close_input(&stored)
	return i.readPackets(stored, func(*C.AVPacket) {})
}

func (i *inspection) micros(t C.int64_t) int64 {
	return int64(C.av_rescale_q(t, i.video.time_base, C.AVRational{1, 1000000}))
}

// countFrame leaves out the last frame's duration, which not every container stores.
func (i *inspection) countFrame(p *C.AVPacket) {
	if p.stream_index != i.video.index {
		return
	}
	i.frames++
	if p.pts != C.AV_NOPTS_VALUE {
		i.begin, i.end = min(i.begin, i.micros(p.pts)), max(i.end, i.micros(p.pts))
	}
}

func (i *inspection) readPackets(fc *C.AVFormatContext, each func(*C.AVPacket)) error {
	p := C.av_packet_alloc()
	if p == nil {
		return errors.New("out of memory")
	}
	defer C.av_packet_free(&p)
	for {
		err := av.Error(int(C.av_read_frame(fc, p)))
		if errors.Is(err, astiav.ErrEof) {
			return nil
		}
		if err != nil {
			return err
		}
		each(p)
		n := int(p.stream_index)
		if n == int(i.video.index) {
			i.seen.Packet(unsafe.Pointer(i.video), unsafe.Pointer(p))
			i.seen.Decode(unsafe.Pointer(i.video), unsafe.Pointer(p))
		}
		if i.read[n] == nil {
			i.read[n] = newDigest(i.format, av.Slice(fc.streams, int(fc.nb_streams))[n])
		}
		i.read[n].add(p)
		C.av_packet_unref(p)
	}
}
