package decode

//#include "glue.h"
import "C"

import (
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// mostReordered is the most packets that H.264 and HEVC decode before the one that is shown first.
const mostReordered = 16

// reordering returns by how many places at most a packet is decoded before its frame is shown.
func reordering(pts []int64) int {
	shown := slices.Sorted(slices.Values(pts))
	delay := 0
	for i, t := range pts {
		rank, _ := slices.BinarySearch(shown, t)
		delay = max(delay, i-rank)
	}
	return delay
}

// decodeTimes makes decode times from presentation times: a packet is decoded when the frame delay
// places before its own is shown. The first few begin earlier, a step apart.
type decodeTimes struct {
	delay       int
	first, step int64
	count       int
	pending     []int64 // ascending
}

func (d *decodeTimes) next(pts int64) int64 {
	at, _ := slices.BinarySearch(d.pending, pts)
	d.pending = slices.Insert(d.pending, at, pts)
	if d.count++; d.count <= d.delay {
		return min(pts, d.first-int64(d.delay-d.count+1)*d.step)
	}
	t := d.pending[0]
	d.pending = slices.Delete(d.pending, 0, 1)
	return t
}

// copiedVideo puts decode times on the packets of a copied video stream, where the container has
// none, as Matroska: FFmpeg leaves the first ones open, and lets them run backwards if frames are
// reordered further than the codec's header allows.
type copiedVideo struct {
	step    int64
	decided bool
	delay   int // by the codec's header
	times   *decodeTimes
	waiting []*astiav.Packet // until there are enough to decide
}

func newCopiedVideo(st *C.AVStream, s *astiav.Stream, rate astiav.Rational) *copiedVideo {
	return &copiedVideo{step: newTimeline(s.TimeBase(), rate).step, delay: int(st.codecpar.video_delay)}
}

// add passes the packets that are ready to out, which borrows them.
func (v *copiedVideo) add(p *astiav.Packet, out func(*astiav.Packet) error) error {
	if v.decided {
		v.stamp(p)
		return out(p)
	}
	v.waiting = append(v.waiting, p.Clone())
	if len(v.waiting) <= mostReordered {
		return nil
	}
	return v.flush(out)
}

// flush decides by the packets so far, and passes them on.
func (v *copiedVideo) flush(out func(*astiav.Packet) error) error {
	if !v.decided {
		v.decide()
	}
	defer v.drop()
	for _, p := range v.waiting {
		v.stamp(p)
		if err := out(p); err != nil {
			return err
		}
	}
	return nil
}

func (v *copiedVideo) decide() {
	v.decided = true
	var pts []int64
	usable, last := true, av.NoPTS
	for _, p := range v.waiting {
		if p.Pts() == av.NoPTS {
			return // there are no times to make them from
		}
		usable = usable && p.Dts() != av.NoPTS && p.Dts() >= last && p.Dts() <= p.Pts()
		pts, last = append(pts, p.Pts()), p.Dts()
	}
	if !usable {
		v.times = &decodeTimes{delay: max(v.delay, reordering(pts)), first: slices.Min(pts), step: v.step}
	}
}

func (v *copiedVideo) stamp(p *astiav.Packet) {
	if v.times != nil && p.Pts() != av.NoPTS {
		p.SetDts(v.times.next(p.Pts()))
	}
}

func (v *copiedVideo) drop() {
	for _, p := range v.waiting {
		p.Free()
	}
	v.waiting = nil
}

// otherPackets are the packets of the other streams, which wait for the video.
type otherPackets struct {
	onPacket func(*astiav.Packet) error
	pending  packetQueue
	videos   map[int]*copiedVideo
}

func (o *otherPackets) drop() {
	o.pending.drop()
	for _, v := range o.videos {
		v.drop()
	}
}

// take keeps a packet until the video is as far, and drops it outside of the window. last stands
// for the time that a packet lacks.
func (o *otherPackets) take(p *astiav.Packet, s containerStreams, w window, last int64) error {
	i := p.StreamIndex()
	if s.isPicture(i) {
		return o.pending.add(p, w.zero, o.onPacket)
	}
	if v := o.videos[i]; v != nil {
		return v.add(p, o.holder(s, w, last))
	}
	return o.holder(s, w, last)(p)
}

func (o *otherPackets) holder(s containerStreams, w window, last int64) func(*astiav.Packet) error {
	return func(p *astiav.Packet) error {
		t := packetTime(p, s.stream(p.StreamIndex()))
		switch {
		case t == av.NoPTS:
			t = last
		case t < w.start, t >= w.end:
			return nil
		}
		return o.pending.add(p, t, o.onPacket)
	}
}

// settle passes on the packets whose decode times had to wait for others.
func (o *otherPackets) settle(s containerStreams, w window, last int64) error {
	for _, st := range s.fc.Streams() {
		if v := o.videos[st.Index()]; v != nil {
			if err := v.flush(o.holder(s, w, last)); err != nil {
				return err
			}
		}
	}
	return nil
}
