package decode

//#include "glue.h"
import "C"

import (
	"fmt"
	"log/slog"
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// demuxer is an open container: the streams of it that are read, and their packets.
type demuxer struct {
	packetReader
	interrupter
	form      containerRules
	choice    choice
	opened    bool
	abandoned bool         // by bounded: a thread uses it still
	contained []colourTags // by stream, until the first picture
	refused   pictureSize  // of a picture that FFmpeg refused on opening
	cutFrom   *cutOrigin   // of a file with CutTag
	edits     edits

	bytes int64 // to the end of the last packet of any stream
	holes int64 // places between packets with more than headers
	late  int64 // streams that begin too late to be copied
	table int   // version of the table of the video's program
}

// close frees the container. It may be called twice.
func (d *demuxer) close() {
	d.ahead.drop()
	if d.fc != nil {
		if d.opened {
			d.fc.CloseInput()
		} else {
			d.fc.Free()
		}
		d.fc = nil
	}
	d.interrupter.close()
}

// readCut looks for the tag of a cut file and restores the source's times.
func (d *demuxer) readCut() error {
	s := entries(d.context().metadata)[CutTag]
	if s == "" {
		return nil
	}
	c, err := parseCutOrigin(s)
	if err != nil {
		return &Error{Op: "open", Path: d.path, Err: err}
	}
	d.cutFrom = &c
	return nil
}

// finestUnit limits the unit of time: parts are MP4, which has 32 bits for a frame's length.
const finestUnit = 1e7

// notSeekable returns why parts of the input could not be found again, by its header, or "".
func (d *demuxer) notSeekable() string {
	tb := d.video.TimeBase()
	switch {
	case d.forwards || d.path == "-":
		return "a pipe can be read once"
	case isAddress(d.path):
		return "the source is a network address"
	case !d.form.cuttable:
		return fmt.Sprintf("in %s a key frame cannot be found exactly by its time", C.GoString(d.context().iformat.name))
	case d.edits.late[d.video.Index()] > 0:
		return "its edit list begins before its first key frame"
	case d.isPicture(d.video.Index()):
		return "it is a picture"
	case tb.Num() != 1 || tb.Den() <= 0 || float64(tb.Den()) > finestUnit:
		return fmt.Sprintf("its unit of time, %s s, does not fit parts", tb)
	}
	return notCuttable(d.video.CodecParameters())
}

// indexed returns the number of the video's packets in the container's index.
func (d *demuxer) indexed() int64 {
	return int64(C.avformat_index_get_entries_count(d.videoStream()))
}

// aspect returns width to height of a sample of a picture, which may be nil.
func (d *demuxer) aspect(c *C.AVFrame) pipeline.Ratio {
	r := C.av_guess_sample_aspect_ratio(d.context(), d.videoStream(), c)
	return pipeline.Ratio{Num: int(r.num), Den: int(r.den)}
}

// FrameRate returns the usual rate of the video, 0/1 when unknown.
func (d *demuxer) FrameRate() astiav.Rational {
	if d.cutFrom != nil {
		return d.cutFrom.rate
	}
	return frameRate(d.fc, d.video)
}

// videoOf describes the video at a picture. The container's facts go before the picture's.
func (d *demuxer) videoOf(c *C.AVFrame) pipeline.Video {
	return pipeline.Video{
		TimeBase: ratio(d.video.TimeBase()), Rate: ratio(d.FrameRate()), MeanRate: ratio(d.video.AvgFrameRate()),
		Alpha: hasAlpha(d.video.CodecParameters().PixelFormat()), Aspect: d.aspect(c), Matrix: matrixOf(d.videoStream().codecpar, c),
	}
}

// countHole counts the data before a packet just read if it is more than the headers of all
// streams.
func (d *demuxer) countHole(p *astiav.Packet) {
	if d.bytes == 0 || p.Pos() < 0 {
		return
	}
	most := int64(4096)
	for i := range d.fc.Streams() {
		most += 2 * int64(d.stream(i).codecpar.extradata_size)
	}
	if p.Pos()-d.bytes > most {
		d.holes++
		d.tell(slog.LevelDebug, "break in the container: bytes %d to %d", d.bytes, p.Pos())
	}
}

// newTable reports whether the table of the video's program has changed since the last call.
func (d *demuxer) newTable() (changed bool) {
	id, ok := d.programOf(d.moves.at(d.video.Index()))
	for _, p := range d.programs() {
		if v := int(p.pmt_version); ok && int(p.id) == id && v != d.table {
			d.table, changed = v, true
		}
	}
	return changed
}

// tagPicture gives a picture without tags the tags of its stream.
func (d *demuxer) tagPicture(f *C.AVFrame) {
	par := d.videoStream().codecpar
	if i := d.video.Index(); i < len(d.contained) {
		d.contained[i].tell(d.logger, f)
	}
	d.contained = nil
	colourTags{par.color_primaries, par.color_trc, par.color_space, 0}.fill(&f.color_primaries, &f.color_trc, &f.colorspace, C.enum_AVPixelFormat(f.format))
}

// addStated adds the container's description of all pictures to the properties of a frame.
func (d *demuxer) addStated(p *av.Props) error {
	par := d.videoStream().codecpar
	if err := av.Error(int(C.vf_add_stated((*C.AVFrame)(p.Pointer()), par))); err != nil {
		return fmt.Errorf("decode %s: %w", d.path, err)
	}
	return nil
}

// frames returns the length of n frames, 0 if the rate is unknown.
func (d *demuxer) frames(n float64) int64 {
	if rate := d.FrameRate().Float64(); rate > 0 {
		return int64(n / rate * float64(second))
	}
	return 0
}

// framed reports whether each packet of the video makes one frame, rather than a field or a frame
// that a cut leaves out. interlaced means that some picture is.
func (d *demuxer) framed(interlaced bool) bool {
	c := d.form
	id := d.video.CodecParameters().CodecID()
	switch id {
	case astiav.CodecIDH264:
		return c.framed || c.samples && !interlaced
	case astiav.CodecIDMpeg4, astiav.CodecIDH263, astiav.CodecIDFlv1, astiav.CodecIDMsmpeg4V2, astiav.CodecIDMsmpeg4V3, astiav.CodecIDDirac:
		return c.framed || c.samples
	}
	return !d.clock.jumpy && intraOnly(id)
}

// Context returns the open container, which belongs to the input.
func (d *demuxer) Context() *astiav.FormatContext { return d.fc }

// Video returns the stream that Next decodes.
func (d *demuxer) Video() *astiav.Stream { return d.video }

// Again reports whether the input can be opened once more, with the same content.
func (d *demuxer) Again() bool { return !d.forwards && d.path != "-" && !isAddress(d.path) }

// Others returns the streams whose packets OnPacket gets.
func (d *demuxer) Others() []*astiav.Stream {
	var others []*astiav.Stream
	for _, s := range d.fc.Streams() {
		if d.selected[s.Index()] {
			others = append(others, s)
		}
	}
	return others
}

// Display returns how to show the video: degrees of clockwise rotation, in quarter turns, and the
// width of a pixel over its height, 1 if unknown.
func (d *demuxer) Display() (turn int, aspect float64) {
	aspect = 1
	if r := d.aspect(nil); r.Known() {
		aspect = r.Float64()
	}
	quarters := int(math.Round(float64(C.vf_rotation(d.videoStream().codecpar)) / 90))
	return (quarters%4 + 4) % 4 * 90, aspect
}

// Shift returns the microseconds added to the container's times.
func (d *demuxer) Shift() int64 { return d.clock.shift }

// MayBeInterlaced reports whether pictures may be two fields each, by the file's header.
func (d *demuxer) MayBeInterlaced() bool {
	par := d.videoStream().codecpar
	return units.MayHaveFields(C.GoString(C.avcodec_get_name(par.codec_id)), av.Slice((*byte)(par.extradata), int(par.extradata_size)))
}
