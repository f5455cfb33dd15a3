package decode

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// Input is an open file: a pipeline.Source of its main video stream, and the packets of every other
// stream. All but Interrupt is for one goroutine.
type Input struct {
	decoder
	opts     Options
	fc       *astiav.FormatContext
	opened   bool
	forwards bool       // it can be read once, and in order
	mu       sync.Mutex // guards stop, which Close frees
	stop     *C.int     // set by Interrupt; C memory, since FFmpeg keeps the pointer
	unwatch  func() bool

	video    *astiav.Stream
	rules    []mapRule // of --map
	selected map[int]bool
	eof      bool // the decoder has been told that no more comes

	clock clock
	times timeline

	packets, failed int64 // of the video stream
	starved         int64 // packets since the last frame for which there was no memory
	emitted         int64
	tries           int64 // reads that failed since the last one that worked
	last            int64 // end of the last frame handed out, microseconds
	damage          Damage

	cutFrom  *cutOrigin      // of a file with CutTag
	tracked  map[int64]int64 // durations of the video's frames by PTS, as far as they were read and not followed
	reached  int64           // the latest PTS of them
	untimed  bool            // a frame cannot be followed, since it has no PTS of its own
	skipping bool            // the decoder gets nothing any more

	onPacket func(*astiav.Packet) error
	held     packetQueue
}

// Damage counts what was wrong with an input that could still be read.
type Damage struct {
	ReadErrors      int64 // the container broke off or could not be followed
	CorruptPackets  int64 // packets that the container marks as damaged
	DecodeErrors    int64 // packets that the decoder refused
	DamagedFrames   int64 // frames that the decoder patched up
	MissingPackets  int64 // packets that the index promises and the file lacks
	MissingBytes    int64 // by which the file is shorter than its header says
	MissingTimes    int64 // frames without a time, in a container that has times
	RepairedTimes   int64 // frames whose time went backwards
	Discontinuities int64 // jumps of the clock, closed up
	FormatChanges   int64 // frames of another size or format than the first, converted
	MissingSeconds  float64
}

// Counts returns the counts that are not zero, by a name for people.
func (d Damage) Counts() map[string]int64 {
	m := map[string]int64{}
	for name, n := range map[string]int64{
		"read errors": d.ReadErrors, "corrupt packets": d.CorruptPackets, "decode errors": d.DecodeErrors,
		"damaged frames": d.DamagedFrames, "missing packets": d.MissingPackets, "missing bytes": d.MissingBytes, "missing timestamps": d.MissingTimes,
		"repaired timestamps": d.RepairedTimes, "clock jumps": d.Discontinuities, "format changes": d.FormatChanges,
		"missing seconds": int64(d.MissingSeconds + 0.5),
	} {
		if n > 0 {
			m[name] = n
		}
	}
	return m
}

// Interrupt makes a blocking call on the input give up; the frames read so far still come, then io.EOF.
// It may be called from any goroutine while the input is open.
func (in *Input) Interrupt() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stop != nil {
		C.vf_interrupt(in.stop)
	}
}

func (in *Input) interrupted() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stop != nil && C.vf_stopped(in.stop) != 0
}

// Close frees the input. Frames handed out stay valid. It may be called twice.
func (in *Input) Close() {
	if in.unwatch != nil {
		in.unwatch()
	}
	in.decoder.close()
	in.held.drop()
	if in.fc != nil {
		if in.opened {
			in.fc.CloseInput()
		} else {
			in.fc.Free()
		}
		in.fc = nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stop != nil {
		C.free(unsafe.Pointer(in.stop))
		in.stop = nil
	}
}

// OnPacket sends every packet of the selected other streams to f, in the order of the file and with times
// that match the frames'; f borrows the packet. Packets later than the last frame so far wait for it.
func (in *Input) OnPacket(f func(*astiav.Packet) error) { in.onPacket = f }

// Damage returns what has been found wrong so far; complete after Next has returned io.EOF.
func (in *Input) Damage() Damage {
	d := in.damage
	d.MissingTimes, d.RepairedTimes = in.times.missing, in.times.repaired
	d.Discontinuities = in.clock.jumps
	return d
}

func (in *Input) openVideo() error {
	rules, err := parseMaps(in.opts.Maps)
	if err != nil {
		return err
	}
	in.rules = rules
	s, err := in.pickVideo()
	if err != nil {
		return err
	}
	in.video = s
	if in.cutFrom != nil {
		in.stream(s.Index()).codecpar.video_delay = C.int(in.cutFrom.delay)
	}
	if err := in.alloc(s.CodecParameters().CodecID()); err != nil {
		return err
	}
	if err := s.CodecParameters().ToCodecContext(in.dec); err != nil {
		return &Error{Op: "decode", Path: in.path, Err: err}
	}
	if err := in.start(in.opts.Threads, (*C.AVStream)(av.StreamPtr(s)).time_base); err != nil {
		return err
	}
	in.times = newTimeline(s.TimeBase(), in.FrameRate())
	in.clock = newClock(in.fc)
	return nil
}

// Next returns the next frame, owned by the caller, or io.EOF. All frames have the format of the first.
func (in *Input) Next(ctx context.Context) (*pipeline.Frame, error) {
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
		case in.eof:
			return nil, in.finish()
		}
		if err := in.feed(ctx); err != nil {
			return nil, err
		}
	}
}

// receive returns a frame, or nil when the decoder wants more or is empty.
func (in *Input) receive() (*pipeline.Frame, error) {
	for {
		err := in.dec.ReceiveFrame(in.frame)
		switch {
		case errors.Is(err, astiav.ErrEof), errors.Is(err, astiav.ErrEagain):
			return nil, nil
		case err != nil:
			if err := in.decodeError(err); err != nil {
				return nil, err
			}
			continue
		}
		f, err := in.convert()
		in.frame.Unref()
		if f != nil || err != nil {
			return f, err
		}
	}
}

// feed reads one packet and gives it to the decoder or to the others.
func (in *Input) feed(ctx context.Context) error {
	err := in.fc.ReadFrame(in.pkt)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return in.readError(err)
	}
	defer in.pkt.Unref()
	if in.pkt.Flags().Has(astiav.PacketFlagCorrupt) && in.interrupted() {
		return in.drain() // it broke off with the reading; the input is not to blame
	}
	if !in.accept() {
		return nil
	}
	if in.pkt.StreamIndex() != in.video.Index() {
		return in.route()
	}
	return in.send()
}

// accept counts the packet just read, puts its times on the output's clock and tells whether it is wanted.
func (in *Input) accept() bool {
	in.damage.ReadErrors += in.tries // reads that failed before this one worked are damage all the same
	in.tries = 0
	i := in.pkt.StreamIndex()
	in.clock.end = max(in.clock.end, packetEnd(in.pkt, in.stream(i)))
	if i != in.video.Index() && !in.selected[i] {
		return false
	}
	if in.pkt.Flags().Has(astiav.PacketFlagCorrupt) {
		in.damage.CorruptPackets++
	}
	in.clock.adjust(in.pkt, in.stream(i))
	in.ontoSource()
	return true
}

func (in *Input) stream(i int) *C.AVStream {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	return av.Slice(fc.streams, int(fc.nb_streams))[i]
}

func (in *Input) send() error {
	in.packets++
	in.track()
	switch {
	case in.opts.onVideo != nil:
		return in.opts.onVideo(in.pkt)
	case in.skipping:
		return nil
	}
	err := in.dec.SendPacket(in.pkt)
	if err == nil || errors.Is(err, astiav.ErrEof) {
		return nil
	}
	return in.decodeError(err)
}

// readError decides what the end of reading means: the end of the file, an interruption, or damage.
// A demuxer that trips over bad data often finds its way again, so it gets a few tries.
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

// drain tells the decoder that no more comes; it still holds frames.
func (in *Input) drain() error {
	if in.tries > 0 {
		in.damage.ReadErrors++
		in.tries = 0
	}
	in.eof = true
	if in.skipping || in.opts.onVideo != nil {
		return nil
	}
	if err := in.dec.SendPacket(nil); err != nil && !errors.Is(err, astiav.ErrEof) {
		return in.decodeError(err)
	}
	return nil
}

// decodeError counts an error and gives up when there are too many.
func (in *Input) decodeError(err error) error {
	const enough = 8
	if av.Errno(err) == int(C.ENOMEM) {
		// A damaged packet may ask for absurd amounts; when all do, the memory is really gone.
		if in.starved++; in.starved > enough {
			return fmt.Errorf("decode %s: %w", in.path, err)
		}
	}
	if in.opts.Part != nil && in.emitted == 0 {
		return nil // what leads in an open GOP lacks what it refers to, and belongs to the part before
	}
	in.failed++
	in.damage.DecodeErrors++
	const enoughToJudge = 50
	if in.packets >= enoughToJudge {
		return in.tooDamaged()
	}
	return nil
}

func (in *Input) tooDamaged() error {
	if in.opts.MaxErrorRate <= 0 && in.failed == 0 || in.packets == 0 {
		return nil
	}
	if rate := float64(in.failed) / float64(in.packets); rate > in.opts.MaxErrorRate {
		return &Error{Op: "decode", Path: in.path,
			Err:  fmt.Errorf("%d of %d packets are damaged, more than --max-error-rate %g allows", in.failed, in.packets, in.opts.MaxErrorRate),
			hint: "give a higher --max-error-rate to take what can be read"}
	}
	return nil
}

// emit hands a frame on, and before it every other packet that belongs no later than the frame.
func (in *Input) emit(f *pipeline.Frame) (*pipeline.Frame, error) {
	in.emitted++
	in.starved = 0
	in.last = toMicros(f.PTS+f.Duration, in.video.TimeBase())
	if err := in.held.release(in.last, in.onPacket); err != nil {
		f.Release()
		return nil, err
	}
	return f, nil
}

// cut ends the stream at a time, in microseconds, though the file goes on: the other streams are still
// read up to there, as far as the file's interleaving may have put them later.
func (in *Input) cut(ctx context.Context, end int64) error {
	if in.emitted == 0 {
		return in.nothing()
	}
	const interleave = 2e6
	for !in.eof && len(in.selected) > 0 {
		if err := in.fc.ReadFrame(in.pkt); err != nil {
			break // damage beyond the cut is none of ours
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
	if err := in.held.release(end-1, in.onPacket); err != nil {
		return err
	}
	return io.EOF
}

func (in *Input) nothing() error {
	if in.opts.Start > 0 {
		return &Error{Op: "decode", Path: in.path, Err: fmt.Errorf("nothing lies behind --start %v", in.opts.Start)}
	}
	return &Error{Op: "decode", Path: in.path, Err: errors.New("no frame could be decoded")}
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
	if err := in.held.flush(in.onPacket); err != nil {
		return err
	}
	return io.EOF
}
