package rtc

import (
	"bytes"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
)

const (
	// missing is how long to wait for a packet that others have overtaken: enough for a
	// retransmission.
	missing = 120 * time.Millisecond

	mostPackets = 1 << 12 // kept while one is missing
	mostUnit    = 4 << 20 // bytes of a picture
	mostLate    = 100     // late packets in a row that mean that the numbering has restarted
)

// unit is a coded picture.
type unit struct {
	data []byte // Annex B
	time uint32 // as RTP has it
	came time.Time
}

// assembler puts packets into order and returns a picture with its last packet. (pion's
// SampleBuilder waits for the first packet of the next picture, which costs the interval between
// two pictures.) The zero value is ready.
type assembler struct {
	began   bool
	next    uint16 // the packet that comes next
	ahead   map[uint16]*rtp.Packet
	since   time.Time // start of the wait for next, zero if it is not missing
	late    int       // packets in a row that came too late
	skip    bool      // drop pictures up to a key frame, after a loss
	torn    bool      // the current picture has lost packets
	tornAt  uint32
	depack  codecs.H264Packet
	current unit
	open    bool // current has begun
	size    int  // bytes of its packets
}

// push takes a packet and returns the completed pictures. lost means that only a key frame helps.
func (a *assembler) push(now time.Time, p *rtp.Packet) (all []unit, lost bool) {
	if !a.began {
		a.began, a.next, a.ahead = true, p.SequenceNumber, map[uint16]*rtp.Packet{}
	}
	d := int16(p.SequenceNumber - a.next)
	if d < 0 { // it comes too late, or twice
		if a.late++; a.late > mostLate {
			*a = assembler{skip: true}
		}
		return nil, a.skip
	}
	a.late = 0
	if d > 0 {
		if len(a.ahead) == 0 {
			a.since = now
		}
		a.ahead[p.SequenceNumber] = p
		if len(a.ahead) < mostPackets && now.Sub(a.since) < missing {
			return nil, a.skip
		}
		a.lose()
		p = a.jump()
	}
	for p != nil {
		delete(a.ahead, a.next)
		a.next++
		all = a.take(now, p, all)
		p = a.ahead[a.next]
	}
	a.since = now // if others are still ahead, another one is missing
	return all, a.skip
}

// jump returns the first packet behind the gap. Its picture may lack its beginning.
func (a *assembler) jump() *rtp.Packet {
	first := int16(-1)
	for n := range a.ahead {
		if d := int16(n - a.next); first < 0 || d < first {
			first = d
		}
	}
	a.next += uint16(first)
	p := a.ahead[a.next]
	a.torn, a.tornAt = true, p.Timestamp
	return p
}

// lose drops the picture in progress, and all up to the next key frame.
func (a *assembler) lose() {
	a.skip, a.open = true, false
	a.depack, a.size = codecs.H264Packet{}, 0
	a.current = unit{}
}

// take takes the next packet in order.
func (a *assembler) take(now time.Time, p *rtp.Packet, all []unit) []unit {
	if len(p.Payload) == 0 {
		return all // padding: probes of the sender's bandwidth estimator
	}
	if a.torn && p.Timestamp == a.tornAt {
		return all
	}
	a.torn = false
	if a.open && p.Timestamp != a.current.time { // no packet was marked as the last
		all = a.finish(all)
	}
	if !a.open {
		a.current, a.open = unit{time: p.Timestamp, came: now}, true
	}
	b, err := a.depack.Unmarshal(p.Payload)
	a.current.data = append(a.current.data, b...)
	a.size += len(p.Payload)
	if err != nil || a.size > mostUnit {
		a.lose()
		return all
	}
	if p.Marker {
		all = a.finish(all)
	}
	return all
}

// finish hands on the picture, where it can be decoded.
func (a *assembler) finish(all []unit) []unit {
	u := a.current
	a.current, a.open = unit{}, false
	a.depack, a.size = codecs.H264Packet{}, 0
	if a.skip && !isKey(u.data) {
		return all
	}
	a.skip = false
	if len(u.data) == 0 {
		return all
	}
	return append(all, u)
}

// isKey finds a slice of a picture that stands for itself.
func isKey(annexB []byte) bool {
	const idr = 5
	for unit := range bytes.SplitSeq(annexB, startCode[1:]) {
		if len(unit) > 0 && unit[0]&31 == idr {
			return true
		}
	}
	return false
}
