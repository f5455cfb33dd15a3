package decode

//#include "glue.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// Next returns the next frame, owned by the caller, or io.EOF. All frames have the format of the
// first. Those around a part are marked as context.
func (in *Input) Next(ctx context.Context) (*pipeline.Frame, error) {
	if !in.counted {
		in.counted = true
		reading.Add(1)
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if in.opts.Frames > 0 && in.emitted >= in.opts.Frames {
			return nil, in.cut(ctx, in.last)
		}
		f, err := in.receive()
		switch {
		case err == errPastEnd && in.opts.Part != nil:
			return nil, in.endPart()
		case err == errPastEnd:
			return nil, in.cut(ctx, in.window().end)
		case err != nil:
			return nil, err
		case f != nil:
			return in.emit(f)
		case in.eof && len(in.again) == 0:
			return nil, in.finish()
		}
		if err := in.feed(ctx); err != nil {
			return nil, err
		}
	}
}

// receive returns a frame, or nil if the decoder wants more packets or is empty.
func (in *Input) receive() (*pipeline.Frame, error) {
	for {
		f, more, err := in.receiveOne()
		if why, ok := errors.AsType[doubt](err); ok {
			in.unref()
			return nil, in.toCPU(why)
		}
		if f != nil || err != nil || !more {
			return f, err
		}
	}
}

// receiveOne returns a frame if the decoder has one that is wanted, and whether it may have more.
func (in *Input) receiveOne() (f *pipeline.Frame, more bool, err error) {
	err = in.receiveFrame()
	none := errors.Is(err, astiav.ErrEof) || errors.Is(err, astiav.ErrEagain)
	if none {
		err = nil
	}
	if why := in.doubt(err, in.begun(), in.damaged); why != nil {
		return nil, true, why
	}
	switch {
	case none:
		return nil, false, nil
	case err != nil:
		return nil, true, in.decodeError(err)
	}
	defer in.unref()
	number := in.number()
	if _, repeated := in.come[number]; repeated {
		delete(in.come, number)
		return nil, true, nil
	}
	f, err = in.convert()
	if errors.As(err, new(doubt)) {
		return nil, true, err
	}
	in.decoded++
	in.failedInRow = 0
	in.device.came(number)
	if in.video.CodecParameters().CodecID() != astiav.CodecIDHevc { // which shows pictures without their references
		in.reports.came(number)
	}
	return f, true, err
}

// feed reads a packet and passes it to the decoder or to the others.
func (in *Input) feed(ctx context.Context) error {
	if len(in.again) > 0 {
		return in.resend()
	}
	if err := in.read(in.pkt); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return in.readError(err)
	}
	defer in.pkt.Unref()
	if in.pkt.Flags().Has(astiav.PacketFlagCorrupt) && in.interrupted() {
		return in.drain() // reading was interrupted; the input is not damaged
	}
	if !in.accept() {
		return nil
	}
	if in.pkt.StreamIndex() != in.video.Index() {
		return in.take(in.pkt, in.streams, in.window(), in.last)
	}
	return in.send()
}

// accept counts the packet just read and reports whether it is wanted.
func (in *Input) accept() bool {
	in.damage.ReadErrors += in.tries // failed reads before this one are damage all the same
	in.tries = 0
	if !in.demuxer.accept(in.pkt, in.last) {
		return false
	}
	if in.pkt.Flags().Has(astiav.PacketFlagCorrupt) {
		in.damage.CorruptPackets++
	}
	if st := in.stream(in.pkt.StreamIndex()); st.codecpar.codec_type == C.AVMEDIA_TYPE_AUDIO {
		in.gaps.audio(in.pkt.StreamIndex(), packetTime(in.pkt, st))
	}
	return true
}

func (in *Input) send() error {
	if in.packets == 0 {
		in.begin = in.pkt.Pts()
		if in.form.keyed && in.opts.Start == 0 && in.opts.Part == nil && !in.pkt.Flags().Has(astiav.PacketFlagKey) {
			in.damage.Breaks++
		}
	}
	p := (*C.AVPacket)(av.PacketPtr(in.pkt))
	if C.av_packet_get_side_data(p, C.AV_PKT_DATA_ENCRYPTION_INFO, nil) != nil {
		return in.beginsEncrypted()
	}
	if err := checkPicture(in.path, in.stream(in.video.Index()), p.data, p.size); err != nil {
		return err
	}
	in.packets++
	in.watchTable(in.packets)
	in.payload += int64(in.pkt.Size())
	if in.form.pictures {
		in.damage.Breaks += excess(payload(in.pkt))
	}
	if !in.pkt.Flags().Has(astiav.PacketFlagDiscard) {
		in.pictured.Packet(av.StreamPtr(in.video), av.PacketPtr(in.pkt))
	}
	in.track(in.pkt)
	switch {
	case in.opts.onVideo != nil:
		return in.opts.onVideo(in.pkt)
	case in.skipping, in.videoLost:
		return nil
	}
	in.reports.sending(in.pkt, in.dec.ThreadCount(), in.clock.jumpy || in.times.untimed)
	if in.reports.whole(in.pkt) {
		in.due++
	}
	in.found.packet(in.pkt)
	in.follow()
	if !in.times.started {
		in.noteLayers()
		in.groups.note((*C.AVPacket)(av.PacketPtr(in.pkt)), in.stream(in.video.Index()).codecpar.codec_id)
	}
	in.keep(in.pkt, in.entry)
	err := in.sendPacket(in.pkt)
	if err == nil || errors.Is(err, astiav.ErrEof) {
		return nil
	}
	if why, ok := errors.AsType[doubt](in.doubt(err, in.begun(), in.damaged)); ok {
		return in.toCPU(why)
	}
	return in.decodeError(err)
}

// follow looks for pictures that are missing before the packet just read.
func (in *Input) follow() {
	id := in.video.CodecParameters().CodecID()
	key := in.pkt.Flags().Has(astiav.PacketFlagKey) || intraOnly(id)
	entry := (id == astiav.CodecIDH264 || id == astiav.CodecIDHevc) && (key || !in.reports.begun) && in.entry(in.pkt)
	in.reports.begun = in.reports.begun || key || entry
	hidden := in.pkt.Flags().Has(astiav.PacketFlagDiscard)
	if !in.reports.begun && !hidden && in.found.stream.Pictured(payload(in.pkt)) {
		in.reports.unkeyed(in.found.packets)
	}
	if in.clock.jumped(in.video.Index()) || entry || hidden { // where parts are joined, or were cut
		in.numbers.Restart()
	}
	in.numbers.Take(in.found.stream, payload(in.pkt))
}

// noteLayers names pictures that the decoder leaves out: those of the second eye in MV-HEVC.
func (in *Input) noteLayers() {
	if in.layered || !in.found.stream.Layered(payload(in.pkt)) {
		return
	}
	in.layered = true
	in.told.Add(fidelity.Video, "", "stereo")
	in.warn("the video is MV-HEVC: pictures of the first view are in the output, those of the others are not")
}

// readError handles the end of reading: the end of the file, an interruption, or damage. A demuxer
// that trips over bad data often recovers, so it gets a few tries.
func (in *Input) readError(err error) error {
	switch {
	case errors.Is(err, astiav.ErrEagain):
		time.Sleep(time.Millisecond)
		return nil
	case errors.Is(err, astiav.ErrEof), errors.Is(err, astiav.ErrExit):
	case errors.Is(err, astiav.ErrInvaliddata) && in.tries < 32:
		in.tries++
		return nil
	default:
		in.damage.ReadErrors++
	}
	return in.drain()
}

// drain tells the decoder that no more packets come; it still holds frames.
func (in *Input) drain() error {
	if in.tries > 0 {
		in.damage.ReadErrors++
		in.tries = 0
	}
	in.eof = true
	if in.skipping || in.opts.onVideo != nil {
		return nil
	}
	in.pairs(true)
	return in.endDecoder()
}

// endDecoder tells the decoder that no more packets come.
func (in *Input) endDecoder() error {
	if err := in.sendPacket(nil); err != nil && !errors.Is(err, astiav.ErrEof) {
		return in.decodeError(err)
	}
	return nil
}

// toCPU goes on without the device, from the last entry on. That it never began is no news to
// users, unless they asked for the device.
func (in *Input) toCPU(why doubt) error {
	level := slog.LevelInfo
	if in.decoded == 0 && !errors.Is(why.error, errDamage) {
		if in.opts.MustDevice {
			return in.notOnDevice(fmt.Errorf("%w: %w", ErrDevice, why.error))
		}
		level = slog.LevelDebug
	}
	in.tell(level, fmt.Sprintf("%v: decoding on the CPU from here on", why))
	o := in.device
	in.again, in.come = o.kept, o.come
	o.kept, o.size = nil, 0
	in.closeCodec()
	if err := in.openCodec(in.video, in.refused, in.opts); err != nil {
		return err
	}
	in.reports.again(errors.Is(why.error, errDamage))
	return in.afterAgain()
}

// resend sends the next of the packets that the decoder on the device had, too.
func (in *Input) resend() error {
	p := in.again[0]
	in.again = in.again[1:]
	defer p.Free()
	in.reports.sending(p, in.dec.ThreadCount(), in.clock.jumpy || in.times.untimed)
	if err := in.sendPacket(p); err != nil && !errors.Is(err, astiav.ErrEof) {
		if err := in.decodeError(err); err != nil {
			return err
		}
	}
	return in.afterAgain()
}

// afterAgain ends the decoder's input again, if that is where the packets end.
func (in *Input) afterAgain() error {
	if len(in.again) > 0 || !in.eof {
		return nil
	}
	return in.endDecoder()
}

// emit passes a frame on, after all other packets that belong no later than the frame.
func (in *Input) emit(f *pipeline.Frame) (*pipeline.Frame, error) {
	if f.Context {
		in.context++
	} else {
		in.emitted++
	}
	in.starved = 0
	in.last = toMicros(f.PTS+f.Duration, in.video.TimeBase())
	if err := in.pending.release(in.last, in.onPacket); err != nil {
		f.Release()
		return nil, err
	}
	return f, nil
}

// cut ends the stream at a time, in microseconds, though the file goes on. The other streams are
// read up to there, as far as interleaving may have put their packets later.
func (in *Input) cut(ctx context.Context, end int64) error {
	if in.emitted == 0 {
		return in.nothing()
	}
	const interleave = 2e6
	for !in.eof && len(in.selected) > 0 {
		if err := in.read(in.pkt); err != nil {
			break // damage beyond the cut does not matter
		}
		i := in.pkt.StreamIndex()
		past := false
		var err error
		if in.accept() {
			past = packetTime(in.pkt, in.stream(i)) > end+interleave
			if i != in.video.Index() {
				err = in.take(in.pkt, in.streams, in.window(), in.last)
			}
		}
		in.pkt.Unref()
		if err != nil {
			return err
		}
		if past || ctx.Err() != nil {
			break
		}
	}
	in.eof = true
	if err := in.settle(in.streams, in.window(), in.last); err != nil {
		return err
	}
	if err := in.pending.release(end-1, in.onPacket); err != nil {
		return err
	}
	return io.EOF
}

func (in *Input) nothing() error {
	if in.opts.Start > 0 {
		return &Error{Op: "decode", Path: in.path, Err: fmt.Errorf("there is nothing after --start %v", in.opts.Start)}
	}
	if err := y4mProblem(in.path); err != nil {
		return &Error{Op: "decode", Path: in.path, Err: err}
	}
	e := &Error{Op: "decode", Path: in.path, Err: errors.New("no frame could be decoded")}
	switch {
	case in.encrypted():
		e = in.encryptedError()
	case in.forwards && in.form.readIndex:
		e.hint = "the index of an MP4 may be at its end, where a pipe is read too late: name the file, or move it: ffmpeg -i IN -c copy -movflags +faststart OUT"
	}
	return cmp.Or(av.OfShortage(nil, e), error(e))
}

// finish runs once, after the last frame.
func (in *Input) finish() error {
	if err := in.tooDamaged(); err != nil {
		return err
	}
	if in.opts.Part != nil {
		return in.endPart()
	}
	if in.emitted == 0 {
		return in.nothing()
	}
	in.checkComplete()
	if err := in.settle(in.streams, in.window(), in.last); err != nil {
		return err
	}
	if err := in.pending.flush(in.onPacket); err != nil {
		return err
	}
	return io.EOF
}
