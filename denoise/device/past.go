package device

// #include "cuda/denoise_args.h"
import "C"

// As in cuda/denoise_sum.cu.
const (
	sumWidth, sumHeight, sumThreads = 128, 8, 256
	sumBits                         = 12
)

// Add returns the runs that add a picture to the sum of count pictures, each at its address.
// The new sum may replace the old one.
func (l *Layout) Add(picture, sum, to uint64, count int) []Run {
	a := l.args
	a.centre, a.count = C.uint64_t(picture), C.int32_t(count)
	l.setSum(&a, 0, sum)
	l.setSum(&a, 1, to)
	return []Run{tiled("denoise_sum", &a, sizes(a.noisy[:]), sumWidth, sumHeight, sumThreads, 0)}
}

func (l *Layout) setSum(a *C.vd_args, i int, address uint64) {
	for c, offset := range l.sum {
		a.past[i][c] = C.uint64_t(address) + C.uint64_t(offset)
	}
}

// setPast sets the past frames that the second pass reads.
func (w *work) setPast() {
	a, s := &w.args, &w.Settings
	for d := 1; d <= s.Near; d++ {
		for i := w.near[0]; i < w.near[1]; i++ { // the one before comes first
			if n := int(a.distance[i]); n == d || n == -d {
				a.nearest[a.nears] = C.int32_t(i)
				a.nears++
			}
		}
	}
	a.past_reach, a.past_most = C.int32_t(s.Second.PastReach), C.float(s.Second.PastMost)
	a.pasts = C.int32_t(len(w.Past))
	for i, p := range w.Past {
		w.setSum(a, i, p.Sum)
		a.past_count[i] = C.float(p.Count)
		a.past_unit[i] = 1 / C.float(p.Count<<(min(w.Shape.Depth, sumBits)-8))
	}
}
