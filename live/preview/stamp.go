package preview

import (
	"encoding/binary"
	"math"

	"vidfilter/pipeline"
)

// Stamp is drawn into pictures for a viewer, to measure the delay from camera to screen on the
// screen.
type Stamp struct {
	Time float64 // when taken, in ms of Unix time; drawn in units of 0.1 ms mod 2^40
	Seq  uint16  // number of the picture
}

const (
	stampBlock = 8 // side of the block of one bit, in samples
	stampBytes = 9
	stampMark  = 0xa5
	stampMod   = 1 << 40
)

// StampHeight returns the rows of luma of a stamp in a picture of this width, at least 8.
func StampHeight(width int) int {
	perRow := width / stampBlock
	return (8*stampBytes + perRow - 1) / perRow * stampBlock
}

func (s Stamp) bytes() (b [stampBytes]byte) {
	units := math.Mod(math.Round(s.Time*10), stampMod)
	if !(units >= 0) {
		units = 0 // before 1970, or not a number
	}
	b[0] = stampMark
	copy(b[1:6], binary.BigEndian.AppendUint64(nil, uint64(units))[3:])
	binary.BigEndian.PutUint16(b[6:], s.Seq)
	b[8] = checksum(b)
	return b
}

func checksum(b [stampBytes]byte) (sum byte) {
	for _, x := range b[:stampBytes-1] {
		sum ^= x
	}
	return sum
}

// DrawStamp draws s over the first StampHeight(width) rows of a plane of luma: 72 blocks of black
// and white, in rows from the left. The rest of the last row becomes black.
func DrawStamp(luma pipeline.Plane, width int, fullRange bool, s Stamp) {
	black, white := byte(16), byte(235)
	if fullRange {
		black, white = 0, 255
	}
	b := s.bytes()
	perRow := width / stampBlock
	for top := range StampHeight(width) / stampBlock {
		first := luma.Data[top*stampBlock*luma.Pitch:][:width]
		for x := range first {
			first[x] = black
			if bit := top*perRow + x/stampBlock; x/stampBlock < perRow && bit < 8*stampBytes && b[bit/8]>>(7-bit%8)&1 == 1 {
				first[x] = white
			}
		}
		for y := 1; y < stampBlock; y++ {
			copy(luma.Data[(top*stampBlock+y)*luma.Pitch:][:width], first)
		}
	}
}
