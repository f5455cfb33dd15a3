package decode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"slices"
)

// checkEnding looks at the file itself, if it is one.
func (in *Input) checkEnding(c container) {
	st, err := os.Stat(in.path)
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	if c.packed || c.indexLast && in.bytes < st.Size()/2 {
		in.damage.UnreadBytes = max(0, st.Size()-in.bytes)
	}
	if c.end == nil {
		return
	}
	f, err := os.Open(in.path)
	if err != nil {
		return
	}
	defer f.Close()
	breaks, ended := c.end(f, st.Size())
	in.damage.Breaks += breaks
	if !ended {
		in.damage.MissingEnd = 1
	}
}

// bytesAt reads up to n bytes.
func bytesAt(f io.ReaderAt, at int64, n int) []byte {
	b := make([]byte, n)
	if at < 0 {
		return nil
	}
	n, _ = f.ReadAt(b, at)
	return b[:n]
}

// apngEnd follows the chunks to the last one, and counts wrong checksums: PNG specification, 5.3.
func apngEnd(f *os.File, size int64) (breaks int64, ended bool) {
	const signature, frame, most = 8, 12, 1 << 28
	for at := int64(signature); at+frame <= size; {
		head := bytesAt(f, at, 8)
		length := int64(binary.BigEndian.Uint32(head))
		if length > most || at+frame+length > size {
			return breaks, false
		}
		chunk := bytesAt(f, at+4, int(length)+8)
		if crc32.ChecksumIEEE(chunk[:4+length]) != binary.BigEndian.Uint32(chunk[4+length:]) {
			breaks++
		}
		if string(head[4:]) == "IEND" {
			return breaks, true
		}
		at += frame + length
	}
	return breaks, false
}

// tsEnd looks for an incomplete packet at the end. A recording may begin with one, too.
func tsEnd(f *os.File, size int64) (int64, bool) {
	const sync, enough = 0x47, 5
	head := bytesAt(f, 0, 2048)
	for _, length := range []int{188, 192, 204} {
		for at := range length {
			n := 0
			for n < enough && at+n*length < len(head) && head[at+n*length] == sync {
				n++
			}
			if n < enough {
				continue
			}
			if length == 192 { // packets begin with a clock
				at -= 4
			}
			return 0, (size-int64(at))%int64(length) == 0
		}
	}
	return 0, true
}

// movEnd follows the outermost boxes to the end of the file, which zeros may pad.
func movEnd(f *os.File, size int64) (breaks int64, ended bool) {
	for at := int64(0); at < size; {
		head := bytesAt(f, at, 16)
		if len(bytes.Trim(head, "\x00")) == 0 {
			return 0, true
		}
		if len(head) < 8 || slices.ContainsFunc(head[4:8], func(b byte) bool { return b < ' ' || b > '~' && b != 0xa9 }) {
			return 1, true
		}
		length := int64(binary.BigEndian.Uint32(head))
		switch {
		case length == 0: // the box reaches to the end
			return 0, true
		case length == 1 && len(head) == 16:
			length = int64(min(binary.BigEndian.Uint64(head[8:]), 1<<62))
		}
		if length < 8 {
			return 1, true
		}
		if at += length; at > size {
			return 0, false
		}
	}
	return 0, true
}

// mxfEnd looks for the footer at the place that the header gives.
func mxfEnd(f *os.File, size int64) (int64, bool) {
	partition := []byte{0x06, 0x0e, 0x2b, 0x34, 0x02, 0x05, 0x01, 0x01, 0x0d, 0x01, 0x02, 0x01, 0x01}
	head := bytesAt(f, 0, 64)
	if !bytes.HasPrefix(head, partition) || len(head) < 64 {
		return 0, true
	}
	value := 17
	if head[16] >= 0x80 {
		value += int(head[16] & 0x7f)
	}
	if value+32 > len(head) {
		return 0, true
	}
	footer := int64(binary.BigEndian.Uint64(head[value+24:]))
	return 0, footer <= 0 || bytes.Equal(bytesAt(f, footer, len(partition)), partition)
}

// nutEnd looks for the index, whose length is in the last bytes. A file without one is cut off, or
// was never finished.
func nutEnd(f *os.File, size int64) (int64, bool) {
	const mark = "NX\xdd\x67\x2f\x23\xe6\x4e"
	tail := bytesAt(f, size-12, 8)
	if len(tail) < 8 {
		return 0, false
	}
	length := binary.BigEndian.Uint64(tail)
	return 0, length < uint64(size) && string(bytesAt(f, size-int64(length), len(mark))) == mark
}

// oggEnd follows the numbered pages to the one that ends a stream.
func oggEnd(f *os.File, size int64) (breaks int64, ended bool) {
	const first, last = 2, 4
	next := map[uint32]uint32{}
	for at := int64(0); at < size; {
		head := bytesAt(f, at, 27+255)
		if len(head) < 27 || string(head[:4]) != "OggS" || len(head) < 27+int(head[26]) {
			return breaks + 1, false
		}
		stream, number := binary.LittleEndian.Uint32(head[14:]), binary.LittleEndian.Uint32(head[18:])
		if want, known := next[stream]; known && number != want && head[5]&first == 0 {
			breaks++
		}
		next[stream], ended = number+1, head[5]&last != 0
		at += 27 + int64(head[26])
		for _, n := range head[27 : 27+int(head[26])] {
			at += int64(n)
		}
		if at > size {
			return breaks + 1, false
		}
	}
	return breaks, ended
}

// gifEnd follows the blocks to the one that ends the file.
func gifEnd(f *os.File, size int64) (breaks int64, ended bool) {
	r := bufio.NewReader(f)
	skip := func(n int) bool { _, err := r.Discard(n); return err == nil }
	colours := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	blocks := func() bool {
		for {
			n, err := r.ReadByte()
			if err != nil || n == 0 {
				return err == nil
			}
			if !skip(int(n)) {
				return false
			}
		}
	}
	head := make([]byte, 13)
	if _, err := io.ReadFull(r, head); err != nil || !skip(colours(head[10])) {
		return 0, false
	}
	for {
		kind, err := r.ReadByte()
		var ok bool
		switch {
		case errors.Is(err, io.EOF):
			return 0, false
		case kind == ';':
			return 0, true
		case kind == '!':
			ok = skip(1) && blocks()
		case kind == ',':
			image := make([]byte, 9)
			_, err := io.ReadFull(r, image)
			ok = err == nil && skip(colours(image[8])+1) && blocks()
		default:
			return 1, true
		}
		if !ok {
			return 0, false
		}
	}
}
