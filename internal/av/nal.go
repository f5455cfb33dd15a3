package av

import (
	"bytes"
	"slices"
)

// NALSize returns the bytes of length before each NAL unit of H.264 or HEVC, which avcC or hvcC
// give at the given place; 0 means start codes.
func NALSize(extradata []byte, at int) int {
	if len(extradata) <= at || extradata[0] != 1 {
		return 0
	}
	return int(extradata[at]&3) + 1
}

// NALUnits returns the units of a packet that are not empty, up to one that is cut off. size is as
// by NALSize; units between start codes keep the zeros that follow them.
func NALUnits(b []byte, size int) (units [][]byte, whole bool) {
	if size == 0 {
		units = bytes.Split(b, []byte{0, 0, 1})[1:]
		return slices.DeleteFunc(units, func(u []byte) bool { return len(u) == 0 }), true
	}
	for len(b) >= size {
		n := 0
		for _, x := range b[:size] {
			n = n<<8 | int(x)
		}
		if b = b[size:]; n > len(b) {
			return units, false
		}
		if n > 0 {
			units = append(units, b[:n])
		}
		b = b[n:]
	}
	return units, len(b) == 0
}
