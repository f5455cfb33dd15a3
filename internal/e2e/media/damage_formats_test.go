package media

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
)

// damageFormats are the formats that the damage knows. A file may have several: its container's,
// its codec's, and pictures.
var damageFormats = []damageFormat{
	{unit: "box", endings: []string{".mp4", ".mov", ".3gp"}, parse: func(f seedFile) []unit { return boxes(f.data) }, more: boxMutations},
	{unit: "element", endings: []string{".mkv", ".webm"}, parse: func(f seedFile) []unit { return elements(f.data) }, more: elementMutations},
	{unit: "chunk", endings: []string{".avi"}, parse: func(f seedFile) []unit { return riffChunks(f.data) }, more: numbersOf(4, "avih", "strh", "strf", "idx1")},
	{unit: "object", endings: []string{".asf", ".wmv"}, parse: func(f seedFile) []unit { return asfObjects(f.data) }},
	{unit: "tag", endings: []string{".flv"}, parse: func(f seedFile) []unit { return flvTags(f.data) }, more: tagMutations},
	{unit: "page", endings: []string{".ogg", ".ogv"}, parse: func(f seedFile) []unit { return oggPages(f.data) }, more: pageMutations},
	{unit: "packet", endings: []string{".ts", ".m2ts"}, parse: func(f seedFile) []unit { return tsPackets(f.data) }, more: tsMutations},
	{unit: "pack", endings: []string{".mpg"}, parse: func(f seedFile) []unit { return psPacks(f.data) }, more: packMutations},
	{unit: "triplet", endings: []string{".mxf"}, parse: func(f seedFile) []unit { return mxfTriplets(f.data) }},
	{unit: "block", endings: []string{".dv"}, parse: func(f seedFile) []unit {
		return fixed(f.data, 0, 80, func(b []byte) string { return string('0' + b[0]>>5) })
	}},
	{unit: "PNG chunk", endings: []string{"png"}, parse: func(f seedFile) []unit { return pngChunks(f.data) }},
	{unit: "NUT packet", endings: []string{".nut"}, parse: func(f seedFile) []unit { return nutPackets(f.data) }},
	{unit: "line", endings: []string{".y4m"}, parse: func(f seedFile) []unit { return y4mFrames(f.data) }, more: lineMutations},
	{unit: "IVF frame", endings: []string{".ivf"}, parse: func(f seedFile) []unit { return ivfUnits(f.data) }, more: numbersOf(2, "DKIF")},
	{unit: "start code", endings: []string{".m2v", ".m4v"}, parse: func(f seedFile) []unit {
		return startCodes(f.data, func(b []byte) string { return hex.EncodeToString(b[:1]) })
	}},
	{unit: "NAL unit", kinds: "nal", endings: []string{".h264", ".hevc"}, codecs: []string{"h264", "hevc"},
		parse: func(f seedFile) []unit { return startCodes(f.data, nalKind(f.codec)) }, more: nalMutations},
	{unit: "NAL unit", kinds: "nal", endings: []string{".avi", ".nut"}, codecs: []string{"h264", "hevc"}, inPlace: true, parse: func(f seedFile) []unit {
		return inPackets(f, nil, func(b []byte) []unit { return startCodes(b, nalKind(f.codec)) })
	}, more: nalMutations},
	{unit: "NAL unit", kinds: "nal", endings: []string{".mp4", ".mov", ".flv", ".3gp"}, codecs: []string{"h264", "hevc"}, inPlace: true,
		parse: func(f seedFile) []unit { return inPackets(f, nil, lengthNALs(f.codec)) }, more: nalMutations},
	{unit: "NAL unit", kinds: "nal", endings: []string{".mkv"}, codecs: []string{"h264", "hevc"},
		parse: func(f seedFile) []unit { return inPackets(f, elements(f.data), lengthNALs(f.codec)) }, more: nalMutations},
	{unit: "OBU", kinds: "obu", endings: []string{".mkv"}, codecs: []string{"av1"}, parse: func(f seedFile) []unit { return inPackets(f, elements(f.data), obus) }},
	{unit: "OBU", kinds: "obu", endings: []string{".ivf"}, codecs: []string{"av1"}, parse: func(f seedFile) []unit { return inPackets(f, ivfUnits(f.data), obus) }},
	{unit: "OBU", kinds: "obu", endings: []string{".mp4"}, codecs: []string{"av1"}, inPlace: true, parse: func(f seedFile) []unit { return inPackets(f, nil, obus) }},
	{unit: "OBU", kinds: "obu", endings: []string{".obu"}, codecs: []string{"av1"}, parse: func(f seedFile) []unit { return obus(f.data) }},
	{unit: "picture", kinds: "picture", inPlace: true, parse: func(f seedFile) []unit {
		return inPackets(f, nil, func(b []byte) []unit { return []unit{{end: len(b), kind: "picture", parent: -1}} })
	}},
}

var boxMutations = slices.Concat(
	numbersOf(4, "stts", "ctts", "stsz", "stco", "stsc", "stss", "elst", "mdhd", "tkhd", "mvhd", "trun", "tfdt", "tfhd", "trex", "sidx", "mfhd", "mehd"),
	numbersOf(1, "avcC", "hvcC", "av1C", "vpcC", "esds", "hdlr"),
	[]unitMutation{
		changed("the count of a box huge", of("stts", "ctts", "stco", "stsc", "stss", "elst", "trun", "dref", "stsd"), func(b []byte, u unit, r *rand.Rand) {
			be32(b[u.body+4:], 0x0fffffff<<r.IntN(4))
		}),
		changed("the count of samples changed", of("stsz"), func(b []byte, u unit, r *rand.Rand) { extreme(b[u.body+8:u.body+12], r) }),
		changed("the size of a box in 64 bits", func(u unit) bool { return u.end-u.body >= 8 }, func(b []byte, u unit, r *rand.Rand) {
			be32(b[u.at:], 1)
			binary.BigEndian.PutUint64(b[u.body:], uint64(r.Int64()))
		}),
	})

var elementMutations = slices.Concat(
	numbersOf(1, "e7", "b3", "f1", "b0", "ba", "d7", "63a2", "23e383", "2ad7b1", "4489", "42f3", "42f2", "42f7", "9c", "9b", "fb", "53ac", "55b0", "86", "88"),
	[]unitMutation{
		changed("the size of an element unknown", func(u unit) bool { return u.resize != nil }, func(b []byte, u unit, _ *rand.Rand) {
			size := b[u.name.end:u.body]
			for i := range size {
				size[i] = 0xff
			}
			size[0] = 1<<(9-len(size)) - 1
		}),
		changed("the lacing of a block changed", of("a3", "a1"), func(b []byte, u unit, r *rand.Rand) { b[u.body+3] ^= byte(2 << r.IntN(2)) }),
		changed("the time of a block changed", of("a3", "a1"), func(b []byte, u unit, r *rand.Rand) { extreme(b[u.body+1:u.body+3], r) }),
		changed("the track of a block changed", of("a3", "a1"), func(b []byte, u unit, r *rand.Rand) { b[u.body] ^= byte(1 + r.IntN(3)) }),
	})

var tagMutations = []unitMutation{
	changed("the time of a tag changed", of("8", "9"), func(b []byte, u unit, r *rand.Rand) { extreme(b[u.at+4:u.at+7], r) }),
	changed("the time of a tag goes back", of("8", "9"), func(b []byte, u unit, _ *rand.Rand) { clear(b[u.at+4 : u.at+8]) }),
	changed("the upper byte of a tag's time changed", of("8", "9"), func(b []byte, u unit, r *rand.Rand) { b[u.at+7] = byte(1 + r.IntN(255)) }),
	changed("the header of a tag's picture changed", of("9"), func(b []byte, u unit, r *rand.Rand) { b[u.body+r.IntN(min(5, u.end-u.body))] ^= 1 << r.IntN(8) }),
}

var pageMutations = []unitMutation{
	changed("the granule position of a page changed", anyUnit, func(b []byte, u unit, r *rand.Rand) { extreme(b[u.at+6:u.at+14], r) }),
	changed("the serial number of a page changed", anyUnit, func(b []byte, u unit, r *rand.Rand) { b[u.at+14] ^= byte(1 + r.IntN(255)) }),
	changed("the number of a page changed", anyUnit, func(b []byte, u unit, r *rand.Rand) { extreme(b[u.at+18:u.at+22], r) }),
	changed("the flags of a page changed", anyUnit, func(b []byte, u unit, r *rand.Rand) { b[u.at+5] ^= byte(1 << r.IntN(3)) }),
	changed("the segments of a page changed", anyUnit, func(b []byte, u unit, r *rand.Rand) {
		b[u.at+27+r.IntN(max(1, u.body-u.at-27))] ^= byte(1 + r.IntN(255))
	}),
}

var tsMutations = []unitMutation{
	changed("the counter of a packet changed", full, func(b []byte, u unit, r *rand.Rand) { b[u.at+3] ^= byte(1 + r.IntN(15)) }),
	changed("the error flag of a packet set", full, func(b []byte, u unit, _ *rand.Rand) { b[u.at+1] |= 0x80 }),
	changed("a packet said to be scrambled", full, func(b []byte, u unit, _ *rand.Rand) { b[u.at+3] |= 0xc0 }),
	changed("the PID of a packet changed", full, func(b []byte, u unit, r *rand.Rand) { b[u.at+2] ^= byte(1 << r.IntN(8)) }),
	changed("the start flag of a packet changed", full, func(b []byte, u unit, _ *rand.Rand) { b[u.at+1] ^= 0x40 }),
	changed("an adaptation field too long", full, func(b []byte, u unit, r *rand.Rand) {
		b[u.at+3] |= 0x20
		b[u.at+4] = byte(184 + r.IntN(72))
	}),
	changed("the time of a packet changed", func(u unit) bool { return strings.HasSuffix(u.kind, "time") }, func(b []byte, u unit, r *rand.Rand) {
		moveClocks(b[u.at:u.end], r.Int64N(1<<33))
	}),
	clocks("all clocks wrap", func(r *rand.Rand) (int64, bool) { return 1<<33 - 90000*7 + r.Int64N(90000*2), true }),
	clocks("the clocks jump ahead", func(r *rand.Rand) (int64, bool) { return 90000 * (1 + r.Int64N(1000)), false }),
	clocks("the clocks jump back", func(r *rand.Rand) (int64, bool) { return 1<<33 - 90000*(1+r.Int64N(1000)), false }),
}

var packMutations = []unitMutation{
	changed("the time of a packet changed", of("pack e0", "pack c0"), func(b []byte, u unit, r *rand.Rand) { moveTimes(b[u.at:u.end], r.Int64N(1<<33)) }),
	changed("the clock of a pack changed", of("pack ba"), func(b []byte, u unit, r *rand.Rand) { extreme(b[u.body:u.body+5], r) }),
}

var lineMutations = []unitMutation{
	{"a value of the header changed", func(p parsed) []byte {
		old := []string{" W96", " H64", " F25:1", " C420jpeg", " Ip", " A1:1", "YUV4MPEG2"}
		with := []string{" W0", " H999999", " W97", " F0:0", " F1:0", " C444", " C420p16", " Cmono", " Ix", " W-1", "", "YUV4MPEG3", " W95 H64"}
		return bytes.Replace(p.b, []byte(old[p.r.IntN(len(old))]), []byte(with[p.r.IntN(len(with))]), 1)
	}},
	{"parameters put behind FRAME", func(p parsed) []byte {
		i := p.pick(of("FRAME"))
		return slices.Concat(p.b[:p.all[i].at+5], []byte(" Ixyz"), p.b[p.all[i].at+5:])
	}},
}

// otherSize are parameter sets of 128x96, to be put in the place of others.
var otherSize = map[string]string{
	"nal h264 7":  "6764000aacd9420db011000003000100000300320f122596",
	"nal hevc 33": "42010101600000030090000003000003001ea01020616595952930bc05a02000000300200000030321",
}

var nalMutations = []unitMutation{
	{"the parameter sets of another size", func(p parsed) []byte {
		return p.edit(func(u unit) bool { return otherSize[u.kind] != "" }, func(b []byte, u unit) {
			set, _ := hex.DecodeString(otherSize[u.kind])
			copy(b[u.body:u.end], set)
		})
	}},
	changed("a bit of a parameter set flipped", of("nal h264 7", "nal h264 8", "nal hevc 32", "nal hevc 33", "nal hevc 34"), func(b []byte, u unit, r *rand.Rand) {
		b[u.body+1+r.IntN(max(1, u.end-u.body-1))] ^= 1 << r.IntN(8)
	}),
	changed("a NAL unit becomes filler", full, func(b []byte, u unit, _ *rand.Rand) {
		if b[u.body] = 12; strings.Contains(u.kind, "hevc") {
			b[u.body] = 38 << 1
		}
	}),
}
