package media

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// The parsers read whole files only. They find the units of a file, parents before children.

// boxes lists the boxes of MP4 and MOV: ISO/IEC 14496-12, 4.2.
func boxes(b []byte) (all []unit) {
	inner := map[string]int{"moov": 0, "trak": 0, "mdia": 0, "minf": 0, "stbl": 0, "edts": 0, "mvex": 0, "moof": 0, "traf": 0, "dinf": 0,
		"udta": 0, "stsd": 8, "mp4a": 28, "wave": 0}
	var walk func(at, end, parent int)
	walk = func(at, end, parent int) {
		for at+8 <= end {
			n, head := int(binary.BigEndian.Uint32(b[at:])), 8
			if n == 1 && at+16 <= end {
				n, head = int(binary.BigEndian.Uint64(b[at+8:])), 16
			}
			if n < head || at+n > end {
				return
			}
			u := unit{at: at, body: at + head, end: at + n, kind: string(b[at+4 : at+8]), name: place{at + 4, at + 8}, parent: parent,
				resize: func(b []byte, n int) { be32(b, n+head) }}
			if head == 16 {
				u.resize = func(b []byte, n int) { binary.BigEndian.PutUint64(b[8:], uint64(n+head)) }
			}
			all = append(all, u)
			skip, ok := inner[u.kind]
			if parent >= 0 && all[parent].kind == "stsd" && !ok {
				skip, ok = 78, true
			}
			if ok {
				walk(u.body+skip, u.end, len(all)-1)
			}
			at = u.end
		}
	}
	walk(0, len(b), -1)
	return all
}

// elements lists the elements of Matroska: RFC 8794.
func elements(b []byte) (all []unit) {
	inner := []string{"18538067", "1f43b675", "a0", "1654ae6b", "ae", "e0", "e1", "1c53bb6b", "bb", "b7", "114d9b74", "4dbb", "1a45dfa3", "1549a966"}
	var walk func(at, end, parent int)
	walk = func(at, end, parent int) {
		for at < end && b[at] != 0 {
			id := bits.LeadingZeros8(b[at]) + 1
			if at+id >= end || b[at+id] == 0 {
				return
			}
			width := bits.LeadingZeros8(b[at+id]) + 1
			n := int(b[at+id]) & (1<<(8-width) - 1)
			unknown := n == 1<<(8-width)-1
			for _, x := range b[at+id+1 : at+id+width] {
				n = n<<8 | int(x)
				unknown = unknown && x == 0xff
			}
			u := unit{at: at, body: at + id + width, end: at + id + width + n, kind: hex.EncodeToString(b[at : at+id]), name: place{at, at + id}, parent: parent}
			u.resize = func(b []byte, n int) {
				n = min(n, 1<<(7*width)-2)
				for i := range width {
					b[id+i] = byte(n >> (8 * (width - 1 - i)))
				}
				b[id] |= 1 << (8 - width)
			}
			if unknown { // to the end, as in a stream; only clusters follow each other
				u.end, u.resize = end, nil
				if next := indexFrom(b, []byte{0x1f, 0x43, 0xb6, 0x75}, u.body); u.kind == "1f43b675" && next >= 0 {
					u.end = next
				}
			}
			if u.end > end {
				return
			}
			all = append(all, u)
			if slices.Contains(inner, u.kind) {
				walk(u.body, u.end, len(all)-1)
			}
			at = u.end
		}
	}
	walk(0, len(b), -1)
	return all
}

// riffChunks lists the chunks of AVI.
func riffChunks(b []byte) (all []unit) {
	var walk func(at, end, parent int)
	walk = func(at, end, parent int) {
		for at+8 <= end {
			n := int(binary.LittleEndian.Uint32(b[at+4:]))
			if at+8+n > end {
				return
			}
			kind := string(b[at : at+4])
			list := kind == "RIFF" || kind == "LIST"
			if list {
				kind += " " + string(b[at+8:at+12])
			}
			all = append(all, unit{at: at, body: at + 8, end: at + 8 + n + n%2, kind: kind, name: place{at, at + 4}, parent: parent,
				resize: func(b []byte, n int) { le32(b[4:], n) }})
			if list {
				walk(at+12, at+8+n, len(all)-1)
			}
			at += 8 + n + n%2
		}
	}
	walk(0, len(b), -1)
	return all
}

// asfObjects lists the objects of ASF and the packets of the data object.
func asfObjects(b []byte) (all []unit) {
	packet := 0
	var walk func(at, end, parent int)
	walk = func(at, end, parent int) {
		for at+24 <= end {
			n := int(binary.LittleEndian.Uint64(b[at+16:]))
			if n < 24 || at+n > end {
				return
			}
			kind := hex.EncodeToString(b[at : at+4])
			all = append(all, unit{at: at, body: at + 24, end: at + n, kind: kind, name: place{at, at + 16}, parent: parent,
				resize: func(b []byte, n int) { binary.LittleEndian.PutUint64(b[16:], uint64(n+24)) }})
			me := len(all) - 1
			switch kind {
			case "3026b275": // header
				walk(at+30, at+n, me)
			case "b503bf5f": // its extension
				walk(at+46, at+n, me)
			case "a1dcab8c": // properties
				packet = int(binary.LittleEndian.Uint32(b[at+92:]))
			case "3626b275": // data
				for _, u := range fixed(b[at+50:at+n], 0, packet, func([]byte) string { return "packet" }) {
					all = append(all, unit{at: at + 50 + u.at, body: at + 50 + u.at, end: at + 50 + u.end, kind: u.kind, parent: me})
				}
			}
			at += n
		}
	}
	walk(0, len(b), -1)
	return all
}

// fixed are units of one length without headers.
func fixed(b []byte, at, length int, kind func(b []byte) string) (all []unit) {
	for ; length > 0 && at+length <= len(b); at += length {
		all = append(all, unit{at: at, body: at, end: at + length, kind: kind(b[at:]), parent: -1})
	}
	return all
}

// chain makes units that follow each other. next returns the length of the header and of the
// whole at the beginning of b, and 0 at the end.
func chain(b []byte, at int, next func(b []byte) (head, whole int, kind string), resize func(b []byte, n int), seal func(b []byte)) (all []unit) {
	for at < len(b) {
		head, n, kind := next(b[at:])
		if n <= 0 || at+n > len(b) {
			break
		}
		all = append(all, unit{at: at, body: at + head, end: at + n, kind: kind, parent: -1, resize: resize, seal: seal})
		at += n
	}
	return all
}

func flvTags(b []byte) []unit {
	return chain(b, 13, func(b []byte) (int, int, string) {
		if len(b) < 15 {
			return 0, 0, ""
		}
		return 11, 11 + int(binary.BigEndian.Uint32(b)&0xffffff) + 4, fmt.Sprint(b[0])
	}, func(b []byte, n int) {
		n -= 4 // the size of the tag before follows
		b[1], b[2], b[3] = byte(n>>16), byte(n>>8), byte(n)
	}, nil)
}

func oggPages(b []byte) []unit {
	return chain(b, 0, func(b []byte) (int, int, string) {
		if len(b) < 27 {
			return 0, 0, ""
		}
		head := 27 + int(b[26])
		n := head
		for _, s := range b[27:head] {
			n += int(s)
		}
		return head, n, fmt.Sprintf("%d of %x", b[5], b[14])
	}, nil, func(b []byte) {
		if len(b) < 27 {
			return
		}
		le32(b[22:], 0)
		le32(b[22:], int(checksum(0, b)))
	})
}

func psPacks(b []byte) []unit {
	return chain(b, 0, func(b []byte) (int, int, string) {
		if len(b) < 6 || b[2] != 1 {
			return 0, 0, ""
		}
		kind := fmt.Sprintf("pack %x", b[3])
		switch {
		case b[3] == 0xb9:
			return 4, 4, kind
		case b[3] == 0xba && b[4]>>6 == 1:
			return 4, 14 + int(b[13]&7), kind
		case b[3] == 0xba:
			return 4, 12, kind
		}
		return 6, 6 + int(binary.BigEndian.Uint16(b[4:])), kind
	}, func(b []byte, n int) {
		if b[3] != 0xba && b[3] != 0xb9 {
			binary.BigEndian.PutUint16(b[4:], uint16(min(n, 0xffff)))
		}
	}, nil)
}

// mxfTriplets are keys, lengths and values.
func mxfTriplets(b []byte) (all []unit) {
	for at := 0; at+20 < len(b); {
		width := 1
		n := int(b[at+16])
		if n >= 0x80 {
			width += n & 0x7f
			n = 0
			for _, x := range b[at+17 : at+16+width] {
				n = n<<8 | int(x)
			}
		}
		end := at + 16 + width + n
		if end > len(b) {
			break
		}
		u := unit{at: at, body: at + 16 + width, end: end, kind: hex.EncodeToString(b[at+8 : at+16]), name: place{at + 4, at + 16}, parent: -1}
		if width > 1 {
			u.resize = func(b []byte, n int) {
				for i := range width - 1 {
					b[17+i] = byte(n >> (8 * (width - 2 - i)))
				}
			}
		}
		all = append(all, u)
		at = end
	}
	return all
}

func pngChunks(b []byte) []unit {
	return chain(b, 8, func(b []byte) (int, int, string) {
		if len(b) < 12 {
			return 0, 0, ""
		}
		if bytes.HasPrefix(b, []byte("\x89PNG")) {
			return 8, 8, "PNG"
		}
		return 8, 12 + int(binary.BigEndian.Uint32(b)), string(b[4:8])
	}, func(b []byte, n int) { be32(b, n-4) }, func(b []byte) {
		if len(b) >= 12 {
			be32(b[len(b)-4:], int(crc32.ChecksumIEEE(b[4:len(b)-4])))
		}
	})
}

// nutPackets are the headers, and the frames after them.
func nutPackets(b []byte) (all []unit) {
	marks := map[string]string{"NM\x7a\x56\x1f\x5f\x04\xad": "main", "NS\x11\x40\x5b\xf2\xf9\xdb": "stream", "NK\xe4\xad\xee\xca\x45\x69": "sync",
		"NX\xdd\x67\x2f\x23\xe6\x4e": "index", "NI\xab\x68\xb5\x96\xba\x78": "info"}
	for at := range b {
		if at+8 > len(b) || marks[string(b[at:at+8])] == "" {
			continue
		}
		if n := len(all); n > 0 {
			all[n-1].end = at
		}
		all = append(all, unit{at: at, body: at + 8, end: len(b), kind: marks[string(b[at:at+8])], name: place{at, at + 8}, parent: -1})
	}
	return all
}

func y4mFrames(b []byte) (all []unit) {
	for at := 0; at < len(b); {
		kind, line := "FRAME", bytes.IndexByte(b[at:], '\n')
		end := indexFrom(b, []byte("FRAME\n"), at+line)
		if at == 0 {
			kind = "header"
		}
		if line < 0 || end < 0 {
			end = len(b)
		}
		all = append(all, unit{at: at, body: at + line + 1, end: end, kind: kind, parent: -1})
		at = end
	}
	return all
}

func ivfUnits(b []byte) []unit {
	all := chain(b, 32, func(b []byte) (int, int, string) {
		if len(b) < 12 {
			return 0, 0, ""
		}
		return 12, 12 + int(binary.LittleEndian.Uint32(b)), "frame"
	}, func(b []byte, n int) { le32(b, n) }, nil)
	return append([]unit{{body: 0, end: 32, kind: "DKIF", parent: -1}}, all...)
}

// startCodes are units that begin with 0, 0, 1 or 0, 0, 0, 1.
func startCodes(b []byte, kind func(b []byte) string) (all []unit) {
	for at := 0; at+4 <= len(b); at++ {
		if b[at] != 0 || b[at+1] != 0 || b[at+2] != 1 {
			continue
		}
		begin := at
		if at > 0 && b[at-1] == 0 {
			begin--
		}
		if n := len(all); n > 0 {
			all[n-1].end = begin
		}
		all = append(all, unit{at: begin, body: at + 3, end: len(b), kind: kind(b[at+3:]), parent: -1})
	}
	return all
}

func nalKind(codec string) func(b []byte) string {
	return func(b []byte) string {
		if codec == "hevc" {
			return fmt.Sprintf("nal hevc %d", b[0]>>1&63)
		}
		return fmt.Sprintf("nal h264 %d", b[0]&31)
	}
}

// lengthNALs are NAL units that follow their lengths of 4 bytes.
func lengthNALs(codec string) func(b []byte) []unit {
	return func(b []byte) []unit {
		return chain(b, 0, func(b []byte) (int, int, string) {
			if len(b) < 5 {
				return 0, 0, ""
			}
			return 4, 4 + int(binary.BigEndian.Uint32(b)), nalKind(codec)(b[4:])
		}, func(b []byte, n int) { be32(b, n) }, nil)
	}
}

// obus lists the AV1 OBUs that have a size.
func obus(b []byte) (all []unit) {
	for at := 0; at+2 <= len(b) && b[at]&2 != 0; {
		head := 1 + int(b[at]>>2&1)
		size, width := binary.Uvarint(b[at+head:])
		end := at + head + width + int(size)
		if width <= 0 || end > len(b) {
			break
		}
		all = append(all, unit{at: at, body: at + head + width, end: end, kind: fmt.Sprintf("obu %d", b[at]>>3&15), name: place{at, at + 1}, parent: -1,
			resize: func(b []byte, n int) {
				n = min(n, 1<<(7*width)-1)
				for i := range width {
					b[head+i] = byte(n>>(7*i))&0x7f | 0x80
				}
				b[head+width-1] &= 0x7f
			}})
		at = end
	}
	return all
}

// inPackets adds the units of the packets to the container's.
func inPackets(f seedFile, all []unit, parse func(b []byte) []unit) []unit {
	outer := len(all)
	for _, p := range f.packets {
		parent := -1
		for i, u := range all[:outer] {
			if u.body <= p.at && u.end >= p.end {
				parent = i
			}
		}
		for _, u := range parse(f.data[p.at:p.end]) {
			u.at, u.body, u.end = u.at+p.at, u.body+p.at, u.end+p.at
			if u.name.end > 0 {
				u.name = place{u.name.at + p.at, u.name.end + p.at}
			}
			u.parent = parent
			all = append(all, u)
		}
	}
	return all
}

// tsPackets splits a transport stream into packets, with a check sum if a table begins there.
func tsPackets(b []byte) []unit {
	length, first := 188, 0
	if len(b) > 4 && b[0] != 0x47 && b[4] == 0x47 {
		length, first = 192, 4
	}
	all := fixed(b[first:], 0, length, func(b []byte) string {
		kind := fmt.Sprintf("%x", binary.BigEndian.Uint16(b[1:])&0x5fff)
		if moveClocks(bytes.Clone(b[:188]), 0) {
			kind += " time"
		}
		return kind
	})
	for i, u := range all {
		all[i].at, all[i].end = u.at+first, u.end+first
		all[i].body = all[i].at + 4
		all[i].seal = sealTable
	}
	return all
}

// sealTable makes the check sum of a table in one packet right.
func sealTable(b []byte) {
	if len(b) < 188 || b[1]&0x40 == 0 || b[3]&0x30 != 0x10 {
		return
	}
	at := 5 + int(b[4])
	if at+3 > 188 || b[at] > 2 && b[at] != 0x42 {
		return
	}
	end := at + 3 + int(binary.BigEndian.Uint16(b[at+1:])&0xfff)
	if end > 188 || end-4 < at || bytes.HasPrefix(b[at:], []byte{0, 0, 1}) {
		return
	}
	be32(b[end-4:], int(checksum(^uint32(0), b[at:end-4])))
}

// checksum is the one of Ogg, from 0 on, and of MPEG-2, from all ones on.
func checksum(c uint32, b []byte) uint32 {
	for _, x := range b {
		c ^= uint32(x) << 24
		for range 8 {
			c = c<<1 ^ c>>31*0x04c11db7
		}
	}
	return c
}

// clocks moves all times, or those from a random packet on. by counts in 1/90000 s.
func clocks(name string, by func(r *rand.Rand) (delta int64, all bool)) unitMutation {
	return unitMutation{name, func(p parsed) []byte {
		out := bytes.Clone(p.b)
		delta, everywhere := by(p.r)
		from := p.r.IntN(len(p.all))
		if everywhere {
			from = 0
		}
		for _, u := range p.all[from:] {
			moveClocks(out[u.at:u.end], delta)
		}
		return out
	}}
}

// moveClocks moves the times of a packet of a transport stream, and reports whether it has any.
func moveClocks(b []byte, delta int64) (any bool) {
	payload := 4
	if b[3]&0x20 != 0 {
		payload += 1 + int(b[4])
		if b[4] >= 7 && b[5]&0x10 != 0 {
			base := int64(binary.BigEndian.Uint32(b[6:]))<<1 | int64(b[10]>>7)
			base = (base + delta) & (1<<33 - 1)
			be32(b[6:], int(base>>1))
			b[10] = b[10]&0x7f | byte(base&1)<<7
			any = true
		}
	}
	if b[1]&0x40 != 0 && payload < len(b) {
		any = moveTimes(b[payload:], delta) || any
	}
	return any
}

// moveTimes moves the times of a packet of an elementary stream.
func moveTimes(b []byte, delta int64) bool {
	if len(b) < 19 || !bytes.HasPrefix(b, []byte{0, 0, 1}) || b[3] < 0xbd || b[6]>>6 != 2 || b[7]&0x80 == 0 {
		return false
	}
	move := func(b []byte) {
		t := int64(b[0]>>1&7)<<30 | int64(b[1])<<22 | int64(b[2]>>1)<<15 | int64(b[3])<<7 | int64(b[4]>>1)
		t = (t + delta) & (1<<33 - 1)
		b[0] = b[0]&0xf1 | byte(t>>30)<<1
		b[1], b[2], b[3], b[4] = byte(t>>22), byte(t>>15)<<1|1, byte(t>>7), byte(t)<<1|1
	}
	move(b[9:])
	if b[7]&0x40 != 0 {
		move(b[14:])
	}
	return true
}
