package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// seek sets the clock, and goes to the part that is wanted. Frames between a key frame and the
// start are decoded and dropped, so the cut is exact.
func (v *videoReader) seek() error {
	v.times.untimed = v.context().iformat.flags&C.AVFMT_NOTIMESTAMPS != 0
	v.reports.anywhere = v.clock.jumpy || v.times.untimed
	switch start := v.clock.mainFrom; {
	case v.opts.Part != nil:
		return v.seekPart()
	case v.opts.Start > 0:
		v.seekStart(max(start, 0)+v.opts.Start.Microseconds(), v.pkt) // audio may begin a little earlier
	default:
		v.ownClock(start, v.opts.KeepClock)
	}
	return nil
}

// seekPart seeks to a key frame at or before all that is read, from which decoding is exact, and
// sends it to the decoder.
func (v *videoReader) seekPart() error {
	if v.cutFrom != nil {
		return nil // it begins there
	}
	if err := v.seekEntry(v.opts.Part.Read().Start, v.times.second, v.pkt); err != nil {
		return err
	}
	defer v.pkt.Unref()
	v.accept()
	return v.send()
}

// seekStart makes a time, in microseconds of the container, the zero of the clock, and goes to the
// last key frame before it. A pipe is read from its beginning. It reads packets into p.
func (d *demuxer) seekStart(target int64, p *astiav.Packet) {
	d.clock.shift = -target
	target -= toMicros(d.edits.late[d.video.Index()], d.video.TimeBase())
	if d.forwards {
		return
	}
	d.ahead.drop()
	// Containers that seek by decode time need room for reordered frames.
	if d.context().iformat.flags&C.AVFMT_SEEK_TO_PTS == 0 && d.videoStream().codecpar.video_delay > 0 {
		target -= 3 * second / 23
	}
	if !d.seekTo(target, p) {
		d.warn("the input cannot be seeked; it is read from its beginning up to --start")
	}
}

// seekEntry seeks to a key frame at or before a time, in the video's unit, from which decoding is
// exact, and leaves its packet in p. A demuxer that seeks by decode time may land too late, so
// later tries seek further back. oneSecond is a second in the video's unit.
func (d *demuxer) seekEntry(start, oneSecond int64, p *astiav.Packet) error {
	if why := d.notSeekable(); why != "" {
		return d.partError("%s", why)
	}
	seek := func(to int64) bool {
		return C.av_seek_frame(d.context(), C.int(d.video.Index()), C.int64_t(to), C.AVSEEK_FLAG_BACKWARD) >= 0
	}
	step := max(1, oneSecond)
	for try := range 12 {
		target := start
		if try > 0 {
			back := step << (2 * (try - 1))
			if target = start - back; target > start { // no overflow
				target = math.MinInt64 / 2
			}
		}
		if !seek(target) {
			break
		}
		if ok, err := d.landed(start, false, p); ok || err != nil {
			return err
		}
	}
	if first := int64(d.videoStream().start_time); first != av.NoPTS && seek(first) {
		if ok, err := d.landed(start, true, p); ok || err != nil {
			return err
		}
	}
	return d.partError("there is no key frame at %d or before", start)
}

// landed reads the video's packet to which a seek led, and keeps it if decoding can begin there. At
// the first packet of the file, a key frame is enough: decoding the whole file also begins there.
func (d *demuxer) landed(start int64, first bool, p *astiav.Packet) (bool, error) {
	for {
		if err := d.fc.ReadFrame(p); err != nil {
			if d.interrupted() {
				return false, &Error{Op: "read", Path: d.path, Err: errors.New("interrupted")}
			}
			return false, nil
		}
		if p.StreamIndex() == d.video.Index() {
			break
		}
		p.Unref()
	}
	if pts := p.Pts(); p.Flags().Has(astiav.PacketFlagKey) && (first || canBegin(d.video, p)) && pts != av.NoPTS && pts <= start {
		return true, nil
	}
	p.Unref()
	return false, nil
}

// seekTo seeks to a key frame at or before a time, in microseconds. Without an index FFmpeg may
// land between two key frames: then it tries further back, and reads packets into p.
func (d *demuxer) seekTo(target int64, p *astiav.Packet) bool {
	fc := d.context()
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

// farBack is further than key frames are apart.
const farBack = 200 * second

// latestStart is the latest start that is kept. A clock that starts later has the time of
// recording.
const latestStart = 10 * second

// wrap33 is the period of a 33-bit clock of 90 kHz in microseconds, exact once it is rounded back.
const wrap33 = (1<<33*100 + 4) / 9
