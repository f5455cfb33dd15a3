package decode

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// Input is an open file: a pipeline.Source of its main video stream, and the packets of all
// others. Apart from Interrupt it is for one goroutine.
type Input struct {
	demuxer
	decoder
	opts    Options
	counted bool // in reading
	unwatch func() bool
	eof     bool // the decoder was told that no more packets come

	times  timeline
	groups groups

	packets, failed int64 // of the video stream
	failedInRow     int64
	videoLost       bool            // it goes on in another codec
	begin           int64           // PTS of the first of them
	due, decoded    int64           // frames that the decoder took, and returned
	promised        int64           // its packets in the index on opening, -1 if unknown
	payload         int64           // bytes of packets of the video
	interlaced      bool            // some picture is
	layered         bool            // it is MV-HEVC
	formatAt        int64           // time of the first frame
	latest          pipeline.Format // of the last picture, before it was converted
	starved         int64           // packets since the last frame that had no memory
	unsupported     int64           // packets that FFmpeg has no code for
	emitted         int64
	context         int64                         // frames handed out for their neighbours only
	first           atomic.Pointer[fidelity.Look] // of the first frame
	tries           int64                         // failed reads since the last success
	last            int64                         // end of the last frame handed out, microseconds
	damage          Damage
	reports         reports
	gaps            gaps
	numbers         units.FrameNumbers
	extras          av.Extras
	pictured        fidelity.Seen

	tracks   bool            // keep them in tracked
	tracked  map[int64]int64 // durations of the video's frames by PTS, read but not yet followed
	followed []int64         // PTS of those that were followed
	reached  int64           // the latest PTS in tracked
	untimed  bool            // a frame cannot be followed, since it has no PTS
	skipping bool            // the decoder gets no more packets

	again []*astiav.Packet     // to be decoded once more, on the CPU
	come  map[uintptr]struct{} // their pictures that have been handed out

	onPacket func(*astiav.Packet) error
	pending  packetQueue
	videos   map[int]*copiedVideo
}

// Close frees the input. Frames handed out stay valid. It may be called twice.
func (in *Input) Close() {
	if in.abandoned {
		return
	}
	if in.counted {
		in.counted = false
		reading.Add(-1)
	}
	if in.unwatch != nil {
		in.unwatch()
	}
	in.opts.Spare.keep(in)
	in.decoder.close()
	for _, p := range in.again {
		p.Free()
	}
	in.again = nil
	in.reports.close()
	in.pictured.Close()
	in.pending.drop()
	for _, v := range in.videos {
		v.drop()
	}
	in.demuxer.close()
}

// OnPacket passes every packet of the selected other streams to f, in the file's order and with
// times that match the frames'. f borrows the packet. Packets later than the last frame wait for
// it.
func (in *Input) OnPacket(f func(*astiav.Packet) error) { in.onPacket = f }

// Damage returns the faults found so far; it is complete after Next has returned io.EOF.
func (in *Input) Damage() Damage {
	d := in.damage
	d.LateStreams += in.late
	d.MissingPackets += in.cutOff
	d.MissingTimes, d.RepairedTimes = in.times.missing, in.times.repaired
	d.DemuxerReports, d.DecoderReports = in.reports.demuxer.Load(), in.reports.decoder.Load()
	d.LostReferences = in.numbers.Missing(in.reports.gap)
	if in.opts.Start == 0 && in.opts.Part == nil && in.reports.begun { // else a seek may lead there
		d.EarlyFrames = max(0, in.reports.early)
	}
	return d
}

func (in *Input) openVideo() error {
	choice, err := choiceOf(in.opts)
	if err != nil {
		return err
	}
	if err := in.find(choice); err != nil {
		return err
	}
	s := in.video
	if err := in.chooseDevice((*C.AVStream)(av.StreamPtr(s)).codecpar); err != nil {
		return err
	}
	err = in.openCodec()
	if err != nil && in.device != nil && !in.opts.MustDevice {
		in.tell(slog.LevelDebug, fmt.Sprintf("decoding on the CPU: %v", err))
		in.closeCodec()
		err = in.openCodec()
	}
	if err != nil {
		return err
	}
	in.reports.watchDecoder(uintptr(in.handle))
	in.reports.listening.Store(intraOnly(s.CodecParameters().CodecID())) // else after the first packets
	par := (*C.AVStream)(av.StreamPtr(s)).codecpar
	in.found = newFound(par, int(in.dec.ColorTransferCharacteristic()))
	in.found.steps.open(in.dec)
	in.extras.AddStream(av.StreamPtr(s))
	in.times = newTimeline(s.TimeBase(), in.FrameRate())
	in.promised = in.indexed()
	return nil
}

// openCodec makes the decoder of the video and opens it.
func (in *Input) openCodec() error {
	if in.opts.Spare.give(in) {
		return nil
	}
	s := in.video
	if s.CodecParameters().Width() == 0 { // FFmpeg drops a size that it refuses
		if err := in.beyond(in.refused); err != nil {
			return err
		}
	}
	if err := in.alloc(s.CodecParameters().CodecID()); err != nil {
		return err
	}
	if err := s.CodecParameters().ToCodecContext(in.dec); err != nil {
		return &Error{Op: "decode", Path: in.path, Err: err}
	}
	return in.start(in.opts.Threads, (*C.AVStream)(av.StreamPtr(s)).time_base)
}

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
			return nil, in.cut(ctx, in.zero()+in.opts.Duration.Microseconds())
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
	if why := in.doubt(err); why != nil {
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
		return in.route()
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
	in.track()
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
	in.keep()
	err := in.sendPacket(in.pkt)
	if err == nil || errors.Is(err, astiav.ErrEof) {
		return nil
	}
	if why, ok := errors.AsType[doubt](in.doubt(err)); ok {
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

// decodeError counts an error and gives up if there are too many.
func (in *Input) decodeError(err error) error {
	if in.device.lost() {
		return err
	}
	const enough = 8
	if av.Errno(err) == int(C.ENOMEM) {
		// A damaged packet may ask for absurd amounts; if all do, memory has really run out.
		if in.starved++; in.starved > enough {
			return av.OfShortage(err, fmt.Errorf("decode %s: %w", in.path, err))
		}
	}
	if in.opts.Part != nil && in.emitted+in.context == 0 {
		return nil // leading pictures of an open GOP, which belong to the part before
	}
	in.failed++
	in.damage.DecodeErrors++
	if in.failedInRow++; in.failedInRow >= otherCodec && in.tableChanged(in.packets-in.failedInRow) && !in.videoLost {
		in.loseVideo()
		return nil
	}
	if errors.Is(err, astiav.ErrPatchwelcome) {
		in.unsupported++
	}
	const enoughToJudge = 50
	if in.packets >= enoughToJudge {
		return in.tooDamaged()
	}
	return nil
}

// undecodable is the error of a video of which no packet can be decoded: no tolerance helps.
func (in *Input) undecodable() *Error {
	e := &Error{Op: "decode", Path: in.path}
	switch codec := in.codec.Name(); {
	case in.encrypted():
		return in.encryptedError()
	case in.unsupported > 0:
		e.Err = fmt.Errorf("FFmpeg cannot decode this kind of %s", codec)
	default:
		e.Err = fmt.Errorf("none of the first %d packets can be decoded as %s: they are damaged, encrypted, or of a kind that FFmpeg does not know", in.packets, codec)
	}
	return e
}

// encrypted reports whether the container says that the video is, as a whole.
func (in *Input) encrypted() bool {
	par := in.stream(in.video.Index()).codecpar
	return par.codec_tag == tag("encv") || entries(in.stream(in.video.Index()).metadata)["enc_key_id"] != ""
}

// beginsEncrypted is the error of an encrypted packet. Those before it may be clear.
func (in *Input) beginsEncrypted() error {
	e := in.encryptedError()
	if in.emitted > 0 {
		at := time.Duration(in.last-in.zero()) * time.Microsecond
		e.Err = fmt.Errorf("the video is encrypted from %v on", at.Round(time.Millisecond))
		e.hint = fmt.Sprintf("--duration %v takes what is before, or decrypt it with its key first", at.Truncate(time.Millisecond))
	}
	return e
}

func (in *Input) encryptedError() *Error {
	return &Error{Op: "decode", Path: in.path, Err: errors.New("the video is encrypted"), hint: "decrypt it with its key first"}
}

func (in *Input) tooDamaged() error {
	if in.opts.MaxErrorRate <= 0 && in.failed == 0 || in.packets == 0 {
		return nil
	}
	if rate := float64(in.failed) / float64(in.packets); rate > in.opts.MaxErrorRate {
		err := &Error{Op: "decode", Path: in.path,
			Err:  fmt.Errorf("%d of %d packets are damaged, more than --max-error-rate %g allows", in.failed, in.packets, in.opts.MaxErrorRate),
			hint: "give a higher --max-error-rate to take what can be read"}
		if in.decoded == 0 {
			err = in.undecodable()
		}
		return cmp.Or(av.OfShortage(nil, err), error(err))
	}
	return nil
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
				err = in.route()
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
	if err := in.settle(); err != nil {
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
	if err := in.settle(); err != nil {
		return err
	}
	if err := in.pending.flush(in.onPacket); err != nil {
		return err
	}
	return io.EOF
}

// otherCodec is how many packets in a row must fail after a program changed, before its video is
// taken to be in another codec.
const otherCodec = 20

// loseVideo leaves out the rest of a video that continues in another codec under the same PID.
func (in *Input) loseVideo() {
	in.videoLost = true
	in.failed -= in.failedInRow // these packets are not damaged
	in.damage.LateStreams++
	in.warn("the video goes on from %.3f s in another codec: that part is left out; filter it as a file of its own", float64(in.last)/float64(second))
}

// route keeps a packet of another stream until the video is as far, and drops it outside of the
// wanted part.
func (in *Input) route() error {
	i := in.pkt.StreamIndex()
	if in.isPicture(i) {
		return in.pending.add(in.pkt, in.zero(), in.onPacket)
	}
	if v := in.videos[i]; v != nil {
		return v.add(in.pkt, in.hold)
	}
	return in.hold(in.pkt)
}

func (in *Input) hold(p *astiav.Packet) error {
	t := packetTime(p, in.stream(p.StreamIndex()))
	switch {
	case t == av.NoPTS:
		t = in.last
	case in.opts.Start > 0 && t < 0, in.opts.Duration > 0 && t >= in.zero()+in.opts.Duration.Microseconds():
		return nil
	}
	return in.pending.add(p, t, in.onPacket)
}

// settle passes on the packets whose decode times had to wait for others.
func (in *Input) settle() error {
	for _, s := range in.fc.Streams() {
		if v := in.videos[s.Index()]; v != nil {
			if err := v.flush(in.hold); err != nil {
				return err
			}
		}
	}
	return nil
}

// Interrupt ends a blocking call on the input; frames read so far still come, then io.EOF. It may
// be called from any goroutine while the input is open.
func (in *Input) Interrupt() { in.interrupt() }
