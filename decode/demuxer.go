package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// demuxer is an open container: the streams of it that are read, and their packets.
type demuxer struct {
	reader
	interrupter
	form      container
	choice    choice
	opened    bool
	abandoned bool       // by bounded: a thread uses it still
	contained []colours  // by stream, until the first picture
	refused   size       // of a picture that FFmpeg refused on opening
	cutFrom   *cutOrigin // of a file with CutTag
	edits     edits

	bytes   int64 // to the end of the last packet of any stream
	holes   int64 // places between packets with more than headers
	late    int64 // streams that begin too late to be copied
	table   int   // version of the table of the video's program
	tableAt int64 // packets of the video until it changed
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
	s := entries((*C.AVFormatContext)(av.FormatPtr(d.fc)).metadata)[CutTag]
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

// ontoSource puts the times of a cut file's packet back on the source's clock.
func (d *demuxer) ontoSource(p *astiav.Packet) {
	if d.cutFrom == nil {
		return
	}
	if t := p.Pts(); t != av.NoPTS {
		p.SetPts(t + d.cutFrom.offset)
	}
	if t := p.Dts(); t != av.NoPTS {
		p.SetDts(t + d.cutFrom.offset)
	}
}

// entry reports whether decoding can begin at a packet.
func (d *demuxer) entry(p *astiav.Packet) bool {
	par := d.stream(d.video.Index()).codecpar
	return isEntry(d.video.CodecParameters().CodecID(), av.Slice((*byte)(par.extradata), int(par.extradata_size)), payload(p))
}

// finestUnit limits the unit of time: parts are MP4, which has 32 bits for a frame's length.
const finestUnit = 1e7

// notSeekable says why parts of the input could not be found again, as far as is known before
// reading it.
func (d *demuxer) notSeekable() string {
	fc := (*C.AVFormatContext)(av.FormatPtr(d.fc))
	tb := d.video.TimeBase()
	switch {
	case d.forwards || d.path == "-":
		return "a pipe can be read once"
	case isAddress(d.path):
		return "the source is a network address"
	case !d.form.cuttable:
		return fmt.Sprintf("in %s a key frame cannot be found exactly by its time", C.GoString(fc.iformat.name))
	case d.edits.late[d.video.Index()] > 0:
		return "its edit list begins before its first key frame"
	case d.isPicture(d.video.Index()):
		return "it is a picture"
	case tb.Num() != 1 || tb.Den() <= 0 || float64(tb.Den()) > finestUnit:
		return fmt.Sprintf("its unit of time, %s s, does not fit parts", tb)
	}
	return notCuttable(d.video.CodecParameters())
}

// indexed returns the number of packets in the container's index before any was read; -1 if
// unknown.
func (d *demuxer) indexed() int64 {
	if !d.form.readIndex {
		return -1
	}
	return int64(C.avformat_index_get_entries_count(d.stream(d.video.Index())))
}

func (d *demuxer) aspect() string {
	r := C.av_guess_sample_aspect_ratio((*C.AVFormatContext)(av.FormatPtr(d.fc)), d.stream(d.video.Index()), nil)
	if r.num == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%d:%d", r.num, r.den)
}

// rate returns the usual rate of the video, 0/1 when unknown.
func (d *demuxer) rate() astiav.Rational {
	if d.cutFrom != nil {
		return d.cutFrom.rate
	}
	return frameRate(d.fc, d.video)
}

// videoOf describes the video as of a picture. What the container says goes before what pictures
// say.
func (d *demuxer) videoOf(c *C.AVFrame) pipeline.Video {
	v := pipeline.Video{
		TimeBase: ratio(d.video.TimeBase()), Rate: ratio(d.rate()), MeanRate: ratio(d.video.AvgFrameRate()),
		Alpha: hasAlpha(d.video.CodecParameters().PixelFormat()),
	}
	st := (*C.AVStream)(av.StreamPtr(d.video))
	aspect := C.av_guess_sample_aspect_ratio((*C.AVFormatContext)(av.FormatPtr(d.fc)), st, c)
	v.Aspect = pipeline.Ratio{Num: int(aspect.num), Den: int(aspect.den)}
	v.Matrix = matrixOf(st.codecpar, c)
	return v
}

// seekTo seeks to a key frame at or before a time, in microseconds. Where a container has no index,
// FFmpeg may land between two key frames: then it tries further back, and reads packets into p.
func (d *demuxer) seekTo(target int64, p *astiav.Packet) bool {
	fc := (*C.AVFormatContext)(av.FormatPtr(d.fc))
	seek := func(at int64) bool {
		return C.avformat_seek_file(fc, -1, C.INT64_MIN, C.int64_t(at), C.int64_t(at), 0) >= 0
	}
	if d.form.cuttable {
		return seek(target)
	}
	at := target
	for back := int64(second / 2); back < farBack && seek(at) && !d.keyBefore(target, p); back *= 2 {
		at = target - back
	}
	return seek(at) || seek(target)
}

// farBack is further than key frames are apart.
const farBack = 200 * second

// keyBefore reads on to the next key frame, and reports whether it is shown at a time or before.
func (d *demuxer) keyBefore(target int64, p *astiav.Packet) bool {
	tb := d.video.TimeBase()
	for d.fc.ReadFrame(p) == nil {
		ours, key, at := p.StreamIndex() == d.video.Index(), p.Flags().Has(astiav.PacketFlagKey), p.Pts()
		if at == av.NoPTS {
			at = p.Dts()
		}
		p.Unref()
		if at == av.NoPTS || !ours {
			continue
		}
		if late := toMicros(at, tb) > target; key || late {
			return key && !late
		}
	}
	return false
}

// latestStart is the latest start that is kept. A clock that starts later says when something was
// recorded, not that nothing is shown for so long.
const latestStart = 10 * second

// ownClock removes a late start. If input and output have arbitrary clocks, it only undoes the
// demuxer, which makes times before the wrap of a 33-bit clock negative.
func (d *demuxer) ownClock(start int64, keep bool) {
	wrapped := d.clock.jumpy && start < 0
	switch {
	case d.clock.jumpy && keep:
		if wrapped {
			d.clock.shift = wrap33
		}
	case wrapped || start > latestStart:
		d.clock.shift = -start
		if wrapped {
			start += wrap33
		}
		d.warn("the clock of the input starts at %.3f s; the output starts at 0", float64(start)/float64(second))
	}
}

// wrap33 is the period of a 33-bit clock of 90 kHz in microseconds, exact once it is rounded back.
const wrap33 = (1<<33*100 + 4) / 9

// came returns how many bytes the demuxer has taken from a pipe.
func (d *demuxer) came() int64 {
	pb := (*C.AVFormatContext)(av.FormatPtr(d.fc)).pb
	if pb == nil {
		return 0
	}
	return int64(C.avio_tell(pb))
}

// countHole counts the data before a packet just read if it is more than headers, which may
// repeat those of all streams.
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
		d.tell(slog.LevelDebug, fmt.Sprintf("break in the container: bytes %d to %d", d.bytes, p.Pos()))
	}
}

// watchTable notes when the table of the video's program changes.
func (d *demuxer) watchTable(packets int64) {
	fc := (*C.AVFormatContext)(av.FormatPtr(d.fc))
	id, ok := d.programOf(d.moves.at(d.video.Index()))
	for _, p := range av.Slice(fc.programs, int(fc.nb_programs)) {
		if v := int(p.pmt_version); ok && int(p.id) == id && v != d.table {
			d.table, d.tableAt = v, packets
		}
	}
}

// tableChanged reports whether the table changed near a packet of the video. It is read some
// packets ahead.
func (d *demuxer) tableChanged(packet int64) bool {
	const about = 500
	return d.tableAt > 0 && packet-d.tableAt < about
}

// tagPicture gives a picture without tags those of its stream.
func (d *demuxer) tagPicture(f *C.AVFrame) {
	par := d.stream(d.video.Index()).codecpar
	if i := d.video.Index(); i < len(d.contained) {
		d.contained[i].tell(d.logger, f)
	}
	d.contained = nil
	colours{par.color_primaries, par.color_trc, par.color_space, 0}.fill(&f.color_primaries, &f.color_trc, &f.colorspace, C.enum_AVPixelFormat(f.format))
}

// checkEnding looks at the file itself, if it is one. What came through a pipe is counted. payload
// is the size of the packets of the video.
func (d *demuxer) checkEnding(payload int64, damage *Damage) {
	c := d.form
	if c.packed && d.forwards {
		damage.UnreadBytes = max(0, d.came()-d.bytes)
		return
	}
	st, err := os.Stat(d.path)
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	if c.packed || c.indexLast && d.bytes < st.Size()/2 {
		damage.UnreadBytes = max(0, st.Size()-d.bytes)
	}
	if c.packed && d.bytes > st.Size() { // FFmpeg fills a frame of DV up with the one before
		damage.MissingBytes = d.bytes - st.Size()
	}
	if c.pictures {
		damage.UnreadBytes = max(0, st.Size()-payload)
	}
	if c.end == nil {
		return
	}
	f, err := os.Open(d.path)
	if err != nil {
		return
	}
	defer f.Close()
	if c.trailer != nil {
		if n := c.trailer(f, st.Size()); n > 0 {
			d.tell(slog.LevelWarn, fmt.Sprintf("behind the video the file has %d bytes of its camera's or writer's own, which are not copied", n))
		}
	}
	breaks, ended := c.end(f, st.Size())
	if breaks > 0 {
		d.tell(slog.LevelDebug, fmt.Sprintf("breaks in the container: its parts do not add up to %d bytes; the last packet ends at %d", st.Size(), d.bytes))
	}
	damage.Breaks += breaks
	if !ended {
		damage.MissingEnd = 1
	}
}

// addStated gives the properties of a frame what the container says of all pictures.
func (d *demuxer) addStated(p *av.Props) error {
	par := (*C.AVStream)(av.StreamPtr(d.video)).codecpar
	if err := av.Error(int(C.vf_add_stated((*C.AVFrame)(p.Pointer()), par))); err != nil {
		return fmt.Errorf("decode %s: %w", d.path, err)
	}
	return nil
}

// encrypted reports whether the container says that the video is, as a whole.
func (d *demuxer) encrypted() bool {
	par := d.stream(d.video.Index()).codecpar
	return par.codec_tag == tag("encv") || entries(d.stream(d.video.Index()).metadata)["enc_key_id"] != ""
}

func (d *demuxer) encryptedError() *Error {
	return &Error{Op: "decode", Path: d.path, Err: errors.New("the video is encrypted"), hint: "decrypt it with its key first"}
}

// frames returns the length of n frames, 0 if the rate is unknown.
func (d *demuxer) frames(n float64) int64 {
	if rate := d.rate().Float64(); rate > 0 {
		return int64(n / rate * float64(second))
	}
	return 0
}

// framed reports whether each packet of the video makes one frame. Elsewhere a packet may be a
// field, or a frame left out where a video was cut. interlaced means that some picture is.
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
