package decode

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"os"
	"slices"
	"strings"

	"vidfilter/internal/units"
)

// bytesAt reads up to n bytes.
func bytesAt(f io.ReaderAt, at int64, n int) []byte {
	b := make([]byte, n)
	if at < 0 {
		return nil
	}
	n, _ = f.ReadAt(b, at)
	return b[:n]
}

// tsEnd looks for an incomplete packet at the end. A recording may also begin with one.
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
	e := endMov(f, size)
	return e.breaks, e.ended
}

// movTrailer returns how many bytes a camera has written behind the last box.
func movTrailer(f *os.File, size int64) int64 { return endMov(f, size).trailer }

type movEnding struct {
	breaks, trailer int64
	ended           bool
}

func endMov(f io.ReaderAt, size int64) (e movEnding) {
	before := map[string]bool{}
	for at := int64(0); at < size; {
		length, kind, ok := boxAt(f, at)
		known := ok && slices.Contains(outermost, kind)
		if whole := ok && length <= size-at; !whole && !known {
			e.ended = true
			switch padding := len(bytes.Trim(bytesAt(f, at, 16), "\x00")) == 0; {
			case padding:
			case trails(f, at, size, before):
				e.trailer = size - at
			case ok:
				e.ended = false
			default:
				e.breaks++
			}
			return e
		}
		const most = 1 << 24
		if kind == "moof" && length > 8 && length < most && !wholeFragment(bytesAt(f, at+8, int(length)-8), "mfhd") {
			e.breaks++ // its frames are skipped
		}
		before[kind] = true
		if at += length; length == 0 || at > size { // 0: the box reaches to the end
			e.ended = length == 0
			return e
		}
	}
	e.ended = true
	return e
}

// outermost lists the boxes of a file that programs write: ISO 14496-12, table 1, and QuickTime's.
var outermost = strings.Fields("ftyp styp sidx ssix prft emsg moov moof mfra mdat free skip wide pdin meta uuid pnot udta")

// boxAt reads the header of a box; a length of 0 means the rest of the file.
func boxAt(f io.ReaderAt, at int64) (length int64, kind string, ok bool) {
	head := bytesAt(f, at, 16)
	if len(head) < 8 || slices.ContainsFunc(head[4:8], func(b byte) bool { return b < ' ' || b > '~' && b != 0xa9 }) {
		return 0, "", false
	}
	length = int64(binary.BigEndian.Uint32(head))
	if length == 1 && len(head) == 16 {
		length = int64(min(binary.BigEndian.Uint64(head[8:]), 1<<62))
	}
	return length, string(head[4:8]), length == 0 || length >= 8
}

// trails reports whether the data from a place on is no part of the video, as a preview of a
// camera: index and samples come before it, and it has no fragment.
func trails(f io.ReaderAt, at, size int64, before map[string]bool) bool {
	if !before["moov"] || !before["mdat"] {
		return false
	}
	if !before["moof"] {
		return true
	}
	const header, part, overlap = 8, 1 << 20, 3
	if size-at < header { // of the next fragment
		return false
	}
	for ; at < size; at += part {
		b := bytesAt(f, at, part+overlap)
		if slices.ContainsFunc([]string{"moof", "traf", "mdat"}, func(kind string) bool { return bytes.Contains(b, []byte(kind)) }) {
			return false
		}
	}
	return true
}

// wholeFragment reports whether there are boxes to the end of b, the right one first.
func wholeFragment(b []byte, first string) bool {
	for i := 0; len(b) > 0; i++ {
		if len(b) < 8 {
			return false
		}
		length, kind := int64(binary.BigEndian.Uint32(b)), string(b[4:8])
		if length < 8 || length > int64(len(b)) || i == 0 && kind != first || kind == "traf" && !wholeFragment(b[8:length], "tfhd") {
			return false
		}
		b = b[length:]
	}
	return true
}

// matroskaEnd follows the elements of a file to its end or to one of unknown size. An unknown
// element may once have been frames, which FFmpeg skips in silence.
func matroskaEnd(f *os.File, size int64) (breaks int64, ended bool) {
	const header, segment = 0x1a45dfa3, 0x18538067
	known := []uint32{0x114d9b74, 0x1549a966, 0x1654ae6b, 0x1f43b675, 0x1c53bb6b, 0x1941a469, 0x1043a770, 0x1254c367, 0xec, 0xbf}
	for at := int64(0); at < size; {
		head := bytesAt(f, at, 12)
		if len(head) < 2 || head[0]>>4 == 0 {
			return breaks, true
		}
		wide := bits.LeadingZeros8(head[0]) + 1
		if wide >= len(head) || head[wide] == 0 {
			return breaks, true
		}
		var id uint32
		for _, b := range head[:wide] {
			id = id<<8 | uint32(b)
		}
		width := bits.LeadingZeros8(head[wide]) + 1
		length, unknown := int64(head[wide])&(1<<(8-width)-1), int64(1)<<(7*width)-1
		for _, b := range head[wide+1 : min(wide+width, len(head))] {
			length = length<<8 | int64(b)
		}
		switch {
		case id == segment:
			length = 0 // its elements follow
		case length == unknown:
			return breaks, true
		case id != header && !slices.Contains(known, id):
			breaks++
		}
		at += int64(wide+width) + length
	}
	return breaks, true
}

// aviEnd follows the chunks of a file to its end, and looks for frames in the index that are not
// among them.
func aviEnd(f *os.File, size int64) (breaks int64, ended bool) {
	const list, entry = 12, 16
	var movi, end int64
	for at := int64(list); at+8 <= size; {
		head := bytesAt(f, at, list)
		length := int64(binary.LittleEndian.Uint32(head[4:]))
		switch {
		case at+8+length > size:
			return breaks, false
		case len(head) == list && string(head[:4]) == "LIST" && string(head[8:]) == "movi" && length > list: // not of a stream
			movi, end = at+8, at+8+length
		case string(head[:4]) == "idx1" && movi > 0 && length >= entry && at+8+length <= size:
			place := func(at int64) (from, to int64) {
				b := bytesAt(f, at, entry)
				from = int64(binary.LittleEndian.Uint32(b[8:]))
				return from, from + 8 + int64(binary.LittleEndian.Uint32(b[12:]))
			}
			_, last := place(at + 8 + length - entry)
			if first, _ := place(at + 8); first < movi { // counted from there
				last += movi
			}
			if last > end {
				breaks++
			}
			return breaks, true
		case string(head[:4]) == "RIFF":
			return breaks, true
		}
		at += 8 + length + length%2
	}
	return breaks, true
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

// oggEnd follows the numbered pages to the last ones of the streams.
func oggEnd(f *os.File, size int64) (breaks int64, ended bool) {
	const first, last = 2, 4
	next, open := map[uint32]uint32{}, map[uint32]bool{}
	for at := int64(0); at < size; {
		head := bytesAt(f, at, 27+255)
		switch paged := len(head) >= 27 && string(head[:4]) == "OggS" && len(head) >= 27+int(head[26]); {
		case !paged && len(next) > 0 && len(open) == 0: // tags of players behind the end
			return breaks, true
		case !paged:
			return breaks + 1, false
		}
		stream, number := binary.LittleEndian.Uint32(head[14:]), binary.LittleEndian.Uint32(head[18:])
		if want, known := next[stream]; known && number != want && head[5]&first == 0 {
			breaks++
		}
		next[stream] = number + 1
		if open[stream] = true; head[5]&last != 0 {
			delete(open, stream)
		}
		at += 27 + int64(head[26])
		for _, n := range head[27 : 27+int(head[26])] {
			at += int64(n)
		}
		if at > size {
			return breaks + 1, false
		}
	}
	return breaks, len(open) == 0
}

// obuEnd follows the units of AV1 to the end of the file.
func obuEnd(f *os.File, size int64) (breaks int64, ended bool) {
	at := int64(0)
	for at < size {
		header, n, ok := units.OBUHeader(bytesAt(f, at, 10))
		if !ok || n < 0 {
			return 0, false
		}
		at += int64(header) + int64(n)
	}
	return 0, at == size
}

// excess counts the pictures in a packet beyond the first, whose own beginnings or ends are damaged
// so that FFmpeg does not find them.
func excess(packet []byte) (n int64) {
	switch {
	case bytes.HasPrefix(packet, []byte("qoif")):
		n = int64(bytes.Count(packet[4:], []byte("qoif")))
	case bytes.HasPrefix(packet, []byte("BM")) && len(packet) > 6:
		if size := int64(binary.LittleEndian.Uint32(packet[2:])); size > 0 && int64(len(packet)) > size+size/2 {
			n = 1
		}
	}
	return n
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
