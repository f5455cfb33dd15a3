// Interface between Go and the C code of the CPU backend. One job is one field (or progressive
// frame) with one set of options. It is read-only while its tiles are filtered.
#ifndef VIDFILTER_CPU_H
#define VIDFILTER_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "common.h"

typedef struct {
	const uint8_t *src[3]; // first sample of each plane
	uint8_t *dst[3];
	ptrdiff_t src_pitch[3], dst_pitch[3]; // bytes
	int width, height;                    // luma samples
	int layout, sub_x, sub_y;             // arrangement; log2 of the chroma subsampling
	int pairs;                            // U and V are interleaved
	int depth, shift;                     // bits of a sample, and those below it in its two bytes
	float most, raise;                    // the largest sample; 1 << shift
	int chroma_read, chroma_write;        // chroma rows to read (at least 1) and to write
	int radius, range, border;

	vf_color color; // colours are in levels of the depth

	// Colours are multiplied by scale when loaded, so that D^2 of the scaled values is the argument
	// of R: D^2 / (2 sigma_r^2) for 1 / (1 + x), times log2(e) for 2^-x.
	float scale;
	// Indexed by dy+r, dx+r: Gs where R is Lorentzian, log2(Gs) where it is Gaussian.
	float spatial[(2 * VF_MAX_RADIUS + 1) * (2 * VF_MAX_RADIUS + 1)];
} vf_job;

// vf_tile filters the pixels x0 <= x < x1, y0 <= y < y1 of a job. x0 and y0 are even; x1 and y1
// are even or the job's width and height; x1 - x0 is at most VF_TILE. scratch is
// vf_scratch_size() bytes, aligned to 64, for one call at a time.
void vf_tile(int isa, const vf_job *job, void *scratch, int x0, int y0, int x1, int y1);
size_t vf_scratch_size(void);

enum { VF_PLAIN, VF_AVX2, VF_AVX512 }; // as in internal/isa
enum { VF_TILE = 384 };                // a divisor of common widths


// The recursive filter. Between passes a channel is STEPS v + OFFSET in 16 bits, for v in levels of
// 8 bits at any depth: enough for the filter's overshoot, with an invisible rounding error of 1/448
// of these levels.
enum { VF_STEPS = 224, VF_OFFSET = 16 * VF_STEPS };

// Between passes a picture is a sequence of strips of VF_STRIP columns. A strip is a sequence of
// rows (the height padded to a multiple of VF_STRIP), each with R, G and B of its columns.
enum { VF_STRIP = 16, VF_UNIT = 2 * VF_STRIP };

// Parameters of a pass; see recursive.go. Pairs are of the two one-pole filters.
typedef struct {
	uint16_t *between;
	ptrdiff_t strip;       // 16-bit numbers from one strip to the next
	float slope;           // (sigma_s / sigma_r)^2 for differences in steps
	float most;            // distances above it are as good as infinite
	float power[2];        // log2 |b|
	float turn[2];         // angle of b in turns
	float drive[2][2];     // p: real, imaginary
} vf_pass;

// vf_rows filters the existing rows of y to y + VF_STRIP - 1 of a picture between passes, in
// place; if load is not 0 they are read from the job's planes. The job has radius 0, scale 1 and
// the border clamp. lanes is vf_lanes_size() bytes for one call at a time, scratch as for vf_tile.
void vf_rows(int isa, const vf_job *job, const vf_pass *pass, void *scratch, void *lanes, int y, int load);
// vf_columns filters columns x to x + VF_UNIT - 1; if save is not 0, the results go to the job's
// planes.
void vf_columns(int isa, const vf_job *job, const vf_pass *pass, void *scratch, void *lanes, int x, int save);
size_t vf_lanes_size(int width, int height);

#define VF_FUNCTIONS(isa) \
	void vf_tile_##isa(const vf_job *, void *, int, int, int, int); \
	void vf_rows_##isa(const vf_job *, const vf_pass *, void *, void *, int, int); \
	void vf_columns_##isa(const vf_job *, const vf_pass *, void *, void *, int, int); \
	size_t vf_scratch_##isa(void);
VF_FUNCTIONS(plain_8)
VF_FUNCTIONS(plain_16)
VF_FUNCTIONS(avx2_8)
VF_FUNCTIONS(avx2_16)
VF_FUNCTIONS(avx512_8)
VF_FUNCTIONS(avx512_16)
#undef VF_FUNCTIONS

// vf_alloc returns size bytes aligned to 64, or NULL; vf_free frees them.
void *vf_alloc(size_t size);
void vf_free(void *);

#endif
