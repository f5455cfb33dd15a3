package mux

import "testing"

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
