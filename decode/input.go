package decode

import (
	"fmt"
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

// others are the packets of the other streams, which wait for the video.
type others struct {
	onPacket func(*astiav.Packet) error
	pending  packetQueue
	videos   map[int]*copiedVideo
}

func (o *others) drop() {
	o.pending.drop()
	for _, v := range o.videos {
		v.drop()
	}
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

// begun reports whether a frame of those asked for has come. Before, leading pictures of an open GOP
// may fail, which belong to the part before.
func (in *Input) begun() bool { return in.opts.Part == nil || in.emitted+in.context > 0 }

// zero returns the time of the output at which the wanted part begins, in microseconds.
func (in *Input) zero() int64 {
	if in.opts.Start > 0 {
		return 0
	}
	return in.clock.mainFrom + in.clock.shift
}

func (in *Input) partError(format string, args ...any) error {
	return &PartError{in.path, fmt.Sprintf(format, args...)}
}
