package mux

import "slices"

// Order gives packets their decode times, which are those of x264 in a single run. The first few
// lie before the first frame is shown, as many as reordering needs. Each later packet is decoded
// when the frame that many places before it is shown, which is never later than its own time.
type Order struct {
	started, led bool
	first        int64
	times        []int64 // sorted: of packets so far, less those used as decode times
}

// Next returns the decode time of a packet, of which a coder gave the times.
func (o *Order) Next(pts, dts int64) int64 {
	if !o.started {
		o.started, o.first = true, pts
	}
	at, _ := slices.BinarySearch(o.times, pts)
	o.times = slices.Insert(o.times, at, pts)
	if o.led = o.led || dts >= o.first; !o.led {
		return dts
	}
	first := o.times[0]
	o.times = o.times[1:]
	return first
}
