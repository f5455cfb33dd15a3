package preview

import (
	"encoding/binary"

	"vidfilter/pipeline"
)

// Preset returns the current preset of x264, "" for JPEG. It becomes faster, with a new
// configuration, once encoding has taken more than half of the time between pictures for a second
// or two, and better again after half a minute of fast encoding.
func (p *Encoder) Preset() string {
	if p.opts.Kind == JPEG {
		return ""
	}
	return p.pace.preset()
}

// ReadStamp reads a stamp of DrawStamp after any coding that keeps black and white apart. The time
// is known to 0.1 ms, modulo 2^40 units of that. ok is false if there is no stamp.
func ReadStamp(luma pipeline.Plane, width int) (s Stamp, ok bool) {
	perRow := width / stampBlock
	if perRow == 0 || len(luma.Data) < (StampHeight(width)-1)*luma.Pitch+width {
		return Stamp{}, false
	}
	var b [stampBytes]byte
	for bit := range 8 * stampBytes {
		b[bit/8] = b[bit/8]<<1 | readBit(luma, bit%perRow*stampBlock, bit/perRow*stampBlock)
	}
	if b[0] != stampMark || b[8] != checksum(b) {
		return Stamp{}, false
	}
	var units uint64
	for _, x := range b[1:6] {
		units = units<<8 | uint64(x)
	}
	return Stamp{Time: float64(units) / 10, Seq: binary.BigEndian.Uint16(b[6:])}, true
}

// readBit averages the middle of a block, away from neighbouring blocks.
func readBit(luma pipeline.Plane, x, y int) byte {
	const edge = 2
	sum, n := 0, 0
	for dy := edge; dy < stampBlock-edge; dy++ {
		for _, v := range luma.Data[(y+dy)*luma.Pitch+x+edge:][:stampBlock-2*edge] {
			sum += int(v)
			n++
		}
	}
	if sum > 126*n { // the middle of both 16 to 235 and 0 to 255
		return 1
	}
	return 0
}
