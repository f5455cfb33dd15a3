package decode

import (
	"encoding/binary"
	"math/bits"
	"os"
)

// missingBytes returns by how much a Matroska or AVI file is shorter than its own header says; 0 when it
// is whole, or does not say. What follows a break is lost without a trace otherwise: FFmpeg takes the end of
// the file for the end of the film.
func missingBytes(path string) int64 {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return 0
	}
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	head := make([]byte, 4096) // far more than what stands before the sizes
	n, _ := f.Read(head)
	return max(0, declaredSize(head[:n])-st.Size())
}

// declaredSize reads the size of a whole file from its first bytes; 0 when they do not say.
func declaredSize(head []byte) int64 {
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "AVI " {
		size := int64(binary.LittleEndian.Uint32(head[4:]))
		if size >= 1<<31-1<<16 { // a recorder's way to say that it does not know
			return 0
		}
		return size + 8 - size%2 // a last byte that only pads may be left out
	}
	const ebml, segment = 0x1a45dfa3, 0x18538067
	at, size := element(head, 0, ebml)
	if size < 0 || int64(at)+size > int64(len(head)) {
		return 0
	}
	at, size = element(head, at+int(size), segment)
	if size < 0 {
		return 0
	}
	return int64(at) + size
}

// element reads the head of a Matroska element with a four-byte ID: where its content begins and how long
// it is; -1 when it is another element, or of unknown size.
func element(b []byte, at int, id uint32) (content int, size int64) {
	if at+5 > len(b) || binary.BigEndian.Uint32(b[at:]) != id {
		return 0, -1
	}
	at += 4
	n := bits.LeadingZeros8(b[at]) + 1
	if n > 8 || at+n > len(b) {
		return 0, -1
	}
	v := uint64(b[at]) &^ (0x100 >> n)
	for _, c := range b[at+1 : at+n] {
		v = v<<8 | uint64(c)
	}
	if v == 1<<(7*n)-1 { // all ones: a live stream
		return 0, -1
	}
	return at + n, int64(v)
}
