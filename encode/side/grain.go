package side

//#include "grain.h"
import "C"

import (
	"fmt"
	"unsafe"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// grainer puts the film grain of frames into coded pictures of AV1. Encoders code some pictures
// long before they are shown, so grain waits by its place in the order of display.
type grainer struct {
	c       *C.struct_vf_grain
	put     int64           // frames so far
	places  map[int64]int64 // of frames, by time
	waiting map[int64]params
}

type params struct {
	grain *C.AVFilmGrainAOMParams
	seed  uint16
}

// newGrainer announces grain in the header of an open encoder, an AVCodecContext.
func newGrainer(c unsafe.Pointer) (*grainer, error) {
	g := &grainer{places: map[int64]int64{}, waiting: map[int64]params{}}
	if err := av.Error(int(C.vf_grain_open(&g.c, (*C.AVCodecContext)(c)))); err != nil {
		g.close()
		return nil, fmt.Errorf("encode: make room for film grain: %w", err)
	}
	return g, nil
}

func (g *grainer) close() {
	if g != nil {
		C.vf_grain_close(g.c)
		g.c = nil
	}
}

// take keeps the grain of a frame until its picture is coded.
func (g *grainer) take(f *pipeline.Frame) {
	g.places[f.PTS] = g.put
	if f.Grain != nil {
		g.waiting[g.put] = params{describeGrain(f.Grain), f.GrainSeed}
	}
	g.put++
}

// give writes grain into the pictures of an AVPacket from the encoder.
func (g *grainer) give(packet unsafe.Pointer) error {
	p := (*C.AVPacket)(packet)
	const most = 16 // pictures of a temporal unit
	var list [most]C.struct_vf_picture
	n := int(C.vf_grain_read(g.c, p, &list[0], most))
	if err := av.Error(n); err != nil {
		return fmt.Errorf("read the picture at %d: %w", int64(p.pts), err)
	}
	now := g.places[int64(p.pts)]
	delete(g.places, int64(p.pts))
	bits := int(C.vf_grain_hint_bits(g.c))
	shown := C.int(0)
	for _, v := range list[:n] {
		if v.shown != 0 {
			shown = v.hint
		}
	}
	for i, v := range list[:n] {
		own := g.waiting[now+later(int(v.hint-shown), bits)]
		C.vf_grain_set(g.c, C.int(i), own.grain, C.int(own.seed))
	}
	for i := range g.waiting {
		if i <= now {
			delete(g.waiting, i)
		}
	}
	if err := av.Error(int(C.vf_grain_write(g.c, p))); err != nil {
		return fmt.Errorf("write the picture at %d: %w", int64(p.pts), err)
	}
	return nil
}

func later(hints, bits int) int64 {
	if bits == 0 {
		return 0
	}
	half := 1 << (bits - 1)
	return int64((hints+half)&(1<<bits-1) - half)
}

func describeGrain(g *pipeline.FilmGrain) *C.AVFilmGrainAOMParams {
	a := &C.AVFilmGrainAOMParams{
		num_y_points: C.int(len(g.Luma)), chroma_scaling_from_luma: flag(g.ChromaFromLuma), scaling_shift: C.int(g.ScalingShift), ar_coeff_lag: C.int(g.Lag),
		ar_coeff_shift: C.int(g.WeightShift), grain_scale_shift: C.int(g.NoiseShift),
		overlap_flag: flag(g.Overlap), limit_output_range: flag(g.ClipLimited),
	}
	for i, p := range g.Luma {
		a.y_points[i] = [2]C.uint8_t{C.uint8_t(p.Value), C.uint8_t(p.Scale)}
	}
	for i, w := range g.LumaWeights {
		a.ar_coeffs_y[i] = C.int8_t(w)
	}
	for c := range g.Chroma {
		a.num_uv_points[c] = C.int(len(g.Chroma[c]))
		for i, p := range g.Chroma[c] {
			a.uv_points[c][i] = [2]C.uint8_t{C.uint8_t(p.Value), C.uint8_t(p.Scale)}
		}
		for i, w := range g.ChromaWeights[c] {
			a.ar_coeffs_uv[c][i] = C.int8_t(w)
		}
		a.uv_mult[c], a.uv_mult_luma[c], a.uv_offset[c] = C.int(g.Own[c]), C.int(g.ByLuma[c]), C.int(g.Offset[c])
	}
	return a
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

func hasGrain(parameters unsafe.Pointer) bool {
	return C.vf_has_grain((*C.AVCodecParameters)(parameters)) != 0
}
