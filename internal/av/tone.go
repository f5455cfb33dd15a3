package av

//#include <libavutil/frame.h>
import "C"

import (
	"encoding/binary"
	"math"
	"sync"

	"vidfilter/pipeline"
)

// HDR returns the transfer function of a frame that is HDR, "PQ" or "HLG"; "" for SDR.
func HDR(f *pipeline.Frame) string {
	p := decoded(f).frame
	switch {
	case p == nil:
	case p.color_trc == C.AVCOL_TRC_SMPTE2084:
		return "PQ"
	case p.color_trc == C.AVCOL_TRC_ARIB_STD_B67:
		return "HLG"
	}
	return ""
}

// wide reports whether a frame has the colours of BT.2020.
func wide(f *pipeline.Frame) bool {
	p := decoded(f).frame
	return p != nil && p.color_primaries == C.AVCOL_PRI_BT2020
}

const (
	sdrWhite = 203  // nits of white in HDR that SDR shows as white: BT.2408
	hdrPeak  = 1000 // nits; brighter samples look the same
)

// Tables have a value for each of toneSteps levels, by root from 0 to a top: dark levels are close.
const toneSteps = 4096

func toneTable[T any](top float64, value func(v float64) T) *[toneSteps]T {
	var t [toneSteps]T
	for i := range t {
		v := float64(i) / (toneSteps - 1)
		t[i] = value(v * v * top)
	}
	return &t
}

func toneIndex(v, top float32) int {
	return int(math.Sqrt(float64(max(0, min(v/top, 1))))*(toneSteps-1) + 0.5)
}

// tones are the tables of a mapping from HDR to SDR.
type tones struct {
	linear [1 << 12]float32    // light by code value: nits of PQ, light of the scene of HLG
	system *[toneSteps]float32 // of HLG: nits by light of the scene, whose luma is the index; else nil
	shrink *[toneSteps]float32 // the share of the brightest component's nits that SDR keeps, per nit
	coded  *[toneSteps]byte    // sRGB by light
}

func newTones(linear func(code float64) float64, system func(luma float64) float32) *tones {
	t := &tones{
		shrink: toneTable(hdrPeak, func(v float64) float32 { return float32(shrunk(max(v, 1e-3)) / max(v, 1e-3) / sdrWhite) }),
		coded: toneTable(1, func(v float64) byte {
			if v <= 0.0031308 {
				return byte(255*12.92*v + 0.5)
			}
			return byte(255*(1.055*math.Pow(v, 1/2.4)-0.055) + 0.5)
		}),
	}
	for i := range t.linear {
		t.linear[i] = float32(linear(float64(i) / float64(len(t.linear)-1)))
	}
	if system != nil {
		t.system = toneTable(1, system)
	}
	return t
}

var tonesOfPQ = sync.OnceValue(func() *tones { return newTones(nitsOfPQ, nil) })

var tonesOfHLG = sync.OnceValue(func() *tones {
	return newTones(func(code float64) float64 {
		const a, b, c = 0.17883277, 0.28466892, 0.55991073
		if code <= 0.5 {
			return code * code / 3
		}
		return (math.Exp((code-c)/a) + b) / 12
	}, func(luma float64) float32 { return float32(hdrPeak * math.Pow(luma, 0.2)) })
})

const pqM1, pqM2, pqC1, pqC2, pqC3 = 2610.0 / 16384, 2523.0 / 32, 3424.0 / 4096, 2413.0 / 128, 2392.0 / 128

func nitsOfPQ(code float64) float64 {
	p := math.Pow(code, 1/pqM2)
	return 10000 * math.Pow(max(p-pqC1, 0)/(pqC2-pqC3*p), 1/pqM1)
}

func pqOfNits(nits float64) float64 {
	p := math.Pow(nits/10000, pqM1)
	return math.Pow((pqC1+pqC2*p)/(1+pqC3*p), pqM2)
}

// shrunk is the curve of BT.2390 from hdrPeak to sdrWhite, in nits: dark and middle tones stay, and
// a spline bends bright ones.
func shrunk(nits float64) float64 {
	top := pqOfNits(hdrPeak)
	e, most := min(pqOfNits(nits)/top, 1), pqOfNits(sdrWhite)/top
	if knee := 1.5*most - 0.5; e > knee {
		t := (e - knee) / (1 - knee)
		e = (2*t*t*t-3*t*t+1)*knee + (t*t*t-2*t*t+t)*(1-knee) + (3*t*t-2*t*t*t)*most
	}
	return nitsOfPQ(e * top)
}

// put fills a picture of RGBA with the planes G, B and R of 16 bits of HDR. The brightest component
// decides how much a pixel is darkened, so hues stay. Colours of BT.2020 are converted to BT.709,
// cut where they are outside.
func (t *tones) put(dst, src *pipeline.Frame, wide bool) {
	for y := range dst.Height {
		var rows [3][]byte
		for i := range rows {
			rows[i] = src.Planes[i].Data[y*src.Planes[i].Pitch:][:2*dst.Width]
		}
		out := dst.Planes[0].Data[y*dst.Planes[0].Pitch:][:4*dst.Width]
		for x := range dst.Width {
			light := func(i int) float32 { return t.linear[binary.LittleEndian.Uint16(rows[i][2*x:])>>4] }
			g, b, r := light(0), light(1), light(2)
			if t.system != nil {
				k := t.system[toneIndex(0.2627*r+0.6780*g+0.0593*b, 1)]
				r, g, b = k*r, k*g, k*b
			}
			most := max(r, g, b)
			k := t.shrink[toneIndex(most, hdrPeak)] * min(1, hdrPeak/max(most, 1))
			r, g, b = k*r, k*g, k*b
			if wide {
				r, g, b = 1.6605*r-0.5876*g-0.0728*b, -0.1246*r+1.1329*g-0.0083*b, -0.0182*r-0.1006*g+1.1187*b
			}
			for i, v := range [3]float32{r, g, b} {
				out[4*x+i] = t.coded[toneIndex(v, 1)]
			}
		}
	}
}
