package interlace

import (
	_ "embed"
	"encoding/binary"
)

// Blocks of missing samples are of one of so many classes. Each class has one of the codes of a
// pass: the weights of the samples around a missing one.
const (
	Classes = 27 * 256
	Codes   = 256
	Weights = 14
)

// Tables are the numbers that were learned from progressive video: see "Learning" in
// docs/notes/deinterlace.md.
type Tables struct {
	Net   Net
	Class [Passes][Classes]uint8
	Code  [Passes][Codes][Weights]int16 // in 1/4096
}

//go:embed weights.bin
var learned []byte

// Learned are the tables of the program.
var Learned = read(learned)

func read(b []byte) *Tables {
	t := new(Tables)
	if n, err := binary.Decode(b, binary.LittleEndian, t); err != nil || n != len(b) {
		panic("interlace: bad tables")
	}
	return t
}

// weights returns those of a class of blocks.
func (t *Tables) weights(pass, class int) (all [Weights]float32) {
	for i, w := range t.Code[pass][t.Class[pass][class]] {
		all[i] = float32(w) / 4096
	}
	return all
}
