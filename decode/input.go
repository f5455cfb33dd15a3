package decode

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// Input is an open file: a pipeline.Source of its main video stream, and the packets of all
// others. Apart from Interrupt it is for one goroutine.
type Input struct {
	demuxer
	decoder
	faults
	progress
	properties
	tracker
	others
	opts    Options
	times   timeline
	counted bool // in reading
	unwatch func() bool
	eof     bool // the decoder was told that no more packets come
}

// progress is how far the frames have come.
type progress struct {
	emitted  int64
	context  int64           // frames handed out for their neighbours only
	last     int64           // end of the last frame handed out, microseconds
	formatAt int64           // time of the first frame
	latest   pipeline.Format // of the last picture, before it was converted
}

// properties are those of the video that have come so far.
type properties struct {
	extras   av.Extras
	pictured fidelity.Seen
	groups   groups
	first    atomic.Pointer[fidelity.Look] // of the first frame
	layered  bool                          // it is MV-HEVC
}

// Interrupt ends a blocking call on the input; frames read so far still come, then io.EOF. It may
// be called from any goroutine while the input is open.
func (in *Input) Interrupt() { in.interrupt() }

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
	in.opts.Spare.keep(&in.decoder, in.failed > 0 || in.reports.decoder.Load() > 0)
	in.decoder.close()
	in.reports.close()
	in.pictured.Close()
	in.others.drop()
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

// window returns the part of the video that Start and Duration ask for.
func (in *Input) window() window {
	w := window{in.clock.mainFrom + in.clock.shift, math.MinInt64, math.MaxInt64}
	if in.opts.Start > 0 {
		w.zero, w.start = 0, 0
	}
	if in.opts.Duration > 0 {
		w.end = w.zero + in.opts.Duration.Microseconds()
	}
	return w
}

// begun reports whether a frame of those asked for has come. Before, leading pictures of an open
// GOP may fail, which belong to the part before.
func (in *Input) begun() bool { return in.opts.Part == nil || in.emitted+in.context > 0 }

func (in *Input) partError(format string, args ...any) error {
	return &PartError{in.path, fmt.Sprintf(format, args...)}
}
