package mux

import (
	"bytes"
	"slices"
	"testing"
)

// summed hashes payloads by a form; ok is false where one has not the form.
func summed(form func(*digest, []byte) bool, payloads ...[]byte) (sum uint64, ok bool) {
	d := &digest{}
	d.payload.SetSeed(digestSeed)
	for _, p := range payloads {
		if !form(d, p) {
			return 0, false
		}
	}
	return d.payload.Sum64(), true
}

// adts puts a header in front of a frame of AAC in two channels, with a check sum or without.
func adts(frame []byte, sum bool) []byte {
	header := []byte{0xff, 0xf1, 0x50, 0x80, 0, 0x1f, 0xfc}
	if sum {
		header[1] = 0xf0
		header = append(header, 1, 2)
	}
	n := len(header) + len(frame)
	header[3] |= byte(n >> 11)
	header[4] = byte(n >> 3)
	header[5] |= byte(n << 5)
	return append(header, frame...)
}

// AAC frames have the same digest with headers and without, one or several to a packet. Data that
// only resembles a header belongs to a frame.
func TestDigestOfAAC(t *testing.T) {
	a, b := []byte{0x21, 1, 2, 3, 4, 5, 6, 7}, bytes.Repeat([]byte{0xde}, 300)
	want, _ := summed((*digest).addAAC, a, b)
	for name, payloads := range map[string][][]byte{
		"headers":      {adts(a, false), adts(b, false)},
		"check sums":   {adts(a, true), adts(b, true)},
		"one packet":   {slices.Concat(adts(a, false), adts(b, true))},
		"without some": {a, adts(b, false)},
	} {
		if got, ok := summed((*digest).addAAC, payloads...); !ok || got != want {
			t.Errorf("%s: %v, the sums differ", name, ok)
		}
	}
	for _, raw := range [][]byte{{0xff, 0xf1, 0x50}, {0x21, 0xf1, 0x50, 0x80, 1, 0x1f, 0xfc}, {0xff, 0x21, 0x50, 0x80, 1, 0x1f, 0xfc}} {
		got, ok := summed((*digest).addAAC, raw)
		if want, _ := summed((*digest).addAll, raw); !ok || got != want {
			t.Errorf("%x: %v, taken for a header", raw, ok)
		}
	}
}

func TestDigestRefusesADTS(t *testing.T) {
	whole := adts([]byte{1, 2, 3, 4}, false)
	short, long, inside := bytes.Clone(whole), bytes.Clone(whole), bytes.Clone(whole)
	short[5] = short[5]&0x1f | 6<<5
	short[4] = 0
	long[4]++
	inside[3] &^= 0xc0
	for name, payload := range map[string][]byte{
		"a frame shorter than its header": short,
		"a frame longer than its packet":  long,
		"channels inside":                 inside,
		"something behind the frame":      append(bytes.Clone(whole), 1, 2, 3),
	} {
		if _, ok := summed((*digest).addAAC, payload); ok {
			t.Errorf("%s is taken", name)
		}
	}
}

// Streams with one difference do not match, unless the container may cause it.
func TestDigestMatches(t *testing.T) {
	with := func(change func(*digest)) *digest {
		d := &digest{kind: 1, timed: true, packets: 2}
		d.payload.SetSeed(digestSeed)
		d.times.SetSeed(digestSeed)
		d.addAll([]byte("payload"))
		d.number(40)
		change(d)
		return d
	}
	plain := with(func(*digest) {})
	for _, c := range []struct {
		name   string
		change func(*digest)
		want   bool
	}{
		{"nothing", func(*digest) {}, true},
		{"kind", func(d *digest) { d.kind = 2 }, false},
		{"payload", func(d *digest) { d.addAll([]byte{0}) }, false},
		{"a packet that is not understood", func(d *digest) { d.unknown = true }, false},
		{"packets", func(d *digest) { d.packets = 3 }, false},
		{"times", func(d *digest) { d.number(40) }, false},
		{"times without need of them", func(d *digest) { d.timed = false; d.number(40) }, true},
		{"times in other units", func(d *digest) { d.unit.num = 1; d.number(40) }, true},
	} {
		if got := with(c.change).matches(plain); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestConfigFromADTS(t *testing.T) {
	for _, c := range []struct {
		name   string
		header []byte
		want   [2]byte
		ok     bool
	}{
		// profile 01 (LC), rate 0011 (48 kHz), private 0, channels 010
		{"LC, 48 kHz, stereo", []byte{0xff, 0xf1, 0b01_0011_0_0, 0b10_000000, 0, 0, 0}, [2]byte{0b00010_001, 0b1_0010_000}, true},
		// channels 110 cross the bytes
		{"Main, 44.1 kHz, 5.1", []byte{0xff, 0xf9, 0b00_0100_0_1, 0b10_000000, 0, 0, 0}, [2]byte{0b00001_010, 0b0_0110_000}, true},
		{"channels told inside", []byte{0xff, 0xf1, 0b01_0011_0_0, 0, 0, 0, 0}, [2]byte{}, false},
		{"raw AAC", []byte{0x21, 0x10, 5, 0, 0, 0, 0}, [2]byte{}, false},
		{"short", []byte{0xff, 0xf1}, [2]byte{}, false},
	} {
		h, _, _, ok := readADTS(c.header)
		got, fits := h.config()
		ok = ok && fits
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %08b %v, want %08b %v", c.name, got, ok, c.want, c.ok)
		}
	}
}
