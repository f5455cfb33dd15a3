package decode

import (
	"context"
	"io"
	"math"

	"github.com/asticode/go-astiav"
	"golang.org/x/sys/unix"

	"vidfilter/pipeline"
)

// Input is an open file: a pipeline.Source of its main video stream, and the packets of all
// others. Apart from Interrupt it is for one goroutine.
type Input struct {
	videoReader
	tracker
	otherPackets
	counted bool // in reading
	unwatch func() bool
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
	in.opts.Spare.keep(&in.decoder, in.failed > 0 || in.reports.fromDecoder.Load() > 0)
	in.decoder.close()
	in.reports.close()
	in.pictured.Close()
	in.otherPackets.drop()
	in.demuxer.close()
}

// OnPacket passes every packet of the selected other streams to f, which borrows it, in the file's
// order, with times that match the frames', and after the frames before it.
func (in *Input) OnPacket(f func(*astiav.Packet) error) { in.onPacket = f }

// Open opens a file, a pipe ("-") or, if allowed, a network address, and finds its streams. The end
// of ctx ends any blocking call on the input. Frames are in memory of pool.
func Open(ctx context.Context, path string, pool *pipeline.Pool, o Options) (_ *Input, err error) {
	log := logger{path, o.Log}
	in := &Input{otherPackets: otherPackets{videos: map[int]*copiedVideo{}}, tracker: tracker{tracked: map[int64]int64{}, reached: math.MinInt64}}
	in.logger, in.demuxer.logger, in.opts, in.begun = log, log, o, o.Part == nil
	in.decoder = decoder{logger: log, pool: pool, maxPixels: o.MaxPixels, filters: o.FilterMemory, layouts: o.Layouts, depth: o.Depth}
	in.interrupter.open()
	in.unwatch = context.AfterFunc(ctx, in.Interrupt)
	defer func() {
		if err != nil {
			in.Close()
		}
	}()
	from, err := in.locate(o.AllowNetwork)
	if err != nil {
		return nil, err
	}
	in.url, in.forwards = from.url, from.forwards
	in.abandoned, err = bounded(ctx, path, in.Interrupt, func() error {
		return in.openContainer(ctx, from, o.Format, in.reports.watchDemuxer)
	})
	if from.pipe >= 0 {
		_ = unix.Close(from.pipe) // FFmpeg has its own by now
	}
	if err != nil {
		return nil, err
	}
	if o.Part != nil {
		if err := in.readCut(); err != nil {
			return nil, err
		}
	}
	if err := in.openVideo(); err != nil {
		return nil, err
	}
	if err := in.selectStreams(); err != nil {
		return nil, err
	}
	for _, s := range in.Others() {
		if i := s.Index(); s.CodecParameters().MediaType() == astiav.MediaTypeVideo && !in.isPicture(i) {
			in.videos[i] = newCopiedVideo(in.stream(i), s, frameRate(in.fc, s))
		}
	}
	if in.cutFrom == nil && in.form.name == "mov" {
		in.edits = readEdits(&in.packetReader, from, in.stop, in.times.step)
	}
	if err := in.seek(); err != nil {
		return nil, err
	}
	return in, nil
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

// feed reads a packet and passes it to the decoder or to the others.
func (in *Input) feed(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
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
		return in.drain() // reading was interrupted, without damage
	}
	if !in.accept() {
		return nil
	}
	if in.pkt.StreamIndex() != in.video.Index() {
		return in.take(in.pkt, in.containerStreams, in.window(), in.last)
	}
	return in.send()
}

// emit passes a frame on, after all other packets that belong no later than the frame.
func (in *Input) emit(f *pipeline.Frame) (*pipeline.Frame, error) {
	if f.Context {
		in.around++
	} else {
		in.emitted++
	}
	in.starved, in.begun = 0, true
	in.last = toMicros(f.PTS+f.Duration, in.video.TimeBase())
	if err := in.pending.release(in.last, in.onPacket); err != nil {
		f.Release()
		return nil, err
	}
	return f, nil
}

// cut ends the stream at a time, in microseconds, though the file goes on. It reads on for packets
// of the other streams up to there.
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
				err = in.take(in.pkt, in.containerStreams, in.window(), in.last)
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
	if err := in.settle(in.containerStreams, in.window(), in.last); err != nil {
		return err
	}
	if err := in.pending.release(end-1, in.onPacket); err != nil {
		return err
	}
	return io.EOF
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
	if in.opts.Start == 0 && in.opts.Duration == 0 && in.opts.Frames == 0 && !in.interrupted() {
		kept := in.due - in.decoded
		if in.opts.undecoded {
			kept = 0
		}
		in.checkComplete(&in.demuxer, kept)
	}
	if err := in.settle(in.containerStreams, in.window(), in.last); err != nil {
		return err
	}
	if err := in.pending.flush(in.onPacket); err != nil {
		return err
	}
	return io.EOF
}
