package decode

//#include "glue.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

func (v *videoReader) openVideo() error {
	choice, err := choiceOf(v.opts)
	if err != nil {
		return err
	}
	if err := v.find(choice); err != nil {
		return err
	}
	v.coded = v.video
	if err := v.chooseDevice(); err != nil {
		return err
	}
	if v.par().width == 0 { // FFmpeg drops a size that it refuses
		if err := beyond(v.path, v.refused); err != nil {
			return err
		}
	}
	err = v.openCodec()
	if err != nil && v.device != nil && !v.opts.MustDevice {
		v.tell(slog.LevelDebug, "decoding on the CPU: %v", err)
		v.closeCodec()
		err = v.openCodec()
	}
	if err != nil {
		return err
	}
	v.reports.watchDecoder(uintptr(v.handle))
	v.reports.listening.Store(intraOnly(v.video.CodecParameters().CodecID())) // else after the first packets
	v.found = newPacketUnits(v.par(), int(v.dec.ColorTransferCharacteristic()))
	v.found.steps.open(v.dec)
	v.extras.AddStream(av.StreamPtr(v.video))
	v.times = newTimeline(v.video.TimeBase(), v.FrameRate())
	if v.promised = -1; v.form.readIndex {
		v.promised = v.indexed()
	}
	return nil
}

// accept counts the packet just read and reports whether it is wanted.
func (v *videoReader) accept() bool {
	v.damage.ReadErrors += v.tries // failed reads before this one are damage all the same
	v.tries = 0
	if !v.demuxer.accept(v.pkt, v.last) {
		return false
	}
	if v.pkt.Flags().Has(astiav.PacketFlagCorrupt) {
		v.damage.CorruptPackets++
	}
	if st := v.stream(v.pkt.StreamIndex()); st.codecpar.codec_type == C.AVMEDIA_TYPE_AUDIO {
		v.gaps.audio(v.pkt.StreamIndex(), packetTime(v.pkt, st))
	}
	return true
}

func (v *videoReader) send() error {
	if v.packets == 0 {
		v.begin = v.pkt.Pts()
		if v.form.keyed && v.opts.Start == 0 && v.opts.Part == nil && !v.pkt.Flags().Has(astiav.PacketFlagKey) {
			v.damage.Breaks++
		}
	}
	p := (*C.AVPacket)(av.PacketPtr(v.pkt))
	if C.av_packet_get_side_data(p, C.AV_PKT_DATA_ENCRYPTION_INFO, nil) != nil {
		return v.beginsEncrypted()
	}
	if err := checkPicture(v.path, v.videoStream(), p.data, p.size); err != nil {
		return err
	}
	v.packets++
	if v.newTable() {
		v.tableAt = v.packets
	}
	v.videoBytes += int64(v.pkt.Size())
	if v.form.pictures {
		v.damage.Breaks += excess(payload(v.pkt))
	}
	if !v.pkt.Flags().Has(astiav.PacketFlagDiscard) {
		v.pictured.Packet(av.StreamPtr(v.video), av.PacketPtr(v.pkt))
	}
	if v.opts.onVideo != nil {
		if err := v.opts.onVideo(v.pkt); err != nil {
			return err
		}
	}
	if v.opts.undecoded || v.videoLost {
		return nil
	}
	v.prepareFor(v.clock.jumped(v.video.Index()))
	if !v.times.started {
		v.noteLayers()
		v.groups.note((*C.AVPacket)(av.PacketPtr(v.pkt)), v.par().codec_id)
	}
	v.keep(v.pkt)
	err := v.sendPacket(v.pkt)
	if err == nil || errors.Is(err, astiav.ErrEof) {
		return nil
	}
	if why, ok := errors.AsType[fallbackReason](v.doubt(err)); ok {
		return v.toCPU(why)
	}
	return v.decodeError(err)
}

// beginsEncrypted is the error of an encrypted packet. Those before it may be clear.
func (v *videoReader) beginsEncrypted() error {
	e := v.encryptedError()
	if v.emitted > 0 {
		at := time.Duration(v.last-v.window().zero) * time.Microsecond
		e.Err = fmt.Errorf("the video is encrypted from %v on", at.Round(time.Millisecond))
		e.hint = fmt.Sprintf("--duration %v takes what is before, or decrypt it with its key first", at.Truncate(time.Millisecond))
	}
	return e
}

// readError handles the end of the file, an interruption, or damage, from which a demuxer may
// recover within a few tries.
func (v *videoReader) readError(err error) error {
	switch {
	case errors.Is(err, astiav.ErrEagain):
		time.Sleep(time.Millisecond)
		return nil
	case errors.Is(err, astiav.ErrEof), errors.Is(err, astiav.ErrExit):
	case errors.Is(err, astiav.ErrInvaliddata) && v.tries < 32:
		v.tries++
		return nil
	default:
		v.damage.ReadErrors++
	}
	return v.drain()
}

// receive returns a frame, or nil if the decoder wants more packets or is empty.
func (v *videoReader) receive() (*pipeline.Frame, error) {
	for {
		f, more, err := v.receiveOne()
		if why, ok := errors.AsType[fallbackReason](err); ok {
			v.unref()
			return nil, v.toCPU(why)
		}
		if f != nil || err != nil || !more {
			return f, err
		}
	}
}

// receiveOne returns a frame if the decoder has one that is wanted, and whether it may have more.
func (v *videoReader) receiveOne() (f *pipeline.Frame, more bool, err error) {
	err = v.receiveFrame()
	none := errors.Is(err, astiav.ErrEof) || errors.Is(err, astiav.ErrEagain)
	if none {
		err = nil
	}
	if why := v.doubt(err); why != nil {
		return nil, true, why
	}
	switch {
	case none:
		return nil, false, nil
	case err != nil:
		return nil, true, v.decodeError(err)
	}
	defer v.unref()
	number := v.number()
	if _, repeated := v.come[number]; repeated {
		delete(v.come, number)
		return nil, true, nil
	}
	f, err = v.convert()
	if errors.As(err, new(fallbackReason)) {
		return nil, true, err
	}
	v.decoded++
	v.failedInRow = 0
	v.device.came(number)
	if v.video.CodecParameters().CodecID() != astiav.CodecIDHevc { // which shows pictures without their references
		v.reports.came(number)
	}
	return f, true, err
}

func (v *videoReader) nothing() error {
	if v.opts.Start > 0 {
		return &Error{Op: "decode", Path: v.path, Err: fmt.Errorf("there is nothing after --start %v", v.opts.Start)}
	}
	if err := y4mProblem(v.path); err != nil {
		return &Error{Op: "decode", Path: v.path, Err: err}
	}
	e := &Error{Op: "decode", Path: v.path, Err: errors.New("no frame could be decoded")}
	switch {
	case v.encrypted():
		e = v.encryptedError()
	case v.forwards && v.form.readIndex:
		e.hint = "the index of an MP4 may be at its end, where a pipe is read too late: name the file, or move it: ffmpeg -i IN -c copy -movflags +faststart OUT"
	}
	return cmp.Or(av.OfShortage(nil, e), error(e))
}
