package decode

import (
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// The most that is read ahead.
const (
	mostAhead      = 20000
	mostAheadBytes = 64 << 20
)

// ahead holds packets that were read before their turn, in the file's order.
type ahead struct {
	queue []*queuedPacket
	bytes int
	err   error         // that came behind them
	last  map[int]int64 // decode times of the packets that left it, by stream
}

func (a *ahead) full() bool { return len(a.queue) >= mostAhead || a.bytes >= mostAheadBytes }

func (a *ahead) drop() {
	for _, e := range a.queue {
		e.p.Free()
	}
	*a = ahead{}
}

// lastOf returns the decode time of a stream's last packet before an entry of the queue.
func (a *ahead) lastOf(stream, before int) (dts int64, ok bool) {
	for _, e := range slices.Backward(a.queue[:before]) {
		if e.stream == stream && e.p.Dts() != av.NoPTS {
			return e.p.Dts(), true
		}
	}
	dts, ok = a.last[stream]
	return dts, ok && dts != av.NoPTS
}

func newQueued(p *astiav.Packet) *queuedPacket {
	return &queuedPacket{p: p, stream: p.StreamIndex(), epoch: -1}
}
