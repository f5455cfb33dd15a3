package decode

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"os"
)

// missingBytes returns by how much an AVI, Matroska, FLV or ASF file is shorter than the size in
// its header, if any. FFmpeg takes the end of a truncated file for the end of the film.
func missingBytes(path string) int64 {
	path = FileOf(path)
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return 0
	}
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	head := make([]byte, 4096) // far more than comes before the sizes
	n, _ := f.Read(head)
	return max(0, declaredSize(head[:n])-st.Size())
}

// declaredSize reads the size of a whole file from its first bytes; 0 if unknown.
func declaredSize(head []byte) int64 {
	if len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "AVI " {
		size := int64(binary.LittleEndian.Uint32(head[4:]))
		if size >= 1<<31-1<<16 { // recorders write this for an unknown size
			return 0
		}
		return size + 8 - size%2 // a padding byte at the end may be missing
	}
	switch {
	case len(head) >= 3 && string(head[:3]) == "FLV":
		return flvSize(head)
	case len(head) >= len(asfHeader) && string(head[:len(asfHeader)]) == asfHeader:
		return asfSize(head)
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

// flvSize reads the size that writers fill in at the end; until then it is 0.
func flvSize(head []byte) int64 {
	const mark, number = "\x00\x08filesize", 0
	at := bytes.Index(head, []byte(mark))
	if at < 0 || at+len(mark)+9 > len(head) || head[at+len(mark)] != number {
		return 0
	}
	size := math.Float64frombits(binary.BigEndian.Uint64(head[at+len(mark)+1:]))
	if size < 0 || size > 1<<62 || size != math.Trunc(size) {
		return 0
	}
	return int64(size)
}

// GUIDs of ASF.
const (
	asfHeader     = "\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c"
	asfProperties = "\xa1\xdc\xab\x8c\x47\xa9\xcf\x11\x8e\xe4\x00\xc0\x0c\x20\x53\x65"
)

// asfSize reads the size, which is valid unless the file is a broadcast.
func asfSize(head []byte) int64 {
	const size, flags, broadcast = 40, 88, 1
	at := bytes.Index(head, []byte(asfProperties))
	if at < 0 || at+flags+4 > len(head) || head[at+flags]&broadcast != 0 {
		return 0
	}
	return int64(min(binary.LittleEndian.Uint64(head[at+size:]), 1<<62))
}

// element reads the head of a Matroska element with a four-byte ID: the start and the length of
// its content; -1 for another element, or an unknown size.
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
