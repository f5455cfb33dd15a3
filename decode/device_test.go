package decode

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/e2e"
	"vidfilter/internal/units"
)

// A frame with one field is doubled by decoders on the CPU alone, which get it.
func TestFieldAloneOnDevice(t *testing.T) {
	unit := func(text string) []byte {
		b, err := hex.DecodeString("00000001" + text)
		e2e.Must(t, err)
		return b
	}
	stream := units.StreamOf("h264", nil)
	stream.Learn(unit("6764001ead902a0524924924924924924924924924924924924924924924924926c40a285893492ffc00040005a808080a00000300020000030065a00007d2007d1003e9003e893651a80001f4801f4400fa400fa24d9465"))
	top, bottom, next := unit("4188825555"), unit("4188835555"), unit("4188865555")
	for name, c := range map[string]struct {
		fields [][]byte
		end    bool
		alone  bool
	}{
		"pair":     {[][]byte{top, bottom, next}, false, false},
		"alone":    {[][]byte{top, next}, false, true},
		"last one": {[][]byte{top, bottom, next}, true, true},
	} {
		d := &videoDecoder{decoder: decoder{device: &onDevice{}, pkt: astiav.AllocPacket()}}
		for _, f := range c.fields {
			d.found.fields.Second(stream, f)
			d.keep(d.pkt)
		}
		d.pairs(c.end)
		if alone := errors.Is(d.device.problem, errDamage); alone != c.alone {
			t.Errorf("%s: %v", name, d.device.problem)
		}
		d.device.close()
		d.pkt.Free()
	}
}
