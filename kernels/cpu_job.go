package kernels

// #include "cpu.h"
import "C"

import (
	"math"
	"runtime"

	"vidfilter/pipeline"
)

// fillJob sets a job's constants: everything that does not depend on the frame's address.
func fillJob(j *C.vf_job, format pipeline.Format, p Bilateral, t transform) {
	*j = C.vf_job{}
	info := format.Layout.Info()
	j.layout, j.sub_x, j.sub_y = C.int(format.Layout.Arrangement()), C.int(info.SubX), C.int(info.SubY)
	j.depth, j.shift, j.most, j.raise = C.int(info.Depth), C.int(info.Shift), C.float(t.most), C.float(int(1)<<info.Shift)
	if info.SemiPlanar {
		j.pairs = 1
	}
	j.radius, j._range, j.border = C.int(p.Radius), C.int(p.Range), C.int(p.Border)
	fillColour(&j.color, t)
	j.scale = C.float(rangeScale(p.inLevels(info.Depth)))
	side := 2*p.Radius + 1
	for dy, row := range SpatialWeights(p) {
		for dx, gs := range row {
			if p.Range == Gaussian {
				gs = max(math.Log2(gs), -1e6)
			}
			j.spatial[dy*side+dx] = C.float(gs)
		}
	}
}

// pointJob points a job at two fields. C keeps the pointers, so their memory is pinned.
func pointJob(j *C.vf_job, to, from field, pinner *runtime.Pinner) {
	for i := range from.planes {
		if from.planes[i].Data == nil {
			break
		}
		src, dst := &from.planes[i].Data[0], &to.planes[i].Data[0]
		pinner.Pin(src)
		pinner.Pin(dst)
		j.src[i], j.dst[i] = (*C.uint8_t)(src), (*C.uint8_t)(dst)
		j.src_pitch[i], j.dst_pitch[i] = C.ptrdiff_t(from.planes[i].Pitch), C.ptrdiff_t(to.planes[i].Pitch)
	}
	j.width, j.height = C.int(from.width), C.int(from.height)
	j.chroma_read, j.chroma_write = C.int(from.chromaRead), C.int(from.chromaWrite)
}

// unpointJobs clears the pointers before their memory is unpinned.
func unpointJobs(jobs *[2]C.vf_job) {
	for k := range jobs {
		jobs[k].src, jobs[k].dst = [3]*C.uint8_t{}, [3]*C.uint8_t{}
	}
}

// rangeScale is the factor of distances; see vf_job.scale. A sigma too small or too large for
// float32 to hold the squares is clamped to one with the same result.
func rangeScale(p Bilateral) float64 {
	s := 1 / (math.Sqrt2 * p.SigmaR)
	if p.Range == Gaussian {
		s *= math.Sqrt(math.Log2E)
	}
	return min(max(s, 1e-6), 1e6)
}

// fillColour sets the linear maps between samples and colours. That from changes of colours is
// derived by feeding the transform zero and the unit vectors.
func fillColour(j *C.vf_color, t transform) {
	w := t.toWords()
	j.y_gain, j.r_v, j.g_u, j.g_v, j.b_u = C.float(w.gain), C.float(w.rv), C.float(w.gu), C.float(w.gv), C.float(w.bu)
	j.r_0, j.g_0, j.b_0 = C.float(w.r0), C.float(w.g0), C.float(w.b0)

	y0, u0, v0 := t.yuv(0, 0, 0)
	for c := range 3 {
		var unit [3]float64
		unit[c] = 1
		y, u, v := t.yuv(unit[0], unit[1], unit[2])
		j.y[c], j.u[c], j.v[c] = C.float(y-y0), C.float(u-u0), C.float(v-v0)
	}
}
