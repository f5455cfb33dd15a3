package av

//#include <libavutil/film_grain_params.h>
//#include "glue.h"
import "C"

import (
	"unsafe"

	"vidfilter/pipeline"
)

// FilmGrain returns the grain that an AVFrame was coded with in AV1, and its seed, or nil.
func FilmGrain(frame unsafe.Pointer) (g *pipeline.FilmGrain, seed uint16) {
	d := sideData((*C.AVFrame)(frame), C.AV_FRAME_DATA_FILM_GRAIN_PARAMS)
	if len(d) == 0 {
		return nil, 0
	}
	p := (*C.AVFilmGrainParams)(unsafe.Pointer(&d[0]))
	if p._type != C.AV_FILM_GRAIN_PARAMS_AV1 {
		return nil, 0
	}
	a := (*C.AVFilmGrainAOMParams)(unsafe.Pointer(&p.codec))
	weights := 2 * int(a.ar_coeff_lag) * (int(a.ar_coeff_lag) + 1)
	g = &pipeline.FilmGrain{
		Luma: points(a.y_points[:a.num_y_points]), ChromaFromLuma: a.chroma_scaling_from_luma != 0, ScalingShift: int(a.scaling_shift),
		Lag: int(a.ar_coeff_lag), LumaWeights: signed(a.ar_coeffs_y[:weights]), WeightShift: int(a.ar_coeff_shift),
		NoiseShift: int(a.grain_scale_shift), Overlap: a.overlap_flag != 0, ClipLimited: a.limit_output_range != 0,
	}
	for c := range g.Chroma {
		g.Chroma[c] = points(a.uv_points[c][:a.num_uv_points[c]])
		g.ChromaWeights[c] = signed(a.ar_coeffs_uv[c][:weights+1])
		g.Own[c], g.ByLuma[c], g.Offset[c] = int(a.uv_mult[c]), int(a.uv_mult_luma[c]), int(a.uv_offset[c])
	}
	return g, uint16(p.seed)
}

func points(list [][2]C.uint8_t) (out []pipeline.GrainPoint) {
	for _, p := range list {
		out = append(out, pipeline.GrainPoint{Value: uint8(p[0]), Scale: uint8(p[1])})
	}
	return out
}

func signed(list []C.int8_t) (out []int8) {
	for _, w := range list {
		out = append(out, int8(w))
	}
	return out
}
