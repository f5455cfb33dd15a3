package units

import "math/bits"

// reader reads bits, the highest first. Beyond the end they are 0, and short is set.
type reader struct {
	b     []byte
	at    int
	short bool
}

func (r *reader) bits(n int) (v uint32) {
	for range n {
		v <<= 1
		if r.at/8 < len(r.b) {
			v |= uint32(r.b[r.at/8] >> (7 - r.at%8) & 1)
		} else {
			r.short = true
		}
		r.at++
	}
	return v
}

// ue reads an unsigned Exp-Golomb number of up to 32 bits (ISO 14496-10, 9.1).
func (r *reader) ue() uint32 {
	zeros := 0
	for r.bits(1) == 0 {
		if zeros++; zeros > 31 || r.short {
			r.short = true
			return 0
		}
	}
	return 1<<zeros - 1 + r.bits(zeros)
}

// writer writes bits, the highest first.
type writer struct {
	b  []byte
	at int
}

func (w *writer) bits(v uint32, n int) {
	for i := n - 1; i >= 0; i-- {
		if w.at%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.at/8] |= byte(v>>i&1) << (7 - w.at%8)
		w.at++
	}
}

func (w *writer) ue(v uint32) {
	n := bits.Len32(v + 1)
	w.bits(v+1, 2*n-1)
}

// copy writes the first n bits of b from bit at on.
func (w *writer) copy(b []byte, at, n int) {
	r := reader{b: b, at: at}
	for range n {
		w.bits(r.bits(1), 1)
	}
}

// end fills the last byte, by a 1 and zeros, as payloads of SEI that are no whole bytes end.
func (w *writer) end() []byte {
	if w.at%8 != 0 {
		w.bits(1, 1)
	}
	return w.b
}
