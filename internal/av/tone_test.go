package av

import (
	"encoding/binary"
	"testing"

	"vidfilter/pipeline"
)

// TestTone: pictures of HDR have the brightness that BT.2390 gives them, and neutral colours stay.
func TestTone(t *testing.T) {
	pq, hlg := tonesOfPQ(), tonesOfHLG()
	for _, c := range []struct {
		tones      *tones
		code, want float64
	}{
		{pq, 0, 0},
		{pq, 0.2997, 63},  // 10 nits stay
		{pq, 0.4403, 136}, // 50 nits stay
		{pq, 0.5807, 229}, // 203 nits become 159
		{pq, 0.7518, 255},
		{pq, 0.9026, 255},
		{hlg, 0, 0},
		{hlg, 0.75, 229}, // 203 nits
		{hlg, 1, 255},
	} {
		in := pipeline.Blank(pipeline.Format{Layout: pipeline.GBRP.At(16), Width: 3, Height: 2})
		for _, p := range in.Planes[:3] {
			for i := 0; i+1 < len(p.Data); i += 2 {
				binary.LittleEndian.PutUint16(p.Data[i:], uint16(c.code*65535))
			}
		}
		out := pipeline.Blank(pipeline.Format{Layout: pipeline.RGBA, Width: 3, Height: 2})
		c.tones.put(out, in, true)
		for _, v := range out.Planes[0].Data[out.Planes[0].Pitch+8:][:3] {
			if d := float64(v) - c.want; d < -1.5 || d > 1.5 {
				t.Errorf("%v of %s is %d, not %v", c.code, map[*tones]string{pq: "PQ", hlg: "HLG"}[c.tones], v, c.want)
			}
		}
	}
}
