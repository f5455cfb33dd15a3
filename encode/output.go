package encode

//#cgo pkg-config: libavformat libavcodec libavutil
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// Output writes one file: a pipeline.Sink for frames, and WritePacket for the other streams. It has
// its coder code the frames, and its muxer write the packets.
type Output struct {
	*common
	coder
	muxer
	found fidelity.Facts // in the finished file

	paced atomic.Pointer[float64] // the coder's pace
	from  atomic.Int64            // time of the first frame, microseconds
	time  atomic.Int64            // end of the last frame put, microseconds
}

// Create prepares an output at path; "pipe:1" and the like mean the same as for FFmpeg. The first
// frame opens the file and writes its header. Close frees the output; only Finish completes the
// file.
func Create(path string, in Template, o Options) (*Output, error) {
	s := newCommon(in, o)
	out := &Output{common: s, coder: newCoder(s), muxer: muxer{common: s, path: path, lanes: map[int]*lane{}, undescribed: map[int]bool{}, given: map[int]*digest{}, begin: math.MaxInt64, end: math.MinInt64}}
	out.give = out.giveVideo
	name := C.CString(out.form.Muxer())
	defer C.free(unsafe.Pointer(name))
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	if err := av.Error(int(C.avformat_alloc_output_context2(&out.oc, nil, name, cpath))); err != nil {
		return nil, target.OutputError("choose the format "+o.Format+" for", path, err)
	}
	// Boxes of MP4 for Dolby Vision, stereo and spherical video count as unofficial.
	out.oc.strict_std_compliance = C.FF_COMPLIANCE_UNOFFICIAL
	return out, nil
}

// Frames returns how many frames of the video were put or, if encoded before, written.
func (o *Output) Frames() int64 { return o.frames }

// Bytes returns the size written so far; safe from any goroutine.
func (o *Output) Bytes() int64 { return o.bytes.Load() }

// Time returns the length of the video so far; safe from any goroutine.
func (o *Output) Time() time.Duration {
	return time.Duration(o.time.Load()-o.from.Load()) * time.Microsecond
}

// Damage counts faults of packets on their way out, by their names in messages.
func (o *Output) Damage() map[string]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := map[string]int64{}
	for _, l := range o.lanes {
		if l.aud != nil && l.aud.c.errors > 0 {
			m["audio decode errors"] += int64(l.aud.c.errors)
		}
	}
	if o.fixed > 0 {
		m["repaired packet times"] = o.fixed
	}
	if o.leftOut > 0 {
		m["streams left out"] = o.leftOut
	}
	if o.subsLost > 0 {
		m["subtitles left out"] = o.subsLost
	}
	if o.refused > 0 {
		m["packets that "+o.opts.Format+" refused"] = o.refused
	}
	if o.otherSound > 0 {
		m["packets of sound that changed"] = o.otherSound
	}
	return m
}

// Close frees everything. The file remains; without Finish it is incomplete.
func (o *Output) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.close()
	if o.latest != nil {
		o.latest.Free()
		o.latest = nil
	}
	for _, p := range o.early {
		p.Free()
	}
	o.early = nil
	for _, l := range o.lanes {
		l.close()
	}
	o.lanes = nil
	if o.oc != nil {
		_ = o.closeFile()
		C.avformat_free_context(o.oc)
		o.oc = nil
	}
	if o.again != nil {
		_ = o.again.Close()
		o.again = nil
	}
}

// Put encodes a frame, which it takes. The first one fixes size, format and colour of the video.
func (o *Output) Put(_ context.Context, f *pipeline.Frame) error {
	if o.enc == nil {
		err := o.start(f)
		if at := o.micros(f.PTS); err == nil && at < 0 && o.mp4() {
			err = target.Refusal("write .mkv, which keeps it, or delay the sound instead",
				"the filters put the first picture at %.3f s, and %s shows none before the beginning", float64(at)/1e6, o.opts.Format)
		}
		if err != nil {
			f.Release()
			return err
		}
		o.from.Store(o.micros(f.PTS))
	}
	if o.frames > 0 && o.isPicture() {
		f.Release()
		return target.Refusal("give --frames 1 and no filter that makes more pictures of one, or the name of a video file",
			"%s holds one picture, and there are more", o.opts.Format)
	}
	end := o.micros(f.PTS + f.Duration)
	o.time.Store(end)
	return o.put(f)
}

// giveVideo writes the encoder's packet.
func (o *Output) giveVideo() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writeVideo(o.pkt)
}

// WritePacket writes a packet of another stream, which it borrows. It may run beside Put.
func (o *Output) WritePacket(p *astiav.Packet) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := p.StreamIndex(); !o.carries() || o.mapped && o.lanes[i] == nil {
		if o.undescribed[i] {
			delete(o.undescribed, i)
			o.leftOut++
		}
		return nil
	}
	own := p.Clone()
	if own == nil {
		return errors.New("encode: out of memory")
	}
	if !o.header {
		o.early = append(o.early, own)
		return nil
	}
	list := o.visible(o.lanes[own.StreamIndex()], own)
	for i, p := range list {
		if err := o.carry(p); err != nil {
			for _, rest := range list[i+1:] {
				rest.Free()
			}
			return err
		}
	}
	return nil
}

// Finish flushes the encoder and writes the trailer. The file is then complete, under its present
// name.
func (o *Output) Finish(context.Context) error {
	if !o.header {
		return target.Refusal("", "there is no frame to write")
	}
	if o.precoded == nil {
		if err := o.flush(); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.lanes {
		if l.aud != nil {
			if err := o.pushAudio(l, nil); err != nil {
				return err
			}
		}
	}
	last := o.writeLast
	switch {
	case o.form.Family == formats.Broadcast:
		last = o.finishBroadcast
	case o.form.OneRate:
		last = o.finishPace
	}
	if err := last(); err != nil {
		return err
	}
	if err := o.flushMuxer(); err != nil {
		return err
	}
	if err := av.Error(int(C.av_write_trailer(o.oc))); err != nil {
		return o.writeError("finish", err)
	}
	o.nameEmpty()
	if o.oc.pb != nil {
		o.bytes.Store(int64(o.oc.pb.bytes_written))
		if n := C.avio_size(o.oc.pb); n > 0 { // bytes that were overwritten count once
			o.bytes.Store(int64(n))
		}
	}
	if err := o.closeFile(); err != nil {
		return o.writeError("close", err)
	}
	return nil
}

// start opens the encoder for frames like f, then the file, and writes the header.
func (o *Output) start(f *pipeline.Frame) error {
	return o.startWith(f, func() error {
		if o.in.Part {
			o.shift = f.PTS
		}
		return nil
	})
}

// startWith calls described, with mu held, after opening the encoder for frames like f and
// before opening the file.
func (o *Output) startWith(f *pipeline.Frame, described func() error) error {
	if err := o.openEncoder(f); err != nil {
		return err
	}
	o.paced.Store(&o.pace)
	if _, err := o.followFields(f); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.mapStreams(); err != nil {
		return err
	}
	if err := o.describeVideo(f); err != nil {
		return err
	}
	if err := described(); err != nil {
		return err
	}
	o.timecode = av.Timecode(f)
	return o.openWith(f.PTS)
}

// HasChapter reports whether the output has a chapter of this title.
func (o *Output) HasChapter(title string) bool {
	return slices.ContainsFunc(av.Slice(o.oc.chapters, int(o.oc.nb_chapters)), func(c *C.AVChapter) bool {
		return metadata(c.metadata, "title") == title
	})
}

// Turned returns what filters have changed of the pictures, as Look.Turned; it is known once the
// first frame was put.
func (o *Output) Turned() []string { return o.turned }

// Pace returns how many frames are put for each of the input, by their rates; safe from any
// goroutine.
func (o *Output) Pace() float64 {
	if p := o.paced.Load(); p != nil {
		return *p
	}
	return 1
}
