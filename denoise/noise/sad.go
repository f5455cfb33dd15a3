package noise

import "encoding/binary"

const (
	window = 16 // the search compares windows of 16x16 samples

	lanes = 0x0001000100010001 // one in each 16-bit lane of a word
	bytes = 0x00ff * lanes
)

// sad returns the sum of the absolute differences of two windows, given their first sample and
// stride. It stops early once the sum has passed limit.
func sad(a []byte, strideA int, b []byte, strideB int, limit int) int {
	sum, i, j := 0, 0, 0
	for range window / 4 {
		var acc uint64
		for range 4 {
			p, q := a[i:i+window], b[j:j+window]
			acc += differences(binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(q))
			acc += differences(binary.LittleEndian.Uint64(p[8:]), binary.LittleEndian.Uint64(q[8:]))
			i, j = i+strideA, j+strideB
		}
		sum += int(acc * lanes >> 48)
		if sum > limit {
			break
		}
	}
	return sum
}

// differences returns four sums of the absolute differences of two bytes each.
func differences(x, y uint64) uint64 {
	return laneDifferences(x&bytes, y&bytes) + laneDifferences(x>>8&bytes, y>>8&bytes)
}

// laneDifferences returns |x-y| of four lanes that hold bytes.
func laneDifferences(x, y uint64) uint64 {
	d := (x | 0x100*lanes) - y // 0x100 + (x-y): bit 8 says that x >= y
	negative := lanes &^ (d >> 8)
	return (d ^ negative*0x1ff) + negative - 0x100*lanes
}
