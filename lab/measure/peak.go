package measure

/*
#cgo CFLAGS: -std=gnu11 -O3 -Wall

// Multiplies and adds in as many registers as hide the latency. The result depends on all.
#define PEAK(name, lanes, attributes) \
	attributes static float name(long rounds) \
	{ \
		enum { registers = 10 }; \
		typedef float vector __attribute__((vector_size(4 * lanes))); \
		vector sums[registers], factor = (vector){} + 0.999f, sum = {}; \
		for (int i = 0; i < registers; i++) \
			sums[i] = (vector){} + (float)i; \
		for (long n = 0; n < rounds; n++) \
			_Pragma("GCC unroll 10") for (int i = 0; i < registers; i++) \
				sums[i] = sums[i] * factor + factor; \
		for (int i = 0; i < registers; i++) \
			sum += sums[i]; \
		return sum[0]; \
	}
PEAK(peak4, 4, )
#ifdef __x86_64__
PEAK(peak8, 8, __attribute__((target("avx2,fma"))))
PEAK(peak16, 16, __attribute__((target("avx512f"))))
#endif

// Adds up absolute differences of bytes, one side of which stays in a register as in a search.
#define DIFFERENCES(name, lanes, sad, attributes) \
	attributes static long long name(const char *from, long rounds) \
	{ \
		typedef char vector __attribute__((vector_size(lanes))); \
		typedef long long sums __attribute__((vector_size(lanes))); \
		sums all[4] = {}; \
		for (long n = 0; n < rounds; n++) { \
			__asm__ volatile("" : "+r"(from) : : "memory"); \
			_Pragma("GCC unroll 16") for (int i = 0; i < 16; i++) \
				all[i % 4] += (sums)sad((vector){}, *(const vector *)(from + i * lanes)); \
		} \
		all[0] += all[1] + all[2] + all[3]; \
		return all[0][0]; \
	}
#ifdef __x86_64__
DIFFERENCES(differences16, 16, __builtin_ia32_psadbw128, )
DIFFERENCES(differences32, 32, __builtin_ia32_psadbw256, __attribute__((target("avx2"))))
DIFFERENCES(differences64, 64, __builtin_ia32_psadbw512, __attribute__((target("avx512bw"))))
#else
#define SAD(a, b) ((a) > (b) ? (a) - (b) : (b) - (a))
DIFFERENCES(differences16, 16, SAD, )
#endif

// Returns how many differences of bytes the rounds were.
static double vf_differences(int set, long rounds, long long *sink)
{
	static char from[16 * 64] __attribute__((aligned(64)));
#ifdef __x86_64__
	if (set > 0) {
		*sink = set > 1 ? differences64(from, rounds) : differences32(from, rounds);
		return 16.0 * (set > 1 ? 64 : 32) * rounds;
	}
#endif
	*sink = differences16(from, rounds);
	return 16.0 * 16 * rounds;
}

// Returns how many operations on floats the rounds were.
static double vf_peak(int set, long rounds, float *sink)
{
#ifdef __x86_64__
	if (set > 0) {
		*sink = set > 1 ? peak16(rounds) : peak8(rounds);
		return 2.0 * 10 * (set > 1 ? 16 : 8) * rounds;
	}
#endif
	*sink = peak4(rounds);
	return 2.0 * 10 * 4 * rounds;
}
*/
import "C"

import (
	"sync"
	"time"

	"vidfilter/internal/isa"
)

// Peak is the highest rates of a device, in 1e9 a second.
type Peak struct {
	Operations float64 `json:"gflop_per_s"` // on floats; a multiply-add is two
	Bytes      float64 `json:"gb_per_s"`    // read and written by a copy

	Differences float64 `json:"differences_per_s,omitempty"` // of bytes, absolute and added up; not of a GPU
}

// Floor returns the least milliseconds for this many operations and bytes.
func (p Peak) Floor(operations, bytes float64) float64 {
	return max(operations/p.Operations, bytes/p.Bytes) / 1e6
}

// PeakOfCPU measures the peak of a number of threads at once, with copies of size bytes by each.
func PeakOfCPU(threads, size int) (p Peak) {
	from, to, counts := make([][]byte, threads), make([][]byte, threads), make([]float64, threads)
	for i := range threads {
		from[i], to[i] = make([]byte, size), make([]byte, size)
	}
	best := func(do func(thread int)) float64 {
		least := time.Duration(1 << 62)
		for range 20 {
			var all sync.WaitGroup
			start := time.Now()
			for i := range threads {
				all.Go(func() { do(i) })
			}
			all.Wait()
			least = min(least, time.Since(start))
		}
		return float64(max(least, 1))
	}
	took := best(func(i int) {
		var sink C.float
		counts[i] = float64(C.vf_peak(C.int(isa.Fastest()), C.long(size/16), &sink))
	})
	p.Operations = float64(threads) * counts[0] / took
	took = best(func(i int) {
		var sink C.longlong
		counts[i] = float64(C.vf_differences(C.int(isa.Fastest()), C.long(size/64), &sink))
	})
	p.Differences = float64(threads) * counts[0] / took
	took = best(func(i int) { copy(to[i], from[i]) })
	p.Bytes = float64(threads) * float64(2*size) / took
	return p
}
