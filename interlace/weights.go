package interlace

import (
	_ "embed"
	"encoding/binary"
	"sync"
)

// Each block of missing samples belongs to one of the Classes. A pass assigns one of its Codes to
// each class. A code is a set of Weights for the samples around a missing sample.
const (
	Classes = 27 * 256
	Codes   = 256
	Weights = 14
)

// Tables are the numbers learned from progressive video: see "Learning" in docs/deinterlace.md.
type Tables struct {
	Net   Net
	Class [Passes][Classes]uint8
	Code  [Passes][Codes][Weights]int16 // in 1/4096
}

//go:embed weights.bin
var learned []byte

// Learned returns the embedded tables, which the first call decodes. They are read-only.
var Learned = sync.OnceValue(func() *Tables {
	t := new(Tables)
	if n, err := binary.Decode(learned, binary.LittleEndian, t); err != nil || n != len(learned) {
		panic("interlace: bad tables")
	}
	return t
})

// weights returns the weights for a class of blocks.
func (t *Tables) weights(pass, class int) (all [Weights]float32) {
	for i, w := range t.Code[pass][t.Class[pass][class]] {
		all[i] = float32(w) / 4096
	}
	return all
}
